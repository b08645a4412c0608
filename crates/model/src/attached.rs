//! Which attachments of a conversation are sent, and what stands in the place of the others.
//!
//! A decision is made once, when a message is added, from what came before it. So no later message changes the bytes of an
//! earlier one.

use std::borrow::Cow;

use posse_protocol::{Attachment, Message, ToolResult};

use crate::ModelConfig;
use crate::limits::{
    REQUEST_DATA_BYTES_MAX, REQUEST_IMAGES_MAX, SMALL_IMAGE_SIDE_PIXELS_MAX, SMALL_IMAGES_MAX,
};

/// What a model takes, and what a conversation with it holds so far.
#[derive(Clone, Debug)]
pub(crate) struct SentAttachments {
    images: bool,
    documents: bool,
    count: usize,
    data_bytes: usize,
    /// Whether one is larger than many may be.
    large: bool,
}

impl SentAttachments {
    pub(crate) fn new(config: &ModelConfig) -> Self {
        let (images, documents) = (config.images, config.takes_documents());
        Self { images, documents, count: 0, data_bytes: 0, large: false }
    }

    /// The message as it is sent: what cannot be shown is named in its text.
    pub(crate) fn admit<'a>(&mut self, message: &'a Message) -> Cow<'a, Message> {
        if message.attachments().next().is_none() {
            return Cow::Borrowed(message);
        }
        let mut sent = message.clone();
        match &mut sent {
            Message::User { text, attachments } => self.keep(attachments, text),
            Message::Assistant { .. } => {}
            Message::Tools { results } => {
                for ToolResult { text, attachments, .. } in results {
                    self.keep(attachments, text);
                }
            }
        }
        Cow::Owned(sent)
    }

    fn keep(&mut self, attachments: &mut Vec<Attachment>, text: &mut String) {
        attachments.retain(|attachment| match self.refusal(attachment) {
            None => true,
            Some(why) => {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}[{attachment} is not shown: {why}]"));
                false
            }
        });
    }

    /// Why one more is not sent; none if it is, which then counts.
    fn refusal(&mut self, attachment: &Attachment) -> Option<&'static str> {
        let is_image = attachment.media_type.is_image();
        if is_image && !self.images {
            return Some("this model takes no images");
        } else if !is_image && !self.documents {
            return Some("this model takes no PDF documents");
        } else if attachment.data.is_empty() {
            return Some("its content was left out");
        }
        let count = self.count + 1;
        let data_bytes = self.data_bytes + attachment.data.len();
        let large = self.large || attachment.width.max(attachment.height) > SMALL_IMAGE_SIDE_PIXELS_MAX;
        let count_max = if large { REQUEST_IMAGES_MAX } else { SMALL_IMAGES_MAX };
        if count > count_max || data_bytes > REQUEST_DATA_BYTES_MAX {
            return Some("this conversation holds as many images as one request takes");
        }
        (self.count, self.data_bytes, self.large) = (count, data_bytes, large);
        None
    }
}
