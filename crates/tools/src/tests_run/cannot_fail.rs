//! Whether a script ends well whatever happens in it: then its exit code says nothing about what it ran.

use super::script::{Joint, Part, ShellScript};
use super::shell::written;

/// Whether nothing in it ever makes it fail.
pub(super) fn script(script: &ShellScript) -> bool {
    !gives_up(script) && ends_well(script)
}

/// Whether it can end with a failure on its way: `set -e`, `exit 1`, `exit $failed`.
fn gives_up(script: &ShellScript) -> bool {
    script.steps.iter().flat_map(|step| &step.parts).any(|part| match part {
        Part::Simple(_) => {
            let words = written(part).unwrap_or_default();
            let code = words.get(1).map(String::as_str).unwrap_or_default();
            match words.first().map(String::as_str) {
                Some("set") => {
                    words.iter().any(|word| word.starts_with('-') && word.contains('e') || word == "errexit")
                }
                Some("exit" | "return") => code != "0",
                Some("exec" | "eval" | "source" | "." | "trap" | "kill") => true,
                _ => false,
            }
        }
        Part::Group { script, .. } => gives_up(script),
        Part::Maybe { scripts, .. } => scripts.iter().any(gives_up),
        Part::Function { body, .. } => matches!(&**body, Part::Group { script, .. } if gives_up(script)),
        Part::Condition => false,
    })
}

/// Whether the last of it always ends well.
fn ends_well(script: &ShellScript) -> bool {
    let Some(last) = script.steps.last() else { return true };
    let Some(part) = last.parts.last().filter(|_| !last.negated) else { return false };
    let well = last.beside
        || match part {
            Part::Simple(_) => {
                let words = written(part).unwrap_or_default();
                let words = words.iter().map(String::as_str).collect::<Vec<_>>();
                matches!(words.as_slice(), ["echo" | "printf" | "true" | ":", ..] | ["exit", "0"] | [])
            }
            Part::Group { script, .. } => ends_well(script),
            Part::Function { .. } => true,
            Part::Maybe { .. } | Part::Condition => false,
        };
    // `a && echo ok` fails with a.
    well && last.joint != Joint::And
}
