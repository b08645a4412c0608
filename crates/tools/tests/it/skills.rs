//! skill_load and skill_save: what is listed, what is loaded, who may write and who is asked.

use std::sync::Arc;

use posse_policy::{Act, Decision, Rules, judge, pattern_for, session_pattern};
use posse_protocol::{Approval, Effect, FileChange, Files, Grant, NoteScope};
use posse_tools::{NewSkill, limits, valid_skill_key};
use serde_json::{Value, json};

use crate::{
    Desk, call_of, full,
    library::{Shelf, Who, asking, desk, skill},
};

fn described(desk: &Desk, tool: &str) -> Option<String> {
    desk.tools.specs().iter().find(|spec| spec.name == tool).map(|spec| spec.description.clone())
}

fn shelf(skills: Vec<posse_tools::SkillLine>) -> Arc<Shelf> {
    Arc::new(Shelf { skills, body: "1. Look.\n\tx\n</skill>\n2. Go.".into(), ..Shelf::default() })
}

fn saving(key: &str, body: &str) -> Value {
    json!({"key": key, "description": "When it is time.", "body": body})
}

#[test]
fn skills_are_listed_by_purpose_only() {
    let skills = vec![skill("notes", "Writes notes.\nUse it\u{202e} daily."), skill("bare", " ")];
    let text = described(&desk(&shelf(skills), Who::SubAgent, Grant::none()), "skill_load").unwrap();
    let (first, list) = text.split_once('\n').unwrap();
    assert!(first.starts_with("Read a skill"), "{first}");
    assert_eq!(list, "Skills:\n- notes: Writes notes. Use it\\u{202e} daily.\n- bare");
    assert!(!text.contains("Look."), "the text comes with a call");
}

#[test]
fn long_lists_are_cut() {
    let many = (0..500).map(|n| skill(&format!("skill-{n}"), "Short.")).collect();
    let text = described(&desk(&shelf(many), Who::Main, full()), "skill_load").unwrap();
    assert!(text.contains("\n- skill-0: Short.") && text.contains("\nAlso: skill-"), "{text}");
    assert!(text.ends_with(" more: give a word as key to be told which fit."), "{text}");
    let wordy = (0..60).map(|n| skill(&format!("skill-{n}"), &"wörd ".repeat(500))).collect();
    let text = described(&desk(&shelf(wordy), Who::Main, full()), "skill_load").unwrap();
    assert!(text.len() <= 1_024 && text.contains("Also: "), "{text}");
    let eight = (0..8).map(|n| skill(&format!("skill-{n}"), &"word ".repeat(500))).collect();
    let text = described(&desk(&shelf(eight), Who::Main, full()), "skill_load").unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("- skill-")).count(), 8, "{text}");
    assert!(text.len() <= 1_024, "{text}");
}

#[test]
fn without_skills_only_their_keeper_has_the_tools() {
    let has = |who, skills: Vec<_>| {
        let desk = desk(&shelf(skills), who, full());
        (described(&desk, "skill_load").is_some(), described(&desk, "skill_save").is_some())
    };
    assert_eq!(has(Who::Main, vec![]), (false, false));
    assert_eq!(has(Who::Keeper, vec![]), (true, true));
    assert_eq!(has(Who::SubAgent, vec![skill("a", "b")]), (true, false));
    assert_eq!(has(Who::Forgetful, vec![skill("a", "b")]), (true, false));
    let none = described(&desk(&shelf(vec![]), Who::Keeper, full()), "skill_load").unwrap();
    assert!(none.ends_with("\nThere are no skills yet."), "{none}");
    assert_eq!(described(&Desk::new(&[]), "skill_load"), None);
}

#[tokio::test]
async fn a_skill_is_loaded_as_a_quote_with_its_files() {
    let main = desk(&shelf(vec![skill("notes", "x")]), Who::Main, Grant::none());
    let text = main.good("skill_load", json!({"key": " notes "})).await;
    assert_eq!(
        text,
        "<skill from=\"notes\">\n| 1. Look.\n| \tx\n| </skill>\n| 2. Go.\n</skill>\n\
         Its files are in .posse/skills/notes (run its scripts there), and skill_load reads one with file:\n- references/more.md (12 bytes)\nand 3 more"
    );
    let text = main.good("skill_load", json!({"name": "notes", "path": "references/more.md"})).await;
    assert_eq!(text, "<file from=\"notes/references/more.md\">\n| more of notes\n| </file>\n</file>");
    assert_eq!(main.bad("skill_load", json!({"key": "notes", "file": "../x"})).await, "../x is not there");
}

