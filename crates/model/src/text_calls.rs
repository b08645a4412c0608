//! Tool calls that a model wrote as text. Pure functions from text to calls and back.
//!
//! Read are `<tool_call>{"name": …, "arguments": {…}}</tool_call>` blocks, fenced blocks with such objects, or such
//! objects alone. Under `Auto` a reply counts only if it is nothing but that and every name is a tool's; under `Text`
//! words may stand before it, and a block that cannot be read becomes a call the agent can refuse.

use std::fmt::Write as _;

use posse_protocol::{CallId, Message, ToolCall, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{ToolCallMode, limits, wire};

const INTRODUCTION: &str = include_str!("../prompts/text_tools.md");

/// What begins and ends a fenced block.
pub(crate) const FENCE: &str = "```";

/// The tags that models put around a call.
pub(crate) const TAGS: [(&str, &str); 3] =
    [("<tool_call>", "</tool_call>"), ("<function_call>", "</function_call>"), ("<tools>", "</tools>")];

/// What only Posse may write: everything from here on is a result that the model has made up.
pub(crate) const FORGED: &str = "<tool_response";

/// A reply in `Text` mode up to where it begins to answer itself.
pub(crate) fn before_forged(text: &str, mode: ToolCallMode) -> &str {
    match text.find(FORGED) {
        Some(at) if mode == ToolCallMode::Text => text[..at].trim_end(),
        _ => text,
    }
}

/// A reply's text, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedText {
    /// The words before the calls.
    pub(crate) words: String,
    /// The calls, without ids.
    pub(crate) calls: Vec<ToolCall>,
}

/// The calls in a reply's text; `None` if it is to be taken as words.
pub(crate) fn parse(text: &str, mode: ToolCallMode, offered: &[String]) -> Option<ParsedText> {
    let parsed = match mode {
        ToolCallMode::Native => None,
        ToolCallMode::Auto => parse_strict(text.trim(), offered),
        ToolCallMode::Text => parse_lenient(text, offered),
    };
    parsed.filter(|parsed| !parsed.calls.is_empty() && parsed.calls.len() <= limits::CALLS_MAX)
}

fn parse_strict(text: &str, offered: &[String]) -> Option<ParsedText> {
    let (calls, rest) = run_of_calls(text);
    let is_call =
        |call: &ToolCall| offered.contains(&call.name) || made_up(&call.name) && !offered.is_empty();
    (rest.is_empty() && calls.iter().all(is_call)).then(|| ParsedText { words: String::new(), calls })
}

/// Whether a name is one that a model has made up for a tool, `rename_function` say, rather than that of something else.
/// Such a call is refused with the tools there are, and the model goes on instead of taking it for an answer.
fn made_up(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain)
        && name.trim_matches('_').contains('_')
        && name.len() <= limits::TOOL_NAME_CHARS_MAX
}

fn parse_lenient(text: &str, offered: &[String]) -> Option<ParsedText> {
    if let Some(start) = TAGS.iter().filter_map(|(open, _)| text.find(open)).min() {
        let (words, tagged) = text.split_at(start);
        let (calls, _) = blocks(tagged);
        return Some(ParsedText { words: words.trim_end().to_owned(), calls });
    }
    let fences = text.match_indices(FENCE).map(|(at, _)| at).take(limits::CALLS_MAX);
    fences.chain(text.find('{')).find_map(|start| {
        let (words, written) = text.split_at(start);
        let (calls, rest) = run_of_calls(written);
        // Words may stand after a fence, but what goes on after a bare object is not a call.
        let ended = rest.is_empty() || written.starts_with(FENCE);
        let known = !calls.is_empty() && calls.iter().all(|call| offered.contains(&call.name));
        (ended && known).then(|| ParsedText { words: words.trim_end().to_owned(), calls })
    })
}

