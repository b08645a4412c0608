//! Rules that keep a path from being read hide it from everybody.

use posse_policy::{Act, Decision, Rules, Wish, judge};
use posse_protocol::Approval;

#[test]
fn patterns_of_paths() {
    let cases = [
        (".env", ".env", true),
        (".env", "a/b/.env", true),
        (".env", ".ENV", true),
        (".env", ".env/x", true),
        (".env", ".envrc", false),
        (".env", "x.env", false),
        (".env*", "a/.env.local", true),
        ("./.env", "b/.env", true),
        ("**/.env", ".env", true),
        ("**/*.pem", "keys/a.pem", true),
        ("secrets", "secrets/key", true),
        ("secrets/", "a/secrets/key", true),
        ("secrets/**", "secrets/a/b", true),
        ("config/prod.env", "config/prod.env", true),
        ("config/prod.env", "a/config/prod.env", false),
        ("config/*", "config/a/b", true),
        ("config/*", "config", false),
        ("/ws/a.txt", "a.txt", true),
        ("/ws/a.txt", "b/a.txt", true),
        ("/ws/a/b.txt", "a/b.txt", true),
        ("/elsewhere/a.txt", "a.txt", false),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
    ];
    for (pattern, path, want) in cases {
        let rules = Rules::parse(&[], &[], &[format!("read_file({pattern})")]).unwrap();
        assert_eq!(rules.hidden().hides("/ws", path), want, "{pattern} on {path}");
    }
    assert_eq!(cases.len(), 23);
}

#[test]
fn only_rules_that_deny_reading_a_path_hide() {
    let hidden = |allow: &[&str], ask: &[&str], deny: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Rules::parse(&texts(allow), &texts(ask), &texts(deny)).unwrap().hidden()
    };
    assert!(
        hidden(
            &["read_file(.env)"],
            &["read_file(.env)"],
            &["read_file", "edit_file(.env)", "shell(cat .env)"]
        )
        .is_empty()
    );
    for rule in ["read_file(.env)", "Read(.env)", "*(.env)", "*_file(.env)", "view(.env)"] {
        assert!(hidden(&[], &[], &[rule]).hides("/ws", ".env"), "{rule}");
    }
    let rules = Rules::parse(&[], &[], &["read_file(.env)".to_owned()]).unwrap();
    for what in [".env", "a/.env", "./.env", "a/../.env"] {
        let wish = Wish { tool: "read_file", what, act: Act::Read };
        assert!(matches!(judge(Approval::Full, &rules, &wish), Decision::Deny(_)), "{what}");
    }
}
