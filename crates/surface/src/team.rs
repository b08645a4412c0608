//! The tools of a team: mailboxes and a shared board. They are there on every surface.

use posse_protocol::ToolSpec;
use serde_json::json;

use crate::{
    command::{AgentCommand, BoardCommand},
    fields::Fields,
    limits,
    offer::{about, integer, text, tool},
    start::saturated,
    words::short,
    wrong::Wrong,
};

const SEND: &str = "send_message";
const BOARD: &str = "board";

/// The tools.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let send = [("to", about(text(), "name, or all")), ("message", text())];
    let actions = json!({"type": "string", "enum": ["add", "claim", "done", "release", "list"]});
    let after =
        json!({"type": "array", "items": {"type": "integer"}, "description": "ids to be done before"});
    let board = [("action", actions), ("id", integer()), ("title", text()), ("after", after)];
    vec![
        tool(SEND, "Send words to an agent of the team, or to all.", &["to", "message"], send),
        tool(
            BOARD,
            "The team's tasks. claim without id takes the next that is ready; claim before you work on one.",
            &["action"],
            board,
        ),
    ]
}

/// Whether a tool is one of these.
pub(crate) fn owns(tool: &str) -> bool {
    [SEND, BOARD].contains(&tool)
}

/// Reads a call of one of these.
pub(crate) fn parse(tool: &str, fields: &Fields) -> Result<AgentCommand, Wrong> {
    if tool == BOARD { board(fields).map(AgentCommand::Board) } else { send(fields) }
}

fn send(fields: &Fields) -> Result<AgentCommand, Wrong> {
    const TO: &[&str] = &["to", "target", "recipient", "agent", "name"];
    let to = fields.word(TO, limits::NAME_CHARS_MAX)?.ok_or_else(|| fields.missing(TO))?;
    let all = ["all", "*", "everyone", "everybody"].iter().any(|word| to.eq_ignore_ascii_case(word));
    Ok(AgentCommand::Tell { to: Some(to).filter(|_| !all), text: message(fields)? })
}

/// Words for an agent.
pub(crate) fn message(fields: &Fields) -> Result<String, Wrong> {
    const MESSAGE: &[&str] = &["message", "text", "prompt", "input", "content"];
    let advice = "Write the long part into a file and name it.";
    let text = fields.capped(MESSAGE, limits::MESSAGE_BYTES_MAX, advice)?;
    text.ok_or_else(|| fields.missing(MESSAGE))
}

#[derive(Clone, Copy)]
enum Action {
    Add,
    Claim,
    Done,
    Release,
    List,
}

fn board(fields: &Fields) -> Result<BoardCommand, Wrong> {
    const ACTION: &[&str] = &["action"];
    const TITLE: &[&str] = &["title", "task", "text"];
    let accepted = [
        ("add", Action::Add),
        ("claim", Action::Claim),
        ("done", Action::Done),
        ("release", Action::Release),
        ("list", Action::List),
    ];
    let also = [
        ("create", Action::Add),
        ("take", Action::Claim),
        ("complete", Action::Done),
        ("finish", Action::Done),
        ("show", Action::List),
    ];
    let action = fields.choice(ACTION, &accepted, &also)?.ok_or_else(|| fields.missing(ACTION))?;
    let id = || -> Result<Option<u32>, Wrong> { Ok(fields.positive(&["id", "item"])?.map(saturated)) };
    let this = || id()?.ok_or_else(|| fields.missing(&["id"]));
    Ok(match action {
        Action::Add => {
            let title = fields.text(TITLE)?.ok_or_else(|| fields.missing(TITLE))?;
            let after = fields.numbers(&["after", "depends_on"], limits::BOARD_AFTER_MAX)?;
            BoardCommand::Add { title: short(&title, limits::BOARD_TITLE_CHARS_MAX), after }
        }
        Action::Claim => BoardCommand::Claim { id: id()? },
        Action::Done => BoardCommand::Done { id: this()? },
        Action::Release => BoardCommand::Release { id: this()? },
        Action::List => BoardCommand::List,
    })
}
