//! All servers of a session, and the tools that agents have of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use posse_protocol::visible::one_line;
use posse_tools::{
    OutsideCall, OutsideFuture, OutsideHandle, OutsideOffer, OutsidePlace, OutsideResult, OutsideServer,
    OutsideState, OutsideTool, OutsideTools,
};
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams, RequestParamsMeta as _,
    ServerResult,
};
use serde_json::{Map, Value};

use crate::answer::AnswerParts;
use crate::check::check;
use crate::connection::ServerRequest;
use crate::entry::ServerEntry;
use crate::kept::{KeptResults, is_result};
use crate::known::KnownTool;
use crate::limits;
use crate::names::{PREFIX, plain, tool_name};
use crate::search::found;
use crate::server::ToolServer;
use crate::stranger::few_words;

/// The servers of one session, shared by all its agents.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Arc<ToolServer>>,
    offer: OutsideOffer,
    kept: KeptResults,
}

impl Servers {
    /// Servers that nobody has started yet. What is known of them is kept in a folder.
    pub fn new(entries: Vec<ServerEntry>, keep: PathBuf) -> Self {
        let servers = entries.into_iter().take(limits::SERVERS_MAX);
        let servers = servers.map(|entry| Arc::new(ToolServer::new(entry, &keep))).collect::<Vec<_>>();
        let offer = offer(&servers);
        let kept = KeptResults::new(matches!(offer, OutsideOffer::Looked(_)));
        Self { servers, offer, kept }
    }

    fn server(&self, name: &str) -> Option<&Arc<ToolServer>> {
        self.servers.iter().find(|server| plain(&server.entry.name) == name)
    }

    /// The tool that a name stands for, if it is known. The error says which two have that name.
    fn look_up(&self, name: &str) -> Result<Option<(&Arc<ToolServer>, KnownTool)>, String> {
        let mut all = self.servers.iter().flat_map(|server| {
            let found = server.named(name);
            found.into_iter().map(move |tool| (server, tool))
        });
        let first = all.next();
        if let (Some((a, one)), Some((b, other))) = (&first, all.next()) {
            let named =
                |server: &ToolServer, tool: &KnownTool| format!("{:?} of {:?}", tool.name, server.entry.name);
            return Err(format!(
                "{name} is the name of two tools, {} and {}, so neither can be called. Tell the person to rename one of the \
                 servers.",
                few_words(&named(a, one), 120),
                few_words(&named(b, &other), 120)
            ));
        }
        Ok(first)
    }

    /// The servers that a name could be of: those whose name it begins with.
    fn candidates(&self, name: &str) -> Vec<&Arc<ToolServer>> {
        let rest = name.strip_prefix(PREFIX).unwrap_or_default();
        let fits = |server: &&Arc<ToolServer>| rest.starts_with(&format!("{}__", plain(&server.entry.name)));
        self.servers.iter().filter(fits).collect()
    }

    /// The tool that a name stands for; its server is started if nothing is known of it.
    async fn resolve(&self, name: &str) -> Result<(&Arc<ToolServer>, KnownTool), String> {
        if let Some(found) = self.look_up(name)? {
            return Ok(found);
        }
        let candidates = self.candidates(name);
        for server in &candidates {
            server.connection().await.map_err(|why| trouble(server, &why))?;
        }
        match self.look_up(name)? {
            Some(found) => Ok(found),
            None if candidates.is_empty() => {
                let names = self.servers.iter().map(|server| server.entry.name.as_str()).collect::<Vec<_>>();
                Err(format!(
                    "There is no tool {}. Servers: {}. Look with tools_find.",
                    one_line(name, 100),
                    names.join(", ")
                ))
            }
            None => Err(format!("The server has no tool {}. Look with tools_find.", one_line(name, 100))),
        }
    }

