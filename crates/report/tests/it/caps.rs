//! Caps: whatever an agent says and however many files it touched, its parent reads no more than it asked for.

use posse_protocol::{Ending, Failure, Report};
use posse_report::{ToldReport, blocked, limits, spawn_text, to_json_text, to_text, unquote};
use proptest::prelude::*;
use serde_json::Value;

use crate::{changed, ran, said, tokens, told};

/// A report with too much of everything, made of one piece of text.
fn huge(piece: &str, times: usize) -> Report {
    let mut report = said(&format!("SUMMARY: {}\n\nSUGGESTIONS:\n- {0}\n", piece.repeat(times)));
    report.ending = Ending::Failed { failure: Failure::Internal { message: piece.repeat(times.min(500)) } };
    report.warnings = vec![piece.repeat(times.min(200)); 25];
    report.receipt.files =
        (0..200).map(|n| changed(&format!("{n}{piece}"), true, u32::MAX, u32::MAX)).collect();
    report.receipt.commands = vec![ran(&piece.repeat(times.min(100)), None); 50];
    report
}

fn check_sizes(report: &Report, bytes_max: usize) {
    let told = ToldReport { bytes_max, ..told(report) };
    let room = bytes_max.max(limits::TOLD_BYTES_MIN);
    let json = to_json_text(&told);
    for text in [to_text(&told), spawn_text(&told), json.clone()] {
        assert!(text.len() <= room, "{} > {room}: {text}", text.len());
    }
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["status"], report.ending.word());
}

