//! Whether a command may destroy what only undo could bring back. A table, and a guess that errs towards yes: where undo
//! does not hold, such a command asks.

use crate::command::{program, simple_commands};
use crate::shell_text::{Simple, UNKNOWN};

/// Programs that always may.
const ALWAYS: [(&str, &str); 43] = [
    ("rm", "removes files"),
    ("unlink", "removes files"),
    ("rimraf", "removes files"),
    ("del-cli", "removes files"),
    ("srm", "removes files"),
    ("trash", "removes files"),
    ("shred", "overwrites files"),
    ("truncate", "empties files"),
    ("wipefs", "overwrites a disk"),
    ("mkfs", "overwrites a disk"),
    ("fdisk", "overwrites a disk"),
    ("parted", "overwrites a disk"),
    ("sgdisk", "overwrites a disk"),
    ("blkdiscard", "overwrites a disk"),
    ("install", "overwrites files"),
    ("patch", "changes files"),
    ("ed", "changes files"),
    ("ex", "changes files"),
    ("vi", "changes files"),
    ("vim", "changes files"),
    ("nvim", "changes files"),
    ("emacs", "changes files"),
    ("rename", "renames files"),
    ("prename", "renames files"),
    ("mmv", "renames files"),
    ("sponge", "overwrites files"),
    ("split", "overwrites files"),
    ("csplit", "overwrites files"),
    ("unlzma", "replaces files"),
    ("uncompress", "replaces files"),
    ("compress", "replaces files"),
    ("git-filter-repo", "rewrites history"),
    ("git-filter-branch", "rewrites history"),
    ("bfg", "rewrites history"),
    ("scp", "overwrites files"),
    ("sftp", "overwrites files"),
    ("dropdb", "removes a database"),
    ("dos2unix", "changes files"),
    ("unix2dos", "changes files"),
    ("fallocate", "changes files"),
    ("debugfs", "overwrites a disk"),
    ("ftp", "overwrites files"),
    ("exiftool", "changes files"),
];

/// Programs that may, unless one of these words is there.
const UNLESS: [(&str, &str, &[&str]); 17] = [
    ("mv", "moves files, over others that are there", &["-n", "--no-clobber"]),
    ("cp", "copies over files that are there", &["-n", "--no-clobber"]),
    ("rsync", "overwrites or removes files", &["-n", "--dry-run", "--list-only"]),
    ("rclone", "overwrites or removes files", &["--dry-run", "ls", "lsd", "lsf", "lsjson", "cat", "size"]),
    ("tee", "overwrites files", &["-a", "--append"]),
    ("dd", "overwrites files", &["--help", "--version"]),
    ("unzip", "overwrites files", &["-l", "-t", "-n", "-p", "-v", "-z"]),
    ("7z", "overwrites files", &["l", "t"]),
    ("7za", "overwrites files", &["l", "t"]),
    ("unrar", "overwrites files", &["l", "t", "p"]),
    ("ar", "changes files", &["t", "p"]),
    ("cpio", "overwrites files", &["-t", "--list"]),
    ("gzip", "replaces files", &["-k", "--keep", "-c", "--stdout", "-l", "-t", "-dc", "-cd"]),
    ("gunzip", "replaces files", &["-k", "--keep", "-c", "--stdout", "-l", "-t"]),
    ("bzip2", "replaces files", &["-k", "--keep", "-c", "--stdout", "-t", "-dc", "-cd"]),
    ("bunzip2", "replaces files", &["-k", "--keep", "-c", "--stdout", "-t"]),
    ("xz", "replaces files", &["-k", "--keep", "-c", "--stdout", "-l", "-t", "-dc", "-cd"]),
];

