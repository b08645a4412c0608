//! A file or a link as a value: what it is and what it holds. Knows neither where it is nor who put it there.

/// What a kept entry is. Finer than [`crate::Kind`] in that programs are told from other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A regular file.
    File,
    /// A regular file that may be run.
    Program,
    /// A symbolic link; its content is where it leads.
    Link,
}

impl Mode {
    /// As git writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
        }
    }

    /// Reads what git wrote; `None` for folders and nested repositories.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "100644" | "100664" => Some(Self::File),
            "100755" => Some(Self::Program),
            "120000" => Some(Self::Link),
            _ => None,
        }
    }

    /// By what the system says; `None` for what is neither a file nor a link.
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Option<Self> {
        if metadata.is_symlink() {
            return Some(Self::Link);
        } else if !metadata.is_file() {
            return None;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if metadata.permissions().mode() & 0o100 != 0 {
                return Some(Self::Program);
            }
        }
        Some(Self::File)
    }

    /// Permission bits that say the same of this mode and leave the rest as it was.
    #[cfg(unix)]
    pub(crate) fn applied_to(self, bits: u32) -> u32 {
        if self == Self::Program { bits | ((bits & 0o444) >> 2) } else { bits & !0o111 }
    }
}

/// A file or link with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub mode: Mode,
    /// What it holds; of a link, where it leads.
    pub bytes: Vec<u8>,
}
