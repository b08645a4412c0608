//! Where a command line goes: to us, to the real shell, or back with a reason.

use posse_surface::{AgentCommand, Routed, parse_routed};
use serde_json::json;

use crate::call;

/// Where lines go; what goes to the shell goes there unchanged.
fn check(name: &str, lines: &[&str]) -> usize {
    for line in lines {
        let routed = parse_routed(&call("bash", &json!({"command": line}).to_string()));
        let Ok(Routed { command, name: got }) = routed else { panic!("{line:?}: {routed:?}") };
        assert_eq!(got, name, "{line:?}: {command:?}");
        let shell = matches!(&command, AgentCommand::Run(run) if run.name == "shell");
        assert_eq!(shell, name == "bash", "{line:?}: {command:?}");
        if let (true, AgentCommand::Run(run)) = (shell, command) {
            assert_eq!(run.arguments, json!({"command": line}).to_string());
        }
    }
    lines.len()
}

/// Lines that nobody runs, and what is said about them.
fn check_refused(part: &str, lines: &[&str]) -> usize {
    for line in lines {
        let routed = parse_routed(&call("bash", &json!({"command": line}).to_string()));
        let Err(said) = routed else { panic!("{line:?}: {routed:?}") };
        assert!(said.contains(part), "{line:?}: {said:?} lacks {part:?}");
    }
    lines.len()
}

/// Our names where a shell sees a text, an argument or a file.
const FORGED: &[&str] = &[
    "echo task:explore --prompt x",
    "echo 'task:explore --prompt x'",
    "echo \"task:explore --prompt x\"",
    "echo \"a; task:explore --prompt x\"",
    "echo 'a && task:explore --prompt x'",
    "echo \"a | task:explore\"",
    "echo 'one\ntask:explore --prompt x'",
    "echo \"one\ntask:explore --prompt x\"",
    "echo a\\;task:explore",
    "echo a\\; task:explore",
    "echo \\\ntask:explore --prompt x",
    "echo # ; task:explore",
    "ls # task:explore --prompt x",
    "ls 'it'\\''s; task:explore'",
    "git commit -m 'task:explore: add it'",
    "git commit -m \"skill:load and more; skill:search\"",
    "grep -rl task:explore . | head",
    "grep -v 'handle:read' a.txt",
    "npm run task:build",
    "npm run task:build && npm run skill:load",
    "make task:explore",
    "rake task:explore",
    "./task:explore --prompt x",
    "/bin/task:explore --prompt x",
    "alias e=task:explore",
    "cat task:explore",
    "cat < task:explore",
    "echo x > task:explore",
    "echo x >> skill:load",
    "cat > t.yml <<'EOF'\ntask:explore\nEOF",
    "cat > t.yml <<EOF\ntask:explore --prompt x\nskill:load k\nEOF",
    "cat <<'EOF'\ntask:explore --prompt x\nEOF",
    "cat <<-EOF\n\ttask:explore --prompt x\n\tEOF",
    "python3 - <<'EOF'\nprint('task:explore')\nEOF",
    "python3 -c 'print(\"task:explore\")'",
    "printf '%s\\n' task:explore skill:load",
    "[ task:explore = x ]",
    "true task:explore",
    "mytask:explore --prompt x",
    "_task:explore --prompt x",
    "task --prompt x",
    "task explore --prompt x",
    "task",
    "tasks:explore --prompt x",
    "task：explore --prompt x",
    "task;explore",
    "skill load k",
    "handle read h",
    "skills:load k",
    "'echo task:explore'",
    "\"sudo task:explore\"",
    "' task:explore' --prompt x",
    "-task:explore",
    "~/task:explore",
    "$task:explore",
    "$TASK:explore --prompt x",
    "{task:explore,}",
    "!task:explore",
    "@task:explore",
    "a=task:explore",
    "ta\\sk --prompt x",
];

