//! Commands that begin with `/`: those that make sense in an editor, and the person's and the project's own.

use std::path::Path;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, Error, UnstructuredCommandInput,
};
use posse_api::calls::steering::CompactNow;
use posse_engine::record::SessionRow;
use posse_engine::{Engine, TypedOutcome, UndoExtent, UndoOutcome};
use posse_protocol::visible::one_line;
use posse_setup::{Paths, SessionPlan, UserCommand, context_window, user_commands};
use posse_view::words;
use tokio_util::sync::CancellationToken;

use crate::errors::{failed, invalid_request, of_call, of_engine, of_preparing};
use crate::host::AcpHost;
use crate::limits::{COMMAND_MS_MAX, TITLE_COLUMNS_MAX};
use crate::session::AcpSession;

/// What only Posse does: name, what is typed behind it, what it does.
const OWN: [(&str, &str, &str); 6] = [
    ("compact", "", "shorten the conversation now"),
    ("context", "", "what fills the model's window"),
    ("cost", "", "tokens and cost of this session"),
    ("undo", "[all]", "take back what the last turn changed, or everything"),
    ("redo", "", "bring back what the last undo took"),
    ("rename", "TITLE", "give this session a title"),
];

/// What a command came to.
pub(crate) enum SlashOutcome {
    /// The model is told this.
    Prompt(String),
    /// The person is told this, and nothing more happens.
    Said(String),
}

/// All commands in a folder. Where names clash, the person's own do not count: these do what they say everywhere.
pub(crate) fn available(paths: &Paths, folder: &Path) -> Vec<AvailableCommand> {
    let own = OWN.iter().map(|(name, hint, about)| {
        let input = (!hint.is_empty()).then(|| input(hint));
        AvailableCommand::new(*name, *about).input(input)
    });
    let found = user_commands(paths, folder).commands.into_iter();
    let found = found.filter(|command| OWN.iter().all(|(name, ..)| *name != command.name));
    let found = found.map(|command| {
        let about = one_line(&command.prompt.description, TITLE_COLUMNS_MAX);
        let about = if about.is_empty() { format!("the prompt of {}", command.file) } else { about };
        let hint = command.prompt.argument_hint.as_deref().unwrap_or("arguments");
        AvailableCommand::new(command.name.clone(), about).input(input(hint))
    });
    own.chain(found).collect()
}

fn input(hint: &str) -> AvailableCommandInput {
    AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(one_line(hint, TITLE_COLUMNS_MAX)))
}

/// Carries out what a prompt begins with; none if that is no command.
pub(crate) async fn run(
    host: &AcpHost,
    session: &AcpSession,
    text: &str,
    stop: &CancellationToken,
) -> Result<Option<SlashOutcome>, Error> {
    let Some(typed) = text.trim_start().strip_prefix('/') else { return Ok(None) };
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let rest = rest.trim();
    if OWN.iter().any(|(own, ..)| *own == name) {
        return own(host, session, name, rest).await.map(|text| Some(SlashOutcome::Said(text)));
    }
    let found = user_commands(&host.paths, &session.folder).commands.into_iter();
    match found.into_iter().find(|command| command.name == name) {
        Some(command) => {
            let text = expand(host, session, &command, rest, stop).await?;
            Ok(Some(SlashOutcome::Prompt(text)))
        }
        None => Ok(None),
    }
}

