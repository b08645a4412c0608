//! Unix sockets: how one is made that is the owner's alone, and how one is found whose path is too long for an address.
//!
//! A socket address holds 107 bytes. On Linux a longer path is reached through a descriptor of its folder,
//! `/proc/self/fd/N/NAME`. Elsewhere the data directory has to be at a shorter path; the error says so.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::{UnixListener, UnixStream};

use crate::limits::{BACKLOG, SOCKET_PATH_BYTES_MAX};

/// A path that fits into an address, and the folder that must stay open for it.
struct Reached {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

fn reach(path: &Path) -> io::Result<Reached> {
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok(Reached { path: path.to_path_buf(), _folder: None });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    through_folder(folder, Path::new(name))
}

#[cfg(target_os = "linux")]
fn through_folder(folder: &Path, name: &Path) -> io::Result<Reached> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok(Reached { path, _folder: Some(folder) })
}

#[cfg(not(target_os = "linux"))]
fn through_folder(folder: &Path, _: &Path) -> io::Result<Reached> {
    let message = format!(
        "the path of {} is too long for a socket; use a data directory with a shorter path",
        folder.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Listens at a path that is free. Nobody but the owner can connect, from the first moment on: the mode is set before
/// the socket has a name, and again before it listens, for systems that ignore the first.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    let reached = reach(path)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    let mode = Mode::RUSR | Mode::WUSR;
    let _ = rustix::fs::fchmod(&socket, mode);
    rustix::net::bind(&socket, &SocketAddrUnix::new(&reached.path)?)?;
    rustix::fs::chmod(&reached.path, mode)?;
    rustix::net::listen(&socket, BACKLOG)?;
    UnixListener::from_std(socket.into())
}

/// Connects to a socket that the same person listens at.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let reached = reach(path)?;
    let stream = UnixStream::connect(&reached.path).await?;
    if is_own(&stream) { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether the process at the other end belongs to the person who runs this one. Nobody else's does, not even root's.
pub(crate) fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}