/// Programs that may with one of these words.
const WITH: [(&str, &str, &[&str]); 16] = [
    ("find", "removes or writes files", &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("sort", "overwrites files", &["-o", "--output"]),
    ("ln", "replaces files", &["-f", "--force"]),
    ("link", "replaces files", &["-f"]),
    ("curl", "overwrites files", &["-o", "-O", "-J", "--output", "--remote-name", "--remote-name-all"]),
    ("wget", "overwrites files", &["-O", "-N", "--output-document", "--timestamping"]),
    ("awk", "changes files", &["inplace"]),
    ("gawk", "changes files", &["inplace"]),
    ("tar", "overwrites or removes files", &["--extract", "--get", "--remove-files", "--overwrite"]),
    ("hg", "throws away work", &["revert", "purge", "strip", "update", "up", "co", "checkout", "rollback"]),
    ("svn", "throws away work", &["revert", "cleanup", "rm", "delete", "remove"]),
    ("jj", "throws away work", &["abandon", "restore", "undo"]),
    ("docker", "removes data", &["rm", "rmi", "prune", "down", "kill", "cp"]),
    ("podman", "removes data", &["rm", "rmi", "prune", "down", "kill", "cp"]),
    ("kubectl", "removes data", &["delete", "drain", "replace"]),
    ("terraform", "removes data", &["destroy", "apply"]),
];

/// Subcommands of git that may; with words, only where one of them is there.
const GIT: [(&str, &str, &[&str]); 31] = [
    ("reset", "throws away work (git reset)", &[]),
    ("clean", "removes files (git clean)", &[]),
    ("checkout", "may overwrite changed files (git checkout)", &[]),
    ("checkout-index", "overwrites files (git checkout-index)", &[]),
    ("restore", "overwrites changed files (git restore)", &[]),
    ("rebase", "rewrites history (git rebase)", &[]),
    ("filter-branch", "rewrites history (git filter-branch)", &[]),
    ("filter-repo", "rewrites history (git filter-repo)", &[]),
    ("replace", "rewrites history (git replace)", &[]),
    ("rm", "removes files (git rm)", &[]),
    ("mv", "moves files (git mv)", &[]),
    ("apply", "changes files (git apply)", &[]),
    ("am", "changes files (git am)", &[]),
    ("prune", "removes what git keeps (git prune)", &[]),
    ("prune-packed", "removes what git keeps (git prune-packed)", &[]),
    ("gc", "removes what git keeps (git gc)", &[]),
    ("repack", "removes what git keeps (git repack)", &[]),
    ("read-tree", "overwrites the index (git read-tree)", &[]),
    ("update-ref", "moves or removes branches (git update-ref)", &[]),
    ("symbolic-ref", "moves branches (git symbolic-ref)", &[]),
    ("reflog", "removes what git keeps (git reflog)", &["expire", "delete", "drop"]),
    ("stash", "throws away work (git stash)", &["drop", "clear", "pop", "-u", "-a", "--all", "branch"]),
    ("worktree", "removes a checkout (git worktree)", &["remove", "prune", "move"]),
    ("submodule", "throws away work (git submodule)", &["deinit", "update", "foreach"]),
    ("sparse-checkout", "removes files (git sparse-checkout)", &[]),
    ("remote", "removes branches (git remote)", &["remove", "rm", "prune"]),
    ("notes", "removes notes (git notes)", &["remove", "prune"]),
    ("pull", "may rewrite history (git pull)", &["--rebase", "-r", "--force", "-f"]),
    ("fetch", "may overwrite branches (git fetch)", &["--force", "-f", "--prune", "-p"]),
    ("bisect", "overwrites files (git bisect)", &[]),
    ("lfs", "removes what git keeps (git lfs)", &["prune", "migrate", "uninstall"]),
];

/// The same, with one of these letters among short options, or one of these words.
const GIT_FLAGS: [(&str, &str, &str, &[&str]); 7] = [
    ("branch", "removes or moves branches (git branch)", "dDmMfC", &["--delete", "--force", "--move"]),
    ("tag", "removes or moves tags (git tag)", "df", &["--delete", "--force"]),
    ("switch", "may throw away work (git switch)", "fC", &["--force", "--discard-changes", "--force-create"]),
    (
        "push",
        "may throw away work elsewhere (git push)",
        "fd",
        &["--force", "--mirror", "--delete", "--prune"],
    ),
    ("merge", "throws away work (git merge)", "", &["--abort", "--quit"]),
    ("cherry-pick", "throws away work (git cherry-pick)", "", &["--abort", "--quit", "--skip"]),
    ("revert", "throws away work (git revert)", "", &["--abort", "--quit", "--skip"]),
];

/// Programs that take a piece of program as an argument, and the options before it.
pub(crate) const CODE: [(&str, &[&str]); 12] = [
    ("python", &["-c"]),
    ("python2", &["-c"]),
    ("python3", &["-c"]),
    ("pypy3", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("nodejs", &["-e", "-p", "--eval", "--print"]),
    ("deno", &["eval"]),
    ("bun", &["-e", "--eval"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
];

/// Words by which such a piece removes something.
pub(crate) const REMOVES_IN_CODE: [&str; 8] =
    ["remove", "unlink", "rmtree", "rmdir", "delete", "rm(", "rm_r", "rmsync"];

/// Words by which it asks for the names in the folder where it runs, without naming one.
pub(crate) const HERE_IN_CODE: [&str; 5] = ["listdir()", "scandir()", "cwd", "curdir", "dir.pwd"];

/// Other words by which it writes or starts something.
const IN_CODE: [&str; 22] = [
    "rename",
    "replace(",
    "truncate",
    "write",
    "move(",
    "copy",
    "'w",
    "\"w",
    "'r+",
    "\"r+",
    "'a+",
    "\">",
    "'>",
    "system",
    "exec",
    "spawn",
    "popen",
    "subprocess",
    "shutil",
    "child_process",
    "file_put",
    "`",
];

/// Words by which a query throws something away.
const IN_QUERY: [&str; 6] = ["drop ", "delete ", "truncate ", "update ", "replace ", "alter "];
pub(crate) const DATABASES: [&str; 6] =
    ["sqlite3", "psql", "mysql", "mariadb", "duckdb", "clickhouse-client"];

/// Where a redirection destroys nothing.
const HARMLESS: [&str; 6] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "/dev/zero"];

/// Why a command may destroy something, for a person; none if nothing in its text looks like it. A program can do what its
/// name does not say.
pub fn destroys(command: &str) -> Option<&'static str> {
    let Some(commands) = simple_commands(command) else {
        return Some("cannot be looked through");
    };
    commands.iter().find_map(one)
}

fn one(simple: &Simple) -> Option<&'static str> {
    if simple.empties.iter().any(|target| !is_harmless(target)) {
        return Some("writes over a file (>)");
    }
    by_program(simple)
}

/// The same by what its program does, wherever it writes its output.
pub(crate) fn by_program(simple: &Simple) -> Option<&'static str> {
    let (words, program) = (&simple.words, program(&simple.words));
    let arguments = words.get(1..).unwrap_or_default();
    let has = |wanted: &[&str]| arguments.iter().any(|word| is_one(word, wanted));
    if program.contains(UNKNOWN) {
        return Some("runs a program that its text does not name");
    }
    // `mkfs.ext4`, `vim.tiny`, `python3.12`
    let family = program.split('.').next().unwrap_or(program);
    let always = ALWAYS.iter().find(|(name, _)| [program, family].contains(name)).map(|(_, why)| *why);
    let unless = UNLESS.iter().find(|(name, _, _)| *name == program);
    let unless = unless.filter(|(_, _, but)| !has(but)).map(|(_, why, _)| *why);
    let with = WITH.iter().find(|(name, _, words)| *name == program && has(words)).map(|(_, why, _)| *why);
    let special = || match program {
        "git" => git(arguments),
        "sed" | "gsed" => edits(arguments, "efl", "--in-place").then_some("changes files (sed -i)"),
        "perl" | "ruby" => edits(arguments, "eEMmIx0lrC", "").then_some("changes files (-i)"),
        "ln" | "sort" | "curl" | "wget" => joined(program, arguments),
        "tar" | "bsdtar" => tar(arguments),
        _ => None,
    };
    let code =
        || CODE.iter().find(|(name, _)| *name == family).and_then(|(_, options)| code(simple, options));
    let query = || (DATABASES.contains(&program)).then(|| holds(simple, &IN_QUERY)).flatten();
    always.or(unless).or(with).or_else(special).or_else(code).or_else(query)
}

