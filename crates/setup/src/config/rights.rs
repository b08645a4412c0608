//! `[rights]`: what the main agent may do, and the words for it that other tables use, too.

use std::collections::BTreeSet;

use posse_protocol::{Files, Shell};
use serde::{Deserialize, Serialize};

use super::written;

/// `[rights]`: what the main agent may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RightsFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Files>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<Shell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<NetworkFile>,
    /// The only folders and files of the workspace that may be written.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::paths")]
    pub(crate) write_roots: Option<BTreeSet<String>>,
    /// What of them may not.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::paths")]
    pub(crate) write_except: Option<BTreeSet<String>>,
}

impl RightsFile {
    pub(crate) fn replaced_by(&self, other: &Self) -> Self {
        Self {
            files: other.files.or(self.files),
            shell: other.shell.or(self.shell),
            network: other.network.clone().or_else(|| self.network.clone()),
            write_roots: other.write_roots.clone().or_else(|| self.write_roots.clone()),
            write_except: other.write_except.clone().or_else(|| self.write_except.clone()),
        }
    }

    /// The lesser of the two, right by right.
    pub(crate) fn lowered_by(&self, other: &Self) -> Self {
        let files = self.files.unwrap_or(Files::Write);
        let shell = self.shell.unwrap_or(Shell::Full);
        let no_network = other.network == Some(NetworkFile::NONE);
        Self {
            files: Some(other.files.map_or(files, |wanted| wanted.min(files))),
            shell: Some(other.shell.map_or(shell, |wanted| wanted.min(shell))),
            network: if no_network { other.network.clone() } else { self.network.clone() },
            write_roots: self.write_roots.clone().or_else(|| other.write_roots.clone()),
            write_except: Some(
                self.write_except
                    .iter()
                    .chain(&other.write_except)
                    .flatten()
                    .cloned()
                    .collect::<BTreeSet<_>>(),
            )
            .filter(|except| !except.is_empty()),
        }
    }
}

/// `"none"`, `"full"`, or a list of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"none\", \"full\" or a list of host names")]
pub(crate) enum NetworkFile {
    Word(NetworkWord),
    Hosts(BTreeSet<String>),
}

impl NetworkFile {
    pub(crate) const NONE: Self = Self::Word(NetworkWord::None);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NetworkWord {
    None,
    Full,
}