/// Ordinary programs, and those that share a name with a command of ours but mean the program.
const PROGRAMS: &[&str] = &[
    "ls",
    "ls -la",
    "cargo test",
    "git status",
    "git log --oneline -20",
    "find . -name '*.ts' | wc -l",
    "cd src && ls",
    "make -j2; make test",
    "echo $HOME",
    "echo \"$(date)\"",
    "echo `date`",
    "(cd src; ls)",
    "sleep 1 &",
    "if true; then echo x; fi",
    "for f in *.rs; do echo $f; done",
    "while read -r line; do echo $line; done < f",
    "while read line; do echo $line; done < f",
    "cat f | while IFS=, read a b; do echo $a; done",
    "read -r line < f; echo $line",
    "IFS=: read -r a b < f",
    "builtin read line < f",
    "command -v write",
    "which write edit list",
    "man write",
    "git fetch && git remote read",
    "timeout 5 git fetch",
    "sudo apt list",
    "npm run list | cat",
    "echo write a b; echo 'edit a b c'",
    "cat <<'EOF' > s.sh\nwrite a b\nedit a b c\nEOF",
    "case $1 in write) echo a;; edit|read) echo b;; esac",
    "ops=(write edit); echo ${ops[0]}",
    "echo $((list + 1))",
    "./write a b",
    "/usr/bin/write user tty1",
    "readlink a",
    "reading a.rs",
    "greps x",
    "egrep x a",
    "./read a.rs",
    "/usr/bin/grep x a",
    "grep foo a.rs b.rs",
    "grep foo *.rs",
    "grep foo src/*.rs",
    "grep foo src/[ab].rs",
    "grep -v foo a.rs",
    "grep -l foo src",
    "grep -c foo a.rs",
    "grep -w foo a.rs",
    "grep -F foo a.rs",
    "grep -P 'x(?=y)' a.rs",
    "grep -rnl foo .",
    "grep -o 'x.*' a.rs",
    "grep -m 5 foo a.rs",
    "grep --color=never foo a.rs",
    "grep --exclude-dir=target foo .",
    "grep 'foo\\|bar' src",
    "grep 'x\\+' src",
    "grep '\\(a\\)' src",
    "grep foo a.rs | head",
    "grep foo a.rs > out",
    "grep foo a.rs 2>/dev/null",
    "grep foo a.rs || true",
    "grep \"$X\" $FILE",
    "grep 'it a.rs",
    "helpme",
    "# only a comment",
    "#!/bin/sh\nls",
    "   \n ls",
    "é",
    "\u{feff}task:explore --prompt x",
    "''",
    "'open",
    "\\",
];

/// Plain commands of ours, in the many ways they are written.
const PLAIN: &[(&str, &[&str])] = &[
    (
        "task:explore",
        &[
            "task:explore --prompt x",
            "  task:explore --prompt x  ",
            "\n\ntask:explore --prompt x\n\n",
            "\ttask:explore\t--prompt\tx",
            "TASK:EXPLORE --prompt x",
            "Task:Explore --prompt x",
            "'task:explore' --prompt x",
            "task:\"explore\" --prompt x",
            "task\\:explore --prompt x",
            "task:explore --prompt=x",
            "task:explore --prompt='x y'",
            "task:explore '--prompt=x y'",
            "task:explore --prompt x\\ y",
            "task:explore x",
            "task:explore -- --x",
            "task:explore --prompt 'a; b && c | d > e < f $(g) `h` & (i)'",
            "task:explore --prompt \"a; b && c | d > e < f \\$(g) \\`h\\` & (i)\"",
            "task:explore --prompt \"$(g) `h` ${i} $j\"",
            "task:explore --prompt 'one\n\ntwo'",
            "task:explore --prompt \"one\ntwo\"",
            "task:explore --prompt 'it'\\''s'",
            "task:explore --prompt \"say \\\"x\\\"\"",
            "task:explore --prompt x # and why",
            "task:explore --prompt x\n# and why",
            "# why\n\n# more\ntask:explore --prompt x",
            "task:explore --prompt x#y",
            "task:explore --prompt costs$",
            "task:explore --prompt a=b",
            "task:explore --prompt {a,b}",
            "task:explore --prompt *",
            "task:explore --prompt ~",
            "task:explore --prompt !",
            "task:explore --prompt a:b",
            "task:explore \\\n --prompt x",
            "task:explore \\\r\n --prompt x\r\n",
            "task:explore --prompt 'sudo task:general'",
            "task:explore <<'EOF'\nx; y\nEOF",
            "task:explore <<EOF\nx; y",
            "task:explore --prompt \"$(cat <<'EOF'\nsay \"x\" | y\nEOF\n)\"",
            "task:explore --prompt \"$(cat <<'EOF'\nx\nEOF\n) and y\"",
        ],
    ),
    ("task:code-reviewer", &["task:code-reviewer --prompt x", "task:Code-Reviewer x"]),
    ("task:skill:search", &["task:skill:search --prompt x", "Task:Skill:Search x"]),
    ("skill:load", &["skill:load k", "SKILL:LOAD k", "skill:load 'k k'"]),
    ("handle:read", &["handle:read h", "handle:read h --count"]),
    (
        "read",
        &[
            "read a.rs",
            "read 'a;b.rs'",
            "read a\\ b.rs",
            "read --help",
            "read a.rs # the start",
            "read ~/a.rs",
            "read ../a.rs",
        ],
    ),
    (
        "write",
        &[
            "write a --content 'x > y'",
            "write a --content=x",
            "write a x",
            "write a 'x > y'",
            "'write' a x",
            "Write a x",
            "write a -- --x",
            "write --help",
            "write a <<'EOF'\ntask:explore --prompt x\nEOF",
            "write a <<EOF\nx\nEOF\n\n",
        ],
    ),
    (
        "grep",
        &[
            "grep x",
            "grep 'a|b' src",
            "grep \"x$\" src",
            "grep x$ src",
            "grep -in x src",
            "grep -r --include '*.rs' x",
        ],
    ),
    ("glob", &["glob *.rs", "glob '**/*.{rs,md}'", "glob {a,b}.rs"]),
    ("list", &["list", "list .", "list ./src"]),
    ("edit", &["edit a x y", "\\edit a x y --all", "edit a --old x y", "edit a <<E\nx\n=======\ny\nE"]),
    ("help", &["help", "help read", "help task:explore", " help ", "help cd", "Help"]),
];

