//! A unified diff as people read it: a line for each file, numbers beside the lines, and what changed inside of them.
//! Pure.

use crate::patch::{FilePatch, PatchKind, file_patches};
use crate::{Highlighter, Ink, Look, Span, TextLine, language_of_path};

/// How git says that a file has no lines to compare.
const BINARY: &str = "Binary files ";

/// A diff in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffText {
    /// The first lines.
    pub lines: Vec<TextLine>,
    /// How many more there are.
    pub hidden: usize,
}

/// Draws a diff as git writes it, or only hunks of one, in so many lines at most.
pub fn diff_lines(diff: &str, lines_max: usize) -> DiffText {
    let mut drawing = DiffDrawing { text: DiffText::default(), lines_max };
    for file in file_patches(diff) {
        drawing.file(&file);
    }
    drawing.text
}

struct DiffDrawing {
    text: DiffText,
    lines_max: usize,
}

/// Where a hunk is: the next line of the old and the new file. None if lines were left out since.
#[derive(Clone, Copy, Debug, Default)]
struct HunkPlace {
    old: Option<u64>,
    new: Option<u64>,
}

/// The columns of line numbers: how wide they are, and which are there.
#[derive(Clone, Copy, Debug)]
struct NumberColumns {
    width: usize,
    old: bool,
    new: bool,
}

/// A line of a hunk, and the part of it that is different from the line that it replaces or is replaced by.
struct HunkLine<'a> {
    mark: char,
    text: &'a str,
    changed: Option<std::ops::Range<usize>>,
}

impl DiffDrawing {
    fn is_full(&self) -> bool {
        self.text.lines.len() >= self.lines_max
    }

    /// Adds a line; makes it only if it is shown.
    fn add(&mut self, line: impl FnOnce() -> TextLine) {
        if self.is_full() {
            self.text.hidden += 1;
        } else {
            self.text.lines.push(line());
        }
    }

    fn file(&mut self, file: &FilePatch<'_>) {
        if !file.path().is_empty() {
            self.add(|| file_line(file));
        }
        self.head(file);
        let numbers = number_columns(file);
        let lines = file.lines().skip_while(|(_, inside)| !inside).map(|(line, _)| line).collect::<Vec<_>>();
        let (mut place, mut at) = (HunkPlace::default(), 0);
        let mut highlighter = Highlighter::new(language_of_path(file.path()));
        while let Some(line) = lines.get(at) {
            if line.starts_with("@@") {
                if at > 0 {
                    self.add(|| TextLine::of("⋮", Ink::Quiet));
                }
                place = hunk_place(line);
                highlighter = Highlighter::new(language_of_path(file.path()));
                at += 1;
                continue;
            }
            let run = |from: usize, mark: char| {
                lines[from..].iter().take_while(|line| line.starts_with(mark)).count()
            };
            let (removed, added) = (run(at, '-'), run(at + run(at, '-'), '+'));
            if removed + added == 0 {
                self.other(line, &mut place, numbers, &mut highlighter);
                at += 1;
                continue;
            }
            let (olds, news) = lines[at..at + removed + added].split_at(removed);
            self.changed(olds, news, &mut place, numbers, &mut highlighter);
            at += removed + added;
        }
    }

    /// What the head of a file says that people want to know.
    fn head(&mut self, file: &FilePatch<'_>) {
        let is_known = |line: &&str| {
            !file.path().is_empty()
                && [
                    "diff --git ",
                    "index ",
                    "--- ",
                    "+++ ",
                    "new file",
                    "deleted file",
                    "rename ",
                    "similarity ",
                    BINARY,
                ]
                .iter()
                .any(|start| line.starts_with(start))
        };
        for line in file.head().filter(|line| !is_known(line) && !line.is_empty()) {
            self.add(|| TextLine::of(line, Ink::Quiet));
        }
    }

