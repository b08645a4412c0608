//! What is ignored where: the rules of one folder and of those above it, as git reads them. Only the text of rule files
//! counts; nobody's own settings do.

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::folder::{Folder, path_of};
use crate::{excludes, git::plain, limits};

/// The file that holds rules.
pub(crate) const FILE: &[u8] = b".gitignore";

/// The rules that hold in one folder. The nearest that says something wins.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    own: Option<Gitignore>,
    above: Option<Arc<IgnoreRules>>,
}

impl IgnoreRules {
    /// What holds in the workspace before any rule in it is read.
    pub(crate) fn from_above(root: &Path) -> Arc<Self> {
        let Some(top) = root.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) else {
            return Arc::default();
        };
        let text = excludes::from_above(root, top, &common_folder(top).join("info/exclude"));
        Arc::new(Self { own: parsed(Path::new("/"), &text), above: None })
    }

    /// What holds in a folder, given what holds above it.
    pub(crate) fn within(above: &Arc<Self>, inside: &[u8], folder: &Folder) -> Arc<Self> {
        let mut text = Vec::new();
        let read = folder.open(FILE).and_then(|(file, _)| {
            // A link is not opened at all; git does not follow one here either.
            file.take(limits::IGNORE_FILE_BYTES_MAX).read_to_end(&mut text)
        });
        let place = Path::new("/").join(path_of(inside));
        match read.ok().and_then(|_| parsed(&place, &String::from_utf8_lossy(&text))) {
            Some(own) => Arc::new(Self { own: Some(own), above: Some(Arc::clone(above)) }),
            None => Arc::clone(above),
        }
    }

    /// Whether a path in a folder with these rules is ignored.
    pub(crate) fn ignores(&self, inside: &[u8], folder: bool) -> bool {
        if self.own.is_none() && self.above.is_none() {
            return false;
        }
        let place = Path::new("/").join(path_of(inside));
        let mut rules = Some(self);
        while let Some(here) = rules {
            match here.own.as_ref().map_or(Match::None, |own| own.matched(&place, folder)) {
                Match::None => rules = here.above.as_deref(),
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn parsed(place: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(place);
    for line in text.lines() {
        // A line that is no pattern ignores nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Where a repository has what all its checkouts share.
fn common_folder(top: &Path) -> PathBuf {
    let dot = top.join(".git");
    let Some(own) = plain::text(&dot).and_then(|text| Some(top.join(text.strip_prefix("gitdir: ")?))) else {
        return dot;
    };
    plain::text(&own.join("commondir")).map_or(own.clone(), |common| own.join(common))
}
