//! Asks a server what it has, within limits, and cleans what it says.

use std::sync::Arc;

use futures::future::BoxFuture;
use posse_protocol::visible;
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Prompt, Resource, Tool};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Map, Value};

use crate::connection::Connection;
use crate::known::{Era, Known, KnownPrompt, KnownResource, KnownTool};
use crate::limits;
use crate::stranger::few_words;

/// Everything that a server has.
pub(crate) async fn list(connection: &Connection) -> Result<Known, String> {
    let info = connection.info().ok_or("it did not say what it has")?;
    let (peer, capabilities) = (connection.peer(), &info.capabilities);
    let era = if info.protocol_version.has_initialize() { Era::Older } else { Era::Newer };
    let title = match &info.server_info {
        Some(server) => format!("{} {}", few_words(&server.name, 60), few_words(&server.version, 20)),
        None => String::new(),
    };
    let failed = |what: &str, error: &ServiceError| {
        format!("its {what} could not be listed: {}", few_words(&error.to_string(), 500))
    };
    let mut known = Known { era: Some(era), title, tools: Some(Vec::new()), ..Known::default() };
    if capabilities.tools.is_some() {
        let all = pages(peer, limits::TOOLS_MAX, |peer, cursor| {
            Box::pin(async move {
                let page = peer.list_tools(cursor).await?;
                Ok((page.tools, page.next_cursor))
            })
        });
        let all = all.await.map_err(|error| failed("tools", &error))?;
        known.tools = Some(all.into_iter().filter_map(tool).collect());
    }
    // A server that has tools is of use without the rest.
    if capabilities.prompts.is_some() {
        let all = pages(peer, limits::LISTED_MAX, |peer, cursor| {
            Box::pin(async move {
                let page = peer.list_prompts(cursor).await?;
                Ok((page.prompts, page.next_cursor))
            })
        });
        known.prompts = all.await.unwrap_or_default().into_iter().map(prompt).collect();
    }
    if capabilities.resources.is_some() {
        let all = pages(peer, limits::LISTED_MAX, |peer, cursor| {
            Box::pin(async move {
                let page = peer.list_resources(cursor).await?;
                Ok((page.resources, page.next_cursor))
            })
        });
        known.resources = all.await.unwrap_or_default().into_iter().map(resource).collect();
    }
    Ok(known)
}

type Page<T> = BoxFuture<'static, Result<(Vec<T>, Option<String>), ServiceError>>;

/// All pages of a list, up to so many entries.
async fn pages<T>(
    peer: &Peer<RoleClient>,
    most: usize,
    ask: fn(Peer<RoleClient>, Option<PaginatedRequestParams>) -> Page<T>,
) -> Result<Vec<T>, ServiceError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..limits::PAGES_MAX {
        let asked = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (page, next) = ask(peer.clone(), asked).await?;
        all.extend(page.into_iter().take(most - all.len()));
        match next.filter(|next| !next.is_empty()) {
            Some(next) if all.len() < most => cursor = Some(next),
            _ => break,
        }
    }
    Ok(all)
}

/// A tool, if its definition is not too long.
fn tool(tool: Tool) -> Option<KnownTool> {
    let hints = tool.annotations.unwrap_or_default();
    let schema = cleaned(Value::Object(Map::clone(&tool.input_schema)));
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let fits = tool.name.len() <= 1_000 && schema.to_string().len() <= limits::DEFINITION_BYTES_MAX;
    fits.then(|| KnownTool {
        name: tool.name.into_owned(),
        description: shown(description),
        schema: Arc::new(schema),
        read_only: hints.read_only_hint == Some(true),
        destructive: hints.destructive_hint == Some(true) && hints.read_only_hint != Some(true),
    })
}

fn prompt(prompt: Prompt) -> KnownPrompt {
    let argument = |one: rmcp::model::PromptArgument| (few_words(&one.name, 60), one.required == Some(true));
    KnownPrompt {
        description: few_words(prompt.description.as_deref().unwrap_or_default(), 200),
        arguments: prompt.arguments.unwrap_or_default().into_iter().take(20).map(argument).collect(),
        name: prompt.name,
    }
}

fn resource(resource: Resource) -> KnownResource {
    let title = resource.title.as_deref().or(resource.description.as_deref()).unwrap_or(&resource.name);
    KnownResource { title: few_words(title, 200), uri: resource.uri }
}

/// A description as it is shown and told.
fn shown(text: &str) -> String {
    let visible: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !visible::hides(*c)).collect();
    posse_protocol::clip::clipped(visible.trim(), limits::DESCRIPTION_CHARS_MAX)
}

/// A schema without what hides something, and without what says nothing to a model.
fn cleaned(schema: Value) -> Value {
    match schema {
        Value::String(text) => Value::String(shown(&text)),
        Value::Array(all) => Value::Array(all.into_iter().map(cleaned).collect()),
        Value::Object(all) => {
            let kept = all.into_iter().filter(|(key, _)| key != "$schema");
            Value::Object(kept.map(|(key, value)| (key, cleaned(value))).collect())
        }
        other => other,
    }
}
