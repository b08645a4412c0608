//! Rules as people write them, and what they are about.

use posse_policy::{Act, Decision, RuleError, Rules, Wish, judge, limits};
use posse_protocol::{Approval, Shell};

fn one(rule: &str) -> Vec<String> {
    vec![rule.to_owned()]
}

fn act(tool: &str) -> Act {
    match tool {
        "edit_file" | "write_file" => Act::Edit,
        "shell" => Act::Command(Shell::Full),
        "web_fetch" => Act::Network,
        "read_file" => Act::Read,
        _ => Act::Leave,
    }
}

/// Whether a rule allows a call that would be asked about, and whether it denies one that would not.
fn about(rule: &str, tool: &str, what: &str) -> (bool, bool) {
    let wish = Wish { tool, what, act: act(tool) };
    let allow = Rules::parse(&one(rule), &[], &[]).unwrap_or_default();
    let deny = Rules::parse(&[], &[], &one(rule)).unwrap();
    let allowed = judge(Approval::Ask, &allow, &wish) == Decision::Allow;
    (allowed, matches!(judge(Approval::Full, &deny, &wish), Decision::Deny(_)))
}

#[test]
fn allow_is_read_narrowly_and_deny_generously() {
    const YES: (bool, bool) = (true, true);
    const NO: (bool, bool) = (false, false);
    const DENIED: (bool, bool) = (false, true);
    let cases = [
        ("edit_file", "edit_file", "src/a.rs", YES),
        ("Edit", "edit_file", "src/a.rs", YES),
        ("edit_file(*)", "edit_file", "src/a.rs", YES),
        ("edit_file(src/*)", "edit_file", "src/a/b.rs", YES),
        ("edit_file(./src/*)", "edit_file", "src/a.rs", YES),
        ("edit_file(src/*)", "edit_file", "./src/a.rs", YES),
        ("edit_file(src/*)", "edit_file", "docs/a.md", NO),
        ("edit_file(src/*)", "edit_file", "src/../docs/a.md", DENIED),
        ("edit_file(docs/*)", "edit_file", "src/../docs/a.md", YES),
        ("edit_file(src/*)", "edit_file", "src/../../a.md", DENIED),
        ("edit_file(secrets)", "edit_file", "secrets/key", DENIED),
        ("edit_file(secrets/)", "edit_file", "secrets/key", DENIED),
        ("edit_file(secrets/*)", "edit_file", "x/../secrets/a*b", DENIED),
        ("edit_file(src/*)", "write_file", "src/a.rs", DENIED),
        ("Write(src/*)", "edit_file", "src/a.rs", DENIED),
        ("edit_file(a\\*)", "edit_file", "ab", NO),
        ("read_file", "edit_file", "a", NO),
        ("*", "edit_file", "a", YES),
        ("*_file(src/*)", "edit_file", "src/a", YES),
        ("mcp__git__*", "mcp__git__log", "{}", YES),
        ("mcp__git__*", "mcp__github__log", "{}", NO),
        ("mcp__git__log(main*)", "mcp__git__log", "main..x", YES),
        ("web_fetch(docs.rs)", "web_fetch", "https://docs.rs/x", YES),
        ("WebFetch(domain:docs.rs)", "web_fetch", "https://DOCS.rs.:443/x", YES),
        ("web_fetch(docs.rs)", "web_fetch", "https://docs.rs.evil.net/", NO),
        ("web_fetch(docs.rs)", "web_fetch", "https://docs.rs@evil.net/", NO),
        ("web_fetch(docs.rs)", "web_fetch", "https://x@docs.rs/", DENIED),
        ("web_fetch(docs.rs)", "web_fetch", "https://docs.rs\\@evil.net/", DENIED),
        ("web_fetch(docs.rs)", "web_fetch", "docs.rs", DENIED),
        ("web_fetch(*.rs)", "web_fetch", "https://evil.net/a.rs", NO),
        ("web_fetch(*.docs.rs)", "web_fetch", "https://a.docs.rs/", YES),
        ("web_fetch(*.docs.rs)", "web_fetch", "https://docs.rs/", DENIED),
        ("web_fetch(https://docs.rs/std/*)", "web_fetch", "https://docs.rs/std/x", YES),
        ("web_fetch(https://docs.rs/std/*)", "web_fetch", "https://docs.rs/other", NO),
        ("web_fetch(https://docs.rs/*)", "web_fetch", "http://docs.rs/", NO),
        ("web_fetch(https://docs.rs)", "web_fetch", "https://docs.rs/", YES),
        ("web_fetch(https://*/ok)", "web_fetch", "https://evil.net/x/ok", DENIED),
        ("web_fetch(::1)", "web_fetch", "http://[::1]:80/", YES),
    ];
    assert_eq!(cases.len(), 38);
    for (rule, tool, what, want) in cases {
        assert_eq!(about(rule, tool, what), want, "{rule} on {tool} {what}");
    }
}

