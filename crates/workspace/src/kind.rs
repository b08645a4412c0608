//! What an entry is, and a stamp that changes when a file does.

use std::{fmt, fs::Metadata, time::SystemTime};

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// A named pipe: reading it could wait for ever.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

impl Kind {
    /// The kind by what the system says.
    pub fn of(metadata: &Metadata) -> Self {
        Self::of_type(metadata.file_type())
    }

    pub(crate) fn of_type(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            return Self::File;
        } else if kind.is_dir() {
            return Self::Folder;
        } else if kind.is_symlink() {
            return Self::Link;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt as _;
            if kind.is_fifo() {
                return Self::Fifo;
            } else if kind.is_socket() {
                return Self::Socket;
            }
        }
        Self::Device
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

/// Equal stamps mean that a file has not been changed or replaced in between, as far as the system can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    place: (u64, u64),
    bytes: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp by what the system says.
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (place, changed) = {
            use std::os::unix::fs::MetadataExt as _;
            ((metadata.dev(), metadata.ino()), (metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (place, changed) = ((0, 0), (0, 0));
        Self { place, bytes: metadata.len(), modified: metadata.modified().ok(), changed }
    }

    /// The file's length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