const LINES: &[&str] = &[
    "task:explore --prompt x | head",
    "task:explore --prompt x || true",
    "task:explore --prompt x && task:general --prompt y",
    "task:explore --prompt x & task:general --prompt y",
    "task:explore --prompt x; task:general --prompt y",
    "task:explore --prompt x;ls",
    "task:explore --prompt x\ntask:general --prompt y",
    "task:explore --prompt x\n\n# then\ntask:general --prompt y",
    "task:explore --prompt x > out",
    "task:explore --prompt x >> out",
    "task:explore --prompt x 2>&1",
    "task:explore --prompt x < in",
    "task:explore --prompt $(cat in)",
    "task:explore --prompt `cat in`",
    "task:explore --prompt $X",
    "task:explore --prompt ${X}",
    "task:explore --prompt $'x\\ny'",
    "task:explore --prompt a;b",
    "task:explore --prompt R&D",
    "task:explore --prompt (x)",
    "task:explore --prompt x &",
    "task:explore <<< x",
    "task:explore <<'EOF' | cat\nx\nEOF",
    "task:explore <<'EOF'\nx\nEOF\ntask:general y",
    "task:explore <<A <<B\nx\nA\ny\nB",
    "(task:explore --prompt x)",
    "`task:explore --prompt x`",
    "echo $(task:explore --prompt x)",
    "cd src && task:explore --prompt x",
    "cd src; Task:Explore --prompt x",
    "cd src\ntask:explore --prompt x",
    "ls | task:explore --prompt x",
    "ls || skill:load k",
    "ls & handle:read h",
    "read a.rs && task:explore --prompt x",
    "grep x a.rs | task:general --prompt y",
    "skill:load k | head",
    "handle:read h > out",
    "task:skill:search --prompt x; ls",
    "task:wait && ls",
    "todo a; ls",
];

/// Words of ours that are not understood as they stand: they are told how they are used.
const MISUSED: &[&str] = &[
    "read",
    "read -r line",
    "read -p 'Name: ' name",
    "read a b",
    "read a.rs --numbers",
    "read a.rs -n",
    "read a.rs <<'EOF'\nx\nEOF",
    "write",
    "write a.rs",
    "write user tty1 now",
    "write a.rs --append --content x",
    "write a.rs x <<'EOF'\ny\nEOF",
    "edit",
    "edit a.rs",
    "edit a.rs x",
    "edit a.rs x y z",
    "edit a.rs --line 5 --new y",
    "edit a.rs b.rs --old x --new y",
    "edit a.rs <<'EOF'\nx\nEOF",
    "glob",
    "glob '*.rs' src tests",
    "glob --null '*.rs'",
    "list a b",
    "list -l",
    "todo",
    "fetch",
    "remember",
    "recall --x",
    "skill:load",
    "handle:read",
];