    /// A line that did not change, or words between the lines.
    fn other(
        &mut self,
        line: &str,
        place: &mut HunkPlace,
        numbers: NumberColumns,
        highlighter: &mut Highlighter,
    ) {
        let text = match line.chars().next() {
            None => "",
            Some(' ') => &line[1..],
            Some(first) => {
                if first != '\\' {
                    // Lines are left out here.
                    *place = HunkPlace::default();
                }
                return self.add(|| TextLine::of(line, Ink::Quiet));
            }
        };
        let (old, new) = (next(&mut place.old), next(&mut place.new));
        self.add(|| {
            let mut line = gutter(numbers, old, new);
            line.push("  ", Look::PLAIN);
            line.append(highlighter.line(text));
            line
        });
    }

    /// Lines that were removed, and those in their place.
    fn changed(
        &mut self,
        olds: &[&str],
        news: &[&str],
        place: &mut HunkPlace,
        numbers: NumberColumns,
        highlighter: &mut Highlighter,
    ) {
        let is_replaced = olds.len() == news.len() && !self.is_full();
        let pairs = olds.iter().zip(news).map(|(old, new)| difference(&old[1..], &new[1..]));
        let pairs = if is_replaced { pairs.collect::<Vec<_>>() } else { Vec::new() };
        for (n, old) in olds.iter().enumerate() {
            let number = next(&mut place.old);
            let changed = pairs.get(n).and_then(|pair| pair.as_ref().map(|pair| pair.0.clone()));
            let line = HunkLine { mark: '-', text: &old[1..], changed };
            self.add(|| line.drawn(gutter(numbers, number, None)));
        }
        for (n, new) in news.iter().enumerate() {
            let number = next(&mut place.new);
            let changed = pairs.get(n).and_then(|pair| pair.as_ref().map(|pair| pair.1.clone()));
            let line = HunkLine { mark: '+', text: &new[1..], changed };
            if !self.is_full() {
                // What it opens or closes counts for the lines below.
                highlighter.line(line.text);
            }
            self.add(|| line.drawn(gutter(numbers, None, number)));
        }
    }
}

impl HunkLine<'_> {
    fn drawn(&self, mut line: TextLine) -> TextLine {
        let look = Look::of(if self.mark == '+' { Ink::Added } else { Ink::Removed });
        line.push_span(Span::new(&format!("{} ", self.mark), look));
        let changed = self.changed.clone().unwrap_or(0..0);
        line.push(&self.text[..changed.start], look);
        line.push(&self.text[changed.clone()], look.bold().underline());
        line.push(&self.text[changed.end..], look);
        line
    }
}

/// `M path (+3 −1)`
fn file_line(file: &FilePatch<'_>) -> TextLine {
    let (letter, ink) = match file.kind() {
        PatchKind::Added => ("A", Ink::Added),
        PatchKind::Deleted => ("D", Ink::Removed),
        PatchKind::Renamed => ("R", Ink::Accent),
        PatchKind::Modified => ("M", Ink::Accent),
    };
    let mut line = TextLine::of(letter, ink).with(" ", Look::PLAIN);
    let from = file.head().find_map(|line| line.strip_prefix("rename from "));
    if let Some(from) = from {
        line.push(&format!("{from} → "), Ink::Quiet);
    }
    line.push(file.path(), Look::PLAIN.bold());
    if file.head().any(|line| line.starts_with(BINARY)) {
        line.push(" (binary)", Ink::Quiet);
    }
    let (added, removed) = file.counts();
    if added + removed > 0 {
        line.push(" (", Ink::Quiet);
        line.push(&format!("+{added}"), Ink::Added);
        line.push(" ", Ink::Quiet);
        line.push(&format!("−{removed}"), Ink::Removed);
        line.push(")", Ink::Quiet);
    }
    line
}

