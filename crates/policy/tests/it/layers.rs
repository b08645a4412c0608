//! A child's rights are made in layers, each of which only narrows.

use std::collections::BTreeSet;

use posse_policy::{child_grant, for_child, from_project_file, in_background, meet, not_asking, passes};
use posse_protocol::{Approval, Grant, NameRules};

use crate::random::{APPROVALS, for_each_seed, pool, rights};

const PLAIN: [&str; 7] =
    ["read_file", "edit_file", "shell", "web_fetch", "agent", "handle_read", "mcp__git__log"];

fn check_taken(layer: fn(Grant) -> Grant, taken: &[&str]) {
    let left = layer(Grant::full());
    for tool in taken {
        assert!(!passes(&left.tools, tool), "{tool} is still there");
    }
    for tool in PLAIN {
        assert!(passes(&left.tools, tool), "{tool} is gone");
    }
    assert_eq!(Grant { tools: NameRules::default(), ..left }, Grant::full(), "nothing else changes");
}

#[test]
fn no_child_steers_the_session() {
    let taken = [
        "ask_user_question",
        "AskUserQuestion",
        "set_approval",
        "session_end",
        "exit_plan_mode",
        "ExitPlanMode",
    ];
    check_taken(for_child, &taken);
}

#[test]
fn the_tool_that_asks_the_person_can_be_taken() {
    check_taken(not_asking, &["ask_person"]);
}

#[test]
fn nothing_in_the_background_needs_a_screen() {
    check_taken(
        in_background,
        &["screen_read", "browser_click", "computer", "computer_use", "terminal_open"],
    );
}

#[test]
fn a_file_of_the_project_gets_no_more_than_ask() {
    let most = APPROVALS.map(|approval| from_project_file(Grant { approval, ..Grant::full() }));
    let want = [Approval::Plan, Approval::Ask, Approval::Ask, Approval::Ask, Approval::Ask];
    assert_eq!(most, want.map(|approval| Grant { approval, ..Grant::full() }));
}

#[test]
fn a_role_undoes_none_of_them() {
    // As `tools: "*"`, `deny: []` and `approval: full` of a file are read.
    let everything = Grant {
        tools: NameRules { allow: BTreeSet::from([BTreeSet::from(["*".to_owned()])]), deny: BTreeSet::new() },
        ..Grant::full()
    };
    let child = child_grant(&Grant::full(), &everything, true, true);
    for tool in ["ask_person", "session_end", "browser_click"] {
        assert!(!passes(&child.tools, tool), "{tool}");
    }
    assert_eq!(child.approval, Approval::Ask);
    let trusted = child_grant(&Grant::full(), &everything, false, false);
    assert!(passes(&trusted.tools, "browser_click") && !passes(&trusted.tools, "ask_person"));
    assert_eq!(trusted.approval, Approval::Full);
}

#[test]
fn a_child_asks_the_person_only_if_its_role_names_that_and_its_parent_may() {
    let role = |tools: &[&str]| Grant { tools: NameRules::only(tools.iter().copied()), ..Grant::full() };
    let (full, both) = (Grant::full(), role(&["read_file", "ask_person"]));
    // The parent, the role, whether its file is untrusted; what is left of three tools.
    let cases = [
        (&full, &both, false, [true, true, false]),
        (&full, &both, true, [true, false, false]),
        (&full, &role(&["*"]), false, [true, false, true]),
        (&full, &role(&["read_file", "ask_*"]), false, [true, false, false]),
        (&full, &full, false, [true, false, true]),
        (&both, &both, false, [true, true, false]),
        (&both, &full, false, [true, false, false]),
        (&role(&["read_file"]), &both, false, [true, false, false]),
        (&not_asking(full.clone()), &both, false, [true, false, false]),
    ];
    assert_eq!(cases.len(), 9);
    for (number, (parent, role, untrusted, left)) in cases.into_iter().enumerate() {
        let child = child_grant(parent, role, untrusted, false);
        let tools = ["read_file", "ask_person", "shell"].map(|tool| passes(&child.tools, tool));
        assert_eq!(tools, left, "case {number}");
    }
}

#[test]
fn children_of_a_planner_plan() {
    for approval in APPROVALS {
        let parent = Grant { approval: Approval::Plan, ..Grant::full() };
        let role = Grant { approval, ..Grant::full() };
        assert_eq!(child_grant(&parent, &role, false, false).approval, Approval::Plan);
    }
}

/// Promise X6.
#[test]
fn a_child_has_no_right_that_its_parent_or_its_role_lacks() {
    let pool = pool();
    for_each_seed(100_000, |rng| {
        let [(parent, above), (role, own)] = [0; 2].map(|_| &pool[rng.usize(..pool.len())]);
        let (untrusted, background) = (rng.bool(), rng.bool());
        let child = child_grant(parent, role, untrusted, background);
        assert_eq!(rights(&child) & !(above & own), 0, "{parent:?} and {role:?} made {child:?}");
        // The dear ones are seldom enough looked at.
        if rng.u8(0..8) == 0 {
            assert_eq!(meet(parent, &child), child);
            assert_eq!(for_child(child.clone()), child);
            let named = role.tools.allow.iter().any(|layer| layer.contains("ask_person"));
            assert!(named && !untrusted || !passes(&child.tools, "ask_person"));
            assert!(!untrusted || from_project_file(child.clone()) == child);
            assert!(!background || in_background(child.clone()) == child);
        }
    });
}
