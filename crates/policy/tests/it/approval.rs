//! The approval modes, and what rules change about them.

use posse_policy::{Act, Decision, Rules, Wish, judge, pattern_for, session_pattern};
use posse_protocol::{Approval, Shell};

use crate::random::{APPROVALS, for_each_seed};

const ACTS: [(Act, &str, &str); 7] = [
    (Act::Read, "read_file", "src/a.rs"),
    (Act::Command(Shell::Inspect), "shell", "ls"),
    (Act::Edit, "edit_file", "src/a.rs"),
    (Act::Command(Shell::Verify), "shell", "cargo test"),
    (Act::Command(Shell::Full), "shell", "cargo fmt"),
    (Act::Network, "web_fetch", "https://docs.rs/x"),
    (Act::Leave, "shell", "systemctl restart x"),
];

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn letter(decision: &Decision) -> char {
    match decision {
        Decision::Allow => '.',
        Decision::Ask(why) => {
            assert!(!why.is_empty());
            '?'
        }
        Decision::Deny(why) => {
            assert!(!why.is_empty());
            'x'
        }
    }
}

/// One letter for each of `ACTS`: allowed, asked, denied.
fn row(approval: Approval, rules: &Rules) -> String {
    ACTS.iter().map(|&(act, tool, what)| letter(&judge(approval, rules, &Wish { tool, what, act }))).collect()
}

#[test]
fn modes_are_those_of_the_table() {
    let rows = APPROVALS.map(|approval| row(approval, &Rules::default()));
    assert_eq!(rows, ["..xxxxx", ".??????", ".?.????", "......?", "......."]);
}