async fn own(host: &AcpHost, session: &AcpSession, name: &str, rest: &str) -> Result<String, Error> {
    if session.is_new() {
        return Ok("Nothing has happened in this session yet.".to_owned());
    }
    let (config, _) = host.settings_in(&session.folder)?;
    let engine = host.engine(&config).await?;
    let row = || row(&engine, session);
    match name {
        "compact" => {
            let live = session.live().ok_or_else(|| {
                invalid_request("the session does not run; it is shortened by itself when it has to be")
            })?;
            let asked = live.handle.call(session.id, CompactNow { agent: None }).await;
            asked.map_err(|error| of_call(&error))?;
            Ok("The conversation is being shortened.".to_owned())
        }
        "context" => {
            let surroundings = host.paths.surroundings();
            let window_of = |name: &str| context_window(&config, surroundings, name);
            let used = engine.context_use(session.id, "main", window_of).await.map_err(|e| of_engine(&e))?;
            let parts = used.parts.iter().map(|part| (part.kind.words(), part.tool.as_deref(), part.tokens));
            let total = used.counted_tokens.unwrap_or(used.estimated_tokens);
            let lines = words::context_lines(total, used.window_tokens, parts);
            Ok(crate::translate::fenced(&lines.join("\n")))
        }
        "cost" => {
            let row = row().await?;
            let cost = row.cost_usd.map(|usd| format!(" · {}", words::cost(usd, row.cost_unknown)));
            let turns = words::counted(row.turns, "turn");
            Ok(format!("{turns} · {}{}", words::tokens(row.usage), cost.unwrap_or_default()))
        }
        "undo" => {
            let extent = if rest == "all" { UndoExtent::Session } else { UndoExtent::Last };
            let undone = engine.undo(&row().await?, &extent, &[]).await;
            undone.map(|outcome| undone_text(&outcome)).map_err(|error| of_engine(&error))
        }
        "redo" => {
            let redone = engine.redo(&row().await?).await;
            redone.map(|outcome| undone_text(&outcome)).map_err(|error| of_engine(&error))
        }
        _ => {
            let renamed = engine.rename(session.id, rest).await.map_err(|error| of_engine(&error))?;
            Ok(format!("The session is called {:?}.", renamed.title.unwrap_or_default()))
        }
    }
}

async fn row(engine: &Engine, session: &AcpSession) -> Result<SessionRow, Error> {
    let id = session.id.to_string();
    engine.read(move |engine| engine.find_session(&id)).await.map_err(|error| of_engine(&error))
}

/// What was taken back, file by file.
fn undone_text(outcome: &UndoOutcome) -> String {
    let line = |mark: &str, path: &str| format!("- {mark} `{}`\n", one_line(path, TITLE_COLUMNS_MAX));
    let mut text = format!("Done for {}:\n", outcome.what);
    text.extend(outcome.changes.iter().map(|change| line("changed", &change.path)));
    text.extend(
        outcome.conflicts.iter().map(|conflict| line("left as it is, changed since:", &conflict.path)),
    );
    text.extend(outcome.not_certain.iter().map(|path| line("left as it is, not certain whose:", path)));
    text
}

/// The text of a user command. Commands inside it run confined, as those that a person types in the chat.
async fn expand(
    host: &AcpHost,
    session: &AcpSession,
    command: &UserCommand,
    arguments: &str,
    stop: &CancellationToken,
) -> Result<String, Error> {
    let expanded = command.expand(arguments).map_err(failed)?;
    if !expanded.commands.is_empty() && !command.may_run() {
        return Err(invalid_request(format!(
            "/{} runs commands, and this folder is not trusted: posse trust shows what it wants",
            command.name
        )));
    }
    let plan = SessionPlan::read(&host.paths, &session.folder, host.wishes.clone());
    let plan = plan.map_err(|error| of_preparing(&error))?;
    let (mode, deadline) = (session.settings().mode, Duration::from_millis(COMMAND_MS_MAX));
    let mut outputs = Vec::new();
    for piece in &expanded.commands {
        let ran = plan.run_typed(piece, mode, deadline, stop, |_| {}).await;
        match ran.map_err(|error| of_preparing(&error))? {
            TypedOutcome::Ran { exit_code: Some(0), output, .. } => {
                outputs.push(output.trim_end().to_owned())
            }
            TypedOutcome::Ran { ending, output, .. } => {
                outputs.push(format!("{}\n{ending}", output.trim_end()))
            }
            TypedOutcome::Refused(why) => return Err(failed(format!("{}: {why}", one_line(piece, 80)))),
            TypedOutcome::Cancelled => return Err(Error::request_cancelled()),
        }
    }
    Ok(expanded.filled(&outputs))
}