/// The columns that the largest number takes. A file that is new or gone has one column.
fn number_columns(file: &FilePatch<'_>) -> NumberColumns {
    let (mut largest, mut old, mut new, mut place) = (0, false, false, HunkPlace::default());
    for (line, _) in file.lines().filter(|(_, inside)| *inside) {
        let (is_old, is_new) = match line.as_bytes().first() {
            Some(b'@') => {
                place = hunk_place(line);
                (false, false)
            }
            Some(b'+') => (false, true),
            Some(b'-') => (true, false),
            Some(b' ') | None => (true, true),
            Some(_) => (false, false),
        };
        let numbers = [is_old.then(|| next(&mut place.old)), is_new.then(|| next(&mut place.new))];
        largest = numbers.iter().flatten().flatten().fold(largest, |largest, number| largest.max(*number));
        (old, new) = (old | is_old, new | is_new);
    }
    NumberColumns { width: largest.to_string().len(), old, new }
}

fn gutter(numbers: NumberColumns, old: Option<u64>, new: Option<u64>) -> TextLine {
    let mut text = String::new();
    for (_, number) in [(numbers.old, old), (numbers.new, new)].iter().filter(|(is_there, _)| *is_there) {
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        text.push_str(&format!("{number:>width$} ", width = numbers.width));
    }
    TextLine::of(&text, Ink::Quiet)
}

/// The number of a line; the next line has the next one.
fn next(number: &mut Option<u64>) -> Option<u64> {
    let this = *number;
    *number = this.map(|this| this.saturating_add(1));
    this
}

/// Where a hunk begins: `@@ -3,4 +5,6 @@`
fn hunk_place(line: &str) -> HunkPlace {
    let mut words = line.split(' ').skip(1);
    let mut number = |mark: char| {
        let word = words.next()?.strip_prefix(mark)?;
        word.split(',').next()?.parse::<u64>().ok()
    };
    HunkPlace { old: number('-'), new: number('+') }
}

/// Which part of a line was replaced by which part of another; none if they have too little in common.
fn difference(old: &str, new: &str) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let mut begin = same.map(|(c, _)| c.len_utf8()).sum::<usize>();
    // Words change as a whole.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let goes_on = |text: &str, at: usize| text[at..].chars().next().is_some_and(is_word);
    if goes_on(old, begin) || goes_on(new, begin) {
        begin = old[..begin].trim_end_matches(is_word).len();
    }
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let same = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(a, b)| a == b);
    let mut end = same.map(|(c, _)| c.len_utf8()).sum::<usize>();
    let ends_inside = |text: &str| text[..text.len() - end].chars().next_back().is_some_and(is_word);
    if ends_inside(old_rest) || ends_inside(new_rest) {
        let kept = &old_rest[old_rest.len() - end..];
        end = kept.trim_start_matches(is_word).len();
    }
    let in_common = old[..begin].trim().len() + old_rest[old_rest.len() - end..].trim().len();
    let longer = old.trim().len().max(new.trim().len());
    let ranges = (begin..old.len() - end, begin..new.len() - end);
    (in_common * 3 >= longer && in_common > 0).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1111111..2222222
--- a/src/a.rs
+++ b/src/a.rs
@@ -8,4 +8,5 @@
 fn main() {
-    let width = 1;
+    let height = 1;
+    // more
 }
 
