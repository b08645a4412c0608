//! What a command that may destroy something would reach, as far as its text tells: for whoever knows what undo covers.
//!
//! It errs towards too much: where a path is only known once the command runs, it may be anything. Files are not looked at
//! here; a path that is not there is no loss.

mod fed;
mod of_git;

use crate::command::{program, simple_commands};
use crate::destroys::{CODE, DATABASES, HERE_IN_CODE, REMOVES_IN_CODE, by_program, edits, is_harmless};
use crate::limits::FOLDERS_MAX;
use crate::pattern::{literal, may_match};
use crate::shell_text::{ANY, GLOB, SOME, Simple, UNKNOWN};

/// What a command may change or remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Where it may be when it does so: where it starts is the empty path, and so is a folder that is not there.
    pub folders: Vec<String>,
    /// What it does so with.
    pub targets: Vec<Target>,
}

/// Paths are as they are written, relative to one of the folders or absolute. They may be patterns: see [`fits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// What is at a path, with all below it.
    Path {
        /// The path.
        path: String,
        /// Whether a link at its end stands for what it leads to.
        follows: bool,
    },
    /// What has these names in a folder, or, where it is no folder, what is at its path.
    Into {
        /// The folder.
        place: String,
        /// The names.
        names: Vec<String>,
    },
    /// What is at a path, with all below it that git does not ignore.
    Known(String),
    /// What is at a path, with all below it that git tracks.
    Tracked(String),
    /// What git keeps: branches and what they hold.
    History,
    /// What of this a piece of program names.
    Code {
        /// Words that may be paths.
        words: Vec<String>,
        /// Whether it removes things. If nothing that it names is there, it may remove anything.
        removes: bool,
    },
    /// Something that is not in any folder: a server, a disk.
    Elsewhere,
    /// Anything in the folder that the command starts in.
    Anything,
}

/// Programs that change what only others keep.
const ELSEWHERE: [&str; 10] = [
    "docker",
    "podman",
    "kubectl",
    "terraform",
    "dropdb",
    "psql",
    "mysql",
    "mariadb",
    "clickhouse-client",
    "ftp",
];
/// Programs that do with a link itself what they do.
const NOT_THROUGH_LINKS: [&str; 8] = ["rm", "unlink", "rimraf", "del-cli", "srm", "trash", "mv", "ln"];
/// Programs whose first word, or the one after these options, is no path but a program of their own.
const SCRIPTED: [&str; 7] = ["sed", "gsed", "awk", "gawk", "perl", "ruby", "rename"];
/// Programs that unpack what an archive names, and the options that say where.
const ARCHIVES: [(&str, &[&str]); 7] = [
    ("tar", &["-C", "--directory"]),
    ("bsdtar", &["-C", "--directory"]),
    ("unzip", &["-d"]),
    ("7z", &["-o"]),
    ("7za", &["-o"]),
    ("unrar", &[]),
    ("cpio", &["-D", "--directory"]),
];
/// Other systems like git.
const LIKE_GIT: [&str; 6] = ["hg", "svn", "jj", "bfg", "git-filter-repo", "git-filter-branch"];

/// What a command that destroys something would reach.
pub fn reach(command: &str) -> Reach {
    let anything = || Reach { folders: vec![String::new()], targets: vec![Target::Anything] };
    let Some(commands) = simple_commands(command) else { return anything() };
    let Some(folders) = folders(command, &commands) else { return anything() };
    let mut targets = Vec::new();
    for simple in &commands {
        let empties = simple.empties.iter().filter(|target| !is_harmless(target));
        targets.extend(empties.map(|target| at(target, true)));
        if by_program(simple).is_some() {
            of_program(simple, &mut targets);
        }
    }
    let mut all: Vec<Target> = Vec::new();
    for target in targets {
        let meant = match &target {
            // What `find` hands over, and what is fed to `xargs`.
            Target::Path { path, .. } if path.contains("{}") => fed::found(&commands),
            Target::Path { path, .. } if path.contains(ANY) => fed::fed(command, path),
            _ => vec![target],
        };
        for target in meant {
            if !all.contains(&target) {
                all.push(target);
            }
        }
    }
    Reach { folders, targets: all }
}

/// Whether a path is a pattern of names that are there.
pub fn is_pattern(path: &str) -> bool {
    path.contains(GLOB)
}

/// Whether one part of a pattern may stand for a name.
pub fn fits(part: &str, name: &str) -> bool {
    may_match(&literal(name), part)
}

/// One word that is a path.
fn at(word: &str, follows: bool) -> Target {
    let runs_up = |word: &str| word.split('/').any(|part| part == "..") && word.contains(GLOB);
    if word.contains(SOME) || word.starts_with('~') || word.starts_with("/proc/") || runs_up(word) {
        return Target::Anything;
    }
    Target::Path { path: word.to_owned(), follows }
}

/// What others hand over and is not in the words.
fn handed_over() -> Target {
    Target::Path { path: ANY.to_string(), follows: true }
}

