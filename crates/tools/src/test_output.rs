//! How many tests a command ran, by the words of the usual test runners. Pure: looks at output that was kept; whether
//! the command runs tests at all is found out elsewhere.

use posse_protocol::TestRun;

use crate::runner_family::RunnerFamily;

/// What one kind of runner says. `whole` is whether nothing of the output was left out.
type Runner = fn(output: &str, whole: bool) -> Option<TestRun>;

/// The first that recognises its words counts: nextest shows single results of the standard runner, and the last ones
/// here would take those of others for their own.
const RUNNERS: &[Runner] = &[
    nextest, cargo, ctest, dotnet, maven, phpunit, unittest, jest, rspec, mocha, node, tap, go, pytest, plain,
];

/// The tests in the output of a runner, if its own words say how many there were.
pub(crate) fn tests_in(family: RunnerFamily, output: &str, whole: bool) -> Option<TestRun> {
    let runners: &[Runner] = match family {
        RunnerFamily::Cargo => &[nextest, cargo],
        RunnerFamily::Pytest => &[pytest],
        RunnerFamily::Unittest => &[unittest, pytest],
        RunnerFamily::Go => &[go],
        RunnerFamily::Ctest => &[ctest],
        RunnerFamily::Dotnet => &[dotnet],
        RunnerFamily::Java => &[maven],
        RunnerFamily::Php => &[phpunit, jest],
        RunnerFamily::Ruby => &[rspec],
        RunnerFamily::Tap => &[tap],
        RunnerFamily::Any => RUNNERS,
    };
    runners.iter().find_map(|runner| runner(output, whole))
}

/// How lines begin by which runners say that there was nothing to run, which for many of them is no failure.
const NONE_RAN: &[&str] = &[
    "no tests ran",
    "no tests to run",
    "no tests found",
    "no tests were found",
    "no test files found",
    "no tests executed",
    "no tests defined",
    "no tests were run",
    "no test is available",
    "no test targets were found",
    "there are no tests to run",
    "all tests have been excluded",
    "tests are skipped",
    "result: notests",
];

/// No tests, where no number is told and the runner says that there were none.
pub(crate) fn none_ran(family: RunnerFamily, output: &str) -> Option<TestRun> {
    let says = |line: &str| {
        let lower = line.to_ascii_lowercase().replace("[info]", "").replace("[warning]", "");
        let bare = lower.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        // A file that is called like the target.
        let make = bare.starts_with("make")
            && (bare.contains("' is up to date.") || bare.contains("nothing to be done for"));
        // Pytest, when it was told elsewhere not to run them.
        let collected = bare.contains(" tests collected in ") || bare.contains(" test collected in ");
        make || collected || NONE_RAN.iter().any(|words| bare.starts_with(words))
    };
    // Of several packages, some have none.
    let none = match family {
        RunnerFamily::Go => go_packages(output) == Some(false),
        _ => output.lines().any(says),
    };
    none.then(TestRun::default)
}

/// Whether the output says, without a number, that there were tests.
pub(crate) fn some_ran(family: RunnerFamily, output: &str) -> bool {
    family == RunnerFamily::Go && go_packages(output) == Some(true)
}

/// Whether tests of any package ran, by `ok  \tpackage\t0.1s`; none if there is no such line.
fn go_packages(output: &str) -> Option<bool> {
    let is_package =
        |line: &&str| line.starts_with("ok  \t") || line.starts_with("?   \t") || line.starts_with("\t");
    let told = output.lines().filter(is_package).filter(|line| line.contains("\t"));
    let mut told = told.map(|line| line.starts_with("ok") && !line.contains("[no tests to run]")).peekable();
    told.peek()?;
    Some(told.any(|ran| ran))
}

/// Adds up what the lines of one runner say.
fn sum(output: &str, of_line: impl Fn(&str) -> Option<(u32, u32)>) -> Option<TestRun> {
    let found = output.lines().filter_map(|line| of_line(line.trim()));
    found.fold(None, |sum: Option<TestRun>, (passed, failed)| {
        let TestRun { run, passed: before } = sum.unwrap_or_default();
        let run = run.saturating_add(passed).saturating_add(failed);
        Some(TestRun { run, passed: before.saturating_add(passed) })
    })
}

/// The number before a word in a list such as `5 passed, 1 failed (2 slow)`; words may be followed by others.
fn before(list: &str, words: &[&str]) -> Option<u32> {
    let entries = list.split([',', ';', '|', '(', ')']);
    let mut found = None;
    for entry in entries {
        let mut parts = entry.split_whitespace();
        if let (Some(number), Some(word)) = (parts.next().and_then(number), parts.next())
            && words.contains(&word.to_ascii_lowercase().as_str())
        {
            found = Some(found.unwrap_or(0_u32).saturating_add(number));
        }
    }
    found
}

