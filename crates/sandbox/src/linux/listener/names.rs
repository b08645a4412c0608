//! What a call names: the real path, or the descriptor of what has none.

use std::{
    os::{fd::RawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use super::{
    caller::{Caller, RealPath, Unknown},
    calls::{Does, LinkEnd, NameArgument, WatchedCall},
    guard::{LinkTarget, may_be_there},
    notices::Notice,
};

/// Something that a call names.
#[derive(Default)]
pub(crate) struct NamedPath {
    /// Where it really is. None if it has no path, or none any more.
    pub(crate) place: Option<RealPath>,
    /// Then, the caller's descriptor of it, if it was named by that.
    pub(crate) by: Option<RawFd>,
    pub(crate) ends: PathEnd,
}

impl NamedPath {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.path.as_path())
    }
}

/// How a path was written at its end, which says what may be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PathEnd {
    #[default]
    Plain,
    /// With `/`: a folder.
    Slash,
    /// With `.` or `..`, or it is the root: a folder that is there already.
    Dots,
}

impl PathEnd {
    fn of(path: &Path) -> Self {
        let bytes = path.as_os_str().as_bytes();
        let trimmed = bytes.iter().rposition(|byte| *byte != b'/').map_or(&bytes[..0], |end| &bytes[..=end]);
        match trimmed.rsplit(|byte| *byte == b'/').next().unwrap_or_default() {
            b"" | b"." | b".." => Self::Dots,
            _ if trimmed.len() < bytes.len() => Self::Slash,
            _ => Self::Plain,
        }
    }
}

/// What a name of a call leads to.
pub(crate) fn find(
    caller: &Caller,
    notice: &Notice,
    call: &WatchedCall,
    name: &NameArgument,
    flags: libc::c_int,
) -> Result<NamedPath, Unknown> {
    let number = |at: usize| notice.arguments[at] as RawFd;
    let changes = matches!(call.does, Does::Changes | Does::Marks);
    let (folder, path, end) = match name {
        NameArgument::Descriptor(at) => return opened(caller, number(*at)),
        NameArgument::Path { folder, path, end } => (folder.map_or(libc::AT_FDCWD, number), *path, *end),
    };
    let path = match notice.arguments[path] {
        // Some of those that change mean the descriptor by that.
        0 if !changes => return Err(Unknown::Fails(libc::EFAULT)),
        0 => PathBuf::new(),
        address => caller.path(address).map_err(Unknown::Fails)?,
    };
    // Then the descriptor itself is meant.
    if path.as_os_str().is_empty() {
        return if folder == libc::AT_FDCWD { Ok(NamedPath::default()) } else { opened(caller, folder) };
    }
    let follow = match end {
        LinkEnd::Followed => true,
        LinkEnd::Itself => false,
        LinkEnd::FollowedUnless(at, bit) => notice.arguments[at] as libc::c_int & bit == 0,
        LinkEnd::FollowedIf(at, bit) => notice.arguments[at] as libc::c_int & bit != 0,
    };
    let only_new = libc::O_CREAT | libc::O_EXCL;
    let ends = PathEnd::of(&path);
    let slash = changes && path.as_os_str().as_bytes().ends_with(b"/");
    let follow = (follow || slash) && flags & only_new != only_new;
    let start = if path.is_absolute() { PathBuf::from("/") } else { caller.open_path(folder)? };
    let by = || if follow { caller.own_descriptor(&start, &path) } else { None };
    match caller.place(&start, &path, follow) {
        Ok(place) if is_gone(&place.path) => match by() {
            Some(by) => Ok(NamedPath { place: None, by: Some(by), ends }),
            None => Ok(NamedPath { place: Some(place), by: None, ends }),
        },
        Ok(place) => Ok(NamedPath { place: Some(place), by: None, ends }),
        Err(Unknown::Nameless) => Ok(NamedPath { place: None, by: by(), ends }),
        Err(error) => Err(error),
    }
}

/// What the caller has open.
fn opened(caller: &Caller, number: RawFd) -> Result<NamedPath, Unknown> {
    let place = match caller.open_path(number) {
        Ok(path) => Some(path).filter(|path| !is_gone(path)).map(RealPath::from),
        Err(Unknown::Nameless) => None,
        Err(error) => return Err(error),
    };
    Ok(NamedPath { place, by: Some(number), ends: PathEnd::Plain })
}

/// So the kernel shows what is open and has no name any more, or none yet.
pub(crate) fn is_gone(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b" (deleted)") && !may_be_there(path)
}

/// What a new link says.
pub(crate) fn target(caller: &Caller, address: u64, link: Option<&Path>) -> Result<LinkTarget, i32> {
    let text = caller.path(address)?;
    let folder = link.and_then(Path::parent);
    let real = folder.and_then(|folder| caller.real(folder, &text, true).ok());
    Ok(LinkTarget { text, real })
}
