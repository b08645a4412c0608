//! Which commands run tests, and whose exit code they have.

use posse_protocol::TestRun;

use super::{TestCommand, test_command};

/// Files of a project.
const FILES: &[(&str, &str)] = &[
    (
        "package.json",
        r#"{"scripts": {"test": "jest", "test:quiet": "jest || true", "fake": "echo '12 passed'", "ci": "npm run test",
            "test:fake": "echo 'Tests: 12 passed, 12 total'", "build": "tsc", "test:own": "node run.js"}}"#,
    ),
    (
        "Makefile",
        "PY = python3\ntest: build\n\t@$(PY) -m pytest -q\nbuild:\n\tcc x.c\nall: test\nfake-test:\n\techo 12 passed\ncheck:\n\t-pytest\n",
    ),
    ("justfile", "test:\n    cargo nextest run\nlint:\n    cargo clippy\n"),
    ("test.sh", "#!/bin/sh\ncheck() { ./greet.sh \"$1\"; }\ncheck a\n"),
    ("fake_test.sh", "#!/bin/sh\n# tests\necho \"12 passed\"\nexit 0\n"),
    ("scripts/test", "#!/bin/bash -e\ncargo test\n"),
    ("ci.sh", "cargo fmt --check\ncargo test\n"),
    ("quiet_tests.sh", "pytest || true\n"),
    ("build.sh", "cc x.c\n"),
    ("tests/test_a.py", "import a\nassert a.f() == 1\nprint('ok')\n"),
    ("test_fake.py", "#!/usr/bin/env python3\nprint('12 passed in 0.1s')\n"),
    ("app/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
    ("app.py", "print(1)\n"),
];

fn found(command: &str) -> Option<TestCommand> {
    let lookup = |path: &str| {
        let file = FILES.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec())
    };
    test_command(command, &lookup)
}

/// Commands whose exit code is that of their tests.
const TESTS: &[&str] = &[
    "cargo test",
    "cargo t",
    "cargo +nightly test --workspace -- --nocapture",
    "cargo nextest run -p x",
    "RUST_BACKTRACE=1 cargo test",
    "env A=b timeout -k 5 60 cargo test",
    "cd crates/x && cargo test",
    "time cargo test",
    "nice -n 5 cargo test 2>&1",
    "cargo build && cargo test",
    "cargo test > /tmp/log 2>&1",
    "cargo fmt; cargo test",
    "cargo test && echo 'all good'",
    "cargo test || exit 1",
    "cargo test || false",
    "set -o pipefail; cargo test | tail -5",
    "set -euo pipefail\ncargo test | tee log\necho done",
    "bash -c 'cargo test'",
    "bash -lc \"cd x && cargo test\"",
    "(cd x && cargo test)",
    "sh -ec 'pytest -q'",
    "bash <<'EOF'\npytest\nEOF",
    "pytest",
    "pytest -x tests/",
    ".venv/bin/pytest",
    "python -m pytest -q",
    "python3.12 -m unittest discover",
    "uv run pytest",
    "uv run --with x python -m pytest",
    "poetry run pytest",
    "source .venv/bin/activate && pytest",
    "coverage run -m pytest",
    "python -m coverage run -m pytest",
    "python manage.py test",
    "tox -e py312",
    "nox",
    "go test ./...",
    "go test -v -run TestX ./pkg",
    "npm test",
    "npm t",
    "npm run test",
    "npm run ci",
    "yarn test",
    "pnpm test",
    "pnpm run test",
    "bun test",
    "yarn jest",
    "cd app && npm test",
    "npx jest",
    "npx vitest run",
    "npx mocha",
    "npx playwright test",
    "node --test",
    "node node_modules/.bin/jest",
    "deno test",
    "mvn -q test",
    "./mvnw clean verify",
    "./gradlew :app:test",
    "gradle clean test",
    "dotnet test",
    "vendor/bin/phpunit",
    "php artisan test",
    "pest",
    "bundle exec rspec",
    "rake test",
    "rails test",
    "ctest -V --test-dir build",
    "make test",
    "make -j4 test",
    "make all",
    "just test",
    "swift test",
    "mix test",
    "bats tests",
    "sbt test",
    "cabal test",
    "stack test",
    "zig build test",
    "flutter test",
    "dart test",
    "bazel test //...",
    "sh test.sh",
    "./test.sh",
    "bash ./test.sh",
    "scripts/test",
    "./ci.sh",
    "python tests/test_a.py",
    "npm run test:own",
    "docker compose run --rm web pytest",
    "docker exec -it app cargo test",
    "xvfb-run -a npm test",
    "prove -l t",
    "cmake --build b && ctest",
];

