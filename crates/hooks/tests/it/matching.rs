//! Which hooks a moment concerns.

use posse_hooks::{
    HookMatcher, HookMoment, HookOrigin, HookOwner, HookScope, HookSet, HookToolCall, limits, read_settings,
};
use serde_json::{Value, json};

#[test]
fn matchers_fit_as_the_contract_says() {
    let cases: [(&str, &[&str], &[&str]); 9] = [
        ("", &["Bash", "x"], &[]),
        ("*", &["Bash"], &[]),
        ("Bash", &["Bash"], &["BashOutput", "bash", "XBash"]),
        ("Edit|Write", &["Edit", "Write"], &["MultiEdit"]),
        ("Edit, Write", &["Edit", "Write"], &["Read"]),
        ("my-agent", &["my-agent"], &["my"]),
        ("mcp__.*", &["mcp__github__issue", "x mcp__y"], &["Bash"]),
        ("^Bash$", &["Bash"], &["BashOutput"]),
        ("Notebook.*|Edit", &["NotebookEdit", "MultiEdit"], &["Read"]),
    ];
    for (matcher, yes, no) in cases {
        let read = HookMatcher::read(matcher).unwrap();
        assert!(yes.iter().all(|name| read.fits(&[name])), "{matcher}");
        assert!(!no.iter().any(|name| read.fits(&[name])), "{matcher}");
    }
}

#[test]
fn a_matcher_that_is_too_large_is_none() {
    for matcher in ["(".to_owned(), "a.".repeat(limits::MATCHER_CHARS_MAX), "(a{1000}){1000}".to_owned()] {
        assert!(HookMatcher::read(&matcher).is_err());
    }
}

fn set(settings: &Value, owner: HookOwner, scope: HookScope) -> HookSet {
    let origin = HookOrigin { file: "settings.json".to_owned(), owner, scope };
    let (hooks, warnings, _) = read_settings(&settings.to_string(), &origin, &|_| None);
    assert_eq!(warnings, []);
    HookSet { hooks }
}

fn one(event: &str, matcher: &str, more: &Value) -> Value {
    let mut hook = json!({"type": "command", "command": "true"});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})
}

fn runs(set: &HookSet, tool: &str, arguments: &Value) -> usize {
    let call =
        HookToolCall { own_name: tool, starts_agent: tool == "agent", arguments, id: "c", folder: "/w" };
    set.matching(&HookMoment::PreToolUse { call }, "main", &[]).len()
}

#[test]
fn a_tool_is_matched_by_the_names_of_others_and_by_ours() {
    let none = json!({});
    let cases = [
        ("Bash", "shell", true),
        ("shell", "shell", true),
        ("Write|Edit", "write_file", true),
        ("write_file", "write_file", true),
        ("Write|Edit", "read_file", false),
        ("Task", "agent", true),
        ("Agent", "agent", true),
        ("agent", "agent", true),
        ("mcp__memory__.*", "mcp__memory__add", true),
        ("mcp__memory", "mcp__memory__add", false),
    ];
    for (matcher, tool, fits) in cases {
        let set = set(&one("PreToolUse", matcher, &none), HookOwner::Person, HookScope::Session);
        assert_eq!(runs(&set, tool, &none) == 1, fits, "{matcher} {tool}");
    }
}

#[test]
fn a_condition_narrows_it_down() {
    let set = |rule: &str| {
        set(&one("PreToolUse", "*", &json!({"if": rule})), HookOwner::Person, HookScope::Session)
    };
    let cases = [
        ("Bash(git *)", "shell", json!({"command": "git push"}), 1),
        ("Bash(git *)", "shell", json!({"command": "ls"}), 0),
        ("Edit(src/*)", "edit_file", json!({"path": "src/a.rs"}), 1),
        ("Edit(src/*)", "edit_file", json!({"path": "docs/a.md"}), 0),
        ("Edit(src/*)", "shell", json!({"command": "ls"}), 0),
    ];
    for (rule, tool, arguments, count) in cases {
        assert_eq!(runs(&set(rule), tool, &arguments), count, "{rule} {arguments}");
    }
}

#[test]
fn what_has_nothing_to_match_ignores_matchers() {
    let set = set(&one("Stop", "Bash", &json!({})), HookOwner::Person, HookScope::Session);
    let moment = HookMoment::Stop { is_kept: false, last_words: "", in_background: &[] };
    assert_eq!(set.matching(&moment, "main", &[]).len(), 1);
}

#[test]
fn a_project_needs_trust_and_front_matter_its_role_or_skill() {
    let settings = one("PreToolUse", "*", &json!({}));
    let trusted = |trusted| HookOwner::Project { trusted };
    assert!(set(&settings, trusted(false), HookScope::Session).is_idle());
    assert_eq!(runs(&set(&settings, trusted(true), HookScope::Session), "shell", &json!({})), 1);
    for scope in [HookScope::Role("explore".to_owned()), HookScope::Skill("pdf".to_owned())] {
        let set = set(&settings, HookOwner::Person, scope);
        let arguments = json!({});
        let call = HookToolCall {
            own_name: "shell",
            starts_agent: false,
            arguments: &arguments,
            id: "c",
            folder: "/w",
        };
        let moment = HookMoment::PreToolUse { call };
        assert_eq!(set.matching(&moment, "main", &[]).len(), 0);
        assert_eq!(set.matching(&moment, "explore", &["pdf".to_owned()]).len(), 1);
    }
}

#[test]
fn equal_hooks_run_once() {
    let mut both = set(&one("PreToolUse", "Bash", &json!({})), HookOwner::Person, HookScope::Session);
    let again =
        set(&one("PreToolUse", "*", &json!({})), HookOwner::Project { trusted: true }, HookScope::Session);
    both.hooks.extend(again.hooks);
    let arguments = json!({});
    let call =
        HookToolCall { own_name: "shell", starts_agent: false, arguments: &arguments, id: "c", folder: "/w" };
    let found = both.matching(&HookMoment::PreToolUse { call }, "main", &[]);
    assert_eq!(found.iter().map(|hook| hook.origin.owner).collect::<Vec<_>>(), [HookOwner::Person]);
}
