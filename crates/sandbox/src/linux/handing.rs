//! Hands open descriptors from one process to another.

use std::{
    io,
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The most that are handed over at once.
const MOST: usize = 3;

/// Hands them over, with one byte.
pub(crate) fn hand_over(to: &UnixStream, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    if !extra.push(SendAncillaryMessage::ScmRights(handed)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(to, &[io::IoSlice::new(b"h")], &mut extra, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What was handed over. Nothing if the other side had nothing, or has ended.
pub(crate) fn take_over(from: &UnixStream) -> Vec<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    let mut words = [io::IoSliceMut::new(&mut word)];
    if recvmsg(from, &mut words, &mut extra, RecvFlags::CMSG_CLOEXEC).is_err() {
        return Vec::new();
    }
    let handed = extra.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(handed) => Some(handed),
        _ => None,
    });
    handed.flatten().collect()
}
