//! `deny shell(git push*)` finds a push however it is written.

use fastrand::Rng;
use posse_policy::{Act, Decision, Rules, Wish, judge};
use posse_protocol::{Approval, Shell};

use crate::random::for_each_seed;

fn denies(pattern: &str, what: &str) -> bool {
    let rules = Rules::parse(&[], &[], &[format!("shell({pattern})")]).unwrap();
    let wish = Wish { tool: "shell", what, act: Act::Command(Shell::Full) };
    matches!(judge(Approval::Full, &rules, &wish), Decision::Deny(_))
}

const PUSHES: &[&str] = &[
    "git push",
    "git  push",
    "git\tpush",
    "git push origin main",
    "git -c a=b push",
    "git -c a=b -c d=e push",
    "git -ca=b push",
    "git -C x push",
    "git -C 'x y' push",
    "git -C \"$PWD\" push",
    "git --git-dir=.git push",
    "git --git-dir .git push",
    "git --git-dir .git --work-tree . push",
    "git --no-pager push",
    "git -p push",
    "git --exec-path=/x push",
    "git --namespace n push",
    "git --literal-pathspecs --bare push",
    "git -c 'user.name=A B' push",
    "git -c http.extraHeader=\"X: y\" push -q",
    "/usr/bin/git push",
    "/usr/bin/git -C x push",
    "./git push",
    "../bin/git push",
    "env X=1 git push",
    "env -i X=1 git -C x push",
    "env -u X git push",
    "X=1 git push",
    "GIT_DIR=.git GIT_WORK_TREE=. git push",
    "command git push",
    "command -p git push",
    "builtin command git push",
    "exec git push",
    "exec -a x git push",
    "sudo git push",
    "sudo -u me -E git -C x push",
    "doas git push",
    "nohup git push &",
    "nice -n 5 git push",
    "timeout 5 git push",
    "timeout --signal=KILL 5 git -C x push",
    "time git push",
    "stdbuf -oL git push",
    "setsid git push",
    "flock /tmp/l git push",
    "flock /tmp/l -c 'git push'",
    "script -qc 'git push' /dev/null",
    "systemd-run --user git push",
    "unshare -r git push",
    "busybox sh -c 'git push'",
    "su me -c 'git push'",
    "ssh localhost 'cd x; git push'",
    "bash -c 'git push'",
    "bash -c \"git -C x push\"",
    "bash -lc 'cd x && git -c a=b push'",
    "sh -c 'sh -c \"git push\"'",
    "bash <<< 'git push'",
    "bash <<EOF\ngit push\nEOF",
    "sh <<'EOF'\ncd x\ngit -C y push\nEOF",
    "echo git push | sh",
    "echo 'git -C x push' | bash -s",
    "printf 'git push\\n' | sh",
    "eval git push",
    "eval 'git push'",
    "eval \"git\" \"push\"",
    "trap 'git push' EXIT",
    "alias p='git push'; p",
    "watch 'git push'",
    "xargs git push < /dev/null",
    "echo push | xargs git",
    "echo x | xargs -I{} git -C {} push",
    "find . -exec git -C {} push ;",
    "find . -maxdepth 0 -execdir git push \\;",
    "'git' push",
    "\"git\" \"push\"",
    "g\"i\"t pu''sh",
    "\\git push",
    "g\\it p\\ush",
    "git 'push'",
    "git pu\"sh\"",
    "$'git' push",
    "$'\\x67it' push",
    "$'\\147it' pu$'\\x73'h",
    "git${IFS}push",
    "git$IFS-C${IFS}x${IFS}push",
    "git \\\n push",
    "git \\\n  -C x \\\n  push",
    "{ git push; }",
    "(git push)",
    "(cd x; git -C y push)",
    "x && git push",
    "x || git push",
    "x; git push",
    "x & git push",
    "x | git push",
    "if true; then git -C x push; fi",
    "for r in a b; do git -C $r push; done",
    "while false; do :; done; git push",
    "case x in x) git -C y push;; esac",
    "f() { git -C x push; }; f",
    "! git push",
    "echo $(git -C x push)",
    "echo `git -C x push`",
    "echo \"$(git -C x push)\"",
    "diff <(git -C x push) y",
    "x > $(git push)",
    "2>/dev/null git push",
    ">log git -C x push",
    "git>log push",
    "g=git; $g push",
    "p=push; git $p",
    "git $SUB",
    "git \"$@\"",
    "git $*",
    "$GIT push",
    "\"$GIT\" push",
    "$(which git) push",
    "`which git` push",
    "$(echo git push)",
    "git $(echo push)",
    "{git,push}",
    "git {push,origin}",
    "/usr/bin/gi? push",
    "/usr/bin/g*t push",
    "/usr/bin/[g]it push",
    "git pus?",
    "git -c alias.p=push p",
    "git -c alias.p='push --force' p",
    "git -c 'alias.p=!git push' p",
    "git -c alias.p='!sh -c \"git -C x push\"' p",
    "X='git push'; $X",
    "cmd='git -C x push' && eval \"$cmd\"",
    "git # no\ngit push",
    "git push # harmless",
    "true #\n git push",
    "python3 -c \"import os; os.system('git push')\"",
];