#[test]
fn commands_are_allowed_word_for_word() {
    let rules = Rules::parse(&one("bash(cargo test)"), &[], &[]).unwrap();
    let others = [
        "cargo test ",
        " cargo test",
        "cargo  test",
        "cargo test; rm x",
        "cargo test\n",
        "Cargo test",
        "cargo",
        "",
        "cargo test -- x",
    ];
    let allowed = |what| {
        let wish = Wish { tool: "shell", what, act: Act::Command(Shell::Full) };
        judge(Approval::Ask, &rules, &wish) == Decision::Allow
    };
    assert!(allowed("cargo test"));
    assert_eq!(others.len(), 9);
    for other in others {
        assert!(!allowed(other), "{other:?}");
    }
}

#[test]
fn no_pattern_allows_commands() {
    for rule in ["shell(cargo *)", "Bash(*test*)", "*(cargo *)", "sh*(a*)", "bash(git:*)", "leave(make *)"] {
        let error = Rules::parse(&one(rule), &[], &[]).unwrap_err();
        assert!(matches!(error, RuleError::CommandPattern { .. }), "{rule}: {error}");
        let said = error.to_string();
        assert!(said.contains("exact command") && said.contains("shell alone"), "{said}");
        assert!(Rules::parse(&[], &one(rule), &one(rule)).is_ok(), "asking and denying is fine");
        // Brought in another way it allows no more than the very words.
        let mut rules = Rules::default();
        rules.add_allow(rule).unwrap();
        let wish = Wish { tool: "shell", what: "cargo test", act: Act::Command(Shell::Full) };
        assert!(matches!(judge(Approval::Ask, &rules, &wish), Decision::Ask(_)), "{rule}");
    }
    for rule in ["shell", "shell(*)", "Bash", "bash(ls -la)", "*"] {
        assert!(Rules::parse(&one(rule), &[], &[]).is_ok(), "{rule}");
    }
}

#[test]
fn what_is_no_rule_is_refused() {
    let long = format!("shell({})", "x".repeat(limits::RULE_BYTES_MAX));
    let cases =
        ["", "  ", "(x)", "shell(", "shell(x", "shell(x)y", "shell()", "two words", "a)b", "é\u{7}", &long];
    assert_eq!(cases.len(), 11);
    for rule in cases {
        let said = Rules::parse(&[], &[], &one(rule)).unwrap_err().to_string();
        assert!(said.len() < 400 && said.contains("rule"), "{said}");
        assert!(Rules::default().add_allow(rule).is_err());
    }
    let many = vec!["edit_file".to_owned(); limits::RULES_MAX + 1];
    assert_eq!(Rules::parse(&many, &[], &[]), Err(RuleError::TooMany));
}

#[test]
fn rules_are_kept_as_they_are_written() {
    let text = r#"{"allow":["edit_file(src/*)"],"ask":["leave"],"deny":["shell(rm *)"],"answered":["shell(ls *.rs)"]}"#;
    let rules: Rules = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&rules).unwrap(), text);
    assert_eq!(serde_json::from_str::<Rules>("{}").unwrap(), Rules::default());
    assert!(serde_json::from_str::<Rules>(r#"{"alow":[]}"#).is_err());
    assert!(serde_json::from_str::<Rules>(r#"{"deny":["("]}"#).is_err());
    assert!(serde_json::from_str::<Rules>(r#"{"allow":["shell(ls *)"]}"#).is_err());
}
