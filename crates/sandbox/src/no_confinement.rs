//! What stands in for confinement where there is none: a refusal.

pub(crate) const REASON: &str = "this system has no confinement yet; Linux has";

#[cfg(unix)]
pub(crate) use self::refused::*;

#[cfg(unix)]
mod refused {
    use std::{ffi::OsString, path::Path};

    use crate::{
        CommandExit, SandboxError, SandboxProfile, Touched, group::RunningChild, stream_ends::StreamEnds,
    };

    use super::REASON;

    /// There is none.
    pub(crate) enum PreparedConfinement {}

    /// There is none.
    pub(crate) enum Confined {}

    pub(crate) struct ConfinementReport {
        pub(crate) exit: CommandExit,
        pub(crate) notes: Vec<String>,
        pub(crate) touched: Touched,
    }

    pub(crate) fn prepare(
        _: &SandboxProfile,
        _: &Path,
        _: OsString,
        _: Vec<OsString>,
        _: Vec<(OsString, OsString)>,
    ) -> Result<PreparedConfinement, SandboxError> {
        Err(SandboxError::NotConfined(REASON.to_owned()))
    }

    impl PreparedConfinement {
        pub(crate) async fn begin(
            self,
            _: &str,
            _: StreamEnds,
        ) -> Result<(RunningChild, Confined), SandboxError> {
            match self {}
        }
    }

    impl Confined {
        pub(crate) async fn hear(&mut self) -> bool {
            match *self {}
        }

        pub(crate) fn end(self) -> ConfinementReport {
            match self {}
        }
    }
}