/// The calls at the start of a text, tagged, fenced or bare, and what stands after them.
fn run_of_calls(text: &str) -> (Vec<ToolCall>, &str) {
    let mut calls = Vec::new();
    let mut rest = skip_fences(text);
    while calls.len() <= limits::CALLS_MAX {
        if let Some((open, close)) = tag_at(rest) {
            rest = block(&rest[open.len()..], open, close, &mut calls);
        } else if let Some((call, after)) = leading_object(rest, true) {
            calls.push(call);
            rest = after;
        } else {
            break;
        }
        rest = skip_fences(rest);
    }
    (calls, rest)
}

fn tag_at(text: &str) -> Option<(&'static str, &'static str)> {
    TAGS.into_iter().find(|(open, _)| text.starts_with(open))
}

/// The calls of the blocks at the start of `text`, and what stands after them.
fn blocks(text: &str) -> (Vec<ToolCall>, &str) {
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((open, close)) = tag_at(rest.trim_start()) {
        let inside = &rest.trim_start()[open.len()..];
        rest = block(inside, open, close, &mut calls);
        if calls.len() > limits::CALLS_MAX {
            break;
        }
    }
    (calls, rest)
}

/// Reads one block from behind its opening tag; returns what follows its end.
fn block<'a>(inside: &'a str, open: &str, close: &str, calls: &mut Vec<ToolCall>) -> &'a str {
    let mut at = skip_fence_line(inside);
    let mut found = false;
    // Objects are read as JSON, not up to the next tag: a tag may stand inside a string.
    while let Some((call, after)) = leading_object(at, false) {
        calls.push(call);
        found = true;
        at = after;
    }
    let end = [at.find(close), at.find(open)].into_iter().flatten().min().unwrap_or(at.len());
    let (junk, after) = at.split_at(end);
    let is_noise = |c: char| c.is_whitespace() || matches!(c, '}' | ',' | '`');
    if !found || !junk.chars().all(is_noise) {
        calls.push(broken(junk));
    }
    after.strip_prefix(close).unwrap_or(after)
}

/// A block that cannot be read, as a call with whatever it says: whoever runs calls will refuse it.
///
/// It has a name only if that is the first thing in it; a name further in may be anything.
fn broken(block: &str) -> ToolCall {
    let marks = ["{", "\"name\"", ":", "\""];
    let rest = marks.iter().try_fold(block, |rest, mark| rest.trim_start().strip_prefix(mark));
    let name = rest.and_then(|rest| rest.split_once('"')).map_or("", |(name, _)| name);
    call(name, block.trim())
}

/// The call at the start of a text that may go on after it. `exact`: it has a name and arguments and nothing else.
fn leading_object(text: &str, exact: bool) -> Option<(ToolCall, &str)> {
    let text = text.trim_start();
    // Chat templates that show a call in doubled braces have models that write them so.
    let doubled = text.strip_prefix('{').filter(|inner| inner.trim_start().starts_with('{'));
    let text = doubled.unwrap_or(text);
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = stream.next()?.ok()?;
    let after = &text[stream.byte_offset()..];
    // A brace too many at the end says nothing, as in blocks.
    Some((read(value.get(), exact)?, after.trim_start().trim_start_matches('}')))
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(alias = "function", alias = "tool")]
    name: String,
    #[serde(borrow, alias = "parameters", alias = "args")]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exact<'a> {
    #[serde(alias = "function", alias = "tool")]
    name: String,
    #[serde(borrow, alias = "parameters", alias = "args")]
    arguments: &'a RawValue,
}

