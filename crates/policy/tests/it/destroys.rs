//! Commands that ask where undo does not hold.

use posse_policy::{Act, Decision, Rules, Undo, Wish, destroys, judge, judge_with, limits};
use posse_protocol::{Approval, Shell};

use crate::random::{APPROVALS, for_each_seed};

const DESTROY: &[&str] = &[
    "rm x",
    "rm -rf .",
    "/bin/rm x",
    "\\rm x",
    "r\"m\" x",
    "sudo rm x",
    "env A=1 rm x",
    "command rm x",
    "busybox rm x",
    "nohup rm x &",
    "timeout 5 rm x",
    "cd a && rm x",
    "ls; rm x",
    "ls | xargs rm",
    "ls | xargs -0 -n1 rm -f",
    "ls | parallel rm {}",
    "find . -name '*.o' -delete",
    "find . -exec rm {} +",
    "find . -execdir /bin/rm {} \\;",
    "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
    "fd -x rm",
    "bash -c 'rm x'",
    "sh -c \"sh -c 'rm x'\"",
    "eval 'rm x'",
    "eval rm x",
    "(rm x)",
    "{ rm x; }",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"$(rm x)\"",
    "if true; then rm x; fi",
    "for f in *; do rm $f; done",
    "f() { rm x; }; f",
    "trap 'rm x' EXIT",
    "alias l='rm -f'",
    "echo 'rm x' | sh",
    "bash <<EOF\nrm x\nEOF",
    "bash <<< 'rm x'",
    "$CMD x",
    "$(echo rm) x",
    "/bin/r? x",
    "{rm,x}",
    "a=rm; $a x",
    "unlink x",
    "shred x",
    "truncate -s 0 x",
    "mv a b",
    "mv -f a b",
    "cp a b",
    "cp -r a b",
    "echo x > a",
    "echo x >a",
    "echo x >| a",
    "echo x &> a",
    "echo x >& a",
    "make 2> log",
    "> a",
    ": > a",
    "cat a > b",
    "exec > a",
    "ls > \"$f\"",
    "ls > $(cat name)",
    "bash -c 'echo x > a'",
    "x | tee a",
    "tee a < b",
    "dd if=/dev/zero of=a",
    "install -m 644 a b",
    "sed -i s/a/b/ f",
    "sed -i.bak s/a/b/ f",
    "sed -ni p f",
    "sed -E -i s/a/b/ f",
    "sed --in-place=.b s/a/b/ f",
    "perl -pi -e s/a/b/ f",
    "perl -i.bak -pe s/a/b/ f",
    "perl -e 'unlink \"a\"'",
    "awk -i inplace '{print}' f",
    "sort -o f f",
    "sort f -of",
    "ln -sf a b",
    "ln -f a b",
    "rsync -a --delete a/ b/",
    "rsync -a a/ b/",
    "patch -p1 < x.diff",
    "tar xf a.tar",
    "tar -xzf a.tgz",
    "tar --extract -f a.tar",
    "tar czf a.tgz .",
    "unzip -o a.zip",
    "gzip a",
    "gunzip a.gz",
    "curl -o a http://x",
    "curl -sSLo a http://x",
    "curl -O http://x/a",
    "wget -O a http://x",
    "scp h:a b",
    "ex -sc '%s/a/b/|x' f",
    "ed f < script",
    "vim -es -c 'wq' f",
    "split -l 10 a",
    "rename s/a/b/ *",
    "git reset --hard",
    "git reset HEAD~1",
    "git -C x reset --hard",
    "git -c a=b reset --hard",
    "git --git-dir=.git --work-tree . checkout -- .",
    "git checkout .",
    "git checkout main",
    "git checkout -f",
    "git checkout -b x -- f",
    "git restore .",
    "git restore --staged --worktree .",
    "git clean -fdx",
    "git clean -f",
    "git stash drop",
    "git stash clear",
    "git stash pop",
    "git branch -D x",
    "git branch -d x",
    "git branch --delete x",
    "git branch -f main HEAD~3",
    "git tag -d v1",
    "git rebase main",
    "git rebase -i HEAD~3",
    "git rm x",
    "git mv a b",
    "git apply x.diff",
    "git am x.mbox",
    "git gc --prune=now",
    "git prune",
    "git reflog expire --all",
    "git update-ref -d refs/heads/x",
    "git worktree remove x",
    "git filter-branch --all",
    "git switch -f x",
    "git switch --discard-changes x",
    "git submodule update --force",
    "git push --force",
    "git push -f origin main",
    "git push origin +main",
    "git push origin :main",
    "git push --force-with-lease",
    "git merge --abort",
    "git $SUB",
    "git \"$@\"",
    "git -c alias.x='reset --hard' x",
    "git -c alias.x='!rm -rf y' x",
    "hg revert --all",
    "svn revert -R .",
    "python3 -c \"import os; os.remove('a')\"",
    "python3 -c \"open('a','w')\"",
    "python3 - <<EOF\nimport shutil\nshutil.rmtree('a')\nEOF",
    "node -e \"require('fs').unlinkSync('a')\"",
    "ruby -e 'File.delete(\"a\")'",
    "php -r 'unlink(\"a\");'",
    "sqlite3 a.db 'drop table t'",
    "psql -c 'DELETE FROM t'",
    "docker volume rm x",
    "docker-x; docker system prune -f",
    "kubectl delete pod x",
    "rm 'unclosed",
    "echo \"unclosed",
];

