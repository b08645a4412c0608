//! What can be looked up in the workspace about an agent's words.

use std::io::Read as _;

use posse_report::{Facts, FileFacts};
use posse_workspace::{Workspace, text::is_binary};

use crate::limits::FACT_BYTES_MAX;

/// Looks into one workspace, link-safe like everything else.
pub(crate) struct WorkspaceFacts(pub(crate) Workspace);

impl Facts for WorkspaceFacts {
    fn file(&self, path: &str) -> Option<FileFacts> {
        let opened = self.0.open_file(&self.0.resolve(path).ok()?).ok()?;
        let bytes = opened.file.metadata().ok()?.len();
        let mut read = Vec::new();
        let whole =
            bytes <= FACT_BYTES_MAX && opened.file.take(FACT_BYTES_MAX).read_to_end(&mut read).is_ok();
        let lines = (whole && !is_binary(&read)).then(|| {
            let ends = read.iter().filter(|byte| **byte == b'\n').count() as u64;
            ends + u64::from(!read.is_empty() && read.last() != Some(&b'\n'))
        });
        Some(FileFacts { bytes, lines })
    }
}
