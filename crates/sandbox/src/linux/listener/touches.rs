//! What a command has named so far in order to change it, on its way to the outside.
//!
//! What is renamed holds what it held, so what a rename brings to a name is told apart from what is written there: where it
//! was before the command, and what of it the command has written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Bound,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use super::{calls::Does, guard::may_be_there};
use crate::{
    Came, Touched, limits,
    linux::plan::{PathText, PlanMessage, ToldCame},
    touched::under,
};

/// See [`Touched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Written,
    Moved,
    Marked,
}

pub(crate) struct Touches {
    workspace: PathBuf,
    /// Paths relative to the workspace.
    known: Touched,
    known_bytes: usize,
    /// Those that were not told yet.
    pending: BTreeSet<(Kind, PathBuf)>,
    pending_bytes: usize,
}

/// What is at a name. Paths are relative to it.
struct Content {
    came: Came,
    /// What of it moved by itself.
    moved: Vec<(PathBuf, Came)>,
    /// What of it the command wrote.
    written: Vec<PathBuf>,
}

impl Touches {
    pub(crate) fn new(workspace: &Path) -> Self {
        Self {
            workspace: workspace.to_owned(),
            known: Touched { complete: true, ..Touched::default() },
            known_bytes: 0,
            pending: BTreeSet::new(),
            pending_bytes: 0,
        }
    }

    /// Where a path is in the workspace, if it is.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.workspace).ok()
    }

    /// A call is about to be made. What is outside of the workspace is not kept.
    pub(crate) fn took(&mut self, does: Does, flags: libc::c_int, names: [Option<&Path>; 2]) {
        let [first, second] = names.map(|path| Some(self.relative(path?)?.to_owned()));
        let kind = if keeps(does, flags, names) { Kind::Marked } else { Kind::Written };
        if matches!(does, Does::Renames(_)) && kind == Kind::Written {
            let exchanges = flags.cast_unsigned() & libc::RENAME_EXCHANGE != 0;
            let wrote = first.as_ref().is_some_and(|first| self.known.paths.contains(first));
            let folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
            // A file that the command wrote is its own by every name. So most files are replaced.
            if exchanges || !wrote || names[0].is_some_and(folder) {
                return self.renamed(first, second, exchanges);
            }
        }
        [first, second].into_iter().flatten().for_each(|path| self.add(kind, path));
    }

    /// Something was made by this name.
    pub(crate) fn wrote(&mut self, path: &Path) {
        if let Some(relative) = self.relative(path).map(Path::to_owned) {
            self.add(Kind::Written, relative);
        }
    }

    /// What is at one name gets the other, and with `exchanges` the other way round, too.
    fn renamed(&mut self, from: Option<PathBuf>, to: Option<PathBuf>, exchanges: bool) {
        let content = self.content(from.as_deref());
        let other = exchanges.then(|| self.content(to.as_deref()));
        if let Some(from) = &from {
            let below: Vec<PathBuf> = within(&self.known.moved, from).map(|(path, _)| path.clone()).collect();
            below.into_iter().for_each(|path| self.moved(path, Came::Gone));
            self.moved(from.clone(), Came::Gone);
        }
        for (name, content) in [(to, Some(content)), (from, other)] {
            if let (Some(name), Some(content)) = (name, content) {
                self.arrived(&name, content);
            }
        }
    }

    /// What is at a name, before it gets another.
    fn content(&self, name: Option<&Path>) -> Content {
        let Some(name) = name else {
            return Content { came: Came::Outside, moved: Vec::new(), written: Vec::new() };
        };
        let rest = |path: &Path| path.strip_prefix(name).map(Path::to_owned).unwrap_or_default();
        let came = self.known.came(name).filter(|came| *came != Came::Gone);
        let moved = within(&self.known.moved, name).filter(|(path, _)| *path != name);
        let written = self.known.paths.range::<Path, _>((Bound::Included(name), Bound::Unbounded));
        Content {
            came: came.unwrap_or_else(|| Came::From(name.to_owned())),
            moved: moved.map(|(path, came)| (rest(path), came.clone())).collect(),
            written: written.take_while(|path| path.starts_with(name)).map(|path| rest(path)).collect(),
        }
    }

    fn arrived(&mut self, name: &Path, content: Content) {
        let Content { came, moved, written } = content;
        // What was said of names below is about what was there before.
        let before = within(&self.known.moved, name).filter_map(|(path, _)| {
            let rest = path.strip_prefix(name).ok()?;
            Some((path.clone(), came.below(rest)))
        });
        let mut now: BTreeMap<PathBuf, Came> = before.collect();
        now.insert(name.to_owned(), came);
        now.extend(moved.into_iter().map(|(rest, came)| (under(name, &rest), came)));
        now.into_iter().for_each(|(path, came)| self.moved(path, came));
        written.into_iter().for_each(|rest| self.add(Kind::Written, under(name, &rest)));
    }

    fn moved(&mut self, path: PathBuf, came: Came) {
        let from = if let Came::From(from) = &came { from.as_os_str().len() } else { 0 };
        if self.known.moved.get(&path) != Some(&came) && self.has_room(path.as_os_str().len() + from) {
            self.pending.insert((Kind::Moved, path.clone()));
            self.known.moved.insert(path, came);
        }
    }

    fn add(&mut self, kind: Kind, path: PathBuf) {
        let written = self.known.paths.contains(&path);
        let marked = kind == Kind::Marked;
        if written || (marked && self.known.marked.contains(&path)) || !self.has_room(path.as_os_str().len())
        {
            return;
        }
        self.pending.insert((kind, path.clone()));
        if marked { &mut self.known.marked } else { &mut self.known.paths }.insert(path);
    }

    /// Whether one more of so many bytes can be kept; counts it, if so.
    fn has_room(&mut self, bytes: usize) -> bool {
        let Touched { paths, moved, marked, .. } = &self.known;
        let count = paths.len() + moved.len() + marked.len();
        let has_room = count < limits::TOUCHED_MAX && self.known_bytes + bytes <= limits::TOUCHED_BYTES_MAX;
        if has_room {
            self.known_bytes += bytes;
            self.pending_bytes += bytes;
        }
        self.known.complete &= has_room;
        has_room
    }

    /// Something was changed by a name that is not known.
    pub(crate) fn missed(&mut self) {
        self.known.complete = false;
    }

    /// Whether there is something to tell.
    pub(crate) fn has_news(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether there is so much of it that it should be told now.
    pub(crate) fn has_much(&self) -> bool {
        self.pending_bytes >= limits::TOUCHED_CHUNK_BYTES
    }

    /// Tells what is new.
    pub(crate) fn tell(&mut self, line: &UnixStream) {
        self.pending_bytes = 0;
        let (mut written, mut moved, mut marked) = (Vec::new(), Vec::new(), Vec::new());
        for (kind, path) in std::mem::take(&mut self.pending) {
            match (kind, self.known.moved.get(&path)) {
                (Kind::Written, _) => written.push(PathText::new(&path)),
                (Kind::Marked, _) => marked.push(PathText::new(&path)),
                (Kind::Moved, came) => {
                    moved.extend(came.map(|came| (PathText::new(&path), ToldCame::new(came))));
                }
            }
        }
        let messages = [
            (!written.is_empty()).then_some(PlanMessage::Touched(written)),
            (!moved.is_empty()).then_some(PlanMessage::Moved(moved)),
            (!marked.is_empty()).then_some(PlanMessage::Marked(marked)),
        ];
        messages.into_iter().flatten().for_each(|message| message.tell(line));
    }

    /// Tells the rest, and whether that was all.
    pub(crate) fn end(mut self, line: &UnixStream) {
        self.tell(line);
        PlanMessage::Watched(self.known.complete).tell(line);
    }
}

