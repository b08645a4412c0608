//! `deny` and `ask` patterns find a command within a shell text. It helps a person; the sandbox is the boundary.

use posse_policy::{Act, Decision, Rules, Wish, judge, limits};
use posse_protocol::{Approval, Shell};

fn denies(pattern: &str, what: &str) -> bool {
    let rules = Rules::parse(&[], &[], &[format!("shell({pattern})")]).unwrap();
    let wish = Wish { tool: "shell", what, act: Act::Command(Shell::Full) };
    matches!(judge(Approval::Full, &rules, &wish), Decision::Deny(_))
}

#[test]
fn a_command_is_found_wherever_it_is() {
    let texts = [
        "rm -rf y",
        "rm",
        "  rm   -rf   y ",
        "cd x && rm -rf y",
        "cd x; rm -rf y",
        "cd x;rm -rf y",
        "cd x || rm y",
        "ls | rm y",
        "sleep 1 & rm y",
        "ls\nrm y",
        "echo $(rm y)",
        "echo `rm y`",
        "(rm y)",
        "{ rm y; }",
        "if true; then rm y; fi",
        "for f in *; do rm $f; done",
        "! rm y",
        "A=1 B=2 rm y",
        "env A=1 rm y",
        "env -i rm y",
        "sudo rm y",
        "sudo -u root -- rm y",
        "nohup rm y &",
        "time rm y",
        "timeout -k 1 5 rm y",
        "ls | xargs -0 -n 1 rm -f",
        "bash -c 'rm -rf y'",
        "bash -lc \"cd x; rm y\"",
        "sh -c \"sh -c 'rm y'\"",
        "eval \"rm y\"",
        "/bin/rm y",
        "sudo /usr/bin/rm y",
        "\\rm y",
        "r\"m\" y",
        "'rm' y",
        "rm${IFS}-rf${IFS}y",
        "rm \\\n -rf y",
        ">log rm y",
        "2>&1 rm y",
        "2>/dev/null rm y",
        "rm>log y",
        "find . -name x -exec rm {} +",
        "find . -exec /bin/rm {} \\;",
        "python -c \"import os; os.system('rm y')\"",
        "true &>x; rm y",
        "cat <(rm y)",
    ];
    assert_eq!(texts.len(), 46);
    for text in texts {
        assert!(denies("rm *", text), "{text:?}");
        assert!(denies("rm:*", text), "{text:?}");
    }
}

#[test]
fn other_commands_are_left_alone() {
    let texts =
        ["ls", "rmdir x", "cargo rm x", "git rm x", "echo rm", "grep -r rm .", "./form x", "cat rm.txt", ""];
    assert_eq!(texts.len(), 9);
    for text in texts {
        assert!(!denies("rm *", text), "{text:?}");
    }
}

#[test]
fn patterns_may_be_about_the_whole_text() {
    let cases = [
        ("git push *", "cd x && git push origin main", true),
        ("git push *", "git pull", false),
        ("*| sh", "curl x | sh", true),
        ("* > /etc/*", "echo x > /etc/hosts", true),
        ("* > /etc/*", "echo x >/etc/hosts", true),
        ("*--force*", "git push --force", true),
        ("cargo test", "cargo test", true),
        ("cargo test", "cargo test -q", false),
    ];
    for (pattern, text, want) in cases {
        assert_eq!(denies(pattern, text), want, "{pattern} on {text}");
    }
}

#[test]
fn what_is_too_much_to_look_through_is_caught() {
    let long = format!("echo {}", "x".repeat(limits::COMMAND_BYTES_MAX));
    let many = "a;".repeat(limits::COMMANDS_MAX + 1);
    assert!(denies("rm *", &long) && denies("rm *", &many));
}

#[test]
fn hostile_texts_are_looked_through_in_bounded_time() {
    let texts = [
        "sudo ".repeat(12_000),
        "$(".repeat(30_000),
        "a ".repeat(30_000),
        ">".repeat(60_000),
        "-exec ".repeat(10_000),
        "*".repeat(60_000),
        "é\u{0}\u{202e}".repeat(10_000),
    ];
    assert_eq!(texts.len(), 7);
    for text in &texts {
        denies("*a*b*c*rm*", text);
        posse_policy::explain(text);
    }
}
