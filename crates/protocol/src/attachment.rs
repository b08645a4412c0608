//! Images and documents that go with a message or a tool result.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{
    ATTACHMENT_NAME_COLUMNS_MAX, BYTES_PER_TOKEN, DOCUMENT_BYTES_MAX, DOCUMENT_BYTES_PER_PAGE,
    DOCUMENT_TOKENS_PER_PAGE, IMAGE_BYTES_MAX, IMAGE_PIXELS_PER_TOKEN, IMAGE_SIDE_PIXELS_MAX,
    IMAGE_TOKENS_MAX, IMAGE_TOKENS_MIN,
};
use crate::media::{self, MediaType, Size};
use crate::visible::one_line;
use crate::words::grouped;

/// An image or a document. Clones share the content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// The name of its file, without folders.
    pub name: String,
    /// What it is, as its first bytes say.
    pub media_type: MediaType,
    /// The size of the file.
    pub bytes: u64,
    /// Pixels from left to right; 0 for a document.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub width: u32,
    /// Pixels from top to bottom; 0 for a document.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub height: u32,
    /// The content in base64; empty where it was left out.
    #[serde(default = "nothing", skip_serializing_if = "is_nothing")]
    pub data: Arc<str>,
}

impl Attachment {
    /// The content of a file as something a model can be shown. What it is, its first bytes say, and never its name.
    pub fn new(name: &str, content: &[u8]) -> Result<Self, AttachmentError> {
        let media_type = MediaType::of(content).ok_or(AttachmentError::NotKnown)?;
        let bytes = content.len() as u64;
        let bytes_max = bytes_max(media_type);
        if bytes > bytes_max {
            return Err(AttachmentError::TooLarge { media_type, bytes, bytes_max });
        }
        let Some(Size { width, height }) = media::size(media_type, content) else {
            return Err(AttachmentError::Damaged { media_type });
        };
        if width.max(height) > IMAGE_SIDE_PIXELS_MAX {
            return Err(AttachmentError::TooManyPixels { media_type, width, height });
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = one_line(name, ATTACHMENT_NAME_COLUMNS_MAX);
        Ok(Self { name, media_type, bytes, width, height, data: BASE64_STANDARD.encode(content).into() })
    }

    /// The same as its content says, if that can be shown: for one that came from elsewhere.
    pub fn checked(&self) -> Result<Self, AttachmentError> {
        Self::new(&self.name, &self.content()?)
    }

    /// Its content.
    pub fn content(&self) -> Result<Vec<u8>, AttachmentError> {
        BASE64_STANDARD.decode(&*self.data).map_err(|_| AttachmentError::NotKnown)
    }

    /// About how many tokens a model takes for it.
    pub fn tokens(&self) -> u64 {
        if self.media_type == MediaType::Pdf {
            return self.bytes.div_ceil(DOCUMENT_BYTES_PER_PAGE) * DOCUMENT_TOKENS_PER_PAGE;
        }
        let pixels = u64::from(self.width) * u64::from(self.height);
        (pixels / IMAGE_PIXELS_PER_TOKEN).clamp(IMAGE_TOKENS_MIN, IMAGE_TOKENS_MAX)
    }

    /// About how many bytes of text take as many tokens.
    pub fn text_bytes(&self) -> usize {
        usize::try_from(self.tokens().saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
    }

    /// The content as an address that contains it.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type.as_str(), self.data)
    }

    /// The same without its content: what may be shown of it.
    #[must_use]
    pub fn without_data(&self) -> Self {
        Self { data: nothing(), ..self.clone() }
    }
}

/// The largest file of a kind.
pub fn bytes_max(media_type: MediaType) -> u64 {
    if media_type.is_image() { IMAGE_BYTES_MAX } else { DOCUMENT_BYTES_MAX }
}

/// `shot.png (PNG image, 640×480 pixels, 12,345 bytes)`
impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.media_type)?;
        if self.media_type.is_image() {
            write!(f, ", {}×{} pixels", self.width, self.height)?;
        }
        write!(f, ", {} bytes)", grouped(self.bytes))
    }
}

/// Never shows the content.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({self}, {} bytes of base64)", self.data.len())
    }
}

/// Why a file cannot be shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentError {
    /// It is neither an image that models take nor a PDF.
    NotKnown,
    /// It does not have the structure of what it claims to be, or its end is missing.
    Damaged {
        /// What it claims to be.
        media_type: MediaType,
    },
    /// It has too many bytes.
    TooLarge {
        /// What it is.
        media_type: MediaType,
        /// How many it has.
        bytes: u64,
        /// How many are taken.
        bytes_max: u64,
    },
    /// One of its sides is too long.
    TooManyPixels {
        /// What it is.
        media_type: MediaType,
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
    },
}

impl fmt::Display for AttachmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotKnown => write!(f, "neither an image (PNG, JPEG, GIF, WebP) nor a PDF document"),
            Self::Damaged { media_type } => write!(f, "a {media_type} that is damaged or cut off"),
            Self::TooLarge { media_type, bytes, bytes_max } => write!(
                f,
                "a {media_type} of {} bytes; models are sent at most {}",
                grouped(*bytes),
                grouped(*bytes_max)
            ),
            Self::TooManyPixels { media_type, width, height } => write!(
                f,
                "a {media_type} of {width}×{height} pixels; models are sent at most {} on a side",
                grouped(u64::from(IMAGE_SIDE_PIXELS_MAX))
            ),
        }
    }
}

