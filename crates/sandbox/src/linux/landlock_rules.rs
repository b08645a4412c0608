//! The second layer: Landlock allows reading everywhere and writing only where the view is meant to be written, and
//! keeps signals and abstract sockets inside.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{FailedStep, NamedStep};

/// Restricts this process and all it starts.
pub(crate) fn restrict(writable: &[PathBuf]) -> Result<(), FailedStep> {
    let step = "restricting file access with Landlock";
    let all = AccessFs::from_all(ABI::V5);
    let created = Ruleset::default()
        // What the first version had must be there; what came later is used where it is.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .step(step)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .step(step)?
        .scope(Scope::from_all(ABI::V6))
        .step(step)?
        .create()
        .step(step)?;
    let mut rules = created
        .add_rule(PathBeneath::new(PathFd::new("/").step(step)?, AccessFs::from_read(ABI::V5)))
        .step(step)?;
    for path in writable {
        let folder = std::fs::metadata(path).step_at("looking at", path)?.is_dir();
        let access = if folder { all } else { AccessFs::from_file(ABI::V5) };
        let opened = PathFd::new(path).step_at("opening", path)?;
        rules = rules.add_rule(PathBeneath::new(opened, access)).step_at(step, path)?;
    }
    let status = rules.restrict_self().step(step)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(FailedStep::new(step, "this kernel does not have it, or it is switched off"));
    }
    Ok(())
}
