//! Which commands run tests, and whose exit code they have.

mod differs;
mod fakes;

use posse_protocol::TestRun;

use super::judged::{Doubt, Judged};
use super::{Ended, Looked, Understood, understood};

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
    (
        "real/.venv/bin/pytest",
        "#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom pytest import console_main\nif __name__ == '__main__':\n    sys.argv[0] = re.sub(r'x', '', sys.argv[0])\n    sys.exit(console_main())\n",
    ),
    (
        "real/.venv/bin/activate",
        "deactivate () {\n    PATH=\"${_OLD_VIRTUAL_PATH:-}\"\n    export PATH\n}\nVIRTUAL_ENV=/x/.venv\nexport VIRTUAL_ENV\nPATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\nhash -r 2> /dev/null\n",
    ),
    (
        "real/node_modules/.bin/jest",
        "#!/usr/bin/env node\nconst importLocal = require('import-local');\nif (!importLocal(__filename)) {\n  require('jest-cli/bin/jest');\n}\n",
    ),
    ("real/package.json", r#"{"scripts": {"test": "jest"}}"#),
    (
        "real/gradlew",
        "#!/bin/sh\nset -- -classpath gradle/wrapper/gradle-wrapper.jar org.gradle.wrapper.GradleWrapperMain \"$@\"\nexec java \"$@\"\n",
    ),
    ("real/vendor/bin/phpunit", "#!/usr/bin/env php\n<?php\ninclude __DIR__ . '/../autoload.php';\n"),
    ("real/composer.json", r#"{"scripts": {"test": ["@lint", "@php vendor/bin/phpunit"], "lint": "phpcs"}}"#),
    (
        "real/Makefile",
        "PYTHON ?= python3\nARGS =\n.PHONY: test\ntest: lint\n\t@$(PYTHON) -m pytest $(ARGS)\nlint:\n\truff check .\n",
    ),
    (
        "real/ci",
        "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")\"\nrun() { echo \"+ $*\"; \"$@\"; }\nrun cargo fmt --check\nrun cargo test --workspace\necho done\n",
    ),
];

fn looked(path: &str) -> Looked {
    let file = FILES.iter().find(|(name, _)| *name == path);
    file.map_or(Looked::Missing, |(_, text)| Looked::File { bytes: text.as_bytes().to_vec(), stamp: None })
}

/// The end of a command whose writing was seen.
fn ended(output: &str) -> Ended<'_> {
    Ended { output, whole: true, lookup: &looked, touched: Some(&|_| false) }
}