fn of_program(simple: &Simple, targets: &mut Vec<Target>) {
    let program = program(&simple.words);
    let arguments = simple.words.get(1..).unwrap_or_default();
    let family = program.split('.').next().unwrap_or(program);
    let follows = !NOT_THROUGH_LINKS.contains(&program);
    let all_at =
        |words: Vec<String>| words.into_iter().map(move |word| at(&word, follows)).collect::<Vec<_>>();
    // Without files that it edits, what it is given is a program of its own.
    let edits_files = SCRIPTED.contains(&program)
        && (!["perl", "ruby"].contains(&program) || edits(arguments, "eEMmIx0lrC", ""));
    match program {
        _ if program.contains(UNKNOWN) => targets.push(Target::Anything),
        _ if ELSEWHERE.contains(&program) => targets.push(Target::Elsewhere),
        "git" => of_git::targets(arguments, targets),
        _ if LIKE_GIT.contains(&program) => targets.extend([Target::Tracked(String::new()), Target::History]),
        "find" => targets.extend(fed::starts(arguments)),
        "cp" | "mv" | "install" | "ln" | "scp" | "sftp" => copied(program, arguments, targets),
        "rsync" | "rclone" => match operands(arguments).as_slice() {
            // One place alone is only listed, if it is one.
            [place]
                if program == "rsync"
                    && !place.contains(UNKNOWN)
                    && !place.contains(['*', '?', '[', '{']) => {}
            places => targets.extend(places.last().map(|last| remote(last))),
        },
        "dd" => targets.extend(all_at(valued(arguments, "of="))),
        "patch" => {
            targets.push(Target::Tracked(String::new()));
            targets.extend(all_at(operands(arguments)));
        }
        _ if ARCHIVES.iter().any(|(name, _)| *name == program) => unpacked(program, arguments, targets),
        _ if edits_files => {
            let files = scripted(program, arguments);
            targets.extend(files.is_empty().then(handed_over));
            targets.extend(all_at(files));
        }
        _ if CODE.iter().any(|(name, _)| *name == family) => targets.push(code(simple)),
        _ if DATABASES.contains(&program) => targets.extend(all_at(operands(arguments))),
        _ => {
            let named = operands(arguments);
            targets.extend(named.is_empty().then(handed_over));
            targets.extend(all_at(named));
            targets.extend(all_at(joined_values(program, arguments)));
        }
    }
}

/// The words that are neither options nor what an option is joined with; of `--name=value` the value.
fn operands(arguments: &[String]) -> Vec<String> {
    let mut only_paths = false;
    let mut found = Vec::new();
    for word in arguments {
        if only_paths || !word.starts_with('-') {
            found.push(word.clone());
        } else if word == "--" {
            only_paths = true;
        } else if let Some((_, value)) = word.split_once('=') {
            found.push(value.to_owned());
        }
    }
    found.retain(|word| !word.is_empty() && word != ";" && word != "+");
    found
}

/// Values that are written right behind a letter: `sort -of`, and the name that `curl -O` takes from an address.
fn joined_values(program: &str, arguments: &[String]) -> Vec<String> {
    if !["sort", "curl", "wget"].contains(&program) {
        return Vec::new();
    }
    let joined = arguments.iter().filter_map(|word| word.strip_prefix('-').and_then(|word| word.get(1..)));
    let last =
        arguments.iter().filter(|word| word.contains("://")).filter_map(|word| word.rsplit('/').next());
    joined.chain(last).filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

/// What stands behind a name such as `of=`.
fn valued(arguments: &[String], name: &str) -> Vec<String> {
    arguments.iter().filter_map(|word| word.strip_prefix(name)).map(str::to_owned).collect()
}

/// The value of an option, joined or in the next word.
fn option<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    let (at, word, name) = arguments.iter().enumerate().find_map(|(at, word)| {
        let name = names.iter().find(|name| word.starts_with(**name))?;
        Some((at, word, name))
    })?;
    match word[name.len()..].trim_start_matches('=') {
        "" => arguments.get(at + 1).map(String::as_str),
        joined => Some(joined),
    }
}

/// Copies go to the last of the words, under their own names if that is a folder.
fn copied(program: &str, arguments: &[String], targets: &mut Vec<Target>) {
    let mut sources = operands(arguments);
    let place = match option(arguments, &["-t", "--target-directory"]) {
        Some(place) => {
            sources.retain(|source| source != place);
            Some(place.to_owned())
        }
        None if program == "ln" && sources.len() == 1 => Some(".".to_owned()),
        None => sources.pop(),
    };
    let Some(place) = place else { return targets.push(Target::Anything) };
    if program == "mv" {
        targets.extend(sources.iter().map(|source| at(source, false)));
    }
    // The contents of a folder, or names that only running tells: it may be anything in there.
    let spreads = |source: &String| {
        let last = source.rsplit('/').next().unwrap_or_default();
        source.contains([SOME, ANY]) || matches!(last, "" | "." | "..")
    };
    let follows = program != "ln" && program != "mv";
    match (remote(&place), sources.iter().any(spreads)) {
        (Target::Elsewhere, _) => targets.push(Target::Elsewhere),
        (_, true) => targets.push(at(&place, true)),
        _ => match at(&place, follows) {
            Target::Path { path, .. } if !path.contains(ANY) => {
                let names = sources.iter().filter_map(|source| source.rsplit('/').next());
                targets.push(Target::Into { place: path, names: names.map(str::to_owned).collect() });
            }
            other => targets.push(other),
        },
    }
}

