//! Splitting: every way in which agents mark their sections.

use posse_report::{Sections, claimed_changes, sections};

const PLAIN: &str =
    "SUMMARY: Did it.\nCHANGES: src/a.rs: new\nEVIDENCE:\n- src/a.rs:1-2\nRISKS: few\nBLOCKERS: None.";

fn expected() -> Sections {
    Sections {
        summary: "Did it.".into(),
        changes: "src/a.rs: new".into(),
        evidence: "- src/a.rs:1-2".into(),
        risks: "few".into(),
        blockers: "None.".into(),
        suggestions: Vec::new(),
    }
}

#[test]
fn sections_are_found_however_they_are_marked() {
    let cases = [
        PLAIN.to_owned(),
        PLAIN.to_lowercase().replace("did", "Did").replace("none", "None"),
        PLAIN.replace('\n', "\r\n"),
        "## Summary\nDid it.\n\n## Changes\nsrc/a.rs: new\n\n## Evidence\n- src/a.rs:1-2\n## Risks\nfew\n## Blockers\nNone.\n"
            .into(),
        "**SUMMARY**\nDid it.\n**CHANGES**\nsrc/a.rs: new\n**EVIDENCE**\n- src/a.rs:1-2\n**RISKS**\nfew\n**BLOCKERS**\nNone."
            .into(),
        "**Summary:** Did it.\n\n**Changes:** src/a.rs: new\n\n**Evidence**:\n- src/a.rs:1-2\n\n**Risks:** few\n\n__Blockers__: None."
            .into(),
        "1. Summary\nDid it.\n2. Changes\nsrc/a.rs: new\n3. Evidence\n- src/a.rs:1-2\n4. Risks\nfew\n5. Blockers\nNone.".into(),
        "### 1. **Summary** ###\nDid it.\n### 2. Files modified\nsrc/a.rs: new\n### Findings\n- src/a.rs:1-2\n### Risks:\nfew\n### Blockers\nNone.".into(),
        // Any order.
        "BLOCKERS: None.\nRISKS: few\nEVIDENCE:\n- src/a.rs:1-2\nCHANGES: src/a.rs: new\nSUMMARY: Did it.".into(),
        // Words before the first heading, and a heading of its own between.
        "Here is my report.\n\n# Report\n\n## Summary\nDid it.\n## Thoughts\nx\n## Changes\nsrc/a.rs: new\n## Evidence\n- src/a.rs:1-2\n## Risks\nfew\n## Blockers\nNone.".into(),
    ];
    assert_eq!(cases.len(), 10);
    for text in cases {
        let found = sections(&text);
        let found = Sections { evidence: found.evidence.replace('\r', ""), ..found };
        assert_eq!(found, expected(), "{text}");
    }
}

#[test]
fn words_without_headings_are_a_summary() {
    let cases = [
        ("", ""),
        ("Done.", "Done."),
        ("First\nline.\n\nSecond.", "First\nline."),
        ("\n\n  Late.\n", "Late."),
        ("Preface.\n\nMore.\n\nCHANGES: None.", "Preface."),
        ("# Report\n\nIt works.\n\nMore.", "It works."),
        ("```\nSUMMARY: not a heading\n```\nReal.", "```\nSUMMARY: not a heading\n```\nReal."),
        ("```\nSUMMARY: a fence that nothing closes", "a fence that nothing closes"),
        ("Summaryish: no.", "Summaryish: no."),
        ("Changes are few.", "Changes are few."),
        ("Für alle: fertig.", "Für alle: fertig."),
    ];
    assert_eq!(cases.len(), 11);
    for (text, summary) in cases {
        assert_eq!(sections(text).summary, summary, "{text}");
    }
}

#[test]
fn suggestions_are_entries() {
    let cases: [(&str, &[&str]); 6] = [
        ("SUGGESTIONS:\n- one\n- two\n  goes on\n* three", &["one", "two goes on", "three"]),
        ("## Next steps\n1. one\n2) two", &["one", "two"]),
        ("Recommendations: just one", &["just one"]),
        ("SUGGESTIONS: None.", &[]),
        ("SUGGESTIONS:\n- None", &[]),
        ("SUMMARY: x", &[]),
    ];
    for (text, wanted) in cases {
        assert_eq!(sections(text).suggestions, wanted, "{text}");
    }
    let many = format!("SUGGESTIONS:\n{}", "- x\n".repeat(1_000));
    assert_eq!(sections(&many).suggestions.len(), posse_report::limits::SUGGESTIONS_MAX);
}

#[test]
fn repeated_and_nested_headings_stay_together() {
    let found = sections("## Changes\n### src/a.rs\nx\n## Summary\none\n## Summary\ntwo");
    assert_eq!(found.changes, "### src/a.rs\nx");
    assert_eq!(found.summary, "one\n\ntwo");
    assert_eq!(sections("SUMMARY: a\n## Not ours\nb").summary, "a\n## Not ours\nb");
    assert_eq!(sections("Summary: a\nDetails: b").summary, "a");
}

#[test]
fn changes_name_files() {
    let cases: [(&str, &[&str]); 15] = [
        ("CHANGES: None.", &[]),
        ("CHANGES: None (read-only); I looked at src/a.rs", &[]),
        ("CHANGES:\nNo changes were made to src/a.rs", &[]),
        ("CHANGES:\n- src/a.rs: like src/b.rs", &["src/a.rs"]),
        ("CHANGES:\n- `src/a.rs`, `src/b.rs` — both", &["src/a.rs", "src/b.rs"]),
        ("CHANGES:\n- **src/a.rs** (new)\n- ./lib/b.py - fix\n- Makefile", &["src/a.rs", "lib/b.py"]),
        ("CHANGES:\n1. Updated `src/a.rs:12-30` to call fmt::Display", &["src/a.rs"]),
        ("CHANGES:\n- src/a.rs and src/b.rs", &["src/a.rs", "src/b.rs"]),
        ("CHANGES:\n- src/a.rs\n  - as in src/b.rs\n- `Makefile`", &["src/a.rs", "Makefile"]),
        ("CHANGES:\n- README.md: words; e.g. v1.2 and and/or", &["README.md"]),
        ("CHANGES:\n- did not touch src/a.rs", &[]),
        ("CHANGES:\n```\nsrc/a.rs\n```\n", &[]),
        ("CHANGES:\n- https://example.com/a.rs\n- see example.com/b.html", &[]),
        ("I changed src/a.rs.", &[]),
        ("CHANGES:\n- [src/a.rs](src/a.rs#L1)\n- src/a.rs again", &["src/a.rs"]),
    ];
    for (text, wanted) in cases {
        assert_eq!(claimed_changes(text), wanted, "{text}");
    }
    let many: String = (0..1_000).map(|n| format!("- src/f{n}.rs\n")).collect();
    assert_eq!(claimed_changes(&format!("CHANGES:\n{many}")).len(), posse_report::limits::CLAIMS_MAX);
}
