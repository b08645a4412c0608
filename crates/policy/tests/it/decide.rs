//! Which calls a grant lets through, as a table.

use std::collections::BTreeSet;

use posse_policy::{Decision, decide, offers, reaches, shell_level};
use posse_protocol::{Approval, Files, Grant, NameRules, Needs, Network, Shell, ToolSpec};

fn tool(name: &str, files: Files, shell: Shell, network: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        schema: serde_json::json!({}).into(),
        needs: Needs { files, shell, network },
    }
}

fn names(allow: &[&[&str]], deny: &[&str]) -> NameRules {
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect::<BTreeSet<_>>();
    NameRules { allow: allow.iter().map(|l| set(l)).collect(), deny: set(deny) }
}

#[test]
fn a_call_needs_every_right() {
    let all = Grant::full();
    let read_only = Grant { files: Files::Read, approval: Approval::Full, ..Grant::none() };
    let plan = Grant { approval: Approval::Plan, ..Grant::full() };
    let inspect = Grant { shell: Shell::Inspect, ..Grant::full() };
    let named = Grant { tools: names(&[&["read_*", "grep"]], &["read_secret"]), ..all.clone() };
    let layered = Grant { tools: names(&[&["read_*"], &["*_file"]], &[]), ..all.clone() };
    let cases = [
        (&all, tool("shell", Files::None, Shell::Full, false), None),
        (&all, tool("web_fetch", Files::None, Shell::None, true), None),
        (&read_only, tool("read_file", Files::Read, Shell::None, false), None),
        (&read_only, tool("edit_file", Files::Write, Shell::None, false), Some("may not write")),
        (&read_only, tool("shell", Files::None, Shell::Full, false), Some("has no shell")),
        (&read_only, tool("web_fetch", Files::None, Shell::None, true), Some("no network")),
        (&Grant::none(), tool("read_file", Files::Read, Shell::None, false), Some("may not read")),
        (&named, tool("read_file", Files::Read, Shell::None, false), None),
        (&named, tool("grep", Files::Read, Shell::None, false), None),
        (&named, tool("glob", Files::Read, Shell::None, false), Some("may not use glob")),
        (&named, tool("read_secret", Files::Read, Shell::None, false), Some("may not use read_secret")),
        (&layered, tool("read_file", Files::Read, Shell::None, false), None),
        (&layered, tool("read_dir", Files::Read, Shell::None, false), Some("may not use read_dir")),
        (&layered, tool("edit_file", Files::Write, Shell::None, false), Some("may not use edit_file")),
        (&inspect, tool("shell", Files::None, Shell::Inspect, false), None),
        (&inspect, tool("deploy", Files::None, Shell::Full, false), Some("may only inspect")),
        (&plan, tool("read_file", Files::Read, Shell::None, false), None),
        (&plan, tool("shell", Files::None, Shell::Inspect, false), None),
        (&plan, tool("edit_file", Files::Write, Shell::None, false), Some("in plan mode")),
        (&plan, tool("web_fetch", Files::None, Shell::None, true), Some("in plan mode")),
        (&plan, tool("deploy", Files::None, Shell::Full, false), Some("in plan mode")),
    ];
    assert_eq!(cases.len(), 21);
    for (grant, tool, want) in cases {
        let got = decide(grant, &tool);
        match (want, &got) {
            (None, Decision::Allow) => assert!(offers(grant, &tool)),
            (Some(part), Decision::Deny(why)) => {
                assert!(why.contains(part), "{}: {why:?} lacks {part:?}", tool.name);
                assert!(!offers(grant, &tool), "{}: refused but offered", tool.name);
            }
            _ => panic!("{}: wanted {want:?}, got {got:?}", tool.name),
        }
    }
}

#[test]
fn hosts() {
    let listed = Network::Hosts(["docs.example.com".to_string()].into());
    let cases = [
        (&Network::None, "example.com", false),
        (&Network::Full, "example.com", true),
        (&listed, "docs.example.com", true),
        (&listed, "DOCS.example.com.", true),
        (&listed, "example.com", false),
        (&listed, "evil.docs.example.com", false),
        (&listed, "docs.example.com.evil.net", false),
    ];
    for (network, host, want) in cases {
        assert_eq!(reaches(network, host), want, "{host} under {network:?}");
    }
}

#[test]
fn commands_write_nothing_in_plan_mode() {
    for (shell, planned) in [
        (Shell::None, Shell::None),
        (Shell::Inspect, Shell::Inspect),
        (Shell::Verify, Shell::Inspect),
        (Shell::Full, Shell::Inspect),
    ] {
        let grant = Grant { shell, ..Grant::full() };
        assert_eq!(shell_level(&grant), shell);
        assert_eq!(shell_level(&Grant { approval: Approval::Plan, ..grant }), planned);
    }
}
