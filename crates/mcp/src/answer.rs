//! What a server answers, as an agent is told it.

use base64::Engine as _;
use posse_protocol::Attachment;
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents};

use crate::limits;

/// The text and the images of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerParts {
    pub(crate) text: String,
    pub(crate) images: Vec<Attachment>,
}

impl AnswerParts {
    /// What a tool answers.
    pub(crate) fn of_call(server: &str, result: CallToolResult) -> Self {
        let mut parts = Self::default();
        for block in result.content {
            parts.add(server, block);
        }
        // The same in another form, unless there is no other.
        if let Some(structured) = result.structured_content.filter(|_| parts.text.trim().is_empty()) {
            parts.line(&structured.to_string());
        }
        parts
    }

    /// What a resource holds.
    pub(crate) fn of_resource(server: &str, result: ReadResourceResult) -> Self {
        let mut parts = Self::default();
        for contents in result.contents {
            parts.contents(server, contents);
        }
        parts
    }

    /// What a prompt says.
    pub(crate) fn of_prompt(server: &str, result: GetPromptResult) -> Self {
        let mut parts = Self::default();
        for message in result.messages {
            parts.add(server, message.content);
        }
        parts
    }

    fn line(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn add(&mut self, server: &str, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.line(&text.text),
            ContentBlock::Image(image) => self.image(&image.data),
            ContentBlock::Audio(_) => self.line("(a sound, which is left out)"),
            ContentBlock::Resource(embedded) => self.contents(server, embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let title = link.title.as_deref().unwrap_or(&link.name);
                self.line(&format!("resource {}: {title}", handle(server, &link.uri)));
            }
            _ => self.line("(something of a kind that is not known)"),
        }
    }

    fn image(&mut self, data: &str) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim());
        let name = format!("image-{}", self.images.len() + 1);
        match bytes.ok().and_then(|bytes| Attachment::new(&name, &bytes).ok()) {
            Some(image) if self.images.len() < limits::IMAGES_MAX => {
                self.line(&format!("({name} is attached)"));
                self.images.push(image);
            }
            _ => self.line("(an image, which is left out: it is none that can be shown)"),
        }
    }

    fn contents(&mut self, server: &str, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { text, .. } => self.line(&text),
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => match mime_type.as_deref() {
                Some(kind) if kind.starts_with("image/") => self.image(&blob),
                _ => self.line(&format!("({} bytes that are no text)", blob.len() / 4 * 3)),
            },
            _ => self.line(&format!("(a resource of {server} of a kind that is not known)")),
        }
    }
}

/// The handle of a resource.
pub(crate) fn handle(server: &str, uri: &str) -> String {
    format!("{server}:{uri}")
}