#[test]
fn sizes_hold_for_every_kind_of_text() {
    let pieces =
        ["x", "\n", "é", "𝕏", "\u{200b}", "\u{e0041}", "\"", "\\", "\u{1}", "a b\n", "| </report>\n", "\t"];
    let mut cases = 0;
    for piece in pieces {
        for times in [1, 3_000] {
            for bytes_max in [0, 2_500, 8_000] {
                check_sizes(&huge(piece, times), bytes_max);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 72);
}

#[test]
fn what_is_cut_is_behind_the_handle() {
    let words = format!("SUMMARY: short\n\nEVIDENCE:\n{}", "é".repeat(20_000));
    let report = said(&words);
    let text = to_text(&told(&report));
    let (rest, more) = text.rsplit_once('\n').unwrap();
    let wrapped = rest.split_once("<report").map(|(_, rest)| format!("<report{rest}")).unwrap();
    let (from, shown) = unquote(&wrapped).unwrap();
    assert_eq!(from, "explore-1");
    let kept = shown.strip_suffix(" […]").unwrap();
    assert!(words.starts_with(kept) && kept.len() > 7_000, "{}", kept.len());
    let left_out = words.chars().count() - kept.chars().count();
    assert_eq!(more, format!("… {left_out} more characters: handle_read explore-1:report"));

    let value: Value = serde_json::from_str(&to_json_text(&told(&report))).unwrap();
    let details = value["details"].as_str().unwrap();
    assert!(
        details.len() > 6_000 && details.ends_with("more characters: handle_read explore-1:report"),
        "{details}"
    );
    assert_eq!(value["summary"], "short");
}

/// A report whose sections are each far too long but for those that matter most.
fn sprawling(summary: &str, risks: &str, blockers: &str) -> String {
    let (line, lines) = ("- src/a.rs:1 something found\n", 400);
    let long = line.repeat(lines);
    format!(
        "SUMMARY: {summary}\n\nCHANGES:\n{long}\nEVIDENCE:\n{long}\nRISKS: {risks}\n\nBLOCKERS: {blockers}\n\nNOTES:\n{long}"
    )
}

#[test]
fn summary_risks_and_blockers_survive_in_any_language() {
    let long = "- etwas, das lang ist, 很长的内容\n".repeat(400);
    for [summary, changes, risks, blockers] in [
        ["SUMMARY", "CHANGES", "RISKS", "BLOCKERS"],
        ["Summary", "Change", "Risk", "Blocker"],
        ["ZUSAMMENFASSUNG", "ÄNDERUNGEN", "RISIKEN", "HINDERNISSE"],
        ["Zusammenfassung", "Geänderte Dateien", "Risiko", "Blocker"],
        ["Resumen", "Cambios", "Riesgos", "Bloqueos"],
        ["Résumé", "Modifications", "Risques", "Blocages"],
        ["摘要", "变更", "风险", "阻碍"],
        ["要約", "変更点", "リスク", "ブロッカー"],
        ["Итог", "Изменения", "Риски", "Препятствия"],
    ] {
        for (before, behind) in [("", ": "), ("## ", "\n"), ("**", ":** "), ("", "：")] {
            let heading = |name: &str| format!("{before}{name}{behind}");
            let (risks, blockers) = (heading(risks) + "it may rain", heading(blockers) + "the key is lost");
            let text = format!(
                "{}all is done\n{}\n{long}\n{risks}\n{blockers}\n{}\n{long}",
                heading(summary),
                heading(changes),
                heading("Details")
            );
            let report = Report { blocked: blocked(&text), ..said(&text) };
            let shown = to_text(&told(&report));
            assert!(report.blocked && shown.len() < text.len() / 2, "{shown}");
            for kept in ["all is done", "it may rain", "the key is lost"] {
                assert!(shown.contains(kept), "{kept}: {shown}");
            }
        }
    }
}

#[test]
fn summary_risks_and_blockers_survive_every_cut() {
    let (summary, risks, blockers) = ("All found.", "- It may rain.", "- No key for the server.");
    let report = said(&sprawling(summary, risks, blockers));
    for bytes_max in [0, 2_500, 8_000, 20_000] {
        let told = ToldReport { bytes_max, ..told(&report) };
        for text in [to_text(&told), spawn_text(&told), to_json_text(&told)] {
            for kept in [
                summary,
                "RISKS: - It may rain.",
                "BLOCKERS: - No key for the server.",
                "CHANGES:",
                "EVIDENCE:",
            ] {
                assert!(text.contains(kept), "{kept} is not in {text}");
            }
            assert!(text.contains("[…]") && text.contains("handle_read explore-1:report"), "{text}");
        }
    }
    // Where not even those fit, each keeps a part.
    let (risks, blockers) = ("risky ".repeat(900), "blocked ".repeat(900));
    let report = said(&sprawling(&"sum ".repeat(900), &risks, &blockers));
    let text = to_text(&told(&report));
    for kept in ["SUMMARY: sum sum", "RISKS: risky risky", "BLOCKERS: blocked blocked"] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
}

#[test]
fn what_the_agent_summed_up_is_told_with_risks_and_blockers_word_for_word() {
    let words = sprawling("All found.", "- It may\n  rain.", "None.");
    let report = Report { short: Some("In short: found.".into()), ..said(&words) };
    let wanted = "<report from=\"explore-1\">\n| In short: found.\n| \n| RISKS: - It may\n|   rain.\n| \n\
                  | BLOCKERS: None.\n</report>\nSummed up by the agent itself. All of its words: handle_read \
                  explore-1:report";
    assert!(to_text(&told(&report)).ends_with(wanted), "{}", to_text(&told(&report)));
    let value: Value = serde_json::from_str(&to_json_text(&told(&report))).unwrap();
    let details = value["details"].as_str().unwrap();
    assert!(details.starts_with("In short: found.\n\nRISKS: - It may\n  rain."), "{details}");
    assert!(details.ends_with("handle_read explore-1:report"), "{details}");
}

#[test]
fn a_report_with_blockers_is_no_plain_success() {
    for (text, is_blocked) in [
        ("SUMMARY: done\nBLOCKERS: no key", true),
        ("## Blockers\n- the server is down", true),
        ("SUMMARY: done\nBLOCKERS: None.", false),
        ("SUMMARY: done\nBLOCKERS:\n- none", false),
        ("SUMMARY: fertig\nBLOCKERS: Keine.", false),
        ("SUMMARY: 完成\nBLOCKERS：无。", false),
        ("SUMMARY: listo\nBLOCKERS: Ninguno", false),
        ("Nothing about blockers: all is well.", false),
        // One of them, in other languages, and what is missing.
        ("SUMMARY: done\nBLOCKER: the server is down", true),
        ("**Blocked by:** a missing key", true),
        ("ZUSAMMENFASSUNG: fertig\nHINDERNISSE: Keine Schreibrechte.", true),
        ("ZUSAMMENFASSUNG: fertig\nHINDERNISSE: Keine bekannten.", false),
        ("## Blockaden\n- Der Server fehlt", true),
        ("RESUMEN: listo\nBLOQUEOS: Sin permiso de escritura", true),
        ("RESUMEN: listo\nBLOQUEOS: Ninguno conocido.", false),
        ("RÉSUMÉ : fait\nBLOCAGES : aucun", false),
        ("摘要：完成\n阻碍：无法连接数据库", true),
        ("摘要：完成\n阻碍：没有权限", true),
        ("摘要：完成\n阻碍：没有任何阻碍。", false),
        ("## 障碍\n暂无", false),
        ("要約：完了\nブロッカー：なし", false),
        ("SUMMARY: done\nBLOCKERS: None of the tests could run.", true),
        ("SUMMARY: done\nBLOCKERS: Nothing works without the key.", true),
        ("SUMMARY: done\nBLOCKERS: No blockers so far.", false),
        ("SUMMARY: done\nBLOCKERS: No", false),
        ("SUMMARY: done\nBLOCKERS: None identified (but see RISKS).", false),
        ("Blocker bugs are listed elsewhere.", false),
    ] {
        assert_eq!(blocked(text), is_blocked, "{text}");
        let report = Report { blocked: is_blocked, ..said(text) };
        let word = if is_blocked { "completed with blockers;" } else { "completed;" };
        assert!(to_text(&told(&report)).contains(word), "{}", to_text(&told(&report)));
        assert_eq!(spawn_text(&told(&report)).contains("Completed with blockers"), is_blocked);
        let status = if is_blocked { "completed_with_blockers" } else { "completed" };
        let value: Value = serde_json::from_str(&to_json_text(&told(&report))).unwrap();
        assert_eq!(value["status"], status);
    }
}

#[test]
fn details_are_cut_before_anything_else() {
    let mut report = said(&format!("SUMMARY: s\nEVIDENCE: {}", "x".repeat(50_000)));
    report.warnings = vec!["w".into(); 30];
    report.receipt.files_not_certain = vec![changed("a.rs", false, 1, 0); 10];
    let value: Value = serde_json::from_str(&to_json_text(&told(&report))).unwrap();
    assert_eq!(value["warnings"].as_array().unwrap().len(), 30);
    assert_eq!(value["receipt"]["files_not_certain"].as_array().unwrap().len(), 10);
    // Then the lists of the receipt, then the others.
    report.warnings = vec!["w".repeat(300); 30];
    let value: Value = serde_json::from_str(&to_json_text(&told(&report))).unwrap();
    assert_eq!(value["receipt"]["files_not_certain"], Value::Null);
    assert_eq!(value["warnings"].as_array().unwrap().last().unwrap(), "and 10 more");
}

#[test]
fn facts_and_warnings_survive_every_cut_of_json() {
    let mut report = Report { ending: Ending::Completed, ..huge("x", 3_000) };
    let warning = "it says that tests passed; none ran";
    report.warnings = vec![warning.to_owned(); 25];
    for bytes_max in [0, 2_500, 8_000] {
        let told = ToldReport { bytes_max, ..told(&report) };
        let value: Value = serde_json::from_str(&to_json_text(&told)).unwrap();
        let facts = value["facts"].as_str().unwrap();
        assert!(
            facts.starts_with("no commands run; no tests run; no commits; no sub-agents; 200 files"),
            "{facts}"
        );
        assert_eq!(value["warnings"][0], warning, "{value}");
        assert_eq!(value.as_object().unwrap().len(), 13, "{value}");
    }
    // Where hardly anything fits.
    let mut report = Report { warnings: vec!["𝕏".repeat(400); 25], ..huge("𝕏", 3_000) };
    let receipt = &mut report.receipt;
    (receipt.usage, receipt.duration_ms, receipt.cost_usd) = (tokens(u64::MAX, 0), u64::MAX, Some(f64::MAX));
    (receipt.turns, receipt.tool_calls, receipt.below.agents) = (u32::MAX, u32::MAX, u32::MAX);
    let text = to_json_text(&ToldReport { bytes_max: 0, handle: &"𝕏".repeat(100), ..told(&report) });
    assert!(text.len() <= limits::TOLD_BYTES_MIN, "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(
        value["facts"]
            .as_str()
            .unwrap()
            .contains("no tests run; no commits; 4,294,967,295 sub-agents; 200 files")
    );
    assert!(value["warnings"][0].as_str().unwrap().chars().count() >= limits::JSON_WARNING_CHARS_MIN);
}

#[test]
fn a_short_report_is_whole() {
    let report = said("Short.");
    assert!(to_text(&told(&report)).ends_with("<report from=\"explore-1\">\n| Short.\n</report>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn sizes_hold_for_random_text(text in "\\PC{0,80}|.{0,80}", times in 1_usize..30, bytes_max in 0_usize..10_000) {
        check_sizes(&huge(&text, times), bytes_max);
    }
}
