//! `[acp]`: what editors that start Posse are asked for. Only the person's own file has a say in it.

use serde::{Deserialize, Serialize};

/// `[acp]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AcpFile {
    /// Whether files that a prompt mentions are read through the editor, which knows what is not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_files: Option<bool>,
}
