//! Reads the text of git's settings, to find what they name. Touches no system.

use std::collections::BTreeMap;

/// The entries of a file of settings: `section.sub.key` with all but the middle in lower case, and its value.
pub fn settings(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines().map(str::trim) {
        let mut rest = line;
        if let Some(head) = line.strip_prefix('[') {
            let (head, after) = head.rsplit_once(']').unwrap_or((head, ""));
            let (name, sub) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
            let sub = sub.trim().trim_matches('"');
            section = name.to_lowercase();
            if !sub.is_empty() {
                section = format!("{section}.{sub}");
            }
            rest = after.trim();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        found.push((format!("{section}.{}", key.trim().to_lowercase()), unquoted(value)));
    }
    found
}

/// A value without its quotes, escapes and comment.
fn unquoted(value: &str) -> String {
    let (mut plain, mut quoted) = (String::new(), false);
    let mut characters = value.trim().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => plain.extend(characters.next()),
            '#' | ';' if !quoted => break,
            character => plain.push(character),
        }
    }
    plain.trim_end().to_owned()
}

/// Whether a setting, by its key as [`settings`] gives it, says only where work comes from and goes to.
pub fn names_no_program(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit('.').next().unwrap_or_default();
    match section {
        "remote" => matches!(name, "url" | "fetch" | "pushurl"),
        "branch" => matches!(name, "remote" | "merge" | "pushremote" | "rebase" | "description"),
        _ => false,
    }
}

/// Whether two texts of settings differ only in where work comes from and goes to: remotes and the branches that follow
/// them. Git changes those in several steps, each of which puts a new file in the old one's place.
#[cfg(any(test, target_os = "linux"))]
pub(crate) fn differ_harmlessly(before: &str, after: &str) -> bool {
    let mut counts: BTreeMap<(String, String), i32> = BTreeMap::new();
    for (text, step) in [(before, -1), (after, 1)] {
        settings(text).into_iter().for_each(|entry| *counts.entry(entry).or_default() += step);
    }
    counts.iter().filter(|(_, count)| **count != 0).all(|((key, _), _)| names_no_program(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[core]\n\thooksPath = .githooks ; x\n[include] path = ../a\n[includeIf \"gitdir:~/X/\"]\n  path=\"b c\"\n\
                    [filter \"Lfs\"]\n clean = \"sh -c \\\"./x;\\\"\" # y\n# no = 1\n[alias]\n a = \"!f() { \\\n ./b; }\"\nb\n";
        let expected = [
            ("core.hookspath", ".githooks"),
            ("include.path", "../a"),
            ("includeif.gitdir:~/X/.path", "b c"),
            ("filter.Lfs.clean", "sh -c \"./x;\""),
            ("alias.a", "!f() {  ./b; }"),
            ("alias.b", ""),
        ];
        let found = settings(text);
        let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_says_where_work_comes_from_and_goes_to_is_harmless() {
        let before = "[core]\n\tbare = false\n[remote \"a\"]\n\turl = x\n";
        let cases = [
            ("", true),
            ("[remote \"b\"]\n\turl = y\n\tfetch = +refs/heads/*:refs/remotes/b/*\n", true),
            ("[branch \"main\"]\n\tremote = b\n\tmerge = refs/heads/main\n", true),
            ("[core]\n\tfsmonitor = ./x\n", false),
            ("[remote \"b\"]\n\tuploadpack = ./x\n", false),
            ("[include]\n\tpath = x\n", false),
            ("evil\n", false),
        ];
        for (more, expected) in cases {
            let after = format!("{before}{more}");
            assert_eq!(differ_harmlessly(before, &after), expected, "{more}");
            assert_eq!(differ_harmlessly(&after, before), expected, "without {more}");
        }
    }
}