    async fn call_tool(&self, call: OutsideCall) -> Result<OutsideResult, String> {
        let OutsideCall { name, arguments, agent, judged_unknown, questions, traceparent } = call;
        let (server, tool) = self.resolve(&name).await?;
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => return Err(format!("The arguments of {name} have to be an object.")),
        };
        let arguments = Value::Object(arguments);
        check(&tool.schema, &arguments).map_err(|why| {
            let schema = tool.schema.to_string();
            format!("{name}: {why}. Nothing was called. It takes: {}", one_line(&schema, 4_000))
        })?;
        if judged_unknown && tool.destructive {
            return Err(format!(
                "Nothing was called: only now is it known that {name} destroys something. Call it again, so that the person \
                 can be asked."
            ));
        }
        let connection = server.connection().await.map_err(|why| trouble(server, &why))?;
        let mut params = CallToolRequestParams::new(tool.name.clone());
        params.arguments = arguments.as_object().cloned();
        traceparent.iter().for_each(|span| params.set_traceparent(&span.to_string()));
        match connection.request(questions, ServerRequest::Call(params)).await {
            Ok(ServerResult::CallToolResult(result)) => {
                let ok = result.is_error != Some(true);
                let AnswerParts { text, images } = AnswerParts::of_call(&plain(&server.entry.name), result);
                let text = if text.is_empty() { "(no text)".to_owned() } else { text };
                let text = self.kept.told(agent, &server.entry.name, server.entry.without_values(&text));
                Ok(OutsideResult { ok, text, attachments: images })
            }
            Ok(_) => Err(trouble(server, "it answers with something else than a result")),
            Err(why) => Err(trouble(server, &why)),
        }
    }

    async fn read_handle(&self, read: OutsideHandle) -> Result<OutsideResult, String> {
        let OutsideHandle { handle, offset, agent, questions, traceparent } = read;
        if is_result(&handle) {
            return Ok(OutsideResult {
                ok: true,
                text: self.kept.read(agent, &handle, offset)?,
                ..OutsideResult::default()
            });
        }
        let (name, uri) =
            handle.split_once(':').ok_or("A handle is one that a result or tools_find has told.")?;
        let server =
            self.server(name).ok_or_else(|| format!("There is no server {}.", one_line(name, 60)))?;
        let connection = server.connection().await.map_err(|why| trouble(server, &why))?;
        let mut params = ReadResourceRequestParams::new(uri);
        traceparent.iter().for_each(|span| params.set_traceparent(&span.to_string()));
        match connection.request(questions, ServerRequest::Read(params)).await {
            Ok(ServerResult::ReadResourceResult(result)) => {
                let AnswerParts { text, images } = AnswerParts::of_resource(name, result);
                let rest = text.chars().skip(offset).collect::<String>();
                let text = self.kept.told(agent, &server.entry.name, server.entry.without_values(&rest));
                Ok(OutsideResult { ok: true, text, attachments: images })
            }
            Ok(_) => Err(trouble(server, "it answers with something else than a resource")),
            Err(why) => Err(trouble(server, &why)),
        }
    }

    async fn prompt_text(&self, name: &str, arguments: Vec<(String, String)>) -> Result<String, String> {
        let candidates = self.candidates(name);
        for server in candidates {
            let connection = server.connection().await.map_err(|why| trouble(server, &why))?;
            let known = server.known();
            let Some(prompt) =
                known.prompts.iter().find(|one| tool_name(&server.entry.name, &one.name) == name)
            else {
                continue;
            };
            let mut params = GetPromptRequestParams::new(prompt.name.clone());
            let pairs = arguments.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            params.arguments = Some(pairs.collect());
            return match connection.request(None, ServerRequest::Prompt(params)).await {
                Ok(ServerResult::GetPromptResult(result)) => {
                    let AnswerParts { text, .. } = AnswerParts::of_prompt(&plain(&server.entry.name), result);
                    Ok(server.entry.without_values(&text))
                }
                Ok(_) => Err(trouble(server, "it answers with something else than a prompt")),
                Err(why) => Err(trouble(server, &why)),
            };
        }
        Err(format!("There is no prompt {}.", one_line(name, 100)))
    }

    /// Waits for servers of which nothing is known yet, but not for long.
    async fn learn(&self) {
        let unknown = self.servers.iter().filter(|server| server.known().tools.is_none());
        let all = futures::future::join_all(unknown.map(|server| server.connection()));
        let _ = tokio::time::timeout(Duration::from_millis(limits::FIND_WAIT_MS), all).await;
    }
}