/// Allowed, asked, denied by rules; then a row for plan, ask, edit, auto and full.
type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str], [&'static str; 5]);

#[test]
fn deny_wins_and_ask_comes_before_allow() {
    const ALL: &[&str] = &["*", "leave"];
    let cases: [Case; 8] = [
        (ALL, &[], &[], ["..xxxxx", ".......", ".......", ".......", "......."]),
        (&["*"], &[], &[], ["..xxxxx", "......?", "......?", "......?", "......."]),
        (&["leave"], &[], &[], ["..xxxxx", ".?????.", ".?.???.", ".......", "......."]),
        (&[], &["*"], &[], ["??xxxxx", "???????", "???????", "???????", "???????"]),
        (ALL, &["shell"], &[], [".?xxxxx", ".?.??.?", ".?.??.?", ".?.??.?", ".?.??.?"]),
        (ALL, &["*"], &["*"], ["xxxxxxx", "xxxxxxx", "xxxxxxx", "xxxxxxx", "xxxxxxx"]),
        (ALL, &[], &["leave"], ["..xxxxx", "......x", "......x", "......x", "......x"]),
        (&["shell(cargo fmt)"], &[], &["web_fetch"], ["..xxxxx", ".???.x?", ".?.?.x?", ".....x?", ".....x."]),
    ];
    for (allow, ask, deny, want) in &cases {
        let rules = Rules::parse(&texts(allow), &texts(ask), &texts(deny)).unwrap();
        let rows = APPROVALS.map(|approval| row(approval, &rules));
        assert_eq!(&rows, want, "allow {allow:?}, ask {ask:?}, deny {deny:?}");
    }
}

/// What other programs act on by themselves asks in every mode but full, whatever was allowed, unless it was named word
/// for word.
#[test]
fn what_is_obeyed_asks_in_every_mode_but_full() {
    let wish = Wish { tool: "edit_file", what: ".vscode/tasks.json", act: Act::Obeyed("VS Code") };
    let cases: [(&[&str], &[&str], &str); 8] = [
        (&[], &[], "x???."),
        (&["*"], &[], "x???."),
        (&["edit_file", "write_file(.vscode/*)"], &[], "x???."),
        (&["edit_file(.vscode/tasks.json)"], &[], "x???."),
        (&["obeyed", "obeyed(*)", "obeyed(.vscode/*)"], &[], "x???."),
        (&["obeyed(.vscode/tasks.json)"], &[], "x...."),
        (&["obeyed(.vscode/tasks.json)"], &["edit_file(.vscode/*)"], "xxxxx"),
        (&["*"], &["obeyed"], "xxxxx"),
    ];
    for (allow, deny, want) in cases {
        let rules = Rules::parse(&texts(allow), &[], &texts(deny)).unwrap();
        let row: String = APPROVALS.map(|approval| letter(&judge(approval, &rules, &wish))).iter().collect();
        assert_eq!(row, want, "allow {allow:?}, deny {deny:?}");
    }
    assert_eq!(cases.len(), 8);
    assert_eq!(pattern_for(&wish), "obeyed(.vscode/tasks.json)");
    assert_eq!(session_pattern(&wish), "obeyed(.vscode/tasks.json)");
    let Decision::Ask(why) = judge(Approval::Auto, &Rules::default(), &wish) else { panic!("asks") };
    assert_eq!(why, "VS Code acts on this by itself, so writing it asks in every mode but full");
}

#[test]
fn an_answer_spares_the_question_and_nothing_else() {
    let judged = |approval, ask: &[&str], deny: &[&str]| {
        let mut rules = Rules::parse(&[], &texts(ask), &texts(deny)).unwrap();
        rules.add_allow("edit_file(src/*)").unwrap();
        let wish = Wish { tool: "edit_file", what: "src/a.rs", act: Act::Edit };
        letter(&judge(approval, &rules, &wish))
    };
    let cases = [
        (judged(Approval::Ask, &[], &[]), '.'),
        (judged(Approval::Full, &["edit_file"], &[]), '.'),
        (judged(Approval::Full, &["edit_file"], &["edit_file(*.rs)"]), 'x'),
        (judged(Approval::Plan, &[], &[]), 'x'),
    ];
    assert_eq!(cases.map(|(got, _)| got), cases.map(|(_, want)| want));
}

#[test]
fn decisions_say_why() {
    let rules = Rules::parse(&[], &texts(&["web_fetch"]), &texts(&["shell(rm *)"])).unwrap();
    let cases = [
        (Approval::Ask, ACTS[2], "in mode ask, changing a file asks first"),
        (Approval::Edit, ACTS[4], "in mode edit, running a command asks first"),
        (Approval::Auto, ACTS[6], "in mode auto, leaving the sandbox asks first"),
        (Approval::Full, ACTS[5], "the rule \"ask web_fetch\" is about it"),
        (
            Approval::Full,
            (ACTS[4].0, "shell", "cd x && rm -rf y"),
            "the rule \"deny shell(rm *)\" forbids this",
        ),
        (Approval::Plan, ACTS[2], "plan mode: nothing is written"),
    ];
    for (approval, (act, tool, what), part) in cases {
        match judge(approval, &rules, &Wish { tool, what, act }) {
            Decision::Ask(why) | Decision::Deny(why) => assert!(why.starts_with(part), "{why}"),
            Decision::Allow => panic!("{what} is allowed"),
        }
    }
}

#[test]
fn a_pattern_is_offered_for_each_kind_of_call() {
    let cases = [
        ("edit_file", "src/a.rs", Act::Edit, "edit_file(src/*)", "edit_file"),
        ("write_file", "a/b/c.rs", Act::Edit, "write_file(a/b/*)", "write_file"),
        ("edit_file", "a.rs", Act::Edit, "edit_file(a.rs)", "edit_file"),
        ("edit_file", "./src/../a.rs", Act::Edit, "edit_file(./src/../a.rs)", "edit_file"),
        ("edit_file", "../a.rs", Act::Edit, "edit_file(../a.rs)", "edit_file"),
        ("edit_file", "*/x", Act::Edit, "edit_file(\\*/x)", "edit_file"),
        ("shell", "cargo test", Act::Command(Shell::Full), "shell(cargo test)", "shell"),
        ("shell", "ls *.rs", Act::Command(Shell::Full), "shell(ls *.rs)", "shell"),
        ("shell", "*", Act::Command(Shell::Full), "shell(\\*)", "shell"),
        ("shell", "make install", Act::Leave, "leave(make install)", "leave"),
        ("web_fetch", "https://Docs.rs/a?b", Act::Network, "web_fetch(docs.rs)", "web_fetch"),
        ("web_fetch", "https://a@b.c/", Act::Network, "web_fetch(https://a@b.c/)", "web_fetch"),
        ("mcp__db__query", "drop *", Act::Leave, "mcp__db__query(drop \\*)", "mcp__db__query"),
        ("mcp__db__list", "", Act::Leave, "mcp__db__list", "mcp__db__list"),
        ("remember", "rm x", Act::Leave, "leave:remember(rm x)", "leave:remember(rm x)"),
        ("skill_save", "a/b.md", Act::Leave, "skill_save(a/b.md)", "skill_save"),
    ];
    assert_eq!(cases.len(), 16);
    for (tool, what, act, pattern, session) in cases {
        let wish = Wish { tool, what, act };
        assert_eq!((pattern_for(&wish).as_str(), session_pattern(&wish).as_str()), (pattern, session));
    }
}

/// A yes to a note or a skill lets out no command, whatever the note says, and one to a note no other note.
#[test]
fn an_answer_about_another_tool_lets_no_command_out() {
    let whats = ["rm -rf x", "*", "shell", ".posse/skills/a/SKILL.md", "a) (b"];
    let mut seen = 0;
    for tool in ["remember", "skill_save"] {
        for what in whats {
            let wish = Wish { tool, what, act: Act::Leave };
            for pattern in [pattern_for(&wish), session_pattern(&wish)] {
                let mut rules = Rules::default();
                rules.add_allow(&pattern).unwrap();
                let allowed = |wish: Wish<'_>| judge(Approval::Auto, &rules, &wish) == Decision::Allow;
                // A note that is a lone `*` is asked about each time.
                assert_eq!(allowed(wish), what != "*" || tool == "skill_save", "{pattern}");
                for other in ["rm -rf x", "ls", what, &pattern] {
                    assert!(
                        !allowed(Wish { tool: "shell", what: other, act: Act::Leave }),
                        "{pattern}: {other}"
                    );
                }
                let another = if tool == "remember" { "skill_save" } else { "remember" };
                assert!(!allowed(Wish { tool: another, what, act: Act::Leave }), "{pattern}: {another}");
                let another = Wish { tool, what: "something else", act: Act::Leave };
                assert_eq!(allowed(another), pattern == "skill_save", "{pattern}");
                rules.end_leaving();
                assert_ne!(judge(Approval::Auto, &rules, &wish), Decision::Allow, "{pattern} stays");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 20);
    // Rules that a person writes forbid by the same names.
    let note = Wish { tool: "remember", what: "x", act: Act::Leave };
    for (deny, denied) in [("leave", true), ("leave:remember", true), ("leave:remember(y)", false)] {
        let rules = Rules::parse(&[], &[], &[deny.to_string()]).unwrap();
        let judged = judge(Approval::Full, &rules, &note);
        assert_eq!(matches!(judged, Decision::Deny(_)), denied, "{deny}");
    }
}

/// What a person says yes to is not asked again, and for a command nothing else is allowed by it.
#[test]
fn an_answer_allows_what_was_asked_and_no_other_command() {
    let tools = [
        ("edit_file", Act::Edit),
        ("shell", Act::Command(Shell::Full)),
        ("shell", Act::Leave),
        ("mcp__x__y", Act::Leave),
    ];
    let pieces = ["a", "b/", "*", "(", ")", "\\", " ", "rm", "../", ";", "\n", "."];
    for_each_seed(50_000, |rng| {
        let mut text = || (0..rng.u8(1..6)).map(|_| pieces[rng.usize(0..pieces.len())]).collect::<String>();
        let (what, other) = (text(), text());
        let (tool, act) = tools[rng.usize(0..tools.len())];
        let wish = Wish { tool, what: &what, act };
        let mut rules = Rules::default();
        rules.add_allow(&pattern_for(&wish)).unwrap();
        let allowed = |what| judge(Approval::Ask, &rules, &Wish { what, ..wish }) == Decision::Allow;
        // A lone star would be every command, so it is not kept.
        assert_eq!(allowed(&what), what != "*" || act == Act::Edit || tool.starts_with("mcp"), "{rules:?}");
        if tool == "shell" {
            assert!(what == other || !allowed(&other), "{rules:?} allows {other:?}");
            let side = if act == Act::Leave { Act::Command(Shell::Full) } else { Act::Leave };
            let elsewhere = Wish { act: side, ..wish };
            assert!(
                judge(Approval::Ask, &rules, &elsewhere) != Decision::Allow,
                "the other side of the sandbox"
            );
        }
        let copy: Rules = serde_json::from_str(&serde_json::to_string(&rules).unwrap()).unwrap();
        assert_eq!(copy, rules);
    });
}
