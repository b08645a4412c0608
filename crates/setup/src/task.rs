//! What the person wants done and shows with it, and whether a model can take it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use posse_model::ModelConfig;
use posse_protocol::limits::{ATTACHMENT_NAME_COLUMNS_MAX, ATTACHMENTS_DATA_BYTES_MAX, ATTACHMENTS_MAX};
use posse_protocol::visible::one_line;
use posse_protocol::{Attachment, AttachmentError, MediaType, Words, attachment_bytes_max};

use crate::error::{AttachedFileError, PrepareError};
use crate::limits::{ATTACHED_TEXT_BYTES_MAX, TASK_PERCENT_MAX};

/// Bytes taken for one token before anybody has counted.
const BYTES_PER_TOKEN: u64 = 4;
/// The bytes that say what a file is.
const START_BYTES: usize = 16;

/// What the person wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPrompt {
    /// All of it, as the model is told.
    pub text: String,
    /// How many bytes of it were attached, such as text that was piped in, and not written as the task.
    pub attached_bytes: usize,
    /// Images and documents that go with it.
    pub attachments: Vec<Attachment>,
}

impl From<String> for TaskPrompt {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl TaskPrompt {
    /// Adds a file of the person: an image or a PDF document to be shown, or a text to be told. What it is, its bytes say.
    pub fn attach(&mut self, path: &Path) -> Result<(), PrepareError> {
        let failed = |fault| PrepareError::AttachedFile { path: path.to_owned(), fault };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let content = read(path).map_err(failed)?;
        match Attachment::new(&name, &content) {
            Ok(attachment) => self.attachments.push(attachment),
            Err(error) => {
                let text = String::from_utf8(content).ok().filter(|text| !text.contains('\0'));
                let text = text.ok_or(AttachedFileError::NotShown(error)).map_err(failed)?;
                let name = one_line(&name, ATTACHMENT_NAME_COLUMNS_MAX);
                self.attached_bytes += text.len();
                self.text.push_str(&format!("\n\n[{name}:]\n{text}"));
            }
        }
        let data_bytes: usize = self.attachments.iter().map(|attachment| attachment.data.len()).sum();
        if self.attachments.len() > ATTACHMENTS_MAX || data_bytes > ATTACHMENTS_DATA_BYTES_MAX {
            return Err(failed(AttachedFileError::TooMany));
        }
        Ok(())
    }

    /// Refuses what the model cannot take, with the numbers, before anything is begun.
    pub fn must_fit(&self, model: &ModelConfig) -> Result<(), PrepareError> {
        let shown = |attachment: &&Attachment| match attachment.media_type.is_image() {
            true => model.images,
            false => model.takes_documents(),
        };
        if let Some(attachment) = self.attachments.iter().find(|attachment| !shown(attachment)) {
            return Err(PrepareError::CannotShow {
                name: attachment.name.clone(),
                image: attachment.media_type.is_image(),
                model: model.name.clone(),
                section: model.section.clone(),
            });
        }
        let Some(window) = model.context_window else { return Ok(()) };
        let tokens = |bytes: usize| bytes as u64 / BYTES_PER_TOKEN;
        let words = Words { text: String::new(), attachments: self.attachments.clone() };
        let all = self.text.len() + words.bytes();
        if tokens(all) <= window.saturating_mul(TASK_PERCENT_MAX) / 100 {
            return Ok(());
        }
        let attached = self.attached_bytes * 2 > all;
        let tokens = tokens(if attached { self.attached_bytes } else { all });
        Err(PrepareError::TaskTooLarge { attached, tokens, window, model: model.name.clone() })
    }
}

/// The whole file, if it is not larger than what may be sent of its kind.
fn read(path: &Path) -> Result<Vec<u8>, AttachedFileError> {
    // Opening a pipe would wait for somebody to write to it.
    let found = std::fs::metadata(path).map_err(AttachedFileError::Unreadable)?;
    if !found.is_file() {
        return Err(AttachedFileError::NotAFile);
    }
    let file = File::open(path).map_err(AttachedFileError::Unreadable)?;
    let mut content = Vec::new();
    (&file).take(START_BYTES as u64).read_to_end(&mut content).map_err(AttachedFileError::Unreadable)?;
    let media_type = MediaType::of(&content);
    let bytes_max = media_type.map_or(ATTACHED_TEXT_BYTES_MAX, attachment_bytes_max);
    let rest: io::Result<usize> = file.take(bytes_max).read_to_end(&mut content);
    rest.map_err(AttachedFileError::Unreadable)?;
    let bytes = found.len().max(content.len() as u64);
    match media_type {
        _ if bytes <= bytes_max => Ok(content),
        Some(media_type) => {
            Err(AttachedFileError::NotShown(AttachmentError::TooLarge { media_type, bytes, bytes_max }))
        }
        None => Err(AttachedFileError::TextTooLarge { bytes, bytes_max }),
    }
}
