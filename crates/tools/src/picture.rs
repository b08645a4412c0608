//! What read_file does with an image or a PDF document: it shows it to a model that takes it, and tells the others about it.

use std::io::{BufRead, Read};

use posse_protocol::{Attachment, AttachmentError, MediaType, ToolOutcome, attachment_bytes_max};
use posse_workspace::{WorkspacePath, text};

use crate::{ToolSettings, failure::ToolFailure};

/// What becomes of a file that begins like an image or a document.
pub(crate) enum Picture {
    /// It is shown.
    Shown(ToolOutcome),
    /// It is to be read as text; this is all of it.
    Text(Vec<u8>),
}

/// Looks at such a file. A text may begin like an image, and most documents are text to somebody.
pub(crate) fn look(
    settings: &ToolSettings,
    path: &WorkspacePath,
    media_type: MediaType,
    bytes: u64,
    all: impl BufRead,
) -> Result<Picture, ToolFailure> {
    let is_image = media_type.is_image();
    let takes = if is_image { settings.images } else { settings.documents };
    let bytes_max = attachment_bytes_max(media_type);
    if bytes > bytes_max {
        return Err(refused(path, AttachmentError::TooLarge { media_type, bytes, bytes_max }));
    }
    let mut content = Vec::new();
    let read = all.take(bytes_max + 1).read_to_end(&mut content);
    read.map_err(|error| ToolFailure(format!("{path}: {error}")))?;
    let attachment = Attachment::new(&path.to_string(), &content);
    let is_shown = takes && attachment.is_ok();
    if !is_shown && !text::is_binary(&content) {
        return Ok(Picture::Text(content));
    }
    match attachment {
        Ok(attachment) if takes => {
            let text = format!("{attachment} is shown to you.");
            Ok(Picture::Shown(ToolOutcome { attachments: vec![attachment], ..ToolOutcome::ok(text) }))
        }
        Ok(attachment) => {
            let kind = if is_image { "images" } else { "PDF documents" };
            let why = format!("{attachment} cannot be shown, because this model takes no {kind}.");
            Err(ToolFailure(format!("{why} Use shell to inspect it.")))
        }
        Err(error) => Err(refused(path, error)),
    }
}

fn refused(path: &WorkspacePath, error: AttachmentError) -> ToolFailure {
    ToolFailure(format!("{path} cannot be shown: it is {error}. Use shell to inspect or convert it."))
}

/// What the description of read_file says of images to a model that takes them.
pub(crate) fn described(settings: &ToolSettings) -> &'static str {
    match (settings.images, settings.documents) {
        (true, true) => " Images (PNG, JPEG, GIF, WebP) and PDF documents are shown.",
        (true, false) => " Images (PNG, JPEG, GIF, WebP) are shown.",
        (false, true) => " PDF documents are shown.",
        (false, false) => "",
    }
}
