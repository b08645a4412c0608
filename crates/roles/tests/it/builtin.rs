//! The roles that come with Posse: good files, the rights of the design's table, small prompts.

use posse_policy::{delegates_to, passes};
use posse_protocol::{Role, RoleOrigin};
use posse_roles::{REPORT_FORMAT, Roles, Team, parse, template};

use crate::show::{rules, show};

/// The bytes of a prompt: about 150 tokens.
const PROMPT_BYTES_MAX: usize = 600;
/// The bytes of the report's format: about 90 tokens.
const REPORT_BYTES_MAX: usize = 360;

/// Files, shell and network; tools; whom it may delegate to; turns and minutes.
type Row = (&'static str, &'static str, &'static str, &'static str, Option<(u32, u64)>);

const STANDARD: [Row; 8] = [
    ("general", "write full full", "all", "all", None),
    ("explore", "read inspect full", "all -edit -edit_file -task:* -write -write_file", "nothing", None),
    ("plan", "read inspect full", "all", "nothing", None),
    ("review", "read none none", "all", "nothing", None),
    ("implementer", "write full full", "all", "nothing", None),
    ("verifier", "read verify none", "all", "nothing", None),
    ("skill", "write full full", "all -task:skill:*", "all -skill", None),
    ("custom", "write full full", "all", "nothing", None),
];

const TEAM: [Row; 6] = [
    ("main", "write full full", "all", "coder,debugger,planner,reviewer,tester", Some((50, 10))),
    ("planner", "write full full", "all", "coder,reviewer,tester", Some((15, 3))),
    ("coder", "write full full", "all", "tester", Some((30, 5))),
    ("tester", "write full full", "all", "nothing", Some((20, 3))),
    ("reviewer", "read none none", "all", "nothing", Some((10, 2))),
    ("debugger", "write full full", "all", "nothing", Some((25, 4))),
];

fn check(role: &Role, row: &Row) {
    let (name, rights, tools, to, limits) = row;
    let parsed = posse_roles::Parsed {
        role: Ok(role.clone()),
        warnings: vec![],
        not_used: vec![],
        lines: posse_roles::Lines::default(),
    };
    let shown = show(&parsed);
    assert!(shown.starts_with(&format!("{name} | {rights} | {tools} | to {to} | ")), "{name}: {shown}");
    let budget = (role.budget.turns, role.budget.time_ms, role.budget.tokens);
    let want = (limits.map(|l| l.0), limits.map(|l| l.1 * 60_000), None);
    assert_eq!(budget, want, "{name}");
    assert_eq!((role.model.as_deref(), &role.origin), (None, &RoleOrigin::BuiltIn), "{name}");
    assert!(!role.description.is_empty() && role.description.len() <= 250, "{name}: {}", role.description);
    assert!((150..=PROMPT_BYTES_MAX).contains(&role.prompt.len()), "{name}: {} bytes", role.prompt.len());
}

