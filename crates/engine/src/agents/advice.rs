//! What whoever delegates is told about it, in words that fit the surface: whether a call waits for the report, and whether
//! there are roles to choose from.

use posse_surface::Surface;

const DELEGATING: &str = include_str!("../../prompts/delegating.md").trim_ascii_end();
const COORDINATOR: &str = include_str!("../../prompts/coordinator.md").trim_ascii_end();
const BACKGROUND: &str = include_str!("../../prompts/delegating_background.md").trim_ascii_end();
const BLOCKING: &str = include_str!("../../prompts/delegating_blocking.md").trim_ascii_end();
const ROLES: &str = include_str!("../../prompts/delegating_roles.md").trim_ascii_end();
const NO_ROLES: &str = include_str!("../../prompts/delegating_no_roles.md").trim_ascii_end();

/// For a main agent that works, too.
pub(crate) fn delegating(surface: Surface) -> String {
    fitted(DELEGATING, surface)
}

/// For one that only delegates.
pub(crate) fn coordinating(surface: Surface) -> String {
    fitted(COORDINATOR, surface)
}

fn fitted(text: &str, surface: Surface) -> String {
    let reports = if surface.blocks() { BLOCKING } else { BACKGROUND };
    let work = if surface == Surface::Spawn { NO_ROLES } else { ROLES };
    let meanwhile = if surface.blocks() { "while your call waits" } else { "while you go on" };
    text.replace("{reports}", reports).replace("{work}", work).replace("{meanwhile}", meanwhile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_surface() {
        let surfaces = [
            Surface::Agent,
            Surface::Sessions,
            Surface::Task,
            Surface::Spawn,
            Surface::Delegate,
            Surface::Shell,
        ];
        for surface in surfaces {
            for text in [delegating(surface), coordinating(surface)] {
                assert!(!text.contains(['{', '}']), "{text}");
                assert_eq!(text.contains("is the call's result"), surface.blocks(), "{surface}: {text}");
                assert_eq!(text.contains("arrive by themselves"), !surface.blocks(), "{surface}: {text}");
            }
            assert_eq!(delegating(surface).contains("system_prompt"), surface == Surface::Spawn, "{surface}");
        }
    }
}
