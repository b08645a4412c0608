//! Lies are warned about or contradicted by a fact beside them; true reports are left alone. The cases are in
//! `tests/claims`, and how many there are of each is counted.

use std::collections::BTreeMap;

use posse_protocol::{
    ChildEnded, CommandRun, CommandWork, CommitMade, Ending, Failure, RanTests, Receipt, Report, TestRun,
    TestsSeen,
};
use posse_report::{Facts, FileFacts, check, facts_line};

use crate::{changed, said};

/// False alarms that are allowed in a hundred true reports: two in sixty.
const FALSE_ALARMS_PERCENT_MAX: usize = 3;

/// The workspace that the reports speak of.
struct Project(BTreeMap<&'static str, String>);

impl Facts for Project {
    fn file(&self, path: &str) -> Option<FileFacts> {
        let text = self.0.get(path.trim_start_matches("./"))?;
        Some(FileFacts { bytes: text.len() as u64, lines: Some(text.lines().count() as u64) })
    }

    fn text(&self, path: &str) -> Option<String> {
        self.0.get(path.trim_start_matches("./")).cloned()
    }

    fn watched(&self, path: &str) -> bool {
        !path.starts_with("dist/")
    }

    fn any_ends_with(&self, end: &str) -> bool {
        self.0.keys().any(|path| path.ends_with(end))
    }
}

fn project() -> Project {
    let lines = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
    let a = format!(
        "//! Reads things.\n// keeps what the user wrote\nlet limit = 10;\n\nfn main() {{\n    run(limit);\n    close();\n}}\n{}",
        lines(12)
    );
    Project(BTreeMap::from([
        ("src/a.rs", a),
        ("src/parser.rs", lines(40)),
        ("src/main.py", lines(30)),
        ("src/deep/nested_only.rs", lines(9)),
        ("config.ini", lines(5)),
        ("README.md", lines(50)),
        ("docs/guide.md", lines(20)),
        ("tests/a_test.py", lines(10)),
        ("dist/app.js", lines(2)),
        ("文档/说明.md", lines(3)),
    ]))
}

struct Case {
    head: String,
    receipt: Receipt,
    warned: Option<String>,
    beside: Option<String>,
    text: String,
}

fn cases(file: &str) -> Vec<Case> {
    let blocks = file.split("\n=== ").skip(1);
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let head = lines.next().unwrap().to_owned();
            let mut case =
                Case { head, receipt: Receipt::default(), warned: None, beside: None, text: String::new() };
            for line in lines {
                match line.split_once(": ").filter(|_| case.text.is_empty()) {
                    Some(("facts", facts)) => case.receipt = receipt(facts),
                    Some(("warned", text)) => case.warned = Some(text.to_owned()),
                    Some(("beside", text)) => case.beside = Some(text.to_owned()),
                    _ => case.text += &format!("{line}\n"),
                }
            }
            case
        })
        .collect()
}

fn receipt(facts: &str) -> Receipt {
    let mut receipt = Receipt { tool_calls: 1, ..Receipt::default() };
    for fact in facts.split("; ") {
        let (kind, rest) = fact.split_once(' ').unwrap();
        match kind {
            "tools" => receipt.tool_calls = rest.parse().unwrap(),
            "changed" | "created" => receipt.files.push(changed(rest, kind == "created", 3, 0)),
            "deleted" => receipt.files.push(changed(rest, false, 0, 9)),
            "cut" => {
                let (path, lines) = rest.split_once(' ').unwrap();
                receipt.files.retain(|file| file.path != path);
                receipt.files.push(changed(path, false, 1, lines.parse().unwrap()));
            }
            "unsure" => receipt.files_not_certain.push(changed(rest, false, 1, 0)),
            "ran" | "tests" | "looked" | "built" | "linted" | "committed" => ran(&mut receipt, rest, kind),
            "edited" => receipt.tests.as_mut().unwrap().edited_after = true,
            "commit" => {
                receipt.commits.push(CommitMade { id: rest.into(), subject: "x".into() });
                receipt.commits_total += 1;
            }
            "child" => {
                let [name, role, ending] = rest.split(' ').collect::<Vec<_>>()[..] else { panic!("{rest}") };
                let failed = Ending::Failed { failure: Failure::Internal { message: "x".into() } };
                let ending = if ending == "failed" { failed } else { Ending::Completed };
                receipt.children.push(ChildEnded { name: name.into(), role: role.into(), ending });
                receipt.children_total += 1;
                receipt.below.agents += 1;
            }
            "below" => below(&mut receipt, rest),
            other => panic!("{other}"),
        }
    }
    receipt
}

/// `tests cargo test = 101 3/5`, `built make = 2`.
fn run(text: &str, kind: &str) -> CommandRun {
    let (command, end) = text.rsplit_once(" = ").unwrap();
    let (code, counts) = end.split_once(' ').unwrap_or((end, ""));
    let counts = counts
        .split_once('/')
        .map(|(passed, run)| TestRun { run: run.parse().unwrap(), passed: passed.parse().unwrap() });
    let tests = (kind == "tests").then_some(RanTests { counts, ..RanTests::default() });
    let work = match kind {
        "tests" => Vec::new(),
        "looked" => vec![CommandWork::Look],
        "built" => vec![CommandWork::Build],
        "linted" => vec![CommandWork::Lint],
        "committed" => vec![CommandWork::Commit],
        _ => vec![CommandWork::Other],
    };
    CommandRun { command: command.into(), exit_code: Some(code.parse().unwrap()), tests, work }
}