fn found(command: &str) -> Option<Understood> {
    Some(understood(command, &looked)).filter(|understood| understood.judged.family.is_some())
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
    // What stands around, and changes nothing.
    "PATH=$HOME/.cargo/bin:$PATH cargo test",
    "export PATH=$PATH:/usr/local/go/bin && go test ./...",
    "PATH=\"./node_modules/.bin:$PATH\" jest",
    "PYTHONPATH=. pytest",
    "PYTHONPATH=src:lib python -m pytest",
    "NODE_ENV=test npx jest",
    "DATABASE_URL=x API_KEY=y pytest",
    "CI=1 npm test",
    "RUST_BACKTRACE=1 CARGO_TERM_COLOR=never cargo test --no-fail-fast",
    "make -j$(nproc) test",
    "make -j \"$(nproc)\" test",
    "JOBS=$(nproc); make -j$JOBS test",
    "ctest -j$(nproc) --output-on-failure",
    "cargo test || exit 1\necho fine",
    "cargo build || exit $?; cargo test",
    "set -e\ncd x\ncargo test\necho done",
    "chmod +x test.sh && ./test.sh",
    "run() { cargo test; }; run",
    "run() { \"$@\"; }; run cargo test",
    "set -e\nrun_tests() {\n  cargo test\n}\nrun_tests\necho fine",
    "trap 'rm -rf \"$tmp\"' EXIT; cargo test",
    "PY=python3; $PY -m pytest",
    "${PYTHON:-python3} -m pytest",
    "exec cargo test",
    "exec cargo test; echo never",
    "cd \"$(git rev-parse --show-toplevel)\" && npm test",
    "(cd app; npm test)",
    "cd app/src && npm test",
    "npm --prefix app test",
    "npm -w app test",
    "bash -euo pipefail -c 'cargo test | tail'",
    "bash -ec 'cargo test; echo fine'",
    "time (cargo test)",
    "{ cargo test; }",
    "if [ -d x ]; then cd x; fi; cargo test",
    "[[ -d x ]] || mkdir x; cargo test",
    "cargo test <<< y",
    "cat <<'END' > notes\nit's \"odd\nEND\ncargo test",
    "for f in a b; do touch $f; done; cargo test",
    "case $OS in linux) X=1;; *) X=2;; esac; cargo test",
    // Options that are known.
    "pytest -xvs -k foo --tb=short tests/",
    "pytest -n4 -q --cov=src --cov-report term",
    "python -u -W ignore -m pytest -q",
    "uv run --frozen pytest -q",
    "uv run -m pytest",
    "poetry run python -m pytest",
    "npm test -- --ci",
    "npm run test -- --coverage",
    "yarn jest --ci",
    "cargo test -p x --lib --release -- --test-threads=1",
    "go test -race -count=1 ./...",
    "mvn -B -ntp -pl core test",
    "gradle test -x lint --info",
    "tox -e py312,py313",
    "nox -s tests",
    "make -s test V=1",
    "docker compose exec -T web pytest",
    "node --test --test-reporter spec tests/",
    "phpunit --testdox",
    "pytest -p no:cacheprovider --junitxml=/tmp/r.xml",
    "npx jest --config jest.ci.js",
    "dotnet test --no-build -c Release",
    "turbo run test",
    "nx test app",
    "nx run-many -t test",
    // What is installed in the project.
    "real/.venv/bin/pytest -q",
    "cd real && . .venv/bin/activate && pytest",
    "real/node_modules/.bin/jest",
    "cd real && npx jest",
    "cd real && npm test",
    "cd real && ./gradlew test",
    "real/vendor/bin/phpunit",
    "cd real && composer test",
    "make -C real test",
    "cd real && make test ARGS=-x",
    "real/ci",
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
    ("for i in 1 2; do cargo test; done", "for"),
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
    let mut wrong = Vec::new();
    for command in TESTS {
        match found(command).map(|tests| tests.judged) {
            None => wrong.push(format!("not seen: {command}")),
            Some(Judged { hidden_by: Some(by), .. } | Judged { doubt: Some(Doubt::Strange(by)), .. }) => {
                wrong.push(format!("hidden by {by}: {command}"));
            }
            Some(_) => {}
        }
    }
    for (command, by) in HIDDEN {
        let hidden_by = found(command).and_then(|tests| tests.judged.hidden_by);
        if hidden_by.as_deref() != Some(*by) {
            wrong.push(format!("{hidden_by:?}, not {by}: {command}"));
        }
    }
    let seen = NOT_TESTS.iter().filter(|command| found(command).is_some());
    wrong.extend(seen.map(|command| format!("no tests: {command}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((TESTS.len(), HIDDEN.len(), NOT_TESTS.len()), (169, 24, 47));
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
        let ran = tests.tests(&ended(output)).unwrap();
        assert_eq!(ran.counts, wanted, "{command}: {output}");
    }
}

/// An exit code alone says that tests passed only where it is certain that there were some.
#[test]
fn a_filter_that_fits_nothing_is_no_success() {
    use posse_protocol::TestVerdict::{NoneRan, Passed, Unknown};
    let cases = [
        ("go test ./...", "", Passed),
        ("go test -run TestA ./...", "", Unknown),
        ("go test -run TestA ./...", "ok  \tx\t0.1s\n?   \ty\t[no test files]", Passed),
        ("go test -run XXX ./...", "ok  \tx\t0.1s [no tests to run]", NoneRan),
        ("go test ./...", "?   \tx\t[no test files]", NoneRan),
        ("go test -exec true ./...", "ok  \tx\t0.1s", Unknown),
        ("cargo test", "", Passed),
        ("cargo test one", "", Unknown),
        (
            "cargo test one",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out",
            Passed,
        ),
        (
            "cargo test none",
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out",
            NoneRan,
        ),
        ("cargo test none > /dev/null", "", Unknown),
        ("pytest --new-option", "5 passed in 0.1s", Passed),
        ("pytest --new-option", "", Unknown),
        ("pytest", "no tests ran in 0.01s", NoneRan),
        ("pytest", "5 skipped in 0.1s", NoneRan),
        ("pytest", "12 tests collected in 0.1s", NoneRan),
        ("npx jest -t nothing", "Tests:       5 skipped, 5 total", NoneRan),
        ("npx jest --passWithNoTests", "No tests found, exiting with code 0", NoneRan),
        ("make test", "make: 'test' is up to date.", NoneRan),
        ("mvn test", "[INFO] No tests to run.", NoneRan),
        ("ctest -R x", "No tests were found!!!", NoneRan),
    ];
    for (command, output, wanted) in cases {
        assert_eq!(fakes::verdict(command, output), Some(wanted), "{command}: {output}");
    }
}

/// What a command does, for what is said about builds, linters and pushes.
#[test]
fn the_work_of_commands_is_known() {
    use posse_protocol::CommandWork::{Build, Commit, Format, Lint, Look, Other, Push, Types};
    let cases: &[(&str, &[posse_protocol::CommandWork])] = &[
        ("ls -la; cat x | grep y", &[Look]),
        ("env X=1 ls", &[Look]),
        ("git status && git diff", &[Look]),
        ("cargo build --release", &[Build]),
        ("cargo fmt --check && cargo clippy", &[Format, Lint]),
        ("env CARGO_TERM_COLOR=never cargo build", &[Build]),
        ("cd x && make", &[Look, Build]),
        ("make lint", &[Other, Lint]),
        ("npm run build", &[Types, Build]),
        ("python -m mypy src", &[Types]),
        ("bash -c 'gcc x.c'", &[Build]),
        ("git commit -m x && git push", &[Commit, Push]),
        ("find . -name x -exec make \\;", &[Other]),
        ("./deploy.sh", &[Other]),
        ("awk 'BEGIN { system(\"make\") }'", &[Other]),
        ("x=$(cargo build)", &[Build]),
        ("if [ -f x ]; then git push; fi", &[Look, Push]),
        ("cat 'unfinished", &[Other]),
    ];
    for (command, wanted) in cases {
        assert_eq!(understood(command, &looked).work(), *wanted, "{command}");
    }
    assert_eq!(cases.len(), 18);
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
    for word in [
        "env ",
        "sudo ",
        "$A ",
        "f() { ",
        "if ",
        "{ ",
        "( ",
        "bash -c '",
        "eval ",
        "time ",
        "! ",
        "x=$(",
        "case a in a) ",
    ] {
        let _ = found(&format!("{}cargo test", word.repeat(2_000)));
    }
    let _ = found("f() { f; f; }; f");
    let _ = found("f() { g; g; }; g() { f; f; }; f");
}
