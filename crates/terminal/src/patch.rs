//! A unified diff cut into its files. Pure; it must not know where it comes from or how it is shown.

/// What the first line of a file begins with.
const FILE: &str = "diff --git ";

/// The part of a diff that is about one file.
#[derive(Clone, Copy, Debug)]
pub struct FilePatch<'a> {
    text: &'a str,
    path: &'a str,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Added,
    Deleted,
    Renamed,
    Modified,
}

/// The files of a diff. A text that names no file is one without a path.
pub fn file_patches(diff: &str) -> Vec<FilePatch<'_>> {
    let next_file = format!("\n{FILE}");
    let mut files = Vec::new();
    let mut rest = diff;
    while !rest.is_empty() {
        let end = rest.find(&next_file).map_or(rest.len(), |at| at + 1);
        let (text, next) = rest.split_at(end);
        files.push(FilePatch { text, path: path(text) });
        rest = next;
    }
    files
}

/// The path in the first line, which names it twice (`a/PATH b/PATH`), or else in the head below.
fn path(text: &str) -> &str {
    let first = text.lines().next().unwrap_or_default();
    let Some(both) = first.strip_prefix(FILE) else {
        let head = text.lines().take_while(|line| !line.starts_with("@@"));
        let names = head.filter_map(|line| line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")));
        return names.map(bare).filter(|name| *name != "/dev/null").last().unwrap_or_default();
    };
    let renamed = text.lines().skip(1).take_while(|line| !line.starts_with("@@"));
    if let Some(name) = renamed.filter_map(|line| line.strip_prefix("rename to ")).next() {
        return bare(name);
    }
    bare(both.split_at_checked(both.len() / 2 + 1).map_or(both, |(_, second)| second))
}

/// A path without quotes and without the letter of its side.
fn bare(name: &str) -> &str {
    let name = name.split('\t').next().unwrap_or(name);
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    name.strip_prefix("b/").or_else(|| name.strip_prefix("a/")).unwrap_or(name)
}

impl<'a> FilePatch<'a> {
    /// The path of the file; empty if the diff does not say it.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// All of its text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Whether it is about one of these files, or about something in one of these folders; without any, it is.
    pub fn is_about(&self, paths: &[String]) -> bool {
        let is = |path: &String| {
            let rest = self.path.strip_prefix(path.trim_end_matches('/'));
            path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        paths.is_empty() || paths.iter().any(is)
    }

    /// Its lines with whether they are part of what changed, and not of the head.
    pub fn lines(&self) -> impl Iterator<Item = (&'a str, bool)> + use<'a> {
        let mut inside = false;
        self.text.lines().map(move |line| {
            inside |= line.starts_with("@@");
            (line, inside)
        })
    }

    /// How many lines were added and removed.
    pub fn counts(&self) -> (u64, u64) {
        let (mut added, mut removed) = (0, 0);
        for (line, _) in self.lines().filter(|(_, inside)| *inside) {
            added += u64::from(line.starts_with('+'));
            removed += u64::from(line.starts_with('-'));
        }
        (added, removed)
    }

    /// The lines of its head.
    pub(crate) fn head(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.lines().take_while(|(_, inside)| !inside).map(|(line, _)| line)
    }

    /// What became of the file.
    pub(crate) fn kind(&self) -> PatchKind {
        let kinds = [
            ("new file", PatchKind::Added),
            ("--- /dev/null", PatchKind::Added),
            ("deleted file", PatchKind::Deleted),
            ("+++ /dev/null", PatchKind::Deleted),
            ("rename ", PatchKind::Renamed),
        ];
        let kind =
            |line: &str| kinds.iter().find(|(start, _)| line.starts_with(start)).map(|(_, kind)| *kind);
        self.head().find_map(kind).unwrap_or(PatchKind::Modified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_cut_into_files() {
        let diff = "diff --git a/src/a b.rs b/src/a b.rs\n--- a/src/a b.rs\n+++ b/src/a b.rs\n@@ -1 +1 @@\n-- x\n+++ y\n\
                    diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+one\n\
                    diff --git \"a/\\303\\244\" \"b/\\303\\244\"\ndeleted file mode 100644\n\
                    diff --git a/old b/newer\nrename from old\nrename to newer\n";
        let files = file_patches(diff);
        let seen = files.iter().map(|file| (file.path(), file.kind(), file.counts())).collect::<Vec<_>>();
        let expected = [
            ("src/a b.rs", PatchKind::Modified, (1, 1)),
            ("b.txt", PatchKind::Added, (1, 0)),
            ("\\303\\244", PatchKind::Deleted, (0, 0)),
            ("newer", PatchKind::Renamed, (0, 0)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(files.iter().map(FilePatch::text).collect::<String>(), diff);
        assert!(file_patches("").is_empty());
        let bare = file_patches("--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-y\n");
        assert_eq!((bare.len(), bare[0].path()), (1, "x"));
        assert_eq!(file_patches("日@@ -1 +0,0 @@\n-y\n")[0].path(), "");
    }

    #[test]
    fn files_are_chosen_by_their_path_or_folder() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\ndiff --git a/b.txt b/b.txt\n";
        let cases = [
            ("src", [true, false]),
            ("src/", [true, false]),
            ("b.txt", [false, true]),
            ("b", [false, false]),
            ("", [true, true]),
        ];
        for (path, expected) in cases {
            let about =
                file_patches(diff).iter().map(|file| file.is_about(&[path.to_string()])).collect::<Vec<_>>();
            assert_eq!(about, expected, "{path}");
        }
    }
}