fn ran(receipt: &mut Receipt, text: &str, kind: &str) {
    let run = run(text, kind);
    receipt.commands_total += 1;
    receipt.commands_failed += u32::from(run.failed());
    receipt.tests = TestsSeen::of(&run).or(receipt.tests.take());
    receipt.last_command = Some(run.clone());
    receipt.commands.push(run);
}

fn below(receipt: &mut Receipt, text: &str) {
    let (kind, rest) = text.split_once(' ').unwrap();
    match kind {
        "changed" => receipt.files_below.push(changed(rest, false, 1, 0)),
        "ran" | "tests" => {
            receipt.below.commands += 1;
            receipt.tests_below = TestsSeen::of(&run(rest, kind));
        }
        other => panic!("{other}"),
    }
}

/// What is told beside the words, whatever they are: by the line that every output has.
fn facts_of(receipt: &Receipt) -> Vec<&'static str> {
    let line = facts_line(receipt);
    let says = |words: &str| line.contains(words);
    let failed = receipt.last_command.as_ref().filter(|run| run.failed());
    let code = failed.and_then(|run| run.exit_code).map(|code| format!("(exit code {code})"));
    let child = receipt.children.iter().find(|child| child.ending != Ending::Completed);
    let child = child.map(|child| format!("{} {}", child.name, child.ending.word()));
    let facts = [
        ("no files changed", says("no files changed")),
        ("no commands ran", says("no commands run")),
        ("last command failed", code.is_some_and(|code| says(&code))),
        ("no tests seen", says("no tests run")),
        ("tests failed", says("tests failed") || says("tests by") && says(" failed:")),
        ("edited after tests", says("before the last edit")),
        ("no commits", says("no commits")),
        ("no sub-agents", says("no sub-agents")),
        ("child failed", child.is_some_and(|child| says(&child))),
    ];
    facts.into_iter().filter(|(_, holds)| *holds).map(|(fact, _)| fact).collect()
}

fn warnings(case: &Case) -> Vec<String> {
    let report = Report { receipt: case.receipt.clone(), ..said(case.text.trim_end()) };
    check(&report, &[], &project())
}

fn enough(cases: &[Case]) {
    assert!(cases.len() >= 120, "{}", cases.len());
    for (language, wanted) in [("en", 60), ("de", 20), ("zh", 20)] {
        let count = cases.iter().filter(|case| case.head.starts_with(language)).count();
        assert!(count >= wanted, "{language}: {count}");
    }
    for subject in ["files", "lines", "tests", "commands", "commits", "agents"] {
        let count = cases.iter().filter(|case| case.head.ends_with(subject)).count();
        assert!(count >= 8, "{subject}: {count}");
    }
}

/// Read when the test runs, so that a new case needs no build.
fn table(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/claims/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_lie_is_warned_about_or_contradicted() {
    let (mut warned, mut contradicted, mut missed) = (0, 0, Vec::new());
    let cases = cases(&table("lies"));
    enough(&cases);
    for case in &cases {
        let found = warnings(case);
        let beside = case.beside.as_deref().filter(|fact| facts_of(&case.receipt).contains(fact));
        match &case.warned {
            Some(wanted) if found.iter().any(|warning| warning.contains(wanted)) => warned += 1,
            None if !found.is_empty() => warned += 1,
            None if beside.is_some() => contradicted += 1,
            _ => missed.push(format!("{}: {}wanted {:?}, got {found:?}", case.head, case.text, case.warned)),
        }
    }
    println!(
        "{} lies: {warned} warned about, {contradicted} contradicted, {} missed",
        cases.len(),
        missed.len()
    );
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn true_reports_are_left_alone() {
    let cases = cases(&table("truths"));
    enough(&cases);
    let alarm = |case: &Case| {
        let found = warnings(case);
        (!found.is_empty()).then(|| format!("{}: {}{found:?}", case.head, case.text))
    };
    let alarms: Vec<String> = cases.iter().filter_map(alarm).collect();
    println!("{} true reports: {} false alarms\n{}", cases.len(), alarms.len(), alarms.join("\n"));
    let allowed = cases.len() * FALSE_ALARMS_PERCENT_MAX / 100;
    assert!(alarms.len() <= allowed, "{} of {}:\n{}", alarms.len(), cases.len(), alarms.join("\n\n"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// Words of claims in any order, with anything between them.
    #[test]
    fn any_text_is_checked(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60),
        other in ".{0,80}",
    ) {
        let text = format!("{}{other}{}", words.concat(), words.join(" "));
        let report = Report { receipt: receipt("changed src/a.rs; tests cargo test = 101 1/3"), ..said(&text) };
        proptest::prop_assert!(check(&report, &[], &project()).len() <= posse_report::limits::WARNINGS_MAX + 1);
    }
}

const WORDS: &[&str] = &[
    "I",
    "created",
    "hello.py",
    "`src/a.rs:3`",
    ": ",
    "says",
    "“",
    "”",
    "\"let x = 1;\"",
    "`let y = 2;`",
    "`",
    "``",
    "```",
    "\n",
    "\n\n- ",
    "tests",
    "pass",
    "12/12",
    "3 of 4",
    "ich habe",
    "geändert",
    "wurde",
    "我",
    "已",
    "修改",
    "了",
    "在src/a.rs:9中",
    "第",
    "12",
    "行",
    "line 99 of src/a.rs",
    "测试",
    "通过",
    "，",
    "。",
    "?",
    "？",
    "not",
    "if",
    "committed as abc1234",
    "pushed",
    "sub-agent confirmed",
    "子代理已",
    "CHANGES:",
    "## Next",
    "ran",
    "`cargo test`",
    "build succeeds",
    "\u{301}",
    "é",
    "«",
    "（",
    "）",
    "|",
    ">",
    "~",
    "**",
    "…",
    "...",
    "…",
    "\u{2028}",
];