/// The number after a label in a list such as `Tests: 5, Failures: 1.`
fn after(list: &str, label: &str) -> Option<u32> {
    list.split([',', '(', ')']).find_map(|entry| {
        let (name, value) = entry.split_once([':', '='])?;
        let name = name.trim();
        let same = name.len() >= label.len() && name.is_char_boundary(name.len() - label.len());
        let same = same && name[name.len() - label.len()..].eq_ignore_ascii_case(label);
        number(value.trim().trim_end_matches('.')).filter(|_| same)
    })
}

fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().unwrap_or(u32::MAX))
}

/// `Summary [ 0.1s] 38 tests run: 33 passed (1 slow), 4 failed, 1 timed out, 0 skipped`.
fn nextest(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let (before_run, list) = line.strip_prefix("Summary [")?.split_once(" run: ")?;
        let run = before_run.rsplit(' ').nth(1)?;
        let run = number(run.split('/').next()?)?;
        let passed = before(list, &["passed"]).unwrap_or(0);
        Some((passed, run.saturating_sub(passed)))
    })
}

/// `test result: ok. 5 passed; 0 failed; …`, once a test binary.
fn cargo(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let (_, list) = line.strip_prefix("test result: ")?.split_once(". ")?;
        Some((before(list, &["passed"])?, before(list, &["failed"])?))
    })
}

/// `80% tests passed, 1 tests failed out of 5`.
fn ctest(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let (_, list) = line.split_once("% tests passed, ")?;
        let (failed, total) = list.split_once(" failed out of ")?;
        let failed = number(failed.split(' ').next()?)?;
        Some((number(total.trim())?.saturating_sub(failed), failed))
    })
}

/// `Passed!  - Failed: 0, Passed: 5, Skipped: 0, Total: 5, Duration: …`.
fn dotnet(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let list = line.strip_prefix("Passed!").or_else(|| line.strip_prefix("Failed!"))?;
        let list = list.trim_start().strip_prefix("- ")?;
        Some((after(list, "Passed")?, after(list, "Failed")?))
    })
}

/// `Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`; the lines of single classes have their time, too.
fn maven(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let at = line.find("Tests run: ").filter(|_| !line.contains("Time elapsed"))?;
        let list = &line[at..];
        let count = |label| after(list, label).unwrap_or(0);
        let failed = count("Failures").saturating_add(count("Errors"));
        let run = after(list, "Tests run")?.saturating_sub(count("Skipped"));
        Some((run.saturating_sub(failed), failed.min(run)))
    })
}

/// `OK (5 tests, 12 assertions)`, or `Tests: 5, Assertions: 12, Failures: 1.`
fn phpunit(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        if let Some(list) = line.strip_prefix("OK (").filter(|list| list.contains(" assertion")) {
            return Some((before(list, &["test", "tests"])?, 0));
        }
        let list = line.strip_prefix("Tests: ").map(|_| line).filter(|line| line.contains("Assertions: "))?;
        let count = |label| after(list, label).unwrap_or(0);
        let failed = count("Failures").saturating_add(count("Errors"));
        let run = after(list, "Tests")?.saturating_sub(count("Skipped")).saturating_sub(count("Incomplete"));
        Some((run.saturating_sub(failed), failed.min(run)))
    })
}

/// `Ran 5 tests in 0.1s`, and later `OK (skipped=1)` or `FAILED (failures=2, errors=1)`.
fn unittest(output: &str, _: bool) -> Option<TestRun> {
    let mut ran = None;
    let mut sum: Option<TestRun> = None;
    for line in output.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Ran ")
            && let Some((count, _)) = rest.split_once(" tests in ").or_else(|| rest.split_once(" test in "))
        {
            ran = number(count);
        } else if let Some(run) = ran
            && (line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED ("))
        {
            let list = line.split_once('(').map_or("", |(_, list)| list);
            let count = |label| after(list, label).unwrap_or(0);
            let bad = ["failures", "errors", "unexpected successes"].map(count);
            let failed = bad.iter().fold(0_u32, |sum, count| sum.saturating_add(*count));
            let run = run.saturating_sub(count("skipped"));
            let TestRun { run: before, passed } = sum.unwrap_or_default();
            let (all, good) = (before.saturating_add(run), passed.saturating_add(run.saturating_sub(failed)));
            sum = Some(TestRun { run: all, passed: good });
            ran = None;
        }
    }
    sum
}

/// Jest's `Tests: 1 failed, 3 passed, 4 total`, Vitest's `Tests  1 failed | 3 passed (4)`.
fn jest(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let list = line.strip_prefix("Tests")?.strip_prefix([':', ' '])?;
        let (passed, failed) = (before(list, &["passed"]), before(list, &["failed"]));
        let skipped = before(list, &["skipped", "todo"]);
        let told = passed.or(failed).or(skipped).is_some();
        told.then(|| (passed.unwrap_or(0), failed.unwrap_or(0)))
    })
}

