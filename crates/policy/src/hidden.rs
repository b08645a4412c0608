//! Paths that `deny` rules hide from every agent, whatever it reads with.

use crate::pattern::matches;

/// Patterns of paths that no agent sees. A pattern without `/` is about a name at any depth; case does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenPaths {
    patterns: Vec<String>,
}

impl HiddenPaths {
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        Self { patterns: patterns.map(plain).filter(|pattern| !pattern.is_empty()).collect() }
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a path is hidden: relative to `top`, the workspace, with `/` between parts.
    pub fn hides(&self, top: &str, path: &str) -> bool {
        let (top, path) = (top.trim_end_matches('/').to_lowercase(), path.to_lowercase());
        self.patterns.iter().any(|pattern| {
            let inside = pattern.strip_prefix(top.as_str()).and_then(|rest| rest.strip_prefix('/'));
            let pattern = inside.filter(|_| !top.is_empty()).unwrap_or(pattern);
            let at_any_depth = !pattern.contains('/');
            matches(pattern, &path)
                || matches(&format!("{pattern}/*"), &path)
                || at_any_depth && path.split('/').any(|part| matches(pattern, part))
        })
    }
}

/// A pattern as paths are written here: `./x/` is `x`, and `**/x` is `x` at any depth.
fn plain(pattern: &str) -> String {
    let mut pattern = pattern.trim_end_matches('/');
    while let Some(rest) = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix("**/")) {
        pattern = rest;
    }
    pattern.trim_end_matches("/**").to_lowercase()
}