const HARMLESS: &[&str] = &[
    "",
    "ls -la",
    "cat a",
    "echo rm",
    "echo 'rm -rf /'",
    "grep -r rm .",
    "grep -e '->' a",
    "awk '$1 > 3' a",
    "make 2>&1",
    "make > /dev/null 2>&1",
    "make &> /dev/null",
    "echo x >> a",
    "echo x >&2",
    "cat < a",
    "cargo test",
    "cargo rm x",
    "npm run rm",
    "rmdir x",
    "mkdir -p a/b",
    "touch a",
    "cp -n a b",
    "mv -n a b",
    "x | tee -a a",
    "x | tee --append a",
    "sed -n p f",
    "sed -e s/i/x/ f",
    "sed s/a/b/ f",
    "sed -es/i/j/ f",
    "perl -ne print f",
    "perl -Mstrict -e 'print 1'",
    "sort f",
    "ln -s a b",
    "rsync -n a/ b/",
    "find . -name x",
    "find . -exec grep x {} +",
    "ls | xargs grep x",
    "tar tf a.tar",
    "tar -tvf a.tar",
    "unzip -l a.zip",
    "gzip -k a",
    "gzip -c a",
    "curl -s http://x",
    "wget -q http://x",
    "git status",
    "git diff",
    "git log -p -- rm",
    "git add -A",
    "git commit -m 'git reset --hard'",
    "git stash list",
    "git stash",
    "git branch",
    "git branch -a",
    "git branch new",
    "git checkout -b new",
    "git restore --staged x",
    "git clean -n",
    "git clean --dry-run",
    "git rm --cached x",
    "git fetch",
    "git pull",
    "git push",
    "git push origin main",
    "git show HEAD:rm",
    "git tag",
    "git switch main",
    "git merge x",
    "python3 -c 'print(1)'",
    "python3 x.py",
    "node -e 'console.log(1)'",
    "sqlite3 a.db 'select 1'",
    "docker ps",
    "# rm x",
    "cat <<EOF\nrm x\nEOF",
    "test -f rm && echo yes",
    "for f in a b; do echo \"$f\"; done",
    "cd x && cargo build --release",
    "A=1 cargo test",
    "exec 3<>/dev/tcp/127.0.0.1/80",
];