/// Words of ours among other things: no program of that name is run.
const AMONG: &[&str] = &[
    "read a.rs | head -5",
    "read a.rs && echo ok",
    "read a.rs > b.rs",
    "read a.rs < b.rs",
    "read a.rs; ls",
    "read a.rs\nls",
    "read $FILE",
    "read ${FILE}",
    "read $(cat name)",
    "read `cat name`",
    "write a.rs --content x | cat",
    "write a.rs --content $X",
    "write a.rs --content $'a\\nb'",
    "write a.rs <<'EOF' && ls\nx\nEOF",
    "write a.rs <<'EOF'\nx\nEOF\nls",
    "write a.rs <<'EOF' > b\nx\nEOF",
    "write a.rs <<< text",
    "write a.rs <<A <<B\nx\nA\ny\nB",
    "edit a.rs --old x --new y; ls",
    "glob '*.rs' | wc -l",
    "list | wc -l",
    "help | cat",
    "cd src && write a b",
    "cd src && edit a x y",
    "cd src; 'edit' a x y",
    "cd src\nwrite a b",
    "echo hello | write a.txt",
    "echo hello | WRITE a.txt",
    "grep x a.rs | write b",
    "ls || list",
    "(write a b)",
    "{ write a b; }",
    "! write a b",
    "if write a b; then ls; fi",
    "for f in *; do edit $f x y; done",
    "while true; do write a b; done",
    "echo $(read a.rs)",
    "echo \"$(read a.rs)\"",
    "echo `read a.rs`",
    "diff <(read a) <(read b)",
    "> out write a b",
    "cd src && read a.rs",
    "X=1 read a.rs",
    "X=1 write a b",
    "X=1 Y=2 'edit' a x y",
    "command write a b",
    "exec write a b",
    "sudo write a b",
    "sudo -u me write a b",
    "env X=1 write a b",
    "nohup write a b",
    "time write a b",
    "nice -n 5 write a b",
    "timeout 5 write a b",
    "command sudo env X=1 edit a x y",
    "xargs -n 1 write < list",
    "find . -exec edit {} x y \\;",
    "bash -c 'write a b'",
    "sh -c \"cd x; edit a b c\"",
    "bash -c \"bash -c 'write a b'\"",
    "eval 'write a b'",
    "eval write a b",
    "bash <<'EOF'\nwrite a b\nEOF",
    "echo 'write a b' | bash",
    "ls; fetch https://example.com",
    "ls && todo a",
    "ls && remember x",
    "ls && recall x",
    "ls && glob '*'",
    "ls; help",
    "write a b\n'",
    "ls\nwrite a b\necho 'open",
    "sudo task:explore --prompt x",
    "env task:explore --prompt x",
    "X=1 task:explore --prompt x",
    "X=1 Y=2 skill:load k",
    "time task:explore --prompt x",
    "exec task:explore --prompt x",
    "eval 'task:explore --prompt x'",
    "command task:explore --prompt x",
    "bash -c 'task:explore --prompt x'",
    "sh -c \"task:explore --prompt x; ls\"",
    "xargs task:explore < list",
    "find . -exec task:explore {} +",
    "bash <<'EOF'\ntask:explore --prompt x\nEOF",
];

#[test]
fn no_word_of_ours_is_ever_a_program() {
    check_refused("Usage: ", MISUSED);
    for line in AMONG {
        let routed = parse_routed(&call("bash", &json!({"command": line}).to_string()));
        let Err(said) = routed else { panic!("{line:?}: {routed:?}") };
        let told =
            said.contains("must be the only command of its call") || said.contains("A quote is not closed");
        assert!(told, "{line:?}: {said:?}");
        let ours = line.contains("task:") || line.contains("skill:");
        assert!(ours || said.contains("Usage: ") || said.contains("quote"), "{line:?}: {said:?}");
    }
    assert_eq!((MISUSED.len(), AMONG.len()), (30, 85));
}

#[test]
fn every_line_goes_where_it_belongs() {
    let mut count = check("bash", FORGED) + check("bash", PROGRAMS);
    for (name, lines) in PLAIN {
        count += check(name, lines);
    }
    count += check_refused("must be the only command of its call, without ", LINES);
    assert_eq!(count, 264);
}

#[test]
fn a_forged_task_inside_quotes_is_not_routed() {
    assert_eq!(FORGED.len(), 61);
    check("bash", FORGED);
}

#[test]
fn the_reason_names_the_operator() {
    let cases = [
        (
            "task:explore --prompt x | head",
            "task:explore must be the only command of its call, without | outside quotes",
        ),
        ("task:explore --prompt x && ls", "without && outside quotes"),
        ("task:explore --prompt x; ls", "without ; outside quotes"),
        ("task:explore --prompt x\nls", "without a new line outside quotes"),
        ("task:explore --prompt $(ls)", "without $( outside quotes"),
        ("task:explore --prompt x > out", "without > outside quotes"),
        (
            "cd src && task:explore --prompt x",
            "task:explore must be the only command of its call, without && outside",
        ),
    ];
    assert_eq!(cases.len(), 7);
    for (line, part) in cases {
        check_refused(part, &[line]);
    }
}
