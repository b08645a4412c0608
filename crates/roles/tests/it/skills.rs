//! Skill files in the shapes of public collections, odd ones and hostile ones; and writing one.
//!
//! The files are in `corpus/skills.txt`: `@@ folder flags`, the text, then `@> ` and the outcome in one line.

use posse_roles::{Skill, limits, parse_skill, skill_text};
use proptest::prelude::{ProptestConfig, any};

/// A skill in one line; of its warnings a part each.
fn show(skill: &Skill) -> String {
    let line = |text: &str| text.replace('\n', "⏎");
    let tools = format!("tools {}", skill.allowed_tools.join(","));
    [
        skill.key.clone(),
        skill.name.clone(),
        if skill.listed { "listed" } else { "hidden" }.to_string(),
        tools.trim().to_string(),
        format!("d {}", line(&skill.description)),
        format!("b {}", line(&skill.body)),
    ]
    .join(" | ")
}

#[test]
fn public_shapes_load_as_they_are() {
    let mut count = 0;
    for chunk in include_str!("corpus/skills.txt").split("@@ ").skip(1) {
        let (head, rest) = chunk.split_once('\n').unwrap();
        let (text, want) = rest.split_once("@> ").unwrap();
        let mut words = head.split_whitespace();
        let key = words.next().unwrap();
        let mut text = text.to_string();
        for flag in words {
            text = match flag {
                "bom" => format!("\u{feff}{text}"),
                "crlf" => text.replace('\n', "\r\n"),
                other => panic!("{key}: {other} is no flag"),
            };
        }
        let skill = parse_skill(&text, key);
        let mut parts = want.trim_end_matches('\n').split(" | !");
        assert_eq!(show(&skill), parts.next().unwrap(), "{key}");
        let wanted = parts.collect::<Vec<_>>();
        assert_eq!(skill.warnings.len(), wanted.len(), "{key}: {:?}", skill.warnings);
        for (warning, wanted) in skill.warnings.iter().zip(wanted) {
            let (line, part) = wanted.split_once(' ').unwrap();
            assert_eq!(warning.line.to_string(), line, "{key}");
            assert!(warning.text.contains(part), "{key}: {} lacks {part:?}", warning.text);
        }
        count += 1;
    }
    assert_eq!(count, 20);
}

#[test]
fn sizes_have_limits() {
    let long = parse_skill(&format!("---\nname: x\ndescription: {}\n---\nGo.", "ä".repeat(9_000)), "x");
    assert_eq!(long.description.chars().count(), limits::DESCRIPTION_CHARS_MAX);
    assert_eq!(long.warnings.len(), 1, "{:?}", long.warnings);
    let tools = (0..5_000).map(|n| format!("t{n}")).collect::<Vec<_>>().join(" ");
    let many = parse_skill(&format!("---\nname: x\ndescription: x\nallowed-tools: {tools}\n---\n"), "x");
    assert_eq!(many.allowed_tools.len(), limits::LIST_ITEMS_MAX);
    let named = parse_skill(&format!("---\nname: {}\ndescription: x\n---\n", "n".repeat(5_000)), "x");
    assert_eq!(named.name, "x");
    assert!(named.warnings.iter().all(|warning| warning.text.len() < 300), "{:?}", named.warnings);
}

#[test]
fn what_is_written_reads_the_same() {
    let texts = ["Plain.", "With: colons # and \"quotes\"", "--- dashes: 'x' \\n", "📚 ä", "- a list", "yes"];
    for description in texts {
        for body in ["# Do\n\n1. it", "---\nnot front\n---\nafter", "One line."] {
            let skill = parse_skill(&skill_text("my-skill", description, body, None), "my-skill");
            assert_eq!((skill.description.as_str(), skill.body.as_str()), (description, body));
            assert_eq!((skill.name.as_str(), skill.listed), ("my-skill", true));
            assert_eq!(skill.warnings, [], "{description} {body}");
        }
    }
    let lines = parse_skill(&skill_text("x", "one\ntwo\u{7}", "Go.", None), "x");
    assert_eq!(lines.description, "one two\u{7}");
}

#[test]
fn what_else_a_file_said_stays() {
    let before = "\u{feff}---\r\nname: old\r\ndescription: >-\r\n  Old words:\r\n  in two lines.\r\nlicense: MIT\r\n\
                  when-to-use: Long ago.\r\nmetadata:\r\n  author: somebody\r\ndisable-model-invocation: true\r\n---\r\nOld text.\r\n";
    let text = skill_text("new", "New words.", "New text.", Some(before));
    let wanted = "---\nname: new\ndescription: \"New words.\"\nlicense: MIT\nmetadata:\n  author: somebody\n\
                  disable-model-invocation: true\n---\n\nNew text.\n";
    assert_eq!(text, wanted);
    assert_eq!(skill_text("new", "New words.", "New text.", Some(&text)), text, "again is the same");
    let lenient =
        "---\nname: old\ndescription: Not strict: at all\nuser: \"hm\"\nMore: of it\nlicense: MIT\n---\nOld.";
    let text = skill_text("new", "N.", "T.", Some(lenient));
    assert_eq!(text, "---\nname: new\ndescription: \"N.\"\nlicense: MIT\n---\n\nT.\n");
    for odd in ["", "no front matter", "---\nname: x\nnever closed"] {
        let text = skill_text("new", "N.", "T.", Some(odd));
        assert_eq!(text, "---\nname: new\ndescription: \"N.\"\n---\n\nT.\n", "{odd}");
    }
}

#[test]
fn a_whole_file_as_text_has_one_front_matter() {
    let body = "---\nname: other\ndescription: other\n---\n\n# Do it";
    let text = skill_text("mine", "Mine.", body, None);
    assert_eq!(text, "---\nname: mine\ndescription: \"Mine.\"\n---\n\n# Do it\n");
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), front in any::<bool>()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = if front { format!("---\n{text}\n---\n{text}") } else { text };
        let skill = parse_skill(&text, "key");
        assert_eq!(skill.key, "key");
        // Whatever was there, what is written can be read again.
        let written = parse_skill(&skill_text("key", "Words.", "Text.", Some(&text)), "key");
        assert_eq!((written.description.as_str(), written.body.as_str()), ("Words.", "Text."), "{text:?}");
    }
}