#[test]
fn rights_and_limits_are_those_of_the_table() {
    let standard = Roles::builtin(Team::Without);
    assert_eq!(standard.iter().count(), STANDARD.len());
    for (role, row) in standard.iter().zip(&STANDARD) {
        check(role, row);
    }
    let team = Roles::builtin(Team::With);
    assert_eq!(team.iter().count(), STANDARD.len() + TEAM.len());
    for (role, row) in team.iter().zip(STANDARD.iter().chain(&TEAM)) {
        check(role, row);
    }
    let special = |pick: fn(&Role) -> bool| {
        team.iter().filter(|role| pick(role)).map(|role| role.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(special(|role| role.single), ["skill"]);
    assert_eq!(special(|role| role.tools_listed_by_task), ["custom"]);
}

#[test]
fn every_embedded_file_is_good() {
    let texts = [
        include_str!("../../agents/general.md"),
        include_str!("../../agents/explore.md"),
        include_str!("../../agents/plan.md"),
        include_str!("../../agents/review.md"),
        include_str!("../../agents/implementer.md"),
        include_str!("../../agents/verifier.md"),
        include_str!("../../agents/skill.md"),
        include_str!("../../agents/custom.md"),
        include_str!("../../agents/team/main.md"),
        include_str!("../../agents/team/planner.md"),
        include_str!("../../agents/team/coder.md"),
        include_str!("../../agents/team/tester.md"),
        include_str!("../../agents/team/reviewer.md"),
        include_str!("../../agents/team/debugger.md"),
    ];
    let team = Roles::builtin(Team::With);
    assert_eq!(texts.len(), team.iter().count());
    for (text, role) in texts.iter().zip(team.iter()) {
        let parsed = parse(text, "x.md", RoleOrigin::BuiltIn);
        assert_eq!(parsed.warnings, [], "{}", role.name);
        assert_eq!(parsed.not_used, [], "{}", role.name);
        assert_eq!(parsed.role.as_ref(), Ok(role));
        let front = text.split("---").nth(1).unwrap();
        let strict = serde_saphyr::from_str::<serde_json::Value>(front);
        assert!(strict.is_ok(), "{} is not strict YAML: {strict:?}", role.name);
    }
}

#[test]
fn names_in_delegates_to_are_roles() {
    for team in [Team::Without, Team::With] {
        let mut roles = Roles::builtin(team);
        let before = roles.clone();
        assert_eq!(roles.link(), []);
        assert_eq!(roles, before, "built-in names are written as they are");
    }
    let team = Roles::builtin(Team::With);
    let grant = |name: &str| &team.find(name).unwrap().grant;
    assert!(delegates_to(grant("general"), "explore") && !delegates_to(grant("explore"), "general"));
    assert!(delegates_to(grant("coder"), "tester") && !delegates_to(grant("coder"), "reviewer"));
    assert!(!passes(&grant("explore").tools, "task:general") && passes(&grant("explore").tools, "grep"));
    assert!(!passes(&grant("skill").tools, "task:skill:search"), "{}", rules(&grant("skill").tools));
    assert!(passes(&grant("skill").tools, "task:explore"));
}

#[test]
fn prompts_say_what_the_role_is_about() {
    let team = Roles::builtin(Team::With);
    let cases: [(&str, &[&str]); 14] = [
        ("general", &["simplest reading", "Check the outcome"]),
        ("explore", &["AGENTS.md", "README", "path:line", "not a tour", "change nothing"]),
        ("plan", &["steps in order", "files that matter", "risks", "Carry none of it out"]),
        ("review", &["severity", "path:line", "do not patch", "how to fix"]),
        ("implementer", &["least edit", "No renaming", "quickest check"]),
        ("verifier", &["PASS or FAIL", "failing assertion", "Repair nothing", "RISKS"]),
        ("skill", &["SKILL.md", "find", "improve"]),
        ("custom", &["those alone", "BLOCKERS"]),
        // Whom it may ask is told beside it: it may not be all of the team.
        ("main", &["lead a small team", "fresh eye", "before you build on it"]),
        ("planner", &["checked alone", "Change no files"]),
        ("coder", &["hand them to tester"]),
        ("tester", &["how many tests ran and how many passed"]),
        ("reviewer", &["verdict", "patch nothing"]),
        ("debugger", &["Reproduce", "why it happens"]),
    ];
    assert_eq!(cases.len(), team.iter().count());
    for (name, parts) in cases {
        let role = team.find(name).unwrap();
        for part in parts {
            assert!(role.prompt.contains(part), "{name} does not say {part:?}: {}", role.prompt);
        }
    }
}

#[test]
fn the_report_format_has_its_sections_in_order() {
    let places =
        ["SUMMARY:", "CHANGES:", "EVIDENCE:", "RISKS:", "BLOCKERS:"].map(|s| REPORT_FORMAT.find(s).unwrap());
    assert!(places.is_sorted(), "{REPORT_FORMAT}");
    assert!(REPORT_FORMAT.contains("None.") && REPORT_FORMAT.contains("path:line"));
    assert!(REPORT_FORMAT.len() <= REPORT_BYTES_MAX, "{} bytes", REPORT_FORMAT.len());
}

#[test]
fn a_new_file_is_good_as_it_is() {
    let descriptions = ["Plain.", "With: colons # and \"quotes\"\nand lines", "{name} 'x' \\n \t", "📚"];
    for description in descriptions {
        let parsed = parse(&template("my-agent", description), "x.md", RoleOrigin::BuiltIn);
        assert_eq!((&parsed.warnings, &parsed.not_used), (&vec![], &vec![]), "{description}");
        let role = parsed.role.unwrap();
        assert_eq!(role.name, "my-agent");
        let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(role.description, words.replace("\\n", "\n").trim());
    }
}
