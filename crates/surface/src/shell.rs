//! The surface `shell`: one tool, `bash`, in which delegation and the file tools are commands.
//!
//! A line that is one plain command of ours is routed: it never reaches a shell. Everything else is run by the real
//! one, under the agent's own rights, so that routing grants nothing and hides nothing. A line that names one of our
//! commands among others is refused: no program that happens to have its name is run instead. The exceptions are `grep`,
//! which is the program wherever ours cannot do what is asked, and the shell's own `read` in a script.

mod files;
mod flags;
mod line;
mod offered;
mod table;

pub use self::offered::{ENHANCE, OfferedCommand, shell_commands, shell_help};

use posse_policy::{Invoked, invoked};
use posse_protocol::{ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use self::{
    flags::{SortedWords, sort},
    line::CommandLine,
    table::{COMMANDS, CommandKind, SKILL, TASK, TableEntry, find},
};
use crate::{
    agent,
    command::{AgentCommand, Join, Routed, Shape},
    fields::Fields,
    handles, limits,
    offer::{Offer, integer, text, tool},
    start::start,
    team,
    words::short,
    wrong::Wrong,
};

const NAME: &str = "bash";
const OWN: &[&str] = &["task:", "skill:", "handle:"];
const PROMPT: &[&str] = &["prompt"];
/// What any call of it may say. What a command is about is told by the command.
const OFFERED: [&str; 3] = ["command", "timeout_ms", "description"];
/// Answered here: shells have a command of that name.
const HELP: &str = "help";
/// Shells have a command of that name, which scripts need.
const READ: &str = "read";

/// The tool.
pub(crate) fn spec(offer: &Offer<'_>) -> ToolSpec {
    let begin = if offer.runs_programs() {
        include_str!("../prompts/shell.md")
    } else {
        include_str!("../prompts/shell_none.md")
    };
    let mut description = begin.trim_end().to_owned();
    description.push('\n');
    description.push_str(&offer.told());
    // What follows the first line of its description are the skills there are.
    let skills = offer.shell_tools.iter().find(|tool| tool.name == "skill_load");
    if let Some((_, list)) = skills.and_then(|tool| tool.description.split_once('\n')) {
        description.push('\n');
        description.push_str(list);
    }
    if offer.may_delegate {
        description.push('\n');
        let there = description.len();
        description.push_str(&offer.with_roles(include_str!("../prompts/shell_agents.md"), there));
    }
    // What is too long is cut before it is sent; its last line stays.
    if description.len() > limits::DESCRIPTION_BYTES_MAX {
        description.push_str("\nThe command help lists everything, roles and skills included.");
    }
    tool(NAME, description, &["command"], [("command", text()), ("timeout_ms", integer())])
}

/// Whether a tool is this one.
pub(crate) fn owns(tool: &str) -> bool {
    [NAME, "shell"].contains(&tool)
}

/// What a call of the shell surface asks for, with the name by which rights are checked; otherwise a text for the model.
pub fn parse_routed(call: &ToolCall) -> Result<Routed, String> {
    let tool = call.name.to_ascii_lowercase();
    let fields = Fields::read(&call.arguments);
    let routed = fields.and_then(|fields| {
        if team::owns(&tool) {
            team::parse(&tool, &fields).map(|command| Routed { command, name: tool.clone() })
        } else {
            route(call, &fields)
        }
        .and_then(|routed| {
            fields.nothing_else(&OFFERED.map(str::to_owned))?;
            Ok(routed)
        })
    });
    routed.map_err(|wrong| match wrong {
        Wrong::Unknown { .. } => format!("{wrong} {tool} takes: command (required), timeout_ms, background."),
        wrong => wrong.to_string(),
    })
}

fn route(call: &ToolCall, fields: &Fields) -> Result<Routed, Wrong> {
    const COMMAND: &[&str] = &["command", "cmd", "script", "code"];
    let written = fields.text(COMMAND)?.ok_or_else(|| fields.missing(COMMAND))?;
    let line = CommandLine::read(&written);
    let first = line.words.first().map(String::as_str).unwrap_or_default();
    if let Some(name) = own_name(first) {
        plain(&name, &line)?;
        return own(call, &name, line);
    }
    match find(first) {
        Some(entry) if matches!(entry.kind, CommandKind::Tool(_)) && !is_builtin(&line) => {
            plain(entry.name, &line)?;
            return ordinary(call, entry, line)?.ok_or_else(|| misused(entry));
        }
        Some(entry) if line.operator.is_none() && !line.open_quote => {
            if let Some(routed) = ordinary(call, entry, line)? {
                return Ok(routed);
            }
        }
        None if first.eq_ignore_ascii_case(HELP) => {
            plain(HELP, &line)?;
            let about = line.words.get(1).map(|word| short(word, limits::COMMAND_NAME_CHARS_MAX));
            return Ok(Routed { command: AgentCommand::Help(about), name: HELP.to_owned() });
        }
        _ => lost(&written, &line)?,
    }
    real(call, fields, &written)
}

/// Refuses a line that is not routed as it stands and yet names a command of ours where a shell would look for a program.
fn lost(written: &str, line: &CommandLine) -> Result<(), Wrong> {
    let named = match invoked(written) {
        Some(commands) => commands.iter().find_map(|one| {
            let name = routed_name(one.words.first()?)?;
            (name != READ || !is_read_builtin(one)).then_some(name)
        }),
        None => line.heads.iter().find_map(|head| routed_name(head)),
    };
    match (named, &line.operator) {
        (None, _) => Ok(()),
        (Some(name), Some(operator)) if line.heads.iter().any(|head| head.eq_ignore_ascii_case(&name)) => {
            Err(Wrong::Operator { advice: advice(&name), name, operator: operator.clone() })
        }
        (Some(name), _) => Err(Wrong::Around { advice: advice(&name), name }),
    }
}

/// The name of a command of ours that no program of the same name stands in for.
fn routed_name(word: &str) -> Option<String> {
    let tool = |entry: &&TableEntry| matches!(entry.kind, CommandKind::Tool(_));
    let known = find(word).filter(tool).map(|entry| entry.name.to_owned());
    let known = known.or_else(|| word.eq_ignore_ascii_case(HELP).then(|| HELP.to_owned()));
    known.or_else(|| own_name(word)).map(|name| short(&name, limits::SHOWN_CHARS_MAX))
}

/// Whether a line of several commands begins with the shell's own `read`.
fn is_builtin(line: &CommandLine) -> bool {
    let flag = line.words.get(1).is_some_and(|word| is_read_flag(word));
    line.words.first().is_some_and(|first| first == READ) && line.operator.is_some() && flag
}

/// Whether this is the shell's own `read`, which takes a line apart: in a loop, with its options, or with separators.
fn is_read_builtin(one: &Invoked) -> bool {
    let in_script = |word: &String| matches!(word.as_str(), "while" | "until") || word.starts_with("IFS=");
    one.before.iter().any(in_script) || one.words.get(1).is_some_and(|word| is_read_flag(word))
}

fn is_read_flag(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.starts_with(|letter| "adeinNprstu".contains(letter))
}

/// How a command that was not alone is to be written.
fn advice(name: &str) -> String {
    match find(name) {
        Some(entry) => entry.usage(),
        None if name == HELP => "Usage: help [NAME]".to_owned(),
        None => "For several agents make several calls in one reply: they run side by side.".to_owned(),
    }
}

/// The name in small letters, if it is of the kind that no program has.
fn own_name(word: &str) -> Option<String> {
    let name: String =
        word.chars().take(limits::COMMAND_NAME_CHARS_MAX).flat_map(char::to_lowercase).collect();
    OWN.iter().any(|own| name.starts_with(own)).then_some(name)
}

/// One command and nothing else, or the reason why it cannot run.
fn plain(name: &str, line: &CommandLine) -> Result<(), Wrong> {
    match &line.operator {
        Some(operator) => {
            let name = short(name, limits::SHOWN_CHARS_MAX);
            Err(Wrong::Operator { advice: advice(&name), name, operator: operator.clone() })
        }
        None if line.open_quote => Err(Wrong::OpenQuote),
        None => Ok(()),
    }
}

/// A command that no program has.
fn own(call: &ToolCall, name: &str, line: CommandLine) -> Result<Routed, Wrong> {
    let routed = |command| Ok(Routed { command, name: name.to_owned() });
    match name {
        "skill:search" => return Err(Wrong::Renamed { old: "skill:search", new: "task:skill:search" }),
        "skill:enhance" => return Err(Wrong::Renamed { old: "skill:enhance", new: "task:skill:enhance" }),
        "task:help" | "skill:help" | "handle:help" => return routed(AgentCommand::Help(None)),
        _ => {}
    }
    let words = line.words.get(1..).unwrap_or_default();
    if let Some(entry) = find(name) {
        if let CommandKind::Tool(_) = entry.kind {
            return ordinary(call, entry, line)?.ok_or_else(|| misused(entry));
        }
        let sorted = sort(words, entry.flags, &entry.usage())?;
        if sorted.help {
            return routed(AgentCommand::Help(Some(name.to_owned())));
        }
        return routed(known(entry, sorted, line.here)?);
    }
    let Some(role) = name.strip_prefix("task:").filter(|role| !role.is_empty()) else {
        return Err(no_command(name));
    };
    let entry = if role.starts_with("skill:") || role == "skill" { &SKILL } else { &TASK };
    let sorted = sort(words, entry.flags, &entry.usage())?;
    if sorted.help {
        return routed(AgentCommand::Help(Some(name.to_owned())));
    }
    routed(launch(name, role, sorted, line.here)?)
}

/// The start of an agent; the one for skills is asked again if it is there.
fn launch(name: &str, role: &str, sorted: SortedWords, here: Option<String>) -> Result<AgentCommand, Wrong> {
    let skill = match role {
        "skill:search" => Some("Search for skills that help with this: "),
        "skill:enhance" => Some("Improve skills by what can be learnt from this: "),
        _ if role.contains(':') || role == "skill" => return Err(no_command(name)),
        _ => None,
    };
    let entry = if skill.is_some() { &SKILL } else { &TASK };
    let mut fields = one_text(sorted, here, "prompt", entry)?;
    if role == "skill:enhance" {
        // It is to learn from what happened, so it is told.
        fields.entry("context").or_insert("summary".into());
    }
    fields.insert("role".to_owned(), if skill.is_some() { "skill" } else { role }.into());
    let mut command = start(&Fields::of(fields), PROMPT, Join::Blocking, Shape::Text)?;
    if let (AgentCommand::Start { task, reuse, .. }, Some(wish)) = (&mut command, skill) {
        task.prompt.insert_str(0, wish);
        *reuse = true;
    }
    Ok(command)
}

/// The fields, with the one word or here-document without a flag as the text that is still missing.
fn one_text(
    sorted: SortedWords,
    here: Option<String>,
    field: &str,
    entry: &TableEntry,
) -> Result<Map<String, Value>, Wrong> {
    let SortedWords { mut fields, rest, .. } = sorted;
    let mut texts = rest.into_iter().chain(here);
    let wrong = |why: String| Wrong::Usage { why, usage: entry.usage() };
    if !fields.contains_key(field) {
        let text = texts.next().ok_or_else(|| wrong(format!("The {field} is missing.")))?;
        fields.insert(field.to_owned(), text.into());
    }
    match texts.next() {
        Some(word) => {
            let word = short(&word, limits::SHOWN_CHARS_MAX);
            Err(wrong(format!("\"{word}\" belongs to nothing; put the whole text into quotes.")))
        }
        None => Ok(fields),
    }
}

/// A command of the table that is about agents or handles.
fn known(entry: &TableEntry, mut sorted: SortedWords, here: Option<String>) -> Result<AgentCommand, Wrong> {
    if entry.name == "task:wait" {
        sorted.fields.insert("agents".to_owned(), std::mem::take(&mut sorted.rest).into());
        if sorted.fields.get("any") == Some(&Value::Bool(true)) {
            sorted.fields.insert("until".to_owned(), "any".into());
        }
        return agent::wait(&Fields::of(sorted.fields));
    } else if entry.name == "task:status" && sorted.rest.is_empty() {
        return agent::status(&Fields::of(sorted.fields));
    } else if entry.name == "task:message" && !sorted.rest.is_empty() {
        let name = sorted.rest.remove(0);
        let mut fields = one_text(sorted, here, "message", entry)?;
        fields.insert("agent".to_owned(), name.into());
        return agent::parse("send_input", &Fields::of(fields));
    }
    let field = match entry.name {
        "handle:read" => "handle",
        _ => "agent",
    };
    let mut fields = Fields::of(one_text(sorted, here, field, entry)?);
    match entry.name {
        "task:status" => agent::status(&fields),
        "task:cancel" => Ok(AgentCommand::Cancel { agent: agent::one(&fields)? }),
        "task:close" => Ok(AgentCommand::Close { agent: agent::one(&fields)? }),
        "task:merge" => Ok(AgentCommand::Merge { agent: agent::one(&fields)? }),
        "handle:read" => handles::parse(&mut fields),
        _ => Err(misused(entry)),
    }
}

/// An ordinary tool; `None` if it is meant for a program.
fn ordinary(call: &ToolCall, entry: &TableEntry, line: CommandLine) -> Result<Option<Routed>, Wrong> {
    let words = line.words.get(1..).unwrap_or_default();
    let sorted = match sort(words, entry.flags, &entry.usage()) {
        Err(Wrong::NoFlag { .. }) if matches!(entry.kind, CommandKind::Program(_)) => return Ok(None),
        sorted => sorted?,
    };
    let name = entry.name.to_owned();
    if sorted.help {
        return Ok(Some(Routed { command: AgentCommand::Help(Some(name.clone())), name }));
    }
    let found = files::arguments(entry, sorted, line.here)?;
    Ok(found.map(|found| Routed { command: run(call, found.tool, found.arguments), name }))
}

/// The line as it is, for the real shell.
fn real(call: &ToolCall, fields: &Fields, written: &str) -> Result<Routed, Wrong> {
    let mut arguments = Map::from_iter([("command".to_owned(), written.into())]);
    let timeout_ms = match fields.positive(&["timeout_ms", "timeout"])? {
        Some(ms) => Some(ms),
        None => fields.positive(&["timeout_s", "timeout_seconds"])?.map(|s| s.saturating_mul(1_000)),
    };
    if let Some(ms) = timeout_ms {
        arguments.insert("timeout_ms".to_owned(), ms.into());
    }
    if let Some(background) = fields.flag(&["background", "run_in_background"])? {
        arguments.insert("background".to_owned(), background.into());
    }
    Ok(Routed { command: run(call, "shell", arguments), name: NAME.to_owned() })
}

fn run(call: &ToolCall, tool: &str, arguments: Map<String, Value>) -> AgentCommand {
    let arguments = json!(arguments).to_string();
    AgentCommand::Run(ToolCall { id: call.id.clone(), name: tool.to_owned(), arguments })
}

fn no_command(name: &str) -> Wrong {
    let known: Vec<&str> =
        COMMANDS.iter().map(|entry| entry.name).filter(|known| own_name(known).is_some()).collect();
    let available = format!(
        "Available: task:ROLE (such as task:explore), task:skill:search, task:skill:enhance, {}.",
        known.join(", ")
    );
    Wrong::NoCommand { name: short(name, limits::SHOWN_CHARS_MAX), available }
}

fn misused(entry: &TableEntry) -> Wrong {
    Wrong::Usage { why: format!("{} was not understood.", entry.name), usage: entry.usage() }
}
