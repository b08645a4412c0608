//! The names in a workspace that other programs run or obey by themselves, so that nobody writes them without being
//! asked. One table for everybody who guards a workspace: commands, file tools, merging and undoing. Touches no system.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use crate::protected_table::{Group, PROGRAMS, REPOSITORIES, TOOLS};

/// A name at the root of a workspace that nobody writes, `/` between parts. It is covered by a mount even where it is
/// missing, so that no moment is left in which it could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedName {
    /// The name.
    pub path: &'static str,
    /// Whether it is a folder where it exists; it stands for all that is below.
    pub folder: bool,
}

const fn folder(path: &'static str) -> ProtectedName {
    ProtectedName { path, folder: true }
}

const fn file(path: &'static str) -> ProtectedName {
    ProtectedName { path, folder: false }
}

/// What runs code soonest: git's own settings, settings of editors and agents, start-up files of shells. Each missing one
/// costs a placeholder, so these are few; [`protected_by`] knows them all.
const PLACEHOLDERS: &[ProtectedName] = &[
    folder(".git/hooks"),
    file(".git/config"),
    file(".git/config.worktree"),
    folder(".git/info"),
    folder(".git/modules"),
    folder(".git/worktrees"),
    file(".git/commondir"),
    file(".git/gitdir"),
    folder(".posse"),
    folder(".claude"),
    folder(".codex"),
    folder(".cursor"),
    folder(".gemini"),
    folder(".vscode"),
    folder(".idea"),
    file(".mcp.json"),
    file(".envrc"),
    folder(".ssh"),
    file(".gitconfig"),
    file(".bashrc"),
    file(".bash_profile"),
    file(".bash_login"),
    file(".bash_logout"),
    file(".profile"),
    file(".zshrc"),
    file(".zprofile"),
    file(".zshenv"),
    file(".zlogin"),
];

/// Where package managers unpack what others have published, with their settings for editors and hooks. Nobody opens those
/// folders to work in them, and no program looks for its settings there.
const UNPACKED: &[&str] = &["node_modules", "site-packages", "dist-packages"];

/// The names at the root of a workspace that are guarded by mounts, there or not. Where `.git` itself is a file, as in a
/// linked checkout, or is not there at all, all of it is guarded.
pub fn protected_names() -> &'static [ProtectedName] {
    PLACEHOLDERS
}

/// The program that runs or obeys a path, relative to the workspace, or what is above it, by itself; none if it is ordinary
/// work. Of git's own folder this is what can run code; the rest is written by every commit.
pub fn protected_by(relative: &Path) -> Option<&'static str> {
    in_table(&parts_of(relative))
}

/// Whether a path that ends in this name can be protected where what is above it is not: most names need no closer look.
pub fn may_be_protected(name: &str) -> bool {
    let name = folded(Cow::Borrowed(name));
    let table = table();
    is_git(&name) || table.lasts.contains(name.as_ref()) || table.by_ends(&name).is_some()
}

