//! What a child's rights are made of: its parent's, less what no child gets, less what its role leaves out.
//!
//! Each layer is a function that only narrows. Nothing a file says comes before them, so `deny: []` or `tools: "*"` in a
//! file undoes none.

use posse_protocol::{Approval, Grant};

use crate::meet::meet;

/// Tools that steer the session or ask the person: those are the main agent's.
const STEERING: [&str; 11] = [
    "ask_person",
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

/// Without the tools that steer the session or ask the person.
pub fn for_child(grant: Grant) -> Grant {
    without(grant, &STEERING)
}

/// For an agent whose file a stranger wrote: it asks, whatever the file claims.
pub fn from_project_file(mut grant: Grant) -> Grant {
    grant.approval = grant.approval.min(Approval::Ask);
    grant
}

/// Without the tools that need a screen.
pub fn in_background(grant: Grant) -> Grant {
    without(grant, &SCREEN)
}

/// What a child may do: what its parent may, through every layer, and then what its role may.
pub fn child_grant(parent: &Grant, role: &Grant, untrusted_file: bool, background: bool) -> Grant {
    let mut most = for_child(parent.clone());
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