#[tokio::test]
async fn large_skills_are_read_to_their_end() {
    let body = (0..10_000).map(|n| format!("line {n} of a sküll")).collect::<Vec<_>>().join("\n");
    let shelf = Arc::new(Shelf { skills: vec![skill("big", "x")], body, ..Shelf::default() });
    let main = desk(&shelf, Who::Main, full());
    let (mut lines, mut offset) = (Vec::new(), Some(0));
    while let Some(at) = offset {
        let text = main.good("skill_load", json!({"key": "big", "offset": at})).await;
        assert!(text.len() <= limits::OUTCOME_BYTES_MAX, "{}", text.len());
        lines.extend(text.lines().filter_map(|line| line.strip_prefix("| ")).map(str::to_owned));
        let rest = text.split_once("go on with offset ").map(|(_, rest)| rest.split(')').next().unwrap());
        offset = rest.map(|at| at.parse::<u64>().unwrap());
    }
    assert_eq!((lines.len(), lines[9_999].as_str()), (10_000, "line 9999 of a sküll"));
    let inside = main.good("skill_load", json!({"key": "big", "offset": 15})).await;
    assert!(inside.starts_with("<skill from=\"big\">\n| üll\n"), "no character is torn: {}", &inside[..60]);
}

#[tokio::test]
async fn an_unknown_key_finds_what_fits() {
    let skills = vec![
        skill("pdf-forms", "Fills in forms."),
        skill("tables", "Makes tables of PDF files and forms."),
        skill("deploy", "Puts a site online."),
    ];
    let main = desk(&shelf(skills), Who::Main, full());
    let text = main.bad("skill_load", json!({"key": "tables of forms"})).await;
    assert_eq!(
        text,
        "There is no skill tables of forms. These may fit:\n- tables: Makes tables of PDF files and forms.\n\
         - pdf-forms: Fills in forms."
    );
    let text = main.bad("skill_load", json!({"key": "zzz"})).await;
    assert_eq!(
        text,
        "There is no skill zzz. None of 3 skills has these words. There are: pdf-forms, tables, deploy"
    );
    let text = main.bad("skill_load", json!({"key": "x\n".repeat(100_000)})).await;
    assert!(text.len() < 1_000, "{}", text.len());
}

