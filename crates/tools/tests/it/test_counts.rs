//! How many tests a command ran, by the output of real runners.

use posse_protocol::{Effect, TestRun};
use posse_tools::ToolSettings;
use serde_json::json;

use crate::{Desk, full};

/// What a runner prints, and how many tests were run and passed.
const COUNTED: &[(&str, (u32, u32))] = &[
    (
        "running 2 tests\ntest result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        (5, 5),
    ),
    (
        "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n   Doc-tests x\ntest result: ok. 2 passed; 0 failed; 0 ignored",
        (7, 6),
    ),
    ("    Summary [   6.782s] 38 tests run: 38 passed, 0 skipped", (38, 38)),
    (
        "   test result: FAILED. 0 passed; 1 failed; 0 ignored\n     Summary [ 120.037s] 38 tests run: 33 passed (1 slow), 4 failed, 1 timed out, 0 skipped",
        (38, 33),
    ),
    ("     Summary [   0.1s] 3/38 tests run: 2 passed, 1 failed, 0 skipped\n", (3, 2)),
    ("============ 3 passed in 0.12s ============", (3, 3)),
    ("=== 1 failed, 3 passed, 2 skipped, 1 warning in 1.20s (0:01:02) ===", (4, 3)),
    ("== 2 errors in 0.10s ==", (2, 0)),
    ("5 passed, 1 xfailed in 0.12s", (5, 5)),
    (".....\n------\nRan 5 tests in 0.001s\n\nOK", (5, 5)),
    ("Ran 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)", (5, 2)),
    ("Ran 5 tests in 0.001s\n\nOK (skipped=1)", (4, 4)),
    ("Ran 1 test in 0.001s\n\nOK", (1, 1)),
    (
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 3 passed, 6 total\nSnapshots:   0 total",
        (4, 3),
    ),
    ("Tests:       12 passed, 12 total", (12, 12)),
    (
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed (4)\n   Duration  300ms",
        (4, 3),
    ),
    ("      Tests  7 passed (7)", (7, 7)),
    ("  5 passing (12ms)\n  1 pending\n  1 failing\n", (6, 5)),
    ("  5 passing (12ms)", (5, 5)),
    (
        "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    --- FAIL: TestB/x (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL",
        (3, 1),
    ),
    ("TAP version 13\n1..4\nok 1 - a\nnot ok 2 - b\nok 3 # SKIP no\nok 4", (3, 2)),
    ("ok 1 a\nok 2 b\n1..2", (2, 2)),
    ("1..2\nok 1 a\n# tests 6\n# pass 5\n# fail 1", (6, 5)),
    ("ℹ tests 3\nℹ suites 0\nℹ pass 3\nℹ fail 0", (3, 3)),
    (" 5 pass\n 1 fail\n 6 expect() calls\nRan 6 tests across 1 files. [10.00ms]", (6, 5)),
    ("100% tests passed, 0 tests failed out of 5\n\nTotal Test time (real) = 0.01 sec", (5, 5)),
    ("80% tests passed, 1 tests failed out of 5", (5, 4)),
    ("OK (5 tests, 12 assertions)", (5, 5)),
    ("OK (1 test, 1 assertion)", (1, 1)),
    ("FAILURES!\nTests: 5, Assertions: 12, Failures: 1, Errors: 1, Skipped: 1.", (4, 2)),
    ("Finished in 0.1 seconds\n5 examples, 1 failure, 1 pending", (4, 3)),
    ("5 examples, 0 failures", (5, 5)),
    ("5 runs, 9 assertions, 1 failures, 1 errors, 0 skips", (5, 3)),
    ("3 ok, 0 failed", (3, 3)),
    ("ok | 5 passed | 1 failed (10ms)", (6, 5)),
    (
        "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n[INFO] Results:\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1",
        (4, 2),
    ),
    ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 9 ms", (5, 5)),
    ("Failed!  - Failed:     2, Passed:     3, Skipped:     0, Total:     5", (5, 3)),
    // Nothing was run, which is not the same as that all went well.
    ("============ no tests ran in 0.01s ============", (0, 0)),
    ("5 skipped in 0.12s", (0, 0)),
    ("12 tests collected in 0.01s", (0, 0)),
    ("Tests:       5 skipped, 5 total", (0, 0)),
    ("No tests found, exiting with code 0", (0, 0)),
    ("[INFO] No tests to run.", (0, 0)),
    ("make: 'test' is up to date.", (0, 0)),
    ("=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS", (0, 0)),
    ("TAP version 13\n1..0", (0, 0)),
    ("No tests executed!", (0, 0)),
    (
        "\u{1b}[32mtest result: \u{1b}[1mok\u{1b}[0m. 99999999999 passed; 0 failed; 0 ignored",
        (u32::MAX, u32::MAX),
    ),
];

/// What only looks like it.
const NOT_COUNTED: &[&str] = &[
    "",
    "all tests passed",
    "running 5 tests",
    "5 passed",
    "test result: pending",
    "Ran 5 tests in 0.001s",
    "--- FAIL: TestB (0.00s)\nFAIL",
    "ok  \texample.org/x\t0.01s",
    "ok 1\nok 2",
    "Tests: are good",
    "2 files changed in 3 folders",
    "OK (done)",
    "é% tests passed, é",
    "Summary [x] run: y",
];

async fn count(desk: &Desk, output: &str) -> Option<TestRun> {
    desk.put("out", output);
    desk.put("run_tests.sh", "run() { sed -n p out; }\nrun\n");
    let outcome = desk.call("shell", json!({"command": "sh run_tests.sh"})).await;
    match outcome.effects.as_slice() {
        [Effect::Command(run)] => run.tests.as_ref().and_then(|tests| tests.counts),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn runners_are_understood() {
    let desk = Desk::new(&[]);
    assert_eq!((COUNTED.len(), NOT_COUNTED.len()), (49, 14));
    for (output, (run, passed)) in COUNTED {
        let wanted = Some(TestRun { run: *run, passed: *passed });
        assert_eq!(count(&desk, output).await, wanted, "{output}");
        let among_others = format!("Compiling x\n{output}\ndone\n");
        assert_eq!(count(&desk, &among_others).await, wanted, "{among_others}");
    }
    for output in NOT_COUNTED {
        assert_eq!(count(&desk, output).await, None, "{output}");
    }
}

#[tokio::test]
async fn output_with_a_hole_is_not_counted_line_by_line() {
    let settings = ToolSettings { shell_head_bytes: 100, shell_tail_bytes: 100, ..ToolSettings::default() };
    let desk = Desk::with(&[], full(), settings);
    let go = format!("=== RUN   TestA\n{}", "--- PASS: TestA (0.00s)\n".repeat(50));
    assert_eq!(count(&desk, &go).await, None);
    let tap = format!("1..50\n{}", "ok 1 - a\n".repeat(50));
    assert_eq!(count(&desk, &tap).await, None);
    let cargo = format!("{}test result: ok. 5 passed; 0 failed; 0 ignored", "test a ... ok\n".repeat(50));
    assert_eq!(count(&desk, &cargo).await, Some(TestRun { run: 5, passed: 5 }));
}