#[test]
fn what_may_destroy_is_told() {
    let missed: Vec<_> = DESTROY.iter().filter(|command| destroys(command).is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    assert_eq!(DESTROY.len(), 161);
}

#[test]
fn what_destroys_nothing_is_not() {
    let told = HARMLESS.iter().filter_map(|command| Some((command, destroys(command)?)));
    assert_eq!(told.collect::<Vec<_>>(), []);
    assert_eq!(HARMLESS.len(), 78);
}

#[test]
fn what_is_around_a_command_does_not_hide_it() {
    const AROUND: [(&str, &str); 12] = [
        ("", ""),
        ("cd x && ", ""),
        ("x | ", " | y"),
        ("(", ")"),
        ("echo \"$(", ")\""),
        ("bash -c '", "'"),
        ("sudo ", ""),
        ("env A=b ", ""),
        ("! ", ""),
        ("while true; do ", "; done"),
        ("true\n", "\n"),
        ("nice -n 3 ", " # x"),
    ];
    // No quotes in them, so that they can stand between quotes.
    let plain: Vec<&str> = DESTROY.iter().copied().filter(|c| !c.contains(['\'', '"', '\n', '\\'])).collect();
    assert!(plain.len() > 100);
    for_each_seed(4_000, |rng| {
        let (begin, end) = AROUND[rng.usize(..AROUND.len())];
        let text = format!("{begin}{}{end}", plain[rng.usize(..plain.len())]);
        assert!(destroys(&text).is_some(), "{text:?}");
    });
}

#[test]
fn hostile_texts_end() {
    let texts = [
        "$(".repeat(30_000),
        "`".repeat(60_000),
        "{".repeat(60_000),
        "[".repeat(60_000),
        "((".repeat(30_000),
        "<<a ".repeat(10_000),
        "sh -c ".repeat(10_000),
        "$'\\".repeat(10_000),
        "eval \"".repeat(9_000),
        "\u{1}\u{2}".repeat(9_000),
        "x".repeat(limits::COMMAND_BYTES_MAX + 1),
    ];
    for text in &texts {
        let _ = destroys(text);
    }
    assert_eq!(destroys(&texts[10]), Some("cannot be looked through"));
    for_each_seed(3_000, |rng| {
        let letters = [
            "'", "\"", "$", "(", ")", "`", "\\", "{", "}", ",", "<", ">", "&", "|", " ", "\n", "a", "#", "[",
        ];
        let text: String = (0..rng.usize(..60)).map(|_| letters[rng.usize(..letters.len())]).collect();
        let _ = destroys(&text);
    });
}

#[test]
fn in_mode_auto_it_asks_where_undo_does_not_hold() {
    let letter = |approval, rules: &Rules, what: &str, act, undo| match judge_with(
        approval,
        rules,
        &Wish { tool: "shell", what, act },
        undo,
    ) {
        Decision::Allow => '.',
        Decision::Ask(_) => '?',
        Decision::Deny(_) => 'x',
    };
    let full = Act::Command(Shell::Full);
    let none = Rules::default();
    let row = |what, undo| APPROVALS.map(|mode| letter(mode, &none, what, full, undo));
    assert_eq!(row("rm x", Undo::Fails), ['x', '?', '?', '?', '.']);
    assert_eq!(row("rm x", Undo::Holds), ['x', '?', '?', '.', '.']);
    assert_eq!(row("ls", Undo::Fails), ['x', '?', '?', '.', '.']);
    let rules = |allow: &str| Rules::parse(&[allow.to_owned()], &[], &[]).unwrap();
    let cases = [("shell", '?'), ("*", '?'), ("shell(rm x)", '.'), ("shell(rm y)", '?')];
    for (allow, want) in cases {
        assert_eq!(letter(Approval::Auto, &rules(allow), "rm x", full, Undo::Fails), want, "{allow}");
    }
    let mut answered = Rules::default();
    answered.add_allow("shell(rm x)").unwrap();
    assert_eq!(letter(Approval::Auto, &answered, "rm x", full, Undo::Fails), '.');
    assert_eq!(
        letter(Approval::Auto, &none, "a b", Act::Edit, Undo::Fails),
        '.',
        "file tools know both sides"
    );
    let wish = Wish { tool: "shell", what: "cd x && rm y", act: full };
    assert_eq!(judge(Approval::Auto, &none, &wish), Decision::Allow);
    let asked = judge_with(Approval::Auto, &none, &wish, Undo::Fails);
    let why = "undo does not hold here, and in mode auto what removes files asks first";
    assert_eq!(asked, Decision::Ask(why.to_owned()));
}