fn in_table(parts: &[Cow<'_, str>]) -> Option<&'static str> {
    let table = table();
    let mut unpacked = false;
    for (at, part) in parts.iter().enumerate() {
        // Itself, it is a repository made, moved or replaced.
        if is_git(part) && at + 1 == parts.len() {
            return Some("Git");
        }
        if let Some(program) = table.finds(&parts[at..], unpacked) {
            return Some(program);
        }
        unpacked |= UNPACKED.contains(&part.as_ref());
    }
    None
}

/// The parts of a path as they are compared.
fn parts_of(relative: &Path) -> Vec<Cow<'_, str>> {
    let mut parts: Vec<Cow<'_, str>> = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(part) => parts.push(folded(part.to_string_lossy())),
            Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a path, relative to the workspace, is where package managers unpack what others have published: only
/// repositories are protected below it.
pub fn is_unpacked(relative: &Path) -> bool {
    parts_of(relative).iter().any(|part| UNPACKED.contains(&part.as_ref()))
}

/// All that is protected in one workspace: the names of the table, and places that something in there names, such as
/// git's settings and links at names of the table. All paths are relative to the workspace.
#[derive(Clone, Debug, Default)]
pub struct Protected {
    named: Vec<Named>,
}

/// A place that is protected by more than its name.
#[derive(Clone, Debug)]
struct Named {
    place: PathBuf,
    /// As it is compared.
    parts: Vec<String>,
    program: &'static str,
}

impl Protected {
    /// The table and these places, each with the program that acts on it.
    pub fn new(named: impl IntoIterator<Item = (PathBuf, &'static str)>) -> Self {
        let named = named.into_iter().map(|(place, program)| {
            let parts = parts_of(&place).into_iter().map(Cow::into_owned).collect();
            Named { place, parts, program }
        });
        Self { named: named.filter(|named| !named.parts.is_empty()).collect() }
    }

    /// The program that acts by itself on a path or on what is above it.
    pub fn by(&self, relative: &Path) -> Option<&'static str> {
        let parts = parts_of(relative);
        in_table(&parts).or_else(|| {
            let above = |named: &&Named| {
                named.parts.len() <= parts.len()
                    && named.parts.iter().zip(&parts).all(|(name, part)| name == part)
            };
            self.named.iter().find(above).map(|named| named.program)
        })
    }

    /// The program that a link at a path would lead to what is not protected where it is, now or once that is written: by
    /// taking the place where a protected name begins, or by leading into unpacked packages to anything but a file.
    pub fn misled(&self, link: &Path, says: &Path, to_file: impl FnOnce() -> bool) -> Option<&'static str> {
        let begins = self.below(link).first().and_then(|rest| self.by(&link.join(rest)));
        begins
            .or_else(|| (!is_unpacked(link) && is_unpacked(says) && !to_file()).then_some("another program"))
    }

    /// What would be protected below a path if that were a folder, because the path is the beginning of its name: `config`
    /// below `.cargo`. Relative to the path.
    pub fn below(&self, relative: &Path) -> Vec<PathBuf> {
        let parts = parts_of(relative);
        let mut found = table().below(&parts);
        let under = |named: &&Named| {
            named.parts.len() > parts.len()
                && !parts.is_empty()
                && named.parts.iter().zip(&parts).all(|(name, part)| name == part)
        };
        // As it was named: the file system may tell spellings apart.
        let named = self.named.iter().filter(under);
        found.extend(named.map(|named| named.place.components().skip(parts.len()).collect::<PathBuf>()));
        found
    }
}

/// Whether a name is git's own folder, in any spelling.
pub fn is_git(name: &str) -> bool {
    matches!(folded(Cow::Borrowed(name)).as_ref(), ".git" | "git~1")
}

/// Some file systems take names for the same that differ in case, in dots and spaces at their end, or in characters that
/// nobody sees.
fn folded(name: Cow<'_, str>) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if name.bytes().all(plain) && !name.ends_with(['.', ' ']) {
        return name;
    }
    let seen = name.chars().filter(|c| !is_ignored(*c));
    let lower: String = seen.flat_map(char::to_lowercase).collect();
    Cow::Owned(lower.trim_end_matches(['.', ' ']).to_owned())
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The table, ready to be asked.
#[derive(Default)]
struct Table {
    /// By the first part of a path.
    by_first: HashMap<&'static str, Vec<Name>>,
    /// The last parts of all of them.
    lasts: HashSet<&'static str>,
    /// What a name begins and ends with, and the program.
    by_ends: Vec<(&'static str, &'static str, &'static str)>,
}

/// A name of the table.
struct Name {
    /// What follows the first part.
    rest: Vec<&'static str>,
    program: &'static str,
    /// Whether it counts in unpacked packages, too.
    everywhere: bool,
}

impl Table {
    fn add(&mut self, groups: &'static [Group], everywhere: bool) {
        for (program, names) in groups {
            for name in *names {
                if let Some((start, end)) = name.split_once('*') {
                    self.by_ends.push((start, end, program));
                    continue;
                }
                self.lasts.extend(name.rsplit('/').next());
                let mut parts = name.split('/');
                let first = parts.next().unwrap_or_default();
                let name = Name { rest: parts.collect(), program, everywhere };
                self.by_first.entry(first).or_default().push(name);
            }
        }
    }

    /// The program of a name that these parts begin with.
    fn finds(&self, parts: &[Cow<'_, str>], unpacked: bool) -> Option<&'static str> {
        let (first, rest) = parts.split_first()?;
        let first = if is_git(first) { ".git" } else { first.as_ref() };
        let fits = |name: &&Name| {
            let same = name.rest.iter().zip(rest).all(|(name, part)| *name == part.as_ref());
            (name.everywhere || !unpacked) && name.rest.len() <= rest.len() && same
        };
        if let Some(name) = self.by_first.get(first).and_then(|names| names.iter().find(fits)) {
            return Some(name.program);
        }
        if unpacked { None } else { self.by_ends(first) }
    }

    /// The program of a name that begins and ends like this one.
    fn by_ends(&self, name: &str) -> Option<&'static str> {
        let fits = |(start, end, _): &&(&str, &str, &'static str)| {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        };
        self.by_ends.iter().find(fits).map(|(_, _, program)| *program)
    }

    /// The ends of names that the end of these parts is the beginning of.
    fn below(&self, parts: &[Cow<'_, str>]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut unpacked = false;
        for (at, part) in parts.iter().enumerate() {
            let first = if is_git(part) { ".git" } else { part.as_ref() };
            let rest = &parts[at + 1..];
            for name in self.by_first.get(first).into_iter().flatten() {
                let same = name.rest.iter().zip(rest).all(|(name, part)| *name == part.as_ref());
                if (name.everywhere || !unpacked) && name.rest.len() > rest.len() && same {
                    found.push(name.rest[rest.len()..].iter().collect());
                }
            }
            unpacked |= UNPACKED.contains(&part.as_ref());
        }
        found
    }
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::default();
        table.add(REPOSITORIES, true);
        table.add(PROGRAMS, false);
        table.add(TOOLS, false);
        table
    })
}

/// Whether writing a path turns a folder above it into a repository without a work tree, or changes the settings of one:
/// git obeys it in every folder below. `exists` is asked for paths relative to the same place.
pub fn completes_repository(relative: &Path, exists: impl Fn(&Path) -> bool) -> bool {
    let parts: Vec<_> = relative.components().collect();
    (0..parts.len()).any(|at| {
        let Component::Normal(name) = parts[at] else { return false };
        let folder: PathBuf = parts[..at].iter().collect();
        let has = |name: &str| exists(&folder.join(name));
        match folded(name.to_string_lossy()).as_ref() {
            "head" => has("refs") && has("objects") || has("commondir"),
            "refs" => has("HEAD") && has("objects"),
            "objects" => has("HEAD") && has("refs"),
            "commondir" => has("HEAD"),
            "config" | "config.worktree" | "hooks" | "info" => {
                has("HEAD") && (has("refs") && has("objects") || has("commondir"))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_form_it_is_compared_in() {
        let groups = REPOSITORIES.iter().chain(PROGRAMS).chain(TOOLS);
        let names: Vec<&str> = groups.flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &names {
            assert!(name.split('/').all(|part| folded(part.into()) == part), "{name}");
            assert!(!name.is_empty() && name.matches('*').count() <= 1, "{name}");
        }
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "a name comes twice");
        assert!(names.len() >= 500, "{}", names.len());
        for name in protected_names() {
            assert!(protected_by(Path::new(name.path)).is_some(), "{}", name.path);
        }
    }

    #[test]
    fn what_may_not_be_protected_by_its_last_name_is_not() {
        let groups = REPOSITORIES.iter().chain(PROGRAMS).chain(TOOLS);
        let names = groups.flat_map(|(_, names)| names.iter().map(|name| name.replace('*', "x")));
        for name in names.chain([".git".into(), "git~1".into()]) {
            let last = name.rsplit('/').next().unwrap();
            for spelled in
                [last.to_owned(), last.to_uppercase(), format!("{last}. "), format!("\u{200b}{last}")]
            {
                assert!(may_be_protected(&spelled), "{spelled:?} of {name}");
            }
        }
        for ordinary in ["main.rs", "file12.txt", "README.md", "src", "a", ""] {
            assert!(!may_be_protected(ordinary), "{ordinary:?}");
        }
    }

    #[test]
    fn names_count_at_any_depth_and_in_any_spelling() {
        let cases = [
            (".vscode/tasks.json", Some("VS Code")),
            ("packages/app/.vscode/tasks.json", Some("VS Code")),
            ("a/b/c/.VSCode./tasks.json", Some("VS Code")),
            ("a/.vs\u{200c}code/x", Some("VS Code")),
            ("app.code-workspace", Some("VS Code")),
            ("a/.mcp.json", Some("an MCP client")),
            (".git", Some("Git")),
            ("sub/.git", Some("Git")),
            ("sub/GIT~1", Some("Git")),
            ("sub/.git/config", Some("Git")),
            ("sub/git~1/hooks/pre-commit", Some("Git")),
            (".git/rebase-merge/git-rebase-todo", Some("Git")),
            ("node_modules/x/.git/config", Some("Git")),
            ("node_modules/x/.vscode/settings.json", None),
            ("node_modules/.vscode", None),
            (".vscode/node_modules/x", Some("VS Code")),
            (".cargo/config.toml", Some("Cargo")),
            (".cargo/registry/x", None),
            ("a/tools/bazel", Some("a build tool")),
            ("tools/bazel.md", None),
            (".aider.conf.yml", Some("Aider")),
            ("x/../.envrc", Some("direnv")),
            (".git/index", None),
            (".git/refs/heads/main", None),
            (".git/objects/aa/bb", None),
            (".gitignore", None),
            ("Makefile", None),
            ("package.json", None),
            (".github/workflows/ci.yml", None),
            ("AGENTS.md", None),
            ("src/config", None),
            ("config.toml", None),
            (".env", None),
            ("", None),
        ];
        for (path, program) in cases {
            assert_eq!(protected_by(Path::new(path)), program, "{path}");
        }
    }

    #[test]
    fn the_beginning_of_a_name_is_known() {
        let named = [("scripts/Hooks".into(), "Git"), ("a/b/c".into(), "Zed"), ("".into(), "nothing")];
        let protected = Protected::new(named);
        let cases = [
            (".jj", vec!["repo/config.toml"]),
            ("x/.jj/repo", vec!["config.toml"]),
            ("x/.JJ./repo", vec!["config.toml"]),
            (".jj/other", vec![]),
            ("tools", vec!["bazel"]),
            ("node_modules/tools", vec![]),
            ("scripts", vec!["Hooks"]),
            ("x/scripts", vec![]),
            ("a", vec!["b/c"]),
            ("a/b", vec!["c"]),
            ("a/b/c", vec![]),
            ("src", vec![]),
            ("", vec![]),
        ];
        for (path, expected) in cases {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(protected.below(Path::new(path)), expected, "{path}");
        }
        let by = |path: &str| protected.by(Path::new(path));
        assert_eq!(
            (by("scripts/hooks/x"), by("a/b/c"), by("a/b"), by("x/.zed")),
            (Some("Git"), Some("Zed"), None, Some("Zed"))
        );
        let misled =
            |link: &str, says: &str, file| protected.misled(Path::new(link), Path::new(says), || file);
        assert_eq!(
            (misled("x/.jj", "y", true), misled("scripts", "y", false)),
            (Some("Jujutsu"), Some("Git"))
        );
        assert_eq!(
            (misled("x", "node_modules/y", false), misled("x", "node_modules/y", true)),
            (Some("another program"), None)
        );
        assert_eq!(
            (misled("node_modules/x", "../node_modules/y", false), misled("x", "y", false)),
            (None, None)
        );
        assert!(protected.below(Path::new("node_modules/.git")).len() > 5);
        assert!(is_unpacked(Path::new("a/Node_Modules/b")) && !is_unpacked(Path::new("a/modules")));
    }

    #[test]
    fn a_folder_becomes_a_repository_by_its_last_part() {
        let there = |names: &'static [&'static str]| {
            move |path: &Path| names.iter().any(|name| path == Path::new(name))
        };
        let cases: &[(&str, &'static [&'static str], bool)] = &[
            ("d/HEAD", &["d/refs", "d/objects"], true),
            ("d/HEAD", &["d/refs"], false),
            ("d/head", &["d/refs", "d/objects"], true),
            ("d/refs/heads/x", &["d/HEAD", "d/objects"], true),
            ("d/objects/aa", &["d/HEAD", "d/refs"], true),
            ("d/commondir", &["d/HEAD"], true),
            ("d/HEAD", &["d/commondir"], true),
            ("d/config", &["d/HEAD", "d/refs", "d/objects"], true),
            ("d/hooks/x", &["d/HEAD", "d/refs", "d/objects"], true),
            ("d/config", &["d/HEAD", "d/refs"], false),
            ("HEAD", &["refs", "objects"], true),
            ("d/e/f", &["d/HEAD", "d/refs", "d/objects"], false),
        ];
        for (path, exist, expected) in cases {
            assert_eq!(completes_repository(Path::new(path), there(exist)), *expected, "{path} {exist:?}");
        }
    }
}
