//! What the process that confines is told, and what it tells. Both go over one socket and nothing else does.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Came, Level, ResourceLimits, SandboxProfile, limits};

/// Everything about one confined command. Paths are [`OsString`]s because a path need not be text.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    pub(crate) level: Level,
    pub(crate) workspace: OsString,
    pub(crate) writable: Vec<OsString>,
    pub(crate) read_only: Vec<OsString>,
    /// Relative names, and whether each is a folder.
    pub(crate) protected: Vec<(String, bool)>,
    pub(crate) guard_names: bool,
    pub(crate) covered: Vec<OsString>,
    pub(crate) hidden: Vec<OsString>,
    /// Folders of toolchains, which are shown,
    pub(crate) toolchains: Vec<OsString>,
    /// and what is masked in them.
    pub(crate) secrets: Vec<OsString>,
    /// What the reader of the result should know beforehand.
    pub(crate) notes: Vec<String>,
    pub(crate) readable: Vec<OsString>,
    pub(crate) home: Option<OsString>,
    pub(crate) network: bool,
    pub(crate) limits: ResourceLimits,
    pub(crate) bare: bool,
    pub(crate) without_overlay: bool,
}

impl Plan {
    pub(crate) fn new(
        profile: &SandboxProfile,
        cwd: &Path,
        program: OsString,
        arguments: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    ) -> Self {
        let raw = |paths: &[PathBuf]| paths.iter().map(|path| path.clone().into_os_string()).collect();
        Self {
            program,
            arguments,
            env,
            cwd: cwd.into(),
            level: profile.level,
            workspace: profile.workspace.clone().into(),
            writable: raw(&profile.writable),
            read_only: raw(&profile.read_only),
            protected: profile.protected.iter().map(|name| (name.path.to_owned(), name.folder)).collect(),
            guard_names: profile.guard_names,
            covered: raw(&profile.covered),
            hidden: raw(&profile.hidden),
            toolchains: Vec::new(),
            secrets: Vec::new(),
            notes: Vec::new(),
            readable: raw(&profile.readable),
            home: profile.home.clone().map(Into::into),
            network: profile.network,
            limits: profile.limits,
            bare: profile.bare,
            without_overlay: profile.without_overlay,
        }
    }

    /// As it is sent: its length, then itself.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        if json.len() > limits::PLAN_BYTES_MAX {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        Ok([&(json.len() as u64).to_le_bytes(), json.as_slice()].concat())
    }

    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > limits::PLAN_BYTES_MAX {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let mut json = vec![0; length];
        from.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }

    pub(crate) fn workspace(&self) -> &Path {
        Path::new(&self.workspace)
    }

    /// The value of a variable of the command's environment.
    pub(crate) fn env(&self, name: &str) -> Option<&OsString> {
        self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// What is told back, one to a line. The first that is not a note says whether the command runs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PlanMessage {
    /// It is confined and runs.
    Started,
    /// This step failed for that reason; nothing was run.
    Failed(String, String),
    /// It was confined, but its program could not be run: the system's error number.
    NoProgram(i32),
    /// Its first process ended with this code,
    Code(i32),
    /// or by this signal.
    Signal(i32),
    /// Something to know about how it was run.
    Note(String),
    /// What it wrote, made or removed, relative to the workspace.
    Touched(Vec<PathText>),
    /// What got another name, by both names, and where what is there came from.
    Moved(Vec<(PathText, ToldCame)>),
    /// What it named and that holds what it held.
    Marked(Vec<PathText>),
    /// Nothing more comes of that, and whether that was all of it.
    Watched(bool),
    /// Nothing of the command is left, and the workspace has no placeholder of it. The last message.
    Over,
}

/// A path as it is told: as text if it is that.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

/// [`Came`] as it is told.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToldCame {
    Gone,
    Outside,
    From(PathText),
}

impl ToldCame {
    pub(crate) fn new(came: &Came) -> Self {
        match came {
            Came::Gone => Self::Gone,
            Came::Outside => Self::Outside,
            Came::From(path) => Self::From(PathText::new(path)),
        }
    }

    /// The same, with paths below a folder.
    pub(crate) fn below(self, folder: &Path) -> Came {
        match self {
            Self::Gone => Came::Gone,
            Self::Outside => Came::Outside,
            Self::From(path) => Came::From(path.below(folder)),
        }
    }
}

impl PathText {
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.as_os_str().as_bytes().to_vec();
        String::from_utf8(path).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }

    /// The path, below a folder.
    pub(crate) fn below(self, folder: &Path) -> PathBuf {
        let path = match self {
            Self::Text(text) => OsString::from(text),
            Self::Bytes(bytes) => OsString::from_vec(bytes),
        };
        // The folder itself has nothing that could be added to it.
        if path.is_empty() { folder.to_owned() } else { folder.join(path) }
    }
}

impl PlanMessage {
    /// Tells it. A listener that has gone is no error: then all of this is about to end. On a line of its own, even after
    /// somebody who was killed in the middle of one.
    pub(crate) fn tell(&self, mut to: impl Write) {
        let mut line = vec![b'\n'];
        if serde_json::to_writer(&mut line, self).is_ok() {
            line.push(b'\n');
            let _ = to.write_all(&line);
        }
    }

    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}
