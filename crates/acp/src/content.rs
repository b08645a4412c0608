//! The content of a prompt, as the model is told it: texts and mentions in their order, then what was attached.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ContentBlock, EmbeddedResourceResource, Error, ReadTextFileRequest,
    ReadTextFileResponse, SessionId,
};
use base64::Engine as _;
use posse_protocol::visible::one_line;
use posse_protocol::{Attachment, limits::ATTACHMENT_NAME_COLUMNS_MAX};
use posse_setup::TaskPrompt;

use crate::client::AcpClient;
use crate::limits::{FILE_READ_MS_MAX, FILES_READ_MAX, RESOURCE_BYTES_MAX};

/// Who reads files that a prompt mentions, as they are in the editor.
pub(crate) struct BufferReader<'a> {
    pub(crate) client: &'a Arc<AcpClient>,
    pub(crate) session: &'a Arc<str>,
}

/// Reads the content of a prompt. `folder` is where the session works; with `buffers`, mentioned files are read through the client.
pub(crate) async fn task_of(
    prompt: Vec<ContentBlock>,
    folder: &Path,
    buffers: Option<BufferReader<'_>>,
) -> Result<TaskPrompt, Error> {
    let (mut task, mut attached) = (TaskPrompt::default(), String::new());
    let mut files_left = FILES_READ_MAX;
    for block in prompt {
        match block {
            ContentBlock::Text(text) => task.text.push_str(&text.text),
            ContentBlock::Image(image) => {
                let name = image.uri.as_deref().map_or("image", last_part);
                task.attachments.push(decoded(name, &image.data)?);
            }
            ContentBlock::ResourceLink(link) => {
                let path = file_of(&link.uri);
                let shown = path.as_deref().map_or_else(|| link.uri.clone(), |path| within(path, folder));
                task.text.push_str(&one_line(&shown, usize::MAX));
                if let (Some(path), Some(buffers), 1..) = (path, &buffers, files_left) {
                    files_left -= 1;
                    if let Some(text) = buffers.read(path).await {
                        attach(&mut attached, &shown, &text)?;
                    }
                }
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    let shown =
                        file_of(&text.uri).map_or_else(|| text.uri.clone(), |path| within(&path, folder));
                    task.text.push_str(&one_line(&shown, usize::MAX));
                    attach(&mut attached, &shown, &text.text)?;
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    task.attachments.push(decoded(last_part(&blob.uri), &blob.blob)?);
                }
                _ => return Err(invalid("a resource is neither a text nor a blob")),
            },
            ContentBlock::Audio(_) => return Err(invalid("this agent does not take audio")),
            _ => return Err(invalid("the prompt has content of a kind that this agent does not know")),
        }
    }
    if task.text.trim().is_empty() && attached.is_empty() {
        if task.attachments.is_empty() {
            return Err(invalid("the prompt is empty"));
        }
        task.text = "Look at what is attached.".to_owned();
    }
    task.attached_bytes = attached.len();
    task.text.push_str(&attached);
    Ok(task)
}

/// Adds the text of a resource.
fn attach(attached: &mut String, name: &str, text: &str) -> Result<(), Error> {
    if text.len() > RESOURCE_BYTES_MAX {
        return Err(invalid(&format!(
            "{name} is longer than {RESOURCE_BYTES_MAX} bytes; let the agent read it"
        )));
    }
    let name = one_line(name, ATTACHMENT_NAME_COLUMNS_MAX);
    attached.push_str(&format!("\n\n[{name}:]\n{text}"));
    Ok(())
}

fn decoded(name: &str, data: &str) -> Result<Attachment, Error> {
    let content = base64::engine::general_purpose::STANDARD.decode(data.trim());
    let content = content.map_err(|_| invalid(&format!("the data of {name:?} is not base64")))?;
    Attachment::new(name, &content)
        .map_err(|error| invalid(&format!("{name:?} cannot be shown: it is {error}")))
}

/// The path of a `file://` address of this machine.
fn file_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = rest.split(['#', '?']).next().filter(|path| path.starts_with('/'))?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(left.next()?).to_digit(16);
        let code = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(code).ok()?);
    }
    let path = String::from_utf8(bytes).ok()?;
    (!path.contains('\0')).then(|| PathBuf::from(path))
}

/// A path as an agent names it.
fn within(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

fn last_part(uri: &str) -> &str {
    uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or("attachment")
}

impl BufferReader<'_> {
    /// A file as it is in the editor; none if the client cannot say.
    async fn read(&self, path: PathBuf) -> Option<String> {
        let request = ReadTextFileRequest::new(SessionId::new(Arc::clone(self.session)), path);
        let asked = self.client.ask(CLIENT_METHOD_NAMES.fs_read_text_file, request);
        let answer = tokio::time::timeout(Duration::from_millis(FILE_READ_MS_MAX), asked.answer()).await;
        let answer = serde_json::from_value::<ReadTextFileResponse>(answer.ok()?.ok()?).ok()?;
        Some(answer.content).filter(|text| text.len() <= RESOURCE_BYTES_MAX)
    }
}

fn invalid(why: &str) -> Error {
    Error::invalid_params().data(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    async fn read(blocks: Value) -> Result<TaskPrompt, Error> {
        task_of(serde_json::from_value(blocks).unwrap(), Path::new("/work"), None).await
    }

    #[tokio::test]
    async fn mentions_stay_in_their_place_and_texts_follow() {
        let task = read(json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///work/src/a%20b.rs", "name": "a b.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///etc/hosts", "text": "127.0.0.1"}},
            {"type": "text", "text": ", please."},
            {"type": "resource_link", "uri": "https://x.example/#y", "name": "y"},
        ]));
        let task = task.await.unwrap();
        let want =
            "Look at src/a b.rs and /etc/hosts, please.https://x.example/#y\n\n[/etc/hosts:]\n127.0.0.1";
        assert_eq!(task.text, want);
        assert_eq!(task.attached_bytes, "\n\n[/etc/hosts:]\n127.0.0.1".len());
    }

    #[tokio::test]
    async fn what_cannot_be_told_is_refused() {
        let long = "x".repeat(RESOURCE_BYTES_MAX + 1);
        let bad = [
            json!([]),
            json!([{"type": "text", "text": "  "}]),
            json!([{"type": "image", "mimeType": "image/png", "data": "%%%"}]),
            json!([{"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}]),
            json!([{"type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8="}]),
            json!([{"type": "resource", "resource": {"uri": "file:///a", "text": long}}]),
        ];
        for blocks in bad {
            assert!(
                read(blocks.clone()).await.is_err(),
                "{}",
                &blocks.to_string()[..60.min(blocks.to_string().len())]
            );
        }
    }

    #[test]
    fn addresses_of_files() {
        let cases = [
            ("file:///a/b", Some("/a/b")),
            ("file://localhost/a", Some("/a")),
            ("file:///a%2Fb%20c#L3", Some("/a/b c")),
            ("file://elsewhere/a", None),
            ("file:///a%zz", None),
            ("file:///a%00", None),
            ("https://a/b", None),
        ];
        for (uri, want) in cases {
            assert_eq!(file_of(uri), want.map(PathBuf::from), "{uri}");
        }
    }
}