/// RSpec's `5 examples, 1 failure`, Minitest's `5 runs, 9 assertions, 1 failures, 0 errors, 0 skips`.
fn rspec(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let run = before(line, &["example", "examples", "runs"])?;
        let failed = before(line, &["failure", "failures"])?;
        let failed = failed.saturating_add(before(line, &["errors"]).unwrap_or(0));
        let run = run.saturating_sub(before(line, &["pending", "skips"]).unwrap_or(0));
        Some((run.saturating_sub(failed), failed.min(run)))
    })
}

/// `5 passing (12ms)` and, on a line of its own, `1 failing`.
fn mocha(output: &str, _: bool) -> Option<TestRun> {
    let passing = sum(output, |line| Some((first(line, "passing")?, 0)))?;
    let failing = sum(output, |line| Some((0, first(line, "failing")?))).unwrap_or_default();
    Some(TestRun { run: passing.run.saturating_add(failing.run), passed: passing.passed })
}

/// The number that a line begins with, if this word follows.
fn first(line: &str, word: &str) -> Option<u32> {
    let mut words = line.split_whitespace();
    let count = number(words.next()?)?;
    (words.next() == Some(word)).then_some(count)
}

/// Node's `# pass 5`, `# fail 1`, also with `ℹ`; and `5 pass`, `1 fail` of others.
fn node(output: &str, _: bool) -> Option<TestRun> {
    let count = |word: &str| {
        let marked = |line: &str| {
            let rest = line.strip_prefix(['#', 'ℹ'])?.trim_start().strip_prefix(word)?;
            number(rest.strip_prefix(' ')?.trim())
        };
        let alone = |line: &str| first(line, word).filter(|_| line.split_whitespace().count() == 2);
        sum(output, |line| Some((marked(line).or_else(|| alone(line))?, 0))).map(|sum| sum.run)
    };
    let passed = count("pass")?;
    Some(TestRun { run: passed.saturating_add(count("fail").unwrap_or(0)), passed })
}

/// A plan `1..5`, and `ok 1` or `not ok 2` for each test.
fn tap(output: &str, whole: bool) -> Option<TestRun> {
    let plan = |line: &str| line.strip_prefix("1..").and_then(|n| number(n.split(' ').next()?)).is_some();
    if !whole || !output.lines().any(|line| plan(line.trim())) {
        return None;
    }
    let found = sum(output, |line| {
        let (ok, rest) = match line.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok")?),
        };
        let left_out = ["# skip", "# todo"].iter().any(|mark| rest.to_ascii_lowercase().contains(mark));
        let point = (rest.is_empty() || rest.starts_with(' ')) && !left_out;
        point.then_some((u32::from(ok), u32::from(!ok)))
    });
    found.or_else(|| output.lines().any(|line| line.trim() == "1..0").then(TestRun::default))
}

/// `--- PASS: TestX`, subtests included. Without `-v` only failures are shown, which is no count.
fn go(output: &str, whole: bool) -> Option<TestRun> {
    if !whole || !output.lines().any(|line| line.starts_with("=== RUN ")) {
        return None;
    }
    sum(output, |line| {
        let result = line.strip_prefix("--- ")?;
        let (ok, bad) = (result.starts_with("PASS: "), result.starts_with("FAIL: "));
        let skipped = result.starts_with("SKIP: ");
        (ok || bad || skipped).then_some((u32::from(ok), u32::from(bad)))
    })
}

/// `=== 1 failed, 3 passed, 1 error in 0.1s ===`, or the same without the rule.
fn pytest(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| {
        let (list, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
        let seconds = time.split(' ').next()?.strip_suffix('s')?;
        if seconds.is_empty() || !seconds.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let (passed, failed) = (before(list, &["passed"]), before(list, &["failed", "error", "errors"]));
        let skipped = before(list, &["skipped", "deselected"]);
        let told = passed.or(failed).or(skipped).is_some();
        told.then(|| (passed.unwrap_or(0), failed.unwrap_or(0)))
    })
}

/// `3 ok, 0 failed`, `ok | 5 passed | 0 failed (10ms)`: both numbers on one line.
fn plain(output: &str, _: bool) -> Option<TestRun> {
    sum(output, |line| Some((before(line, &["ok", "passed"])?, before(line, &["failed", "failures"])?)))
}