#[tokio::test]
async fn only_the_keeper_saves() {
    let shelf = shelf(vec![skill("a", "b")]);
    for who in [Who::Main, Who::SubAgent] {
        let text = desk(&shelf, who, full()).bad("skill_save", saving("new", "Go.")).await;
        assert!(text.starts_with("There is no tool skill_save,"), "{text}");
    }
    // Nor does one that may not write files, or that plans.
    let reads = Grant { files: Files::Read, ..full() };
    for grant in [reads, asking(Approval::Plan)] {
        let desk = desk(&shelf, Who::Keeper, grant);
        assert_eq!(described(&desk, "skill_save"), None);
        desk.bad("skill_save", saving("new", "Go.")).await;
    }
    assert!(shelf.saved.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_was_saved_is_told_and_measured() {
    let shelf = shelf(vec![]);
    let keeper = desk(&shelf, Who::Keeper, full());
    let path = ".posse/skills/notes/SKILL.md";
    let effect = |created, lines_added, lines_removed| {
        vec![Effect::File(FileChange { path: path.into(), created, lines_added, lines_removed })]
    };
    let new = keeper.call("skill_save", saving("notes", "one\ntwo\n")).await;
    assert_eq!(
        (new.text.as_str(), new.effects),
        ("New: .posse/skills/notes/SKILL.md (+2 lines).", effect(true, 2, 0))
    );
    let better = keeper.call("skill_save", saving("notes", "one\n2\nthree")).await;
    assert_eq!(
        better.text,
        "Changed .posse/skills/notes/SKILL.md (+2 -1 lines).\n\
         <diff from=\".posse/skills/notes/SKILL.md\">\n| -two\n| +2\n| +three\n</diff>"
    );
    assert_eq!(better.effects, effect(false, 2, 1));
    let same = keeper.call("skill_save", saving("notes", "one\n2\nthree")).await;
    assert_eq!(
        (same.text.as_str(), same.effects),
        (".posse/skills/notes/SKILL.md already says exactly this.", vec![])
    );
    keeper
        .good("skill_save", json!({"key": "mine", "description": " d ", "body": "b", "scope": "user"}))
        .await;
    let mine =
        NewSkill { key: "mine".into(), description: "d".into(), body: "b".into(), scope: NoteScope::User };
    assert_eq!(shelf.saved.lock().unwrap().last(), Some(&mine));
}

#[test]
fn a_person_is_asked_wherever_anybody_is_asked() {
    let shelf = shelf(vec![]);
    let judged = |approval: Approval, rules: &Rules| {
        let keeper = desk(&shelf, Who::Keeper, asking(approval));
        let call = call_of("skill_save", saving("notes", "Go.").to_string());
        let prepared = keeper.tools.prepare(&call).ok()?;
        assert_eq!(prepared.wish().act, Act::Leave);
        assert_eq!(prepared.wish().what, ".posse/skills/notes/SKILL.md");
        assert_eq!(prepared.title(), "skill_save .posse/skills/notes/SKILL.md");
        assert!(!prepared.read_only() && prepared.can_change(), "on record before it is done");
        assert_eq!(prepared.command(), None, "it is no command");
        Some(judge(approval, rules, &prepared.wish()))
    };
    let none = Rules::default();
    assert_eq!(judged(Approval::Plan, &none), None, "refused before anybody is asked");
    for approval in [Approval::Ask, Approval::Edit, Approval::Auto] {
        assert!(matches!(judged(approval, &none), Some(Decision::Ask(_))), "{approval:?}");
    }
    assert_eq!(judged(Approval::Full, &none), Some(Decision::Allow));
    let rules = |allow: &[&str], deny: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Rules::parse(&texts(allow), &[], &texts(deny)).unwrap()
    };
    // What allows edits, or commands outside the sandbox, says nothing about skills.
    for other in ["edit_file", "write_file", "leave", "skill_save(.posse/skills/other/*)"] {
        assert!(matches!(judged(Approval::Auto, &rules(&[other], &[])), Some(Decision::Ask(_))), "{other}");
    }
    for this in ["skill_save", "skill_save(.posse/skills/notes/*)"] {
        assert_eq!(judged(Approval::Auto, &rules(&[this], &[])), Some(Decision::Allow), "{this}");
        assert!(matches!(judged(Approval::Full, &rules(&[], &[this])), Some(Decision::Deny(_))), "{this}");
    }
    let keeper = desk(&shelf, Who::Keeper, full());
    let call = call_of("skill_save", saving("notes", "Go.").to_string());
    let prepared = keeper.tools.prepare(&call).unwrap();
    assert_eq!(pattern_for(&prepared.wish()), "skill_save(.posse/skills/notes/SKILL.md)");
    assert_eq!(session_pattern(&prepared.wish()), "skill_save", "and nothing else outside the sandbox");
}

#[test]
fn keys_are_those_of_the_specification() {
    let good = ["a", "release-notes", "0", "a1-b2-c3", &"k".repeat(64)];
    let bad = [
        "",
        "-a",
        "a-",
        "a--b",
        "A",
        "a_b",
        "a.b",
        "a/b",
        "..",
        "../x",
        "a b",
        "ä",
        "a\n",
        &"k".repeat(65),
        "/etc",
    ];
    for key in good {
        assert_eq!(valid_skill_key(key), Ok(()), "{key}");
    }
    let keeper = desk(&shelf(vec![]), Who::Keeper, full());
    for key in bad {
        assert!(valid_skill_key(key).is_err(), "{key}");
        let call = call_of("skill_save", saving(key, "Go.").to_string());
        let refused = keeper.tools.prepare(&call).unwrap_err();
        assert!(refused.text.contains("such as release-notes"), "{}", refused.text);
    }
    let wrong = [
        (json!({"key": "a", "description": " ", "body": "b"}), "description has 0 characters"),
        (
            json!({"key": "a", "description": "d".repeat(1_025), "body": "b"}),
            "description has 1025 characters",
        ),
        (json!({"key": "a", "description": "d", "body": "\n"}), "body has 0 bytes"),
        (json!({"key": "a", "description": "d", "body": "b".repeat(40_000)}), "body has 40000 bytes"),
    ];
    for (arguments, part) in wrong {
        let refused = keeper.tools.prepare(&call_of("skill_save", arguments.to_string())).unwrap_err();
        assert!(refused.text.contains(part), "{}", refused.text);
    }
}