impl std::error::Error for AttachmentError {}

fn nothing() -> Arc<str> {
    "".into()
}

fn is_nothing(data: &Arc<str>) -> bool {
    data.is_empty()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, ToolResult};

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let sides = [width.to_le_bytes(), height.to_le_bytes()].concat();
        [b"GIF89a", &sides[..], &[0, 0, 0, b';']].concat()
    }

    #[test]
    fn what_cannot_be_shown_is_told_in_words() {
        let padded = |start: &[u8], bytes: u64| {
            let mut file = start.to_vec();
            file.resize(usize::try_from(bytes).unwrap(), 0);
            file
        };
        let cases = [
            (b"hello".to_vec(), "neither an image (PNG, JPEG, GIF, WebP) nor a PDF document"),
            (b"GIF89a".to_vec(), "a GIF image that is damaged or cut off"),
            (
                padded(b"\xFF\xD8\xFF", IMAGE_BYTES_MAX + 1),
                "a JPEG image of 3,932,161 bytes; models are sent at most 3,932,160",
            ),
            (
                padded(b"%PDF-", DOCUMENT_BYTES_MAX + 1),
                "a PDF document of 10,485,761 bytes; models are sent at most 10,485,760",
            ),
            (gif(8_001, 1), "a GIF image of 8001×1 pixels; models are sent at most 8,000 on a side"),
        ];
        for (content, wanted) in cases {
            assert_eq!(Attachment::new("x", &content).unwrap_err().to_string(), wanted);
        }
        assert_eq!(4 * IMAGE_BYTES_MAX / 3, 5 * 1024 * 1024, "as base64");
    }

    #[test]
    fn its_name_is_one_line_without_folders() {
        let attachment = Attachment::new("/tmp/a\n\u{202e}b.png", &gif(640, 480)).unwrap();
        assert_eq!(attachment.to_string(), "a\\n\\u{202e}b.png (GIF image, 640×480 pixels, 14 bytes)");
        assert_eq!(format!("{attachment:?}"), format!("Attachment({attachment}, 20 bytes of base64)"));
        assert_eq!(attachment.data_url(), "data:image/gif;base64,R0lGODlhgALgAQAAADs=");
    }

    #[test]
    fn what_came_from_elsewhere_is_read_anew() {
        let real = Attachment::new("x.gif", &gif(2, 1)).unwrap();
        let forged = Attachment { media_type: MediaType::Pdf, bytes: 1, width: 9, height: 0, ..real.clone() };
        assert_eq!(forged.checked(), Ok(real.clone()));
        for data in ["", "no base64", "aGVsbG8="] {
            let other = Attachment { data: data.into(), ..real.clone() };
            assert_eq!(other.checked(), Err(AttachmentError::NotKnown));
        }
    }

    /// Megabytes of base64 are not megabytes of text.
    #[test]
    fn it_counts_by_what_it_shows() {
        let of = |media_type, width, height, bytes| {
            let (name, data) = ("x".to_string(), "A".repeat(1_000_000).into());
            Attachment { name, media_type, bytes, width, height, data }
        };
        let cases = [
            (of(MediaType::Png, 1, 1, 700_000), 85),
            (of(MediaType::Jpeg, 750, 400, 700_000), 400),
            (of(MediaType::WebP, 8_000, 8_000, 700_000), 1_600),
            (of(MediaType::Pdf, 0, 0, 700_000), 28_000),
        ];
        for (attachment, tokens) in cases {
            assert_eq!(attachment.tokens(), tokens);
            let text = "go".to_string();
            let plain = Message::User { text: text.clone(), attachments: Vec::new() };
            let shown = Message::User { text, attachments: vec![attachment.clone(), attachment] };
            assert_eq!(shown.bytes() - plain.bytes(), 8 * usize::try_from(tokens).unwrap());
        }
    }

    /// Records of before have no attachments, and what has none is written as before.
    #[test]
    fn messages_without_attachments_are_written_as_they_were() {
        let old = r#"{"author":"user","text":"go"}"#;
        let message: Message = serde_json::from_str(old).unwrap();
        assert_eq!(
            (&message, serde_json::to_string(&message).unwrap().as_str()),
            (&Message::user("go"), old)
        );
        let old = r#"{"id":"c","ok":true,"text":"done"}"#;
        let result: ToolResult = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), old);
        let shown = Message::User {
            text: "go".into(),
            attachments: vec![Attachment::new("x.gif", &gif(2, 1)).unwrap().without_data()],
        };
        let written = serde_json::to_string(&shown).unwrap();
        assert_eq!(
            written,
            r#"{"author":"user","text":"go","attachments":[{"name":"x.gif","media_type":"image/gif","bytes":14,"width":2,"height":1}]}"#
        );
        assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), shown);
    }
}
