//! Text that is meant to hurt: too large, too deep, too many, or no text at all.

use posse_protocol::{Files, NameRules, RoleOrigin, Shell};
use posse_roles::{Parsed, RoleError, parse};
use proptest::prelude::{ProptestConfig, any};

fn read(text: &str) -> Parsed {
    parse(text, "x.md", RoleOrigin::User("x.md".into()))
}

fn with(front: &str) -> Parsed {
    read(&format!("---\nname: x\ndescription: x\n{front}\n---\nGo."))
}

#[test]
fn sizes_have_limits() {
    let large = format!("---\nname: x\n---\n{}", "a".repeat(256 * 1024));
    assert_eq!(read(&large).role, Err(RoleError::TooLarge { bytes: large.len() }));
    let long = read(&format!("---\nname: x\ndescription: {}\n---\nGo.", "ä".repeat(9_000)));
    assert_eq!(long.role.unwrap().description.chars().count(), 8_000);
    assert_eq!(long.warnings.len(), 1);
    assert_eq!(long.warnings[0].line, 3);
    for key in ["tools", "disallowedTools", "delegates_to", "aliases"] {
        let list = (0..201).map(|n| format!("a{n}")).collect::<Vec<_>>().join(", ");
        let error = with(&format!("{key}: {list}")).role.unwrap_err();
        assert_eq!(error, RoleError::TooMany { line: 4, key: key.into() });
    }
    let name = read(&format!("---\nname: {}\n---\nGo.", "n".repeat(101))).role.unwrap_err();
    assert!(matches!(name, RoleError::BadName { line: 2, .. }), "{name:?}");
    assert_eq!(with(&format!("model: {}", "m".repeat(201))).role.unwrap().model, None);
}

#[test]
fn bombs_do_not_go_off() {
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_string();
    for n in 1..30 {
        let inner = format!("*a{}, ", n - 1).repeat(9);
        aliases.push_str(&format!("a{n}: &a{n} [{inner}]\n"));
    }
    let deep = format!("deep: {}{}", "[".repeat(50_000), "]".repeat(50_000));
    let maps = (0..2_000).map(|n| format!("{}k{n}:\n", " ".repeat(n.min(100)))).collect::<String>();
    let keys = (0..20_000).map(|n| format!("k{n}: v\n")).collect::<String>();
    for (what, front) in [("aliases", aliases), ("deep", deep), ("maps", maps), ("keys", keys)] {
        let parsed = with(&front);
        assert!(parsed.role.is_ok(), "{what}: {:?}", parsed.role);
        assert!(parsed.warnings.len() <= 100, "{what}: {} warnings", parsed.warnings.len());
    }
}

#[test]
fn what_is_not_understood_gives_nothing() {
    let cases = [
        "tools: ~",
        "tools: true",
        "tools: {\"*\": false}",
        "tools: {\"*\": false, read: maybe}",
        "tools: [{Write: true}]",
        "tools: !!binary aGk=",
        "tools: Bash(git:*), Write(src/**), WebFetch(domain:x.org)",
        "permission: ask",
        "permission: ~",
        "permission:\n  \"*\": deny",
        "files: [write]\nshell: [full]\nnetwork: {a: b}\ntools: Read(x)",
        "disallowedTools: \"*\"",
    ];
    assert_eq!(cases.len(), 12);
    for case in cases {
        let grant = with(case).role.unwrap().grant;
        assert_eq!((grant.files, grant.shell), (Files::None, Shell::None), "{case}");
        assert_eq!(grant.delegates, NameRules::nothing(), "{case}");
    }
}

#[test]
fn a_key_spelt_by_escapes_is_still_that_key() {
    let grant = with("\"t\\u006fols\": Read").role.unwrap().grant;
    assert_eq!((grant.files, grant.shell), (Files::Read, Shell::None));
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        read(&String::from_utf8_lossy(&bytes)).warnings.len();
    }

    #[test]
    fn random_front_matter_never_panics(front in "([a-z]{0,8}|name|tools|description|model|files|permission|disallowedTools)(:|: |:\t)[ -~\n\té\u{feff}|>*&!\\[\\](){}\"'#-]{0,200}") {
        let parsed = read(&format!("---\n{front}\n---\nGo."));
        // Whatever it says: a right needs a tool that uses it.
        if let Ok(role) = parsed.role {
            let tools = &role.grant.tools;
            assert!(role.grant.shell == Shell::None || posse_policy::passes(tools, "shell"), "{front:?}");
            let writes = posse_policy::passes(tools, "write_file") || posse_policy::passes(tools, "edit_file");
            assert!(role.grant.files < Files::Write || writes, "{front:?}");
        }
    }
}