/// Commands that run tests, and what hides their exit code.
const HIDDEN: &[(&str, &str)] = &[
    ("cargo test | tail", "| tail"),
    ("cargo test 2>&1 | tail -20", "| tail"),
    ("cargo test || true", "|| true"),
    ("cargo test || echo failed", "|| echo"),
    ("cargo test && echo ok || echo bad", "|| echo"),
    ("cargo test; echo ok", "; echo"),
    ("cargo test > /dev/null; true", "; true"),
    ("cargo test\necho $?", "; echo"),
    ("cargo test -p a; cargo test -p b", "; cargo"),
    ("! cargo test", "!"),
    ("cargo test & wait", "&"),
    ("cargo build || cargo test", "||"),
    ("if cargo test; then echo ok; fi", "if"),
    ("for i in 1 2; do cargo test; done", "do"),
    ("echo $(cargo test)", "$(…)"),
    ("x=`pytest`", "$(…)"),
    ("bash -c 'cargo test | tail'", "| tail"),
    ("bash -c 'cargo test; true'", "; true"),
    ("(cargo test; true)", "; true"),
    ("set -e; cargo test && echo ok; echo done", "; echo"),
    ("npm run test:quiet", "|| true"),
    ("make check", "|| true"),
    ("sh quiet_tests.sh", "|| true"),
    ("cargo test 'unfinished", "a shell text that is not understood"),
];

/// Commands that run no tests, whatever they print.
const NOT_TESTS: &[&str] = &[
    "echo \"12 passed\"",
    "echo 'test result: ok. 12 passed; 0 failed'",
    "true",
    "printf '5 passed in 1s\\n'",
    "cat test.log",
    "cat <<EOF\ncargo test\nEOF",
    "ls tests",
    "grep -r 'cargo test' .",
    "echo cargo test",
    "cargo build",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo nextest list",
    "cargo run -- test",
    "pytest --collect-only",
    "pytest --version",
    "python -c 'print(\"3 passed in 1s\")'",
    "python -m http.server",
    "npm run build",
    "npm run fake",
    "npm run test:fake",
    "npm install",
    "npm run absent",
    "make",
    "make build",
    "make -n test",
    "make fake-test",
    "just lint",
    "sh build.sh",
    "sh fake_test.sh",
    "./fake_test.sh",
    "python test_fake.py",
    "python app.py",
    "node -e 'console.log(\"# pass 5\")'",
    "sh absent_test.sh",
    "go build ./...",
    "go vet",
    "git commit -m 'cargo test passes'",
    "# cargo test",
    "",
    "   ",
    "docker ps",
    "git checkout tests",
    "vim tests/a.py",
    "test -f tests/a.py",
    "[ -f test.sh ]",
    "rm -rf tests",
];

#[test]
fn tests_are_known_by_their_commands() {
    for command in TESTS {
        let tests = found(command).unwrap_or_else(|| panic!("not seen: {command}"));
        assert_eq!(tests.hidden_by, None, "{command}");
    }
    for (command, by) in HIDDEN {
        let tests = found(command).unwrap_or_else(|| panic!("not seen: {command}"));
        assert_eq!(tests.hidden_by.as_deref(), Some(*by), "{command}");
    }
    for command in NOT_TESTS {
        assert_eq!(found(command), None, "{command}");
    }
    assert_eq!((TESTS.len(), HIDDEN.len(), NOT_TESTS.len()), (93, 24, 47));
}

#[test]
fn only_the_runners_own_output_is_counted() {
    let ok = "test result: ok. 5 passed; 0 failed; 0 ignored";
    let bad = "test result: FAILED. 4 passed; 1 failed; 0 ignored";
    let all = Some(TestRun { run: 5, passed: 5 });
    let some = Some(TestRun { run: 5, passed: 4 });
    let cases = [
        ("cargo test", ok, all),
        ("cargo test | tail -3", ok, all),
        ("cargo test 2>&1 | tee log | tail", ok, all),
        ("cargo test || true", ok, all),
        ("cargo test; echo \"exit: $?\"", ok, all),
        ("cargo build && cargo test", ok, all),
        // What another command may have printed, or left out.
        ("cargo test; echo 'test result: ok. 5 passed; 0 failed'", ok, None),
        ("cargo test && python report.py", ok, None),
        ("cargo test > log; cat log", ok, None),
        ("cargo test | sed s/a/b/", ok, None),
        ("cargo test | grep result", ok, None),
        ("cargo test | grep result", bad, some),
        ("cargo test | head", bad, some),
        // Another runner's words.
        ("pytest", ok, None),
        ("cargo test", "5 passed in 0.1s", None),
        ("npm test", "Tests:       5 passed, 5 total", all),
        ("sh test.sh", "5 ok, 0 failed", all),
    ];
    for (command, output, wanted) in cases {
        let tests = found(command).unwrap_or_else(|| panic!("not seen: {command}"));
        assert_eq!(tests.ran(output, true).counts, wanted, "{command}: {output}");
    }
}

#[test]
fn any_text_is_looked_at() {
    let pieces = [
        "cargo test",
        "(",
        ")",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "|",
        "||",
        "&&",
        ";",
        "<<E",
        "\n",
        "{",
        "#",
        "é",
    ];
    for one in pieces {
        for two in pieces {
            for three in pieces {
                let _ = found(&format!("{one}{two} {three}"));
            }
        }
    }
    let _ = found(&"$(".repeat(10_000));
    let _ = found(&"a;".repeat(10_000));
}
