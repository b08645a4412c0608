//! Questions on the screens of terminals of many sizes.

use posse_protocol::CallId;

use super::*;

fn command(what: &str, leaves: bool) -> Question {
    Question {
        call: CallId("c".to_string()),
        tool: "shell".to_string(),
        what: what.to_string(),
        asks: None,
        real_path: None,
        preview: None,
        leaves,
        written: Vec::new(),
        written_more: 0,
        writing: Vec::new(),
        why: "in mode ask, running a command asks first".to_string(),
        pattern: format!("{}({what})", if leaves { "leave" } else { "shell" }),
    }
}

fn edit(preview: &str) -> Question {
    let path = "src/a\nPosse: allowed.txt".to_string();
    Question {
        tool: "edit_file".to_string(),
        what: path.clone(),
        asks: None,
        real_path: Some(format!("/project/{path}")),
        preview: Some(preview.to_string()),
        pattern: "edit_file(src/*)".to_string(),
        ..command("", false)
    }
}

/// What stands on a screen of this size below much other text, with the mark for the answer.
fn screen(text: &str, (columns, rows): (usize, usize)) -> String {
    let size = |n: usize| u16::try_from(n).unwrap().try_into().unwrap();
    let mut parser = vt100::Parser::new(size(rows), size(columns), 0);
    let text = format!("{}{text}> ", "other text\n".repeat(rows * 2));
    parser.process(text.replace('\n', "\r\n").as_bytes());
    parser.screen().contents()
}

fn shown(question: &Question, size: (usize, usize), view: View) -> (String, Option<View>) {
    let (name, title) = ("a-very-long-name-of-an-agent-that-does-not-end", "mend ".repeat(30));
    let drawn =
        drawn(Style::plain(), Asked { name, title: &title, question }, size, view, "type y, s, p or n");
    assert!(drawn.text.lines().count() < size.1 || size.1 < 12, "{size:?}: {}", drawn.text);
    (screen(&drawn.text, size), drawn.next)
}

fn questions() -> Vec<Question> {
    let many = (1..=5_000).map(|n| format!("echo line {n}\n")).collect::<String>();
    let diff = (1..=5_000).map(|n| format!("+line {n}\n")).collect::<String>();
    let commands = [
        "make".to_string(),
        format!("begin\n{many}rm -rf the-end"),
        format!("begin {} rm -rf the-end", "x".repeat(1024 * 1024)),
        format!("begin {} the-end", "日本語 😀 ⌚ ☎\u{fe0f} e\u{301}".repeat(500)),
        format!("begin\n{}the-end", "\tif true; then\t:; fi\t\t\n".repeat(100)),
        format!("begin\n{}the-end", "\n".repeat(200)),
        format!("begin {}\u{202e} the-end", "\u{200b}\u{e0041}".repeat(2_000)),
    ];
    let mut questions = Vec::new();
    for what in &commands {
        questions.extend([command(what, false), command(what, true)]);
    }
    let mut told = command(&commands[1], true);
    told.written = (0..5).map(|n| format!("folder/{}{n}\nx", "name".repeat(10))).collect();
    told.written_more = 1_000;
    questions.extend([told, edit("@@ -1,1 +1,1 @@\n-old\n+new\n"), edit(&format!("begin\n{diff}the-end\n"))]);
    questions
}