const OTHERS: &[&str] = &[
    "git pull",
    "git status",
    "git log --grep push",
    "git commit -m push",
    "git commit -m 'git push'",
    "git -c a=b commit -m 'will push'",
    "git stash list",
    "echo git push",
    "echo 'git push'",
    "grep -r 'git push' docs",
    "cat push",
    "gitpush",
    "git-push-notes x",
    "./push.sh",
    "hg push",
    "docker push x",
    "cargo test -- push",
    "ls *",
    "for f in *; do echo $f; done",
    "\"$PYTHON\" -m pytest",
    "$CARGO test",
    "# git push",
    "",
];

#[test]
fn a_push_is_found_however_it_is_written() {
    for pattern in ["git push*", "git push:*", "/usr/bin/git push *"] {
        let missed: Vec<_> = PUSHES.iter().filter(|text| !denies(pattern, text)).collect();
        assert!(missed.is_empty(), "{pattern}: {missed:#?}");
    }
    assert_eq!(PUSHES.len(), 136);
}

#[test]
fn what_is_no_push_is_left_alone() {
    let caught: Vec<_> = OTHERS.iter().filter(|text| denies("git push*", text)).collect();
    assert!(caught.is_empty(), "{caught:#?}");
    assert_eq!(OTHERS.len(), 23);
}

#[test]
fn options_of_other_programs_do_not_hide_a_subcommand() {
    let cases = [
        ("docker push*", "docker --host x push y", true),
        ("docker push*", "docker -H x --debug push y", true),
        ("npm publish*", "npm --prefix web publish", true),
        ("cargo publish*", "cargo +nightly publish", true),
        ("cargo publish*", "cargo -q --color never publish", true),
        ("kubectl delete*", "kubectl -n prod --context c delete pod x", true),
        ("terraform destroy*", "terraform -chdir=x destroy", true),
        ("cargo test", "cargo -q test", true),
        ("cargo test", "cargo test -q", false),
        ("docker push*", "docker run --push x", false),
    ];
    for (pattern, text, want) in cases {
        assert_eq!(denies(pattern, text), want, "{pattern} on {text}");
    }
}

/// Anything around a push, in any order.
fn dressed(rng: &mut Rng) -> String {
    const BEFORE: &[&str] = &["env A=1", "command", "sudo -E", "nice", "timeout 9", "A=b", "nohup", "2>&1"];
    const OPTIONS: &[&str] = &["-C x", "-c a=b", "--no-pager", "--git-dir=.git", "--work-tree .", "-p"];
    const AROUND: &[(&str, &str)] = &[
        ("", ""),
        ("cd x && ", ""),
        ("(", ")"),
        ("echo $(", ")"),
        ("bash -c '", "'"),
        ("x; ", " | cat"),
        ("{ ", "; }"),
    ];
    let pick = |rng: &mut Rng, of: &'static [&'static str]| of[rng.usize(..of.len())];
    let mut words = Vec::new();
    for _ in 0..rng.usize(..3) {
        words.push(pick(rng, BEFORE));
    }
    words.push(pick(rng, &["git", "/usr/bin/git", "\\git", "\"git\"", "g\"it\""]));
    for _ in 0..rng.usize(..4) {
        words.push(pick(rng, OPTIONS));
    }
    words.push(pick(rng, &["push", "pu\"\"sh", "\"push\"", "pus\\h"]));
    let (begin, end) = AROUND[rng.usize(..AROUND.len())];
    format!("{begin}{}{end}", words.join(pick(rng, &[" ", "  ", "\t", " \\\n "])))
}

#[test]
fn a_push_in_random_dress_is_found() {
    for_each_seed(3_000, |rng| {
        let text = dressed(rng);
        assert!(denies("git push*", &text), "{text:?}");
    });
}