/// Whether a word is one of these, also with its value: `--output=x`. One that is unknown may be.
fn is_one(word: &str, wanted: &[&str]) -> bool {
    wanted.iter().any(|one| {
        word == *one
            || word.strip_prefix(one).is_some_and(|rest| one.starts_with("--") && rest.starts_with('='))
    })
}

pub(crate) fn is_harmless(target: &str) -> bool {
    HARMLESS.contains(&target) || target.starts_with("/dev/fd/") || target.starts_with("/dev/tcp/")
}

fn git(arguments: &[String]) -> Option<&'static str> {
    // Options before the subcommand may take a value: every word that can be the subcommand is looked at.
    let mut value = true;
    for (at, word) in arguments.iter().enumerate() {
        let (is_option, was) = (word.starts_with('-'), value);
        value = is_option;
        if is_option {
            continue;
        }
        if let Some(why) = git_subcommand(word, &arguments[at + 1..]) {
            return Some(why);
        }
        // After a word that is neither an option nor its value, the subcommand is behind us.
        if !was || at == 0 {
            return None;
        }
    }
    None
}

pub(crate) fn git_subcommand(name: &str, arguments: &[String]) -> Option<&'static str> {
    if name.contains(UNKNOWN) {
        return Some("runs a part of git that its text does not name");
    }
    let has = |wanted: &[&str]| arguments.iter().any(|word| is_one(word, wanted));
    let only_looks = match name {
        "clean" => has_letter(arguments, "n") || has(&["--dry-run"]),
        "checkout" => has(&["-b", "--orphan", "--help"]) && !has(&["-f", "--force", "--"]),
        "restore" => has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]),
        "apply" => has(&["--check", "--stat", "--numstat", "--summary"]) && !has(&["--apply"]),
        "rm" => has(&["--cached", "-n", "--dry-run"]),
        "mv" | "prune" => has(&["-n", "--dry-run"]),
        "bisect" => has(&["log", "view", "visualize"]),
        "sparse-checkout" => has(&["list"]),
        _ => false,
    };
    let listed = GIT.iter().find(|(known, _, words)| *known == name && (words.is_empty() || has(words)));
    let listed = listed.filter(|_| !only_looks).map(|(_, why, _)| *why);
    let flagged = GIT_FLAGS.iter().find(|(known, _, letters, words)| {
        *known == name && (has(words) || has_letter(arguments, letters) || forces(name, arguments))
    });
    listed.or(flagged.map(|(_, why, _, _)| *why))
}

