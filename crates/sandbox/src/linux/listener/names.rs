//! What a call names: the real path, or the descriptor of what has none.

use std::{
    os::{fd::RawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use super::{
    caller::{Caller, Place, Unknown},
    calls::{Call, Does, End, Name},
    guard::{Target, may_be_there},
    notices::Notice,
};

/// Something that a call names.
#[derive(Default)]
pub(crate) struct Named {
    /// Where it really is. None if it has no path, or none any more.
    pub(crate) place: Option<Place>,
    /// Then, the caller's descriptor of it, if it was named by that.
    pub(crate) by: Option<RawFd>,
    pub(crate) ends: Ends,
}

impl Named {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.path.as_path())
    }
}

/// How a path was written at its end, which says what may be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    #[default]
    Plain,
    /// With `/`: a folder.
    Slash,
    /// With `.` or `..`, or it is the root: a folder that is there already.
    Dots,
}

impl Ends {
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
    call: &Call,
    name: &Name,
    flags: libc::c_int,
) -> Result<Named, Unknown> {
    let number = |at: usize| notice.arguments[at] as RawFd;
    let changes = matches!(call.does, Does::Changes | Does::Marks);
    let (folder, path, end) = match name {
        Name::Descriptor(at) => return opened(caller, number(*at)),
        Name::Path { folder, path, end } => (folder.map_or(libc::AT_FDCWD, number), *path, *end),
    };
    let path = match notice.arguments[path] {
        // Some of those that change mean the descriptor by that.
        0 if !changes => return Err(Unknown::Fails(libc::EFAULT)),
        0 => PathBuf::new(),
        address => caller.path(address).map_err(Unknown::Fails)?,
    };
    // Then the descriptor itself is meant.
    if path.as_os_str().is_empty() {
        return if folder == libc::AT_FDCWD { Ok(Named::default()) } else { opened(caller, folder) };
    }
    let follow = match end {
        End::Followed => true,
        End::Itself => false,
        End::FollowedUnless(at, bit) => notice.arguments[at] as libc::c_int & bit == 0,
        End::FollowedIf(at, bit) => notice.arguments[at] as libc::c_int & bit != 0,
    };
    let only_new = libc::O_CREAT | libc::O_EXCL;
    let ends = Ends::of(&path);
    let slash = changes && path.as_os_str().as_bytes().ends_with(b"/");
    let follow = (follow || slash) && flags & only_new != only_new;
    let start = if path.is_absolute() { PathBuf::from("/") } else { caller.open_path(folder)? };
    let by = || if follow { caller.own_descriptor(&start, &path) } else { None };
    match caller.place(&start, &path, follow) {
        Ok(place) if is_gone(&place.path) => match by() {
            Some(by) => Ok(Named { place: None, by: Some(by), ends }),
            None => Ok(Named { place: Some(place), by: None, ends }),
        },
        Ok(place) => Ok(Named { place: Some(place), by: None, ends }),
        Err(Unknown::Nameless) => Ok(Named { place: None, by: by(), ends }),
        Err(error) => Err(error),
    }
}

/// What the caller has open.
fn opened(caller: &Caller, number: RawFd) -> Result<Named, Unknown> {
    let place = match caller.open_path(number) {
        Ok(path) => Some(path).filter(|path| !is_gone(path)).map(Place::from),
        Err(Unknown::Nameless) => None,
        Err(error) => return Err(error),
    };
    Ok(Named { place, by: Some(number), ends: Ends::Plain })
}

/// So the kernel shows what is open and has no name any more, or none yet.
pub(crate) fn is_gone(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b" (deleted)") && !may_be_there(path)
}

/// What a new link says.
pub(crate) fn target(caller: &Caller, address: u64, link: Option<&Path>) -> Result<Target, i32> {
    let text = caller.path(address)?;
    let folder = link.and_then(Path::parent);
    let real = folder.and_then(|folder| caller.real(folder, &text, true).ok());
    Ok(Target { text, real })
}
