//! Gives up every capability for good, and sets the limits that hold for each process.

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
    },
};

use super::{FailedStep, NamedStep};
use crate::{ResourceLimits, limits as numbers};

/// No capability, none to be had from any program, and no new privileges.
pub(crate) fn drop_all() -> Result<(), FailedStep> {
    keep_only(CapabilitySet::empty())
}

/// The same but for these, which this process keeps and no program that it runs gets.
pub(crate) fn keep_only(kept: CapabilitySet) -> Result<(), FailedStep> {
    set_no_new_privs(true).step("giving up new privileges")?;
    clear_ambient_capability_set().step("clearing ambient capabilities")?;
    // Up to the first number that the kernel does not know.
    for capability in 0..64 {
        // SAFETY: takes numbers only, and changes this process alone.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == -1 {
            let error = std::io::Error::last_os_error();
            if error.raw_os_error() == Some(libc::EINVAL) {
                break;
            }
            return Err(error).step("dropping capabilities from the bounding set");
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits).step("locking capabilities")?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })
        .step("dropping capabilities")
}

/// The limits of each process. What the caller has less of stays less. Where a cgroup counts the memory that is used, room
/// that is only set aside is not limited: checkers of memory errors set aside terabytes.
pub(crate) fn limit(limits: &ResourceLimits, in_cgroup: bool) -> Result<(), FailedStep> {
    let memory = (!in_cgroup).then_some((Resource::Data, limits.memory_bytes));
    let others = [
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Core, 0),
    ];
    for (resource, most) in memory.into_iter().chain(others) {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .step(&format!("limiting {resource:?}"))?;
    }
    Ok(())
}

/// When the kernel runs out of memory, this process and all it starts go before the person's own programs. Best effort: a
/// kernel that does not take it chooses by size alone.
pub(crate) fn first_to_go() {
    let _ = std::fs::write("/proc/self/oom_score_adj", numbers::OOM_SCORE);
}