/// A place that may be on another machine.
fn remote(place: &str) -> Target {
    match place.split_once(':') {
        Some((host, _)) if !host.contains('/') => Target::Elsewhere,
        _ => at(place, true),
    }
}

/// What an archive holds can be anything in the folder that it is unpacked to; one that is made is one file.
fn unpacked(program: &str, arguments: &[String], targets: &mut Vec<Target>) {
    let first = arguments.first().map_or("", String::as_str);
    let letters = |word: &str| !word.starts_with("--") && (word.starts_with('-') || word == first);
    let has = |letter: char| arguments.iter().any(|word| letters(word) && word.contains(letter));
    let makes = has('c') || arguments.iter().any(|word| word == "--create");
    if program.ends_with("tar") && makes && !has('x') {
        let file = arguments.iter().position(|word| letters(word) && word.ends_with('f'));
        let file = file.and_then(|at| arguments.get(at + 1)).map(String::as_str);
        let file = file.or_else(|| option(arguments, &["--file"]));
        return targets.extend(file.map(|file| at(file, true)));
    }
    let options = ARCHIVES.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, options)| options);
    targets.push(at(option(arguments, options).unwrap_or("."), true));
}

/// The files that a program edits which is given a script: the script is no path.
fn scripted(program: &str, arguments: &[String]) -> Vec<String> {
    let mut given = false;
    let mut files = Vec::new();
    let mut skips = false;
    for word in arguments {
        let short = word.starts_with('-') && !word.starts_with("--");
        if std::mem::take(&mut skips) {
            continue;
        } else if (short && word.ends_with(['e', 'E', 'f']))
            || ["--expression", "--file"].contains(&word.as_str())
        {
            (skips, given) = (true, true);
        } else if (short && program.ends_with("sed") && word.starts_with("-e"))
            || word.starts_with("--expression=")
        {
            given = true;
        } else if word == "-i" && program.ends_with("awk") {
            skips = true;
        } else if !word.starts_with('-') {
            files.push(word.clone());
        }
    }
    if !given && !files.is_empty() {
        files.remove(0);
    }
    files
}

fn code(simple: &Simple) -> Target {
    let texts: Vec<&String> = simple.words.iter().skip(1).chain(&simple.fed).collect();
    if texts.iter().any(|text| text.contains(UNKNOWN)) {
        return Target::Anything;
    }
    let between = |c: char| c.is_whitespace() || "'\"=;|&<>(){}$`,".contains(c);
    let words = texts.iter().flat_map(|text| text.split(between)).filter(|word| !word.is_empty());
    let words = words.map(|word| word.replace(['*', '?'], &GLOB.to_string())).collect();
    let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    let has = |any: &[&str]| lower.iter().any(|text| any.iter().any(|word| text.contains(word)));
    match has(&REMOVES_IN_CODE) {
        true if has(&HERE_IN_CODE) => Target::Anything,
        removes => Target::Code { words, removes },
    }
}

/// Where a command may be when it runs another: none if that cannot be told.
fn folders(text: &str, commands: &[Simple]) -> Option<Vec<String>> {
    let moves = |simple: &&Simple| ["cd", "pushd", "chdir"].contains(&program(&simple.words));
    let moved = commands.iter().filter(moves).map(|simple| {
        match at(&operands(&simple.words).get(1)?.clone(), true) {
            Target::Path { path, .. } if !path.contains(UNKNOWN) && path != "-" => Some(path),
            _ => None,
        }
    });
    let moved: Vec<String> = moved.collect::<Option<_>>()?;
    let elsewhere = |simple: &Simple| {
        let runs = ["env", "sudo", "doas", "make", "xargs", "parallel"].contains(&program(&simple.words));
        runs && option(&simple.words, &["-C", "-D", "--chdir", "--workdir"]).is_some()
    };
    if commands.iter().any(elsewhere) || moved.len() > FOLDERS_MAX {
        return None;
    }
    if let ([only], true) = (&moved[..], text.trim_start().starts_with("cd ")) {
        return Some(vec![only.clone()]);
    }
    let mut folders = vec![String::new()];
    for folder in moved {
        let below = folders.iter().map(|above| match above.is_empty() || folder.starts_with('/') {
            true => folder.clone(),
            false => format!("{above}/{folder}"),
        });
        let below: Vec<String> = below.collect();
        folders.extend(below);
    }
    Some(folders)
}