/// What of it is at a name or below.
fn within<'a>(
    moved: &'a BTreeMap<PathBuf, Came>,
    name: &'a Path,
) -> impl Iterator<Item = (&'a PathBuf, &'a Came)> {
    let from = moved.range::<Path, _>((Bound::Included(name), Bound::Unbounded));
    from.take_while(move |(path, _)| path.starts_with(name))
}

/// Whether all that a call names holds afterwards what it holds now: it changes attributes alone, or fails as things are.
fn keeps(does: Does, flags: libc::c_int, [first, second]: [Option<&Path>; 2]) -> bool {
    let there = |path: Option<&Path>| path.is_some_and(|path| path.symlink_metadata().is_ok());
    let missing = |path: Option<&Path>| path.is_some_and(|path| !may_be_there(path));
    match does {
        Does::Marks => true,
        Does::Changes => missing(first),
        Does::Empties => false,
        Does::Makes | Does::Points(_) => there(first),
        Does::Opens(_) if flags & libc::O_CREAT == 0 => missing(first),
        Does::Opens(_) => {
            let reads = flags & (libc::O_ACCMODE | libc::O_TRUNC) == libc::O_RDONLY;
            // So `touch` opens a file in order to set its times. What is written into one opened like that is not certain
            // to be the command's.
            let as_touch = libc::O_NONBLOCK | libc::O_NOCTTY;
            let touches = flags & (as_touch | libc::O_TRUNC | libc::O_APPEND) == as_touch;
            (reads || touches || flags & libc::O_EXCL != 0) && there(first)
        }
        Does::Renames(_) => {
            let flags = flags.cast_unsigned();
            let must_be_missing = flags & libc::RENAME_NOREPLACE != 0;
            let must_be_there = flags & libc::RENAME_EXCHANGE != 0;
            // Only what is empty is replaced by a folder.
            let full = |path: &Path| fs::read_dir(path).is_ok_and(|mut names| names.next().is_some());
            missing(first)
                || (must_be_missing && there(second))
                || (must_be_there && missing(second))
                || (!must_be_there && second.is_some_and(full))
        }
        Does::Links => missing(first) || there(second),
    }
}
