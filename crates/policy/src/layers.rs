//! A child's rights: its parent's, without what no child gets, intersected with its role's.
//!
//! Each layer is a function that only narrows. Files are applied after the layers, so `deny: []` or `tools: "*"` in a file
//! undoes none of them.

use posse_protocol::{Approval, Grant};

use crate::meet::meet;

/// The tool that asks the person: a child has it only if its role names it.
const ASKING: &str = "ask_person";

/// Tools that steer the session, and other programs' tools that ask the person: only the main agent has them.
const STEERING: [&str; 10] = [
    "ask_user*",
    "AskUserQuestion",
    "request_user_input",
    "set_approval",
    "set_mode",
    "session_*",
    "enter_plan*",
    "exit_plan*",
    "EnterPlanMode",
    "ExitPlanMode",
];

/// Tools that need a screen, which nobody looks at in the background.
const SCREEN: [&str; 5] = ["screen_*", "browser_*", "computer*", "terminal_*", "screenshot*"];

/// Without the tools that steer the session.
pub fn for_child(grant: Grant) -> Grant {
    without(grant, &STEERING)
}

/// Without the tool that asks the person.
pub fn not_asking(grant: Grant) -> Grant {
    without(grant, &[ASKING])
}

/// Whether a role names the tool that asks the person. A pattern that happens to fit it does not count.
fn names_asking(role: &Grant) -> bool {
    role.tools.allow.iter().any(|layer| layer.contains(ASKING))
}

/// For a role from an untrusted file: it asks, whatever the file claims.
pub fn from_project_file(mut grant: Grant) -> Grant {
    grant.approval = grant.approval.min(Approval::Ask);
    grant
}

/// Without the tools that need a screen.
pub fn in_background(grant: Grant) -> Grant {
    without(grant, &SCREEN)
}

/// A child's grant: its parent's, narrowed by every layer, intersected with its role's.
pub fn child_grant(parent: &Grant, role: &Grant, untrusted_file: bool, background: bool) -> Grant {
    let mut most = for_child(parent.clone());
    if untrusted_file || !names_asking(role) {
        most = not_asking(most);
    }
    if untrusted_file {
        most = from_project_file(most);
    }
    if background {
        most = in_background(most);
    }
    meet(&most, role)
}

fn without(mut grant: Grant, tools: &[&str]) -> Grant {
    grant.tools.deny.extend(tools.iter().map(|tool| (*tool).to_owned()));
    grant
}
