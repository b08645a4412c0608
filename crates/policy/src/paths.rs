//! Where files may be written. Paths are text here: the caller resolves links first.

use std::collections::BTreeSet;

use posse_protocol::PathRules;

/// Whether rules let a path be written: relative to the workspace, `/` between parts, without `.` and `..`. What is not
/// written like that may not.
pub fn may_write(rules: &PathRules, path: &str) -> bool {
    is_clean(path)
        && rules.roots.iter().all(|layer| layer.iter().any(|root| holds(root, path) == Some(true)))
        && !rules.except.iter().any(|except| holds(except, path) != Some(false))
}

/// The fewest paths that hold everything the rules let be written, for the kernel; `""` is the whole workspace. What is
/// below an entry of `except` still has to be taken out.
pub fn writable_roots(rules: &PathRules) -> Vec<String> {
    if rules.except.iter().any(|except| entry(except).is_none()) {
        return Vec::new();
    }
    let mut roots = BTreeSet::from([String::new()]);
    for layer in &rules.roots {
        let layer: Vec<&str> = layer.iter().filter_map(|root| entry(root)).collect();
        let both = roots.iter().flat_map(|root| layer.iter().filter_map(|other| deeper(root, other)));
        roots = outermost(both.map(str::to_owned).collect());
    }
    let is_withheld = |root: &str| rules.except.iter().any(|except| holds(except, root) != Some(false));
    roots.into_iter().filter(|root| !is_withheld(root)).collect()
}

/// A path as [`PathRules`] has it, from how a person writes it: `./src/` is `src`, `.` is the whole workspace (`""`).
/// None if it leads out of the workspace or says nothing that can be enforced.
pub fn clean_path(written: &str) -> Option<String> {
    let is_odd = written.starts_with('~') || written.contains(['\\', '*', '\0']);
    resolved(written).filter(|_| !is_odd)
}

/// A path without `.` and `..`, as text; none if it leads out of the workspace.
pub(crate) fn resolved(written: &str) -> Option<String> {
    if written.starts_with('/') {
        return None;
    }
    let mut parts = Vec::new();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_clean(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// An entry of the rules, `""` for the whole workspace; none if it is no such path.
fn entry(written: &str) -> Option<&str> {
    match written {
        "" | "." => Some(""),
        path => is_clean(path).then_some(path),
    }
}

/// Whether an entry is the path or above it; none if the entry is not understood.
fn holds(written: &str, path: &str) -> Option<bool> {
    entry(written).map(|above| is_at_or_below(path, above))
}

fn is_at_or_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What two folders have in common.
fn deeper<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    if is_at_or_below(a, b) { Some(a) } else { is_at_or_below(b, a).then_some(b) }
}

/// Without those that are below others.
fn outermost(paths: BTreeSet<String>) -> BTreeSet<String> {
    let is_outer = |path: &str| !paths.iter().any(|other| other != path && is_at_or_below(path, other));
    paths.iter().filter(|path| is_outer(path)).cloned().collect()
}