@@ -98,2 +99,1 @@ fn other() {
 same
--- gone
diff --git a/b.txt b/b.txt
new file mode 100644
--- /dev/null
+++ b/b.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/c.bin b/c.bin
old mode 100644
new mode 100755
index 1..2
Binary files a/c.bin and b/c.bin differ
diff --git a/x b/y
similarity index 90%
rename from x
rename to y
";

    fn texts(text: &DiffText) -> Vec<String> {
        text.lines.iter().map(|line| line.trimmed_end().text()).collect()
    }

    #[test]
    fn a_diff_has_heads_numbers_and_marks() {
        let shown = diff_lines(DIFF, 100);
        assert_eq!(texts(&shown).join("\n"), EXPECTED);
        assert_eq!(shown.hidden, 0);
    }

    const EXPECTED: &str = "\
M src/a.rs (+2 −2)
 8  8   fn main() {
 9    -     let width = 1;
    9 +     let height = 1;
   10 +     // more
10 11   }
11 12
⋮
98 99   same
99    - -- gone
A b.txt (+2 −0)
1 + one
2 + two
\\ No newline at end of file
M c.bin (binary)
old mode 100644
new mode 100755
R x → y";

    #[test]
    fn what_is_too_much_is_counted() {
        let whole = diff_lines(DIFF, 100);
        let all = whole.lines.len();
        for lines_max in [0, 1, 5, all - 1, all] {
            let text = diff_lines(DIFF, lines_max);
            assert_eq!(text.lines, whole.lines[..lines_max]);
            assert_eq!(text.hidden, all - lines_max);
        }
    }

    #[test]
    fn what_changed_inside_of_a_line_stands_out() {
        let text = diff_lines("@@ -1 +1 @@\n-let a = foo(1, 2);\n+let a = bar(1, 2);\n", 9);
        let painted = text.lines.iter().map(|line| line.painted(Theme::Ansi)).collect::<Vec<_>>();
        let expected = [
            "\x1b[2m1   \x1b[0m\x1b[31m- let a = \x1b[0m\x1b[1;4;31mfoo\x1b[0m\x1b[31m(1, 2);\x1b[0m",
            "\x1b[2m  1 \x1b[0m\x1b[32m+ let a = \x1b[0m\x1b[1;4;32mbar\x1b[0m\x1b[32m(1, 2);\x1b[0m",
        ];
        assert_eq!(painted, expected);
        let cases = [
            ("abc", "xyz", None),
            ("a b c", "a x c", Some(("b", "x"))),
            ("let value = same_name()", "let value = same_names()", Some(("same_name", "same_names"))),
            ("f(a)", "f(a, b)", Some(("", ", b"))),
            ("  a", "    a", Some(("", "  "))),
            ("é日x", "é日y", None),
            ("ä, ö, ü", "ä, o, ü", Some(("ö", "o"))),
            ("", "", None),
        ];
        for (old, new, expected) in cases {
            let found = difference(old, new).map(|(a, b)| (&old[a], &new[b]));
            assert_eq!(found, expected, "{old} {new}");
        }
    }

    #[test]
    fn hunks_without_a_file_and_words_between_lines_are_shown() {
        let text = diff_lines(
            "binary data of 1 bytes is replaced by:\n@@ -0,0 +1,9 @@\n+a\n\n(3 lines are left out here)\n+b\n",
            9,
        );
        let expected = [
            "binary data of 1 bytes is replaced by:",
            "  1 + a",
            "0 2",
            "(3 lines are left out here)",
            "    + b",
        ];
        assert_eq!(texts(&text), expected);
        assert_eq!(texts(&diff_lines("nothing is changed\n", 9)), ["nothing is changed"]);
        assert_eq!(diff_lines("", 9), DiffText::default());
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn nothing_is_too_strange(
            parts in proptest::collection::vec(proptest::sample::select(&[
                "diff --git a/é b/é\n", "@@ -1,2 +3 @@\n", "@@ -99999999999999999999 +18446744073709551615 @@\n", "@@\n",
                "+é日\n", "-é本\n", " x\n", "\n", "\\ No\n", "+", "-", "--- a\n", "+++ b\n", "rename to x\n", "日",
            ][..]), 0..40),
            lines_max in 0_usize..30,
        ) {
            let diff = parts.concat();
            let text = diff_lines(&diff, lines_max);
            proptest::prop_assert!(text.lines.len() <= lines_max);
            proptest::prop_assert_eq!(text.lines.len() + text.hidden, diff_lines(&diff, usize::MAX).lines.len());
        }
    }
}
