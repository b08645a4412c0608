//! From arguments to a task: the same fields on every surface, under all the names that models know them by.

use posse_protocol::{Budget, ContextMode, Isolation, Task, place};

use crate::{
    command::{AgentCommand, Join, Shape},
    fields::{FieldNames, Fields},
    limits,
    words::short,
    wrong::Wrong,
};

pub(crate) const ROLE: FieldNames =
    &["role", "type", "agent_type", "subagent_type", "subagent", "agent_role", "subagent_name", "agent_name"];
const TITLE: FieldNames = &["title", "description", "short_description", "label"];
const NAME: FieldNames = &["name", "session_name", "task_name", "nickname"];
const CONTEXT_FILES: FieldNames = &["context_files", "context_file", "files", "file_paths"];
const TURNS: FieldNames = &["max_turns", "max_iterations", "max_steps"];
const OUTPUT_TOKENS: FieldNames = &["max_tokens", "max_output_tokens"];
const TOKENS: FieldNames = &["token_budget", "max_total_tokens", "budget_tokens"];
const BACKGROUND: FieldNames =
    &["background", "run_in_background", "in_background", "is_background", "async"];
const WAIT: FieldNames = &["wait", "block", "blocking", "wait_for_result"];
const ON: FieldNames = &["on", "machine", "worker", "host"];
const SYSTEM_PROMPT: FieldNames = &["system_prompt", "system", "system_message"];

/// The start of an agent, on a surface that joins like this and tells a joined report in this shape.
pub(crate) fn start(
    fields: &Fields,
    prompt: FieldNames,
    join: Join,
    shape: Shape,
) -> Result<AgentCommand, Wrong> {
    let task = task(fields, prompt)?;
    let waits = fields.flag(WAIT)?;
    let join = match fields.flag(BACKGROUND)?.or(waits.map(|waits| !waits)) {
        Some(true) => Join::Background,
        Some(false) => Join::Blocking,
        None => join,
    };
    let shape = if join == Join::Background { Shape::Receipt } else { shape };
    Ok(AgentCommand::Start { task, join, shape, reuse: false })
}

/// The task itself, its prompt under one of these names.
fn task(fields: &Fields, prompt: FieldNames) -> Result<Task, Wrong> {
    const ADVICE: &str = "Write the long part into a file and name it in context_files.";
    let text = fields.capped(prompt, limits::PROMPT_BYTES_MAX, ADVICE)?;
    let text = text.ok_or_else(|| fields.missing(prompt))?;
    let mut task = Task::new(title(fields, &text)?, text);
    task.role = fields.word(ROLE, limits::WORD_CHARS_MAX)?;
    task.name = fields.word(NAME, limits::NAME_CHARS_MAX)?;
    task.success_criteria = criteria(fields)?;
    task.deliverables = fields.list(&["deliverables", "deliverable"], limits::DELIVERABLES_MAX)?;
    task.context_files = fields.list(CONTEXT_FILES, limits::CONTEXT_FILES_MAX)?;
    task.context_turns =
        fields.numbers(&["context_turns", "context_messages", "turns"], limits::CONTEXT_TURNS_MAX)?;
    task.context = context(fields, &task)?;
    task.system_prompt = fields
        .capped(SYSTEM_PROMPT, limits::SYSTEM_PROMPT_BYTES_MAX, "Say it in fewer words.")?
        .map(|words| words.trim().to_owned());
    task.model = fields.word(&["model", "model_id"], limits::WORD_CHARS_MAX)?;
    task.endpoint = fields.word(&["endpoint"], limits::PATH_BYTES_MAX)?;
    task.budget = budget(fields)?;
    task.max_output_tokens = fields.positive(OUTPUT_TOKENS)?.map(saturated);
    let tools = fields.list(&["allowed_tools", "tools"], limits::ALLOWED_TOOLS_MAX)?;
    task.isolation = isolation(fields)?;
    task.on = on(fields)?;
    task.allowed_tools = Some(tools).filter(|tools| !tools.is_empty());
    Ok(task)
}

/// The title as given, or the first words of the prompt.
fn title(fields: &Fields, prompt: &str) -> Result<String, Wrong> {
    let given = fields.text(TITLE)?.map(|title| short(&title, limits::TITLE_CHARS_MAX));
    let made = || short(prompt, limits::TITLE_FROM_PROMPT_CHARS_MAX);
    Ok(given.filter(|title| !title.is_empty()).unwrap_or_else(made))
}

/// A sentence; some models send a list of them.
fn criteria(fields: &Fields) -> Result<Option<String>, Wrong> {
    const NAMES: &[&str] = &["success_criteria", "success", "criteria"];
    let text = match fields.capped(NAMES, limits::MESSAGE_BYTES_MAX, "Say it in fewer words.") {
        Err(Wrong::Type { .. }) => Some(fields.list(NAMES, limits::DELIVERABLES_MAX)?.join("\n")),
        other => other?,
    };
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// The mode as named, or as it follows from the other fields.
fn context(fields: &Fields, task: &Task) -> Result<ContextMode, Wrong> {
    let accepted = [
        ("fresh", ContextMode::Fresh),
        ("fork", ContextMode::Fork),
        ("summary", ContextMode::Summary),
        ("selective", ContextMode::Selective),
    ];
    let also = [("none", ContextMode::Fresh), ("full", ContextMode::Fork), ("all", ContextMode::Fork)];
    let named = fields.choice(&["context", "context_mode", "fork_turns"], &accepted, &also)?;
    let forked = fields.flag(&["fork_context", "fork"])?;
    let mode = match (named, forked) {
        (Some(mode), _) => mode,
        (None, Some(true)) => ContextMode::Fork,
        (None, _) if !task.context_turns.is_empty() => ContextMode::Selective,
        (None, _) => ContextMode::Fresh,
    };
    if mode == ContextMode::Selective && task.context_turns.is_empty() && task.context_files.is_empty() {
        return Err(Wrong::NothingSelected);
    }
    Ok(mode)
}

/// Where it works, if the call says so.
fn isolation(fields: &Fields) -> Result<Option<Isolation>, Wrong> {
    let accepted = [("shared", Isolation::Shared), ("worktree", Isolation::Worktree)];
    fields.choice(&["isolation"], &accepted, &[("none", Isolation::Shared)])
}

/// The machine that it runs on, if the call says so.
fn on(fields: &Fields) -> Result<Option<String>, Wrong> {
    let Some(written) = fields.text(ON)? else { return Ok(None) };
    place(&written).map(Some).ok_or_else(|| Wrong::Place(short(&written, limits::SHOWN_CHARS_MAX)))
}

fn budget(fields: &Fields) -> Result<Budget, Wrong> {
    let seconds = fields.positive(&["max_time_s", "max_duration_s", "time_limit_s"])?;
    let time_ms = match seconds {
        Some(seconds) => Some(seconds.saturating_mul(1_000)),
        None => fields.positive(&["max_time_ms", "max_duration_ms"])?,
    };
    Ok(Budget {
        turns: fields.positive(TURNS)?.map(saturated),
        tokens: fields.positive(TOKENS)?,
        time_ms,
        cost_usd: fields.decimal(&["max_cost_usd", "budget_usd"])?,
    })
}

/// A number that need not be exact where it is absurd.
pub(crate) fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
