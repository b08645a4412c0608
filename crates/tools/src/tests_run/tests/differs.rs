//! Random shell texts, run by a real shell with a runner that passes and one that fails: where a text is said to have
//! passed by its exit code, the runner has run, and has passed. It is stopped at a script that shows otherwise.

use std::fmt::Write as _;
use std::time::Duration;

use posse_protocol::TestVerdict;
use posse_sandbox::Command;

use super::fakes::verdict;

const TEXTS: usize = 200;

/// A stand-in for chance that gives the same texts each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }

    fn list(&mut self, depth: u32) -> String {
        let steps: Vec<String> = (0..=self.roll(3)).map(|_| self.step(depth)).collect();
        steps.join(self.one(&["; ", "\n"]))
    }

    fn step(&mut self, depth: u32) -> String {
        let simple = [
            "pytest",
            "pytest",
            "pytest",
            "true",
            "false",
            "exit 0",
            "exit 1",
            "exit",
            "set -e",
            "set +e",
            "set -o pipefail",
            "f",
            "f",
            "return 0",
            "return 1",
            "eval 'pytest'",
            "eval 'set +e'",
            "trap 'exit 0' EXIT",
            "trap - EXIT",
            "exec pytest",
            "X=pytest",
            "$X",
            "set -- pytest",
            "\"$@\"",
            "\"$1\" a",
            "bash -c 'pytest; true'",
            "bash -ec 'pytest; true'",
            "command pytest",
            "command -v pytest",
            "env pytest",
            "X=true pytest",
            "unset -f pytest",
            "shift",
            "pytest > /dev/null",
            "[[ -n $X ]]",
            "cat <<'E'\npytest\nE\ntrue",
            "timeout 5 pytest",
            "builtin exit 0",
            "exec true",
            "PATH=/nowhere pytest",
        ];
        if depth == 0 {
            return self.one(&simple).to_owned();
        }
        let (a, b) = (depth - 1, depth - 1);
        match self.roll(26) {
            0 => format!("f() {{ {}; }}", self.list(a)),
            1 => format!("pytest() {{ {}; }}", self.list(a)),
            2 => format!("( {} )", self.list(a)),
            3 => format!("{{ {}; }}", self.list(a)),
            4 => format!("if {}; then {}; else {}; fi", self.step(a), self.list(b), self.list(b)),
            5 | 6 => format!("{} && {}", self.step(a), self.step(b)),
            7 | 8 => format!("{} || {}", self.step(a), self.step(b)),
            9 => format!("! {}", self.step(0)),
            10 => format!("{} | cat", self.step(0)),
            11 => format!("for i in 1; do {}; done", self.list(a)),
            12 => format!("while false; do {}; done", self.list(a)),
            13 => format!("case a in a) {};; *) {};; esac", self.list(a), self.list(b)),
            14 => format!("x=$({})", self.step(0)),
            15 => format!("until true; do {}; done", self.list(a)),
            16 => format!("set -e\n{}", self.list(a)),
            _ => self.one(&simple).to_owned(),
        }
    }
}

#[tokio::test]
async fn what_is_said_to_have_passed_has_passed_in_a_real_shell() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice(0x5eed_0011);
    let texts: Vec<String> = (0..TEXTS).map(|_| dice.list(3)).collect();
    let mut driver =
        "mkdir bin; printf '#!/bin/sh\necho >> \"$CALLS\"\nexit $CODE\n' > bin/pytest; chmod +x bin/pytest\n\
                      export FUNCNEST=10 PATH=$PWD/bin:$PATH CALLS=$PWD/calls\n"
            .to_owned();
    for (at, text) in texts.iter().enumerate() {
        let _ = writeln!(driver, "cat > s{at} <<'END_OF_TEXT'\n{text}\nEND_OF_TEXT");
        for code in [0, 1] {
            let _ = writeln!(
                driver,
                ": > calls; CODE={code} timeout 20 bash s{at} > /dev/null 2>&1 < /dev/null; echo {at} {code} $? $(wc -l < calls)"
            );
        }
    }
    let mut command = Command::shell("cat > driver; bash driver", folder.path(), Duration::from_secs(300));
    command.stdin = Some(driver.into_bytes());
    let finished = posse_sandbox::start(command).await.unwrap().wait().await;
    assert_eq!(finished.exit, posse_sandbox::CommandExit::Code(0), "{finished:?}");
    let output = String::from_utf8(finished.output.bytes()).unwrap();
    let (mut runs, mut passed, mut certain) = (0, 0, 0);
    for line in output.lines() {
        let [at, code, exit, calls] =
            line.split(' ').map(|n| n.parse::<usize>().unwrap()).collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        runs += 1;
        passed += usize::from(exit == 0 && code == 0 && calls > 0);
        if exit == 0 && verdict(&texts[at], "") == Some(TestVerdict::Passed) {
            assert!(code == 0 && calls > 0, "runner {code}, called {calls} times, exit 0:\n{}", texts[at]);
            certain += 1;
        }
    }
    println!("{certain} of {passed} runs that passed are certain");
    assert_eq!(runs, 2 * TEXTS, "{}", output.lines().last().unwrap_or_default());
    assert!(certain >= TEXTS / 20, "{certain} of {passed}");
}
