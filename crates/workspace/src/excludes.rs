//! Ignore rules from above a workspace, rewritten so that they hold within it. Pure but for reading those files.
//!
//! A workspace can be a subfolder of a repository: then the rules in the folders above it count as well, and those in
//! `info/exclude`. Later lines win, as they do in git: nearer files come later.

use std::path::Path;

use globset::GlobBuilder;

use crate::{git::plain, limits};

/// All rules from above `folder` up to the repository's `top`, those of `info/exclude` first.
pub(crate) fn from_above(folder: &Path, top: &Path, info_exclude: &Path) -> String {
    let mut rules = String::new();
    let Ok(inside) = folder.strip_prefix(top) else { return rules };
    let parts: Vec<String> =
        inside.components().map(|part| part.as_os_str().to_string_lossy().into()).collect();
    rewrite(&read(info_exclude), &parts, &mut rules);
    let mut above = top.to_owned();
    for depth in 0..parts.len() {
        rewrite(&read(&above.join(".gitignore")), &parts[depth..], &mut rules);
        above.push(&parts[depth]);
    }
    rules
}

/// A plain file's text; nothing of what is no plain file or too long.
fn read(path: &Path) -> String {
    let bytes = plain::bytes(path, limits::IGNORE_FILE_BYTES_MAX).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds the lines of a file `below.len()` levels above the workspace that can concern it.
fn rewrite(text: &str, below: &[String], into: &mut String) {
    for line in text.lines() {
        let (not, pattern) = line.strip_prefix('!').map_or(("", line), |rest| ("!", rest));
        if pattern.trim().is_empty() || pattern.starts_with('#') {
            continue;
        }
        let Some(pattern) = within(pattern, below) else { continue };
        into.push_str(not);
        into.push_str(&pattern);
        into.push('\n');
    }
}

/// The pattern as it reads from the workspace; `None` if it concerns other folders.
fn within(pattern: &str, below: &[String]) -> Option<String> {
    let anchored = pattern.trim_end_matches('/').contains('/');
    if !anchored || below.is_empty() {
        return Some(pattern.to_owned());
    }
    let mut rest = pattern.trim_start_matches('/');
    for part in below {
        if rest.starts_with("**/") {
            return Some(rest.to_owned());
        }
        // A pattern that ends here means a folder above the workspace or the workspace itself: that was opened anyway.
        let (first, after) = rest.split_once('/')?;
        let glob = GlobBuilder::new(first).literal_separator(true).build().ok()?.compile_matcher();
        if after.is_empty() || !glob.is_match(part) {
            return None;
        }
        rest = after;
    }
    Some(format!("/{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_from_above_are_moved_down() {
        let below = ["packages".to_owned(), "app".to_owned()];
        let cases = [
            ("node_modules/", Some("node_modules/")),
            ("*.log", Some("*.log")),
            ("/packages/app/dist", Some("/dist")),
            ("packages/*/dist/", Some("/dist/")),
            ("packages/**/x", Some("**/x")),
            ("**/x/y", Some("**/x/y")),
            ("/other/dist", None),
            ("/dist", None),
            ("/packages/app", None),
            ("packages/app/", None),
        ];
        for (pattern, expected) in cases {
            assert_eq!(within(pattern, &below).as_deref(), expected, "{pattern}");
        }
        assert_eq!(within("/x", &[]).as_deref(), Some("/x"));
        assert_eq!(cases.len(), 10);
    }
}