#[test]
fn who_wants_what_and_the_choices_are_always_in_sight() {
    let sizes = [(80, 24), (80, 25), (100, 40), (60, 24), (132, 16), (200, 60), (64, 14)];
    let mut cases = 0;
    for question in questions() {
        for size in sizes {
            let (screen, next) = shown(&question, size, View::Ends);
            let rows = screen.lines().collect::<Vec<_>>();
            let at = |part: &str| rows.iter().position(|row| row.contains(part));
            let flat = rows.iter().map(|row| row.trim()).collect::<Vec<_>>().join(" ");
            let what = format!("{size:?} {}:\n{screen}", &question.what[..question.what.len().min(20)]);
            assert_eq!(rows.last().map(|row| row.trim_end()), Some(">"), "{what}");
            if question.leaves && size.0 >= 80 {
                let heading = at("wants to run this outside the sandbox, with all your rights").expect(&what);
                assert!(at("outside").is_some_and(|at| at <= heading), "{what}");
                assert!(rows[heading + 1].trim_start().starts_with("outside"), "beside the choices: {what}");
            }
            assert!(
                flat.contains(if question.leaves { "all your rights" } else { "wants to use" }),
                "{what}"
            );
            assert!(flat.contains("n") && (flat.contains("once") || flat.contains("outside |")), "{what}");
            let beginning = question.what.lines().next().unwrap_or_default();
            let beginning = &beginning[..beginning.floor_char_boundary(8)];
            assert!(flat.contains(beginning), "{what}");
            if next.is_some() {
                assert!(flat.contains("Enter shows them"), "{what}");
                assert!(flat.replace([' ', '↳'], "").contains("the-end") || size.1 < 20, "{what}");
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 17 * 7);
}

#[test]
fn tiny_terminals_show_the_choices_too() {
    let mut cases = 0;
    for question in questions() {
        for size in [(20, 10), (40, 8), (80, 6), (30, 12), (1, 24), (0, 0)] {
            let drawn = {
                let asked = Asked { name: "main", title: "", question: &question };
                drawn(Style::plain(), asked, size, View::Ends, "")
            };
            let real = if size == (0, 0) { (80, 24) } else { (size.0.max(20), size.1) };
            let screen = screen(&drawn.text, real);
            let flat = screen.lines().map(|row| row.trim()).collect::<Vec<_>>().join(" ");
            assert!(screen.trim_end().ends_with('>'), "{size:?}: {screen}");
            assert!(flat.contains(if question.leaves { "outside" } else { " y " }), "{size:?}: {screen}");
            cases += 1;
        }
    }
    assert_eq!(cases, 17 * 6);
}

#[test]
fn every_row_can_be_seen_page_by_page() {
    let short = |question: &&Question| {
        question.what.len() + question.preview.as_ref().map_or(0, String::len) < 30_000
    };
    for question in questions().iter().filter(short) {
        let wanted = body(question, 79);
        let (_, mut next) = shown(question, (80, 24), View::Ends);
        let (mut seen, mut pages) = (Vec::new(), 0);
        while let Some(view @ View::Page(number)) = next {
            let (screen, then) = shown(question, (80, 24), view);
            let page = screen.lines().take_while(|row| !row.starts_with("  … page")).map(str::trim_end);
            seen.extend(page.filter(|row| *row != "other text").map(str::to_string));
            assert!(then != next && number == pages);
            (next, pages) = (then, pages + 1);
        }
        if pages == 0 {
            continue;
        }
        assert_eq!(next, Some(View::Ends));
        let wanted = wanted.iter().map(|row| row.trim_end().to_string()).collect::<Vec<_>>();
        assert_eq!(seen.len(), wanted.len());
        assert!(seen == wanted || question.what.contains('日'), "rows differ");
    }
}

#[test]
fn a_question_reads_from_top_to_bottom() {
    let asked = |question: &Question, title: &str| {
        let asked = Asked { name: "coder-1", title, question };
        drawn(Style::plain(), asked, (80, 24), View::Ends, "").text
    };
    let mut leaves = command("cargo fetch\x1b[2J && rm\u{a0}-rf x\n\u{202e}", true);
    leaves.written = vec!["src/main.rs".to_string(), "a\nb".to_string()];
    leaves.written_more = 3;
    let expected = [
        "    cargo fetch\\u{1b}[2J && rm\\u{a0}-rf x",
        "    \\u{202e}",
        "  written in this session: src/main.rs, a\\nb and 3 more",
        "  deletes: rm",
        "  task of coder-1: mend it",
        "? coder-1 wants to run this outside the sandbox, with all your rights:",
        "  outside           yes, once",
        "  outside session   yes, and every command outside until a file is written",
        "  outside pattern   yes, and this very command until a file is written",
        "  n                 no; you may say why after it",
    ];
    let text = asked(&leaves, "mend it");
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let mut free = Question::new(CallId("c".to_string()), "ask_person", "Which\x1b[2J one?\nSay so.");
    free.asks =
        Some(posse_protocol::FreeQuestion { choices: vec!["this\nor so".to_string(), "that".to_string()] });
    let expected = [
        "    Which\\u{1b}[2J one?",
        "    Say so.",
        "    1  this\\nor so",
        "    2  that",
        "  task of coder-1: mend it",
        "? coder-1 asks you:",
        "  type the number of a choice, or your own answer",
        "  /decline  no answer; you may say why after it",
    ];
    assert_eq!(asked(&free, "mend it").lines().collect::<Vec<_>>(), expected);
    // A yes to anything but a command lets no command out, and is not offered as one.
    leaves = Question { tool: "remember".to_string(), pattern: "leave:remember(x)".to_string(), ..leaves };
    let text = asked(&leaves, "");
    assert!(
        !text.contains("session ") && text.contains("  outside pattern   yes, and the same again"),
        "{text}"
    );
    let mut obeyed = edit("@@ -1,1 +1,1 @@\n-old\n+new\n");
    obeyed.pattern = "obeyed(src/a)".to_string();
    let text = asked(&obeyed, "");
    assert!(text.contains("  s  yes, and this very file until") && !text.contains("every"), "{text}");
    let expected = "    src/a\\nPosse: allowed.txt
    @@ -1,1 +1,1 @@
    -old
    +new
  that is /project/src/a\\nPosse: allowed.txt
? coder-1 wants to use edit_file (in mode ask, running a command asks first):
  y  yes, once
  s  yes, and every edit_file until the session ends
  p  yes, and edit_file(src/*) until the session ends
  n  no; you may say why after it
";
    assert_eq!(asked(&edit("@@ -1,1 +1,1 @@\n-old\n+new\n"), ""), expected);
}