fn read(text: &str, exact: bool) -> Option<ToolCall> {
    // A list would be read as the fields in order.
    if !text.trim_start().starts_with('{') {
        return None;
    }
    if !exact && let Some((name, arguments)) = flat(text) {
        return Some(call(&name, &arguments));
    }
    let (name, arguments) = if exact {
        let Exact { name, arguments } = serde_json::from_str(text).ok()?;
        (name, Some(arguments))
    } else {
        let Named { name, arguments } = serde_json::from_str(text).ok()?;
        (name, arguments)
    };
    let arguments = arguments.map_or("{}", RawValue::get);
    // Some models put the arguments' JSON into a string.
    let unwrapped = serde_json::from_str::<String>(arguments).ok().filter(|inner| wire::is_object(inner));
    let arguments = unwrapped.as_deref().unwrap_or(arguments);
    (!exact || wire::is_object(arguments)).then(|| call(&name, arguments))
}

/// A call whose arguments stand beside its name, as small models write it: `{"name": "grep", "pattern": "x"}`. Whoever
/// reads it goes on to check that there is such a tool. Only where calls are text: elsewhere it may be any JSON.
fn flat(text: &str) -> Option<(String, String)> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let name = fields.shift_remove("name")?.as_str()?.to_owned();
    let nested = ["arguments", "parameters", "args"].iter().any(|key| fields.contains_key(*key));
    (!nested && !fields.is_empty()).then(|| (name, serde_json::Value::Object(fields).to_string()))
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId(String::new()), name: name.to_owned(), arguments: arguments.to_owned() }
}

/// What follows the white space and the lines that open or close a call's fence at the start of a text.
fn skip_fences(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(fenced) = rest.strip_prefix(FENCE) {
        let (language, inside) = fenced.split_once('\n').unwrap_or((fenced, ""));
        if !is_call_fence(language) {
            break;
        }
        rest = inside.trim_start();
    }
    rest
}

/// Whether a fence of this language may hold a call.
pub(crate) fn is_call_fence(language: &str) -> bool {
    matches!(language.trim(), "" | "json" | "JSON" | "tool_call" | "tool_code" | "xml")
}

fn skip_fence_line(text: &str) -> &str {
    match text.trim_start().strip_prefix("```").and_then(|fenced| fenced.split_once('\n')) {
        Some((_, inside)) => inside,
        None => text,
    }
}

/// What a model without tool support of its own is told about its tools.
pub(crate) fn system_prompt(system: &str, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return system.to_owned();
    }
    let mut text = format!("{}\n\n{INTRODUCTION}", system.trim_end());
    for tool in tools {
        let _ = write!(text, "\n## {}\n{}\n{}\n", tool.name, tool.description.trim(), tool.schema);
    }
    text.trim_start().to_owned()
}

/// A message in words only, for models whose calls are text. `names` are the tools of the last calls, by id.
pub(crate) fn in_words(message: &Message, names: &[(CallId, String)]) -> Message {
    match message {
        Message::User { .. } => message.clone(),
        Message::Assistant { text, calls, .. } => {
            let mut words = text.clone();
            for call in calls {
                let name = serde_json::Value::from(call.name.as_str());
                let arguments = wire::or_unparseable(&call.arguments);
                let gap = if words.is_empty() { "" } else { "\n" };
                let _ = write!(
                    words,
                    "{gap}<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>"
                );
            }
            Message::Assistant { text: words, reasoning: Vec::new(), calls: Vec::new() }
        }
        Message::Tools { results } => {
            let responses: Vec<String> = results.iter().map(|result| response(result, names)).collect();
            Message::User {
                text: responses.join("\n"),
                attachments: message.attachments().cloned().collect(),
            }
        }
    }
}

fn response(result: &ToolResult, names: &[(CallId, String)]) -> String {
    let name = names.iter().find(|(id, _)| *id == result.id).map_or("", |(_, name)| name.as_str());
    // The name is the model's own word: it must not end the tag it stands in.
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).collect();
    // Nor may the result end its wrapper: a broken closing tag reads the same and closes nothing.
    let text = result.text.replace("</tool_response", "<\\/tool_response");
    let failed = if result.ok { "" } else { " failed=\"true\"" };
    format!("<tool_response name=\"{name}\"{failed}>\n{text}\n</tool_response>")
}