/// `git push origin +main`, `:main`, `--force-with-lease`.
fn forces(name: &str, arguments: &[String]) -> bool {
    let forced = |word: &String| word.starts_with(['+', ':']) || word.starts_with("--force");
    name == "push" && arguments.iter().any(forced)
}

/// Whether one of these letters is among the short options.
pub(crate) fn has_letter(arguments: &[String], letters: &str) -> bool {
    let short =
        arguments.iter().filter_map(|word| word.strip_prefix('-').filter(|rest| !rest.starts_with('-')));
    short.flat_map(str::chars).any(|c| letters.contains(c))
}

/// Whether files are edited in place: `-i`, also among other letters, up to one that takes a value.
pub(crate) fn edits(arguments: &[String], with_value: &str, long: &str) -> bool {
    arguments.iter().any(|word| {
        let in_place = !long.is_empty() && word.starts_with(long);
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        in_place || letters.chars().take_while(|c| !with_value.contains(*c)).any(|c| c == 'i')
    })
}

/// Options that may be written together: `ln -sf`, `curl -sSLo x`, `wget -qO x`, `sort -ux`.
fn joined(program: &str, arguments: &[String]) -> Option<&'static str> {
    let (letters, why) = match program {
        "ln" => ("f", "replaces files (ln -f)"),
        "sort" => ("o", "overwrites files (sort -o)"),
        "curl" => ("oOJ", "overwrites files (curl -o)"),
        _ => ("ON", "overwrites files (wget -O)"),
    };
    has_letter(arguments, letters).then_some(why)
}

/// Archives are unpacked over what is there, and written over what is there.
fn tar(arguments: &[String]) -> Option<&'static str> {
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    let bare = if first.starts_with('-') { "" } else { first };
    let keeps =
        arguments.iter().any(|word| is_one(word, &["-k", "--keep-old-files", "-t", "--list", "-tf", "-tvf"]));
    let acts = |c: char| matches!(c, 'x' | 'c' | 'r' | 'u');
    (!keeps && (bare.contains(acts) || has_letter(arguments, "xcru"))).then_some("overwrites files (tar)")
}

/// What a piece of program seems to do, given as an argument or fed.
fn code(simple: &Simple, options: &[&str]) -> Option<&'static str> {
    let is_given = |word: &String| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let last = options
            .iter()
            .filter_map(|option| option.strip_prefix('-'))
            .any(|option| option.len() == 1 && letters.is_some_and(|letters| letters.contains(option)));
        last || options.contains(&word.as_str())
    };
    let given = simple.words.iter().skip(1).any(is_given) || !simple.fed.is_empty();
    let what = || holds(simple, &REMOVES_IN_CODE).or_else(|| holds(simple, &IN_CODE));
    given.then(what).flatten()
}

pub(crate) fn holds(simple: &Simple, wanted: &[&str]) -> Option<&'static str> {
    let texts = simple.words.iter().skip(1).chain(&simple.fed);
    let holds = |text: &String| {
        let text = text.to_lowercase();
        wanted.iter().any(|word| text.contains(word)) || text.contains(UNKNOWN)
    };
    texts.into_iter().any(holds).then_some("runs a piece of program that seems to change something")
}
