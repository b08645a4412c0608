//! A diff as `posse diff` prints it: a patch that programs can apply, in colours for people, or only counted. Pure; it must
//! not know where it comes from.

use posse_terminal::FilePatch;

use crate::limits::{BAR_COLUMNS_MAX, PATH_COLUMNS_MAX};
use crate::output::{Style, columns, counted, one_line};

/// The files of a diff.
pub(crate) use posse_terminal::file_patches as files;

fn painted_file(file: &FilePatch<'_>, style: Style) -> String {
    let paint = |(line, inside): (&str, bool)| match (line.chars().next(), inside) {
        (_, false) => style.bold(line),
        (Some('+'), _) => style.green(line),
        (Some('-'), _) => style.red(line),
        (Some('@'), _) => style.cyan(line),
        _ => line.to_string(),
    };
    // Numbers to choose hunks by, for people; a program that applies the diff gets it as it is.
    let (mut hunks, several) = (0, file.text().lines().filter(|line| line.starts_with("@@")).count() > 1);
    let mut number = |line: &str| {
        hunks += u32::from(line.starts_with("@@"));
        let shown = several && style.has_colours() && line.starts_with("@@");
        if shown { style.dim(&format!("  hunk {hunks}")) } else { String::new() }
    };
    file.lines().map(|line| format!("{}{}\n", paint(line), number(line.0))).collect()
}

/// All of it, in colours.
pub(crate) fn painted(style: Style, files: &[FilePatch<'_>]) -> String {
    files.iter().map(|file| painted_file(file, style)).collect()
}

/// One line for each file: how many lines came and went.
pub(crate) fn stat(style: Style, files: &[FilePatch<'_>]) -> String {
    let names = files.iter().map(|file| one_line(file.path(), PATH_COLUMNS_MAX)).collect::<Vec<_>>();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let most =
        files.iter().map(|file| file.counts()).map(|(added, removed)| added + removed).max().unwrap_or(0);
    let bar = |count: u64| match most {
        0..=BAR_COLUMNS_MAX => count,
        // What is there is shown, however little it is.
        _ => (count * BAR_COLUMNS_MAX / most).max(u64::from(count > 0)),
    };
    let mut text = String::new();
    let (mut added_in_all, mut removed_in_all) = (0, 0);
    for (file, name) in files.iter().zip(&names) {
        let (added, removed) = file.counts();
        added_in_all += added;
        removed_in_all += removed;
        let marks = |mark: &str, count| mark.repeat(usize::try_from(bar(count)).unwrap_or(0));
        let bars = format!("{}{}", style.green(&marks("+", added)), style.red(&marks("-", removed)));
        let pad = " ".repeat(widest - columns(name));
        text.push_str(format!(" {name}{pad}  {:>5}  {bars}", added + removed).trim_end());
        text.push('\n');
    }
    text.push_str(&format!(
        " {} changed (+{added_in_all} -{removed_in_all})\n",
        counted(files.len() as u64, "file")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/src/a b.rs b/src/a b.rs
index 1111111..2222222
--- a/src/a b.rs
+++ b/src/a b.rs
@@ -1,2 +1,2 @@
 same
-old
+new
diff --git a/b.txt b/b.txt
new file mode 100644
--- /dev/null
+++ b/b.txt
@@ -0,0 +1,2 @@
+one
+-- two
";

    #[test]
    fn a_diff_is_cut_into_files_and_counted() {
        let all = files(DIFF);
        assert_eq!(all.iter().map(FilePatch::path).collect::<Vec<_>>(), ["src/a b.rs", "b.txt"]);
        assert_eq!(painted(Style::plain(), &all), DIFF);
        let expected = " src/a b.rs      2  +-\n b.txt           2  ++\n 2 files changed (+3 -1)\n";
        assert_eq!(stat(Style::plain(), &all), expected);
        assert!(files("").is_empty());
    }

    #[test]
    fn what_came_is_green_and_what_went_is_red() {
        let text = painted(Style::coloured(), &files(DIFF));
        for part in [
            "\u{1b}[31m-old\u{1b}[0m\n\u{1b}[32m+new\u{1b}[0m\n",
            "\u{1b}[1m--- a/src/a b.rs\u{1b}[0m\n",
            "\u{1b}[32m+-- two",
        ] {
            assert!(text.contains(part), "{text:?}");
        }
    }
}
