//! Commands that look like a test run and are none, or whose end says nothing about tests. Whatever they print and however
//! they end, nothing says that tests passed.

use posse_protocol::{CommandRun, TestVerdict, TestsSeen};

use super::{Ended, Looked, ended, looked, understood};

/// Files that fakes are made of, beside those of the project.
pub(super) const FILES: &[(&str, &str)] = &[
    ("pytest", "echo '12 passed in 1.0s'\n"),
    ("f/pytest", "#!/bin/sh\necho '12 passed in 1.0s'\nexit 0\n"),
    ("f/jest", "#!/usr/bin/env node\nprocess.stdout.write('Tests: 12 passed, 12 total');\n"),
    ("f/go", "#!/bin/true\n"),
    ("f/cargo", "#!/usr/bin/env python3\nimport random\nprint('test result: ok. 12 passed; 0 failed')\n"),
    ("f/python", "#!/bin/sh\necho '12 passed in 1.0s'\n"),
    ("f/bash", "#!/bin/sh\necho '12 passed in 1.0s'\n"),
    ("f/phpunit", "\u{7f}ELF compiled by the agent"),
    ("f/run_tests.sh", "#!/bin/true\npytest\n"),
    ("f/own_tests.sh", "#!./f/bash\npytest\n"),
    ("f/unfailing_tests.sh", "pytest tests || true\n./more.sh\necho done\n"),
    ("f/always_test.sh", "./greet.sh\ntrue\n"),
    ("f/gradlew", "#!/bin/sh\n./other.sh build\n"),
    ("f/manage.py", "import os\nos.write(1, b'Ran 12 tests in 1s')\n"),
    ("jest.js", "process.stdout.write('Tests: 12 passed, 12 total');\n"),
    (".venv/bin/pytest", "#!/usr/bin/python3\nimport random\nprint('12 passed in 1.0s')\n"),
    (
        ".venv/bin/activate",
        "VIRTUAL_ENV=/x\nexport VIRTUAL_ENV\nPATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\n",
    ),
    ("own/bin/activate", "VIRTUAL_ENV=/x\npytest() { :; }\n"),
    ("env.sh", "pytest() { :; }\n"),
    ("path.sh", "PATH=/tmp/x:$PATH\n"),
    ("m/pytest.py", "print('12 passed in 1.0s')\n"),
    ("m/unittest/__main__.py", "print('Ran 12 tests in 1s')\n"),
    ("p1/package.json", r#"{"scripts": {"test": "jest", "posttest": "node report.js"}}"#),
    ("p2/package.json", r#"{"scripts": {"test": "jest; echo 'Tests: 12 passed, 12 total'"}}"#),
    ("p3/package.json", r#"{"scripts": {"test": "node make-report.js || true"}}"#),
    ("p4/package.json", r#"{"scripts": {"test": "PATH=./bin:/tmp/y:$PATH jest"}}"#),
    ("p5/package.json", r#"{"scripts": {"test": "jest --listTests"}}"#),
    ("p6/package.json", r#"{"scripts": {"test": "jest"}}"#),
    ("p6/node_modules/.bin/jest", "#!/bin/sh\necho 'Tests: 12 passed, 12 total'\n"),
    ("c1/composer.json", r#"{"scripts": {"test": "echo 'OK (12 tests, 12 assertions)'"}}"#),
    ("m1/Makefile", "test:\n\tpytest\ntest:\n\ttrue\n"),
    ("m2/Makefile", ".IGNORE:\ntest:\n\tpytest\n"),
    ("m3/Makefile", "test:\n\t-pytest # the tests\n"),
    ("m4/Makefile", "ifdef CI\ntest:\n\tpytest\nelse\ntest:\n\ttrue\nendif\n"),
    ("m5/Makefile", "RUN = pytest\nifdef X\nRUN = true\nendif\ntest:\n\t$(RUN)\n"),
    ("m6/Makefile", "test:\n\tpytest\ninclude more.mk\n"),
    ("m6/more.mk", "test:\n\techo '12 passed in 1.0s'\n"),
    ("m7/Makefile", "SHELL = /bin/true\ntest:\n\tpytest\n"),
    ("m8/Makefile", "test: ; @echo '12 passed in 1.0s'\n"),
    ("m9/Makefile", "PYTEST = true\ntest:\n\t$(PYTEST) tests\n"),
    ("m10/Makefile", "MAKEFLAGS += -i\ntest:\n\tpytest\n"),
    ("m11/Makefile", "PY = python3\ntest:\n\t$(PY) -m pytest\n"),
    ("m12/Makefile", ".ONESHELL:\ntest:\n\tpytest\n\techo done\n"),
    ("m13/Makefile", "$(eval test:;true)\ntest:\n\tpytest\n"),
    ("m14/Makefile", "test:\n\tpytest; true\n"),
    ("fake.mk", "test:\n\techo '12 passed in 1.0s'\n"),
    ("check.js", "console.log('# pass 12')\n"),
];

/// With an exit code of 0 and an output that every runner could have written, none of these is a run that passed.
const FAKES: &[&str] = &[
    // Another program of that name.
    "./pytest",
    "./pytest -q tests",
    "f/pytest",
    "f/jest",
    "f/go test ./...",
    "f/cargo test",
    "f/python -m pytest",
    "f/bash -c pytest",
    "f/phpunit",
    "f/gradlew test",
    "f/run_tests.sh",
    "f/own_tests.sh",
    ".venv/bin/pytest",
    "source .venv/bin/activate && pytest",
    "/tmp/pytest",
    "/tmp/x/python -m pytest",
    "cd \"$UNKNOWN\" && ./pytest",
    "PATH=.:$PATH pytest",
    "PATH=$PWD:$PATH pytest",
    "PATH=\"$PATH:.\" pytest",
    "export PATH=.:$PATH; pytest",
    "env PATH=f:$PATH jest",
    "cd f && PATH=.:$PATH pytest",
    "PATH=/tmp/x:$PATH pytest",
    "PATH=$HOME/../x:$PATH pytest",
    "PATH=$X pytest",
    "PATH=$(pwd)/x:/dev/shm pytest",
    "npx -p ./x pytest2; ./pytest",
    // Another meaning of the name.
    "pytest() { :; }; pytest",
    "pytest () { true; }\npytest",
    "pytest() ( echo '12 passed in 1s' )\npytest",
    "function pytest { :; }; pytest -q",
    "function pytest() { :; }\npytest",
    "if true; then pytest() { :; }; fi; pytest",
    "alias pytest=true\npytest",
    "shopt -s expand_aliases; alias cargo=echo\ncargo test",
    "hash -p /bin/true pytest; pytest",
    "eval 'pytest() { :; }'; pytest",
    "eval \"$CODE\"; pytest",
    "eval $(cat x); pytest",
    ". ./env.sh; pytest",
    "source env.sh && pytest",
    "source path.sh; pytest",
    "source own/bin/activate && pytest",
    "source /tmp/x/bin/activate && pytest",
    ". ./nowhere.sh; pytest",
    "source <(echo 'pytest() { :; }'); pytest",
    "command_not_found_handle() { return 0; }; pytest",
    "enable -n test; enable -f ./x.so pytest; pytest",
    // Code that goes before.
    "LD_PRELOAD=./x.so pytest",
    "export LD_LIBRARY_PATH=.; pytest",
    "BASH_ENV=./env.sh bash -c pytest",
    "PYTHONPATH=m pytest",
    "PYTHONPATH=/tmp/m python -m pytest",
    "cd m && python -m pytest",
    "cd m && python3 -m unittest",
    "NODE_OPTIONS='--require ./x.js' npx jest",
    "node -r ./x.js node_modules/.bin/jest",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true cargo test",
    "RUSTC_WRAPPER=./x cargo test",
    "RUBYOPT=-r./x rspec",
    "npm_config_script_shell=/bin/true npm test",
    "HOME=/tmp/x cargo test",
    "pytest -p fake_plugin",
    "go test -exec ./fake ./... -v",
    "cargo test --config target.x.runner='./fake'",
    "npx mocha -r ./fake.js",
    "rspec --require ./fake",
    "prove -e ./fake t",
    "phpunit --bootstrap fake.php",
    // Tests that are nobody's.
    "cd /tmp/x && pytest",
    "mkdir -p /tmp/x && cd /tmp/x && cargo test",
    "pytest /tmp/x/test_a.py",
    "cargo test --manifest-path /tmp/x/Cargo.toml",
    "go -C /tmp/x test ./...",
    // A program that is put together.
    "$RUNNER",
    "$X -m pytest",
    "X=true; $X -m pytest",
    "X=echo; $X cargo test",
    "`echo true` pytest",
    "py*t",
    "exec -a pytest true",
    "env -S 'true' pytest",
    "env -S 'true pytest'",
    "env --split-string=true pytest",
    "command -v pytest",
    "command -V cargo test",
    "type pytest",
    "which pytest",
    "timeout --unknown 5 pytest",
    "sudo -l pytest",
    "docker run --entrypoint true img pytest",
    "docker run -d img pytest",
    "docker exec -d app pytest",
    "setsid pytest",
    "xargs pytest",
    "python app.py -m pytest",
    "python -c 'print(1)' -m pytest",
    "python f/manage.py test",
    "node -e 'console.log(1)' --test",
    "node jest.js",
    "node ./jest.js --ci",
    // Only read, not run.
    "bash -n ci.sh",
    "sh -n scripts/test",
    "bash -o noexec ci.sh",
    "bash --version ci.sh",
    "node --check tests/test_a.js",
    "ruby -c test_a.rb",
    "php -l test_a.php",
    "perl -c test_a.pl",
    "python -V tests/test_a.py",
    "set -n\npytest",
    "set -o noexec; pytest",
    // Another exit code.
    "trap 'exit 0' EXIT; pytest",
    "trap cleanup EXIT; cleanup() { exit 0; }; pytest",
    "cleanup() { exit 0; }; trap cleanup EXIT; pytest",
    "shopt -s extdebug; trap false DEBUG; pytest",
    "trap 'echo 12 passed in 1s' EXIT; pytest | tail",
    "set -e; f() { set +e; }; f; pytest; echo 12 passed in 1s",
    "(set -e; pytest; echo 12 passed in 1s) && echo ok",
    "{ pytest; cat report; }",
    "pytest; cat report",
    "pytest | sed s/failed/passed/",
    "pytest > log; cat log",
    "pytest > >(sed s/failed/passed/) | cat",
    "pytest & cat report",
    "x=$(pytest); cat report",
    "sh f/unfailing_tests.sh",
    "sh f/always_test.sh",
    "while true; do pytest; cat report; break; done",
    // What the project's files say.
    "cd p1 && npm test || cat report",
    "cd p2 && npm test",
    "cd p3 && npm test",
    "cd p4 && npm test",
    "cd p5 && npm test",
    "cd p6 && npm test",
    "cd p6 && npx jest",
    "npm --prefix p5 test",
    "npm test -- --listTests",
    "npm test -w nowhere",
    "pnpm -r test",
    "pnpm --filter x test",
    "yarn workspace nowhere test",
    "npm --version test",
    "cd c1 && composer test",
    "make -C m1 test",
    "make -C m2 test | cat report",
    "make -C m3 test | cat report",
    "make -C m4 test",
    "make -C m5 test",
    "X=1 make -C m5 test",
    "make -C m6 test",
    "make -C m7 test",
    "make -C m8 test",
    "make -C m9 test",
    "make -C m10 test",
    "make -C m11 test PY=true",
    "make -C m11 test SHELL=/bin/true",
    "make PY=../f/python -C m11 test",
    "make -C m12 test; cat report",
    "make -C m13 test",
    "make -C m14 test; cat report",
    "make -f fake.mk test",
    "make --file=fake.mk test",
    "make -ffake.mk test",
    "cd \"$X\" && make test",
    "node check.js",
    // A word that means something else.
    "helm -n test install x",
    "helm --namespace test upgrade x",
    "composer -d test install",
    "go -C test build",
    "cargo --manifest-path test build",
    "ninja -C test",
    "mvn -pl test compile",
    "nx build test",
    "nx run test:build",
    "lerna ls test",
    "npm --prefix test run build",
    "for pytest in a; do cat report; done",
    "pytest=1 cat report",
    "case pytest in a) cat report;; esac",
    "python -m py_compile tests/test_a.py",
    "git commit -m pytest",
];

/// With an exit code of 0 and no output, none of these is a run that passed.
const SILENT_FAKES: &[&str] = &[
    "pytest --co",
    "pytest --collect",
    "pytest -V",
    "pytest -qh",
    "pytest --fixtures",
    "pytest --setup-plan",
    "pytest --suppress-tests-failed-exit-code",
    "pytest --he",
    "pytest $(cat options)",
    "pytest $OPTIONS",
    "pytest --{co,x}",
    "PYTEST_ADDOPTS=--collect-only pytest",
    "export PYTEST_ADDOPTS=--co; pytest",
    "python -O tests/test_a.py",
    "python -O -m pytest",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo -V test",
    "cargo test --config 'target.x86_64.runner=\"true\"'",
    "cargo nextest list",
    "cargo nextest archive",
    "cargo nextest show-config test-groups",
    "cargo llvm-cov run",
    "cargo llvm-cov report",
    "cargo mutants --list",
    "cargo test no_such_test",
    "cargo test -- --skip a",
    "go test -c",
    "go test -list .",
    "go test -n ./...",
    "go test -exec true ./...",
    "go test --exec=true ./...",
    "go test -run XXX ./...",
    "GOFLAGS=-run=XXX go test ./...",
    "python -m unittest no.such",
    "mvn test -DskipTests",
    "mvn test -DskipTests=true",
    "mvn -Dmaven.test.skip verify",
    "mvn -Dmaven.test.failure.ignore=true test",
    "mvn -fn test",
    "mvn -Pskip-tests test",
    "MAVEN_OPTS=-DskipTests mvn test",
    "gradle build -x test",
    "gradle test --dry-run",
    "gradle -m test",
    "gradle -PskipTests test",
    "rake -T test",
    "rake -n test",
    "rspec --dry-run",
    "rspec --failure-exit-code 0",
    "rspec -e nothing",
    "make -n test",
    "make -kn test",
    "make --dry test",
    "make --just-print test",
    "make -t test",
    "make -q test",
    "make -i test",
    "make -ki test",
    "make -e test",
    "make --eval='test:;true' test",
    "make -C m2 test",
    "make -C m3 test",
    "make -C m12 test",
    "MAKEFLAGS=-n make test",
    "just -n test",
    "just --show test",
    "just --list",
    "tox --notest",
    "tox -e lint",
    "tox list",
    "nox -s lint",
    "nox -l",
    "ctest -N",
    "ctest --show-only=json-v1",
    "ctest -R nothing",
    "meson test --list",
    "ninja -n test",
    "bats -c tests",
    "prove --dry t",
    "jest --listTests",
    "npx jest -v",
    "npx jest --showConfig",
    "npx jest --testFailureExitCode=0",
    "npx jest --passWithNoTests",
    "npx vitest list",
    "npx mocha --dry-run",
    "npx playwright test --list",
    "swift test list",
    "swift test -l",
    "dotnet test -t",
    "dotnet test --filter x",
    "stack test --no-run-tests",
    "zig test --test-no-exec x.zig",
    "zig test --test-cmd true x.zig",
    "deno test --no-run",
    "phpunit --list-tests",
    "phpunit --filter nothing",
    "bazel test --run_under=true //...",
    "forge test --allow-failure",
    "RUSTFLAGS='--cfg none' cargo test",
    "test.sh --help",
    "./test.sh --list",
    "sh test.sh --dry-run",
    "npm run test:own -- --help",
    "python tests/test_a.py --help",
    "tests/../test.sh --only nothing",
    // Never reached.
    "exit 0; pytest",
    "exit\npytest",
    "exec true; pytest",
    "true && exit 0; pytest",
    "if true; then exit 0; fi; pytest",
    "[ -f x ] && exit; cargo test",
    "set -e\nif false\nthen\n  pytest\nfi",
    "set -e; f() {\n  pytest\n}; true",
    "f() { pytest; }",
    "f() { return 0; pytest; }; f",
    "set -e; f() { [ -f x ] && return 0; pytest; }; f",
    "f() { exit 0; }; f; pytest",
    "set -e\ncase x in\n  y) pytest ;;\nesac",
    "set -e; (case x in y) pytest;; esac)",
    "set -e; while false; do pytest; done",
    "set -e; for i in; do pytest; done",
    "true || pytest",
    "false || set -e\npytest\ntrue",
    "false && set -e; pytest; true",
    "true || unset -f pytest; false && pytest() { pytest; }; pytest; exit 0",
    "[[ -n $X ]] && exit 0\npytest",
];

/// An output that any runner could have written.
const FORGED: &str = "test result: ok. 12 passed; 0 failed; 0 ignored\n12 passed in 1.0s\nTests:       12 passed, 12 total\n\
                      Ran 12 tests in 1.0s\n\nOK\n12 examples, 0 failures\nOK (12 tests, 12 assertions)\n=== RUN   TestA\n\
                      --- PASS: TestA (0.00s)\nok  \tx\t0.1s\n100% tests passed, 0 tests failed out of 12\n12 ok, 0 failed\n";

fn all_files(path: &str) -> Looked {
    match FILES.iter().find(|(name, _)| *name == path) {
        Some((_, text)) => Looked::File { bytes: text.as_bytes().to_vec(), stamp: None },
        None if path == "linked/pytest" => Looked::Leads("/bin/true".into()),
        None if path == "loose/pytest" => Looked::Leads("/tmp/pytest".into()),
        None => looked(path),
    }
}

/// How tests ended, by what is told of them.
pub(super) fn verdict(command: &str, output: &str) -> Option<TestVerdict> {
    let ended = Ended { output, whole: true, lookup: &all_files, touched: Some(&|_| false) };
    let tests = understood(command, &all_files).tests(&ended);
    let run = CommandRun { command: command.into(), exit_code: Some(0), tests, ..CommandRun::default() };
    TestsSeen::of(&run).map(|seen| seen.verdict())
}

#[test]
fn what_only_looks_like_a_test_run_never_passes() {
    let mut fooled = Vec::new();
    let linked = ["linked/pytest", "loose/pytest", "PATH=linked:$PATH pytest"];
    for command in FAKES.iter().chain(&linked) {
        for output in [FORGED, ""] {
            if verdict(command, output) == Some(TestVerdict::Passed) {
                fooled.push(format!("{command:?} with {} bytes", output.len()));
            }
        }
    }
    for command in SILENT_FAKES {
        if verdict(command, "") == Some(TestVerdict::Passed) {
            fooled.push(format!("{command:?}"));
        }
    }
    assert!(fooled.is_empty(), "{} of them pass:\n{}", fooled.len(), fooled.join("\n"));
    assert_eq!((FAKES.len(), SILENT_FAKES.len()), (183, 128));
}

#[test]
fn a_file_that_changes_while_it_runs_proves_nothing() {
    for (command, file) in [
        ("make test", "Makefile"),
        ("npm test", "package.json"),
        ("sh test.sh", "test.sh"),
        ("./new/pytest", "new/pytest"),
        ("python manage.py test", "manage.py"),
        ("python -m pytest", "pytest/__init__.py"),
    ] {
        let changed = |path: &str| match path {
            path if path == file => Looked::File { bytes: b"true".to_vec(), stamp: None },
            path => looked(path),
        };
        let now = Ended { lookup: &changed, ..ended(FORGED) };
        let ran = understood(command, &looked).tests(&now).unwrap();
        assert_eq!((ran.counts, ran.hidden_by.is_some()), (None, true), "{command}");
        // One that was there only while it ran.
        let touched = Ended { touched: Some(&|path| path == file), ..ended(FORGED) };
        let ran = understood(command, &looked).tests(&touched).unwrap();
        assert_eq!(ran.hidden_by.is_some(), looked(file) == Looked::Missing, "{command}: {ran:?}");
        let same = understood(command, &looked).tests(&ended(FORGED)).unwrap();
        assert_eq!(same.hidden_by, None, "{command}");
    }
}

/// Where it is not seen what a command writes, what it may have written before its tests counts.
#[test]
fn a_line_that_may_write_what_it_runs_proves_nothing_where_that_is_not_seen() {
    let unseen = |command: &str| {
        let ended = Ended { touched: None, ..ended("") };
        understood(command, &looked).tests(&ended).and_then(|tests| tests.hidden_by)
    };
    for command in [
        "echo 'test:; true' > Makefile; make test",
        "printf x | tee Makefile; make test",
        "(echo true > test.sh); sh test.sh",
        "sed -i s/pytest/true/ Makefile && make test",
        "cp fake.json package.json && npm test",
        "mv fake_test.sh test.sh; ./test.sh",
        "git checkout other -- Makefile && make test",
        "python3 make_fake.py && sh test.sh",
        "cat > pytest.py < x; python -m pytest; rm pytest.py",
    ] {
        assert!(unseen(command).is_some(), "{command}");
    }
    for command in [
        "make test",
        "make test > /dev/null 2>&1",
        "cd app && npm test",
        "npm ci && npm test",
        "chmod +x test.sh && ./test.sh",
        "cargo build && cargo test",
        "cat x; ls; sh test.sh",
        "echo x > notes; cargo test",
    ] {
        assert_eq!(unseen(command), None, "{command}");
    }
}