/// What went wrong with a server.
fn trouble(server: &ToolServer, why: &str) -> String {
    format!("The server {}: {}", server.entry.name, server.entry.without_values(why))
}

/// How tools are offered: each by itself if all are known and they are few, else by search.
fn offer(servers: &[Arc<ToolServer>]) -> OutsideOffer {
    let known = servers.iter().all(|server| server.known().tools.is_some());
    let tools = servers
        .iter()
        .flat_map(|server| server.tools().into_iter().map(move |tool| tool.offered(&server.entry.name)));
    let tools = tools.take(limits::OFFERED_TOOLS_MAX + 1).collect::<Vec<_>>();
    let bytes = |tool: &OutsideTool| tool.name.len() + tool.description.len() + tool.schema.to_string().len();
    let few = tools.len() <= limits::OFFERED_TOOLS_MAX
        && tools.iter().map(bytes).sum::<usize>() <= limits::OFFERED_BYTES_MAX;
    let distinct =
        tools.iter().map(|tool| &tool.name).collect::<std::collections::BTreeSet<_>>().len() == tools.len();
    if known && few && distinct {
        return OutsideOffer::Each(tools);
    }
    let line = |server: &Arc<ToolServer>| {
        let about = server.entry.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        let count = match server.known().tools.is_some() {
            true => format!(" ({} tools)", server.tools().len()),
            false => String::new(),
        };
        few_words(&format!("{}{count}{about}", server.entry.name), limits::SERVER_LINE_CHARS_MAX)
    };
    OutsideOffer::Looked(servers.iter().map(line).collect())
}

fn result(done: Result<OutsideResult, String>) -> OutsideResult {
    done.unwrap_or_else(|text| OutsideResult { ok: false, text, attachments: Vec::new() })
}

impl OutsideTools for Servers {
    fn begin(&self, place: OutsidePlace) {
        for server in &self.servers {
            server.begin(place.clone());
            // What is known can wait until it is used; what is not is found out meanwhile.
            if server.known().tools.is_none() {
                let server = Arc::clone(server);
                tokio::spawn(async move {
                    // The first request comes first.
                    tokio::time::sleep(Duration::from_millis(limits::BACKGROUND_AFTER_MS)).await;
                    // Somebody may have needed it by now.
                    if server.state().0 == OutsideState::Waiting
                        && let Err(why) = server.connection().await
                    {
                        tracing::info!(server = server.entry.name, why, "a server does not work");
                    }
                });
            }
        }
    }

    fn offer(&self) -> &OutsideOffer {
        &self.offer
    }

    fn tool(&self, name: &str) -> Option<OutsideTool> {
        let (server, tool) = self.look_up(name).ok()??;
        Some(tool.offered(&server.entry.name))
    }

    fn find<'a>(
        &'a self,
        words: &'a str,
        may: &'a (dyn Fn(&str) -> bool + Send + Sync),
    ) -> OutsideFuture<'a, String> {
        Box::pin(async move {
            self.learn().await;
            found(&self.servers, words, may)
        })
    }

    fn call(&self, call: OutsideCall) -> OutsideFuture<'_, OutsideResult> {
        Box::pin(async move { result(self.call_tool(call).await) })
    }

    fn read(&self, handle: OutsideHandle) -> OutsideFuture<'_, OutsideResult> {
        Box::pin(async move { result(self.read_handle(handle).await) })
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Vec<(String, String)>,
    ) -> OutsideFuture<'a, Result<String, String>> {
        Box::pin(self.prompt_text(name, arguments))
    }

    fn servers(&self) -> Vec<OutsideServer> {
        self.servers.iter().map(|server| server.shown()).collect()
    }

    fn end(&self) -> OutsideFuture<'_, ()> {
        Box::pin(async move {
            futures::future::join_all(self.servers.iter().map(|server| server.end())).await;
        })
    }
}

/// Starts one server as a session would, and says how it is. The error says what is wrong with it.
pub async fn try_server(
    entry: ServerEntry,
    keep: PathBuf,
    place: OutsidePlace,
) -> Result<OutsideServer, String> {
    let server = ToolServer::new(entry, &keep);
    server.begin(place);
    let tried = server.connection().await.map(|_| server.shown());
    server.end().await;
    tried
}
