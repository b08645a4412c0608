//! handle_read: a piece of a stored value, by characters, lines, count or JSONPath. A call that could mean two things, or
//! something else, is refused: another piece than the one that was meant would be taken for it.

use posse_protocol::{HandleRead, ToolSpec};
use serde_json::{Map, Value};

use crate::{
    command::AgentCommand,
    fields::{FieldNames, Fields},
    limits,
    offer::{boolean, integer, text, tool},
    wrong::Wrong,
};

/// The tool's name.
pub(crate) const NAME: &str = "handle_read";

const HANDLE: FieldNames = &["handle", "handle_id", "id", "name", "ref"];
const OFFSET: FieldNames = &["offset", "start", "begin"];
const LENGTH: FieldNames = &["length", "limit", "len"];
const END: FieldNames = &["end", "stop"];
const FROM: FieldNames = &["from", "from_line", "start_line", "line_start"];
const TO: FieldNames = &["to", "to_line", "end_line", "line_end"];
/// Within a range there is no doubt what these count.
const WITHIN_FROM: FieldNames = &["from", "start", "first", "from_line", "start_line", "line_start"];
const WITHIN_TO: FieldNames = &["to", "end", "last", "to_line", "end_line", "line_end"];
const SLICE: FieldNames = &["slice", "characters", "chars"];
const RANGE: FieldNames = &["range", "lines", "line_range"];
const COUNT: FieldNames = &["count"];
const JSONPATH: FieldNames = &["jsonpath", "json_path", "path", "query"];
const ACCEPTED: &str = "offset and length (characters), from and to (lines), count, jsonpath";

/// The tool.
pub(crate) fn spec() -> ToolSpec {
    let description =
        "Read part of a stored value: characters (offset, length), lines (from, to), count or jsonpath.";
    let fields = [
        ("handle", text()),
        ("offset", integer()),
        ("length", integer()),
        ("from", integer()),
        ("to", integer()),
        ("count", boolean()),
        ("jsonpath", text()),
    ];
    tool(NAME, description, &["handle"], fields)
}

/// Reads a call.
pub(crate) fn parse(fields: &mut Fields) -> Result<AgentCommand, Wrong> {
    fields.flatten("projection");
    let handle = fields.word(HANDLE, limits::HANDLE_CHARS_MAX)?.ok_or_else(|| fields.missing(HANDLE))?;
    Ok(AgentCommand::Read { handle, read: piece(fields)? })
}

/// What flat fields of one kind say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Nothing,
    /// What models that fill in every field send for what they do not mean.
    Zeros,
    Something,
}

fn given(fields: &Fields, kinds: &[FieldNames]) -> Result<Given, Wrong> {
    let mut given = Given::Nothing;
    for names in kinds {
        match fields.number(names)? {
            None => {}
            Some(0) if given != Given::Something => given = Given::Zeros,
            Some(_) => given = Given::Something,
        }
    }
    Ok(given)
}

fn piece(fields: &Fields) -> Result<HandleRead, Wrong> {
    let mut named: Vec<(&str, HandleRead)> = Vec::new();
    let path = fields.capped(JSONPATH, limits::PATH_BYTES_MAX, "Use a simpler path.")?;
    named.extend(path.map(|path| ("jsonpath", HandleRead::JsonPath(path.trim().to_owned()))));
    if fields.flag(COUNT)? == Some(true) {
        named.push(("count", HandleRead::Count));
    }
    if let Some(within) = within(fields, SLICE, ':')? {
        named.push(("slice", characters(&within, Filled::No)?));
        within.nothing_else(&[])?;
    }
    if let Some(within) = within(fields, RANGE, '-')? {
        named.push(("range", lines(&within, WITHIN_FROM, WITHIN_TO, Filled::No)?));
        within.nothing_else(&[])?;
    }
    let (by_characters, by_lines) = (given(fields, &[OFFSET, LENGTH, END])?, given(fields, &[FROM, TO])?);
    let filled = |other| if other == Given::Zeros { Filled::Yes } else { Filled::No };
    let meant = |own, other| match own {
        Given::Nothing => false,
        Given::Something => true,
        Given::Zeros => other == Given::Nothing && named.is_empty(),
    };
    let (is_slice, is_range) = (meant(by_characters, by_lines), meant(by_lines, by_characters));
    if is_slice {
        named.push(("offset and length", characters(fields, filled(by_lines))?));
    }
    if is_range {
        named.push(("from and to", lines(fields, FROM, TO, filled(by_characters))?));
    }
    if named.len() > 1 {
        let got = named.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" and ");
        return Err(Wrong::Pieces { accepted: ACCEPTED, got });
    }
    let beginning = HandleRead::Slice { offset: 0, length: limits::SLICE_CHARS };
    Ok(named.pop().map_or(beginning, |(_, read)| read))
}

/// Whether every field was filled in, so that a zero says nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    Yes,
    No,
}

/// A slice or range written as one thing: an object, two numbers, or two numbers in a text.
fn within(fields: &Fields, names: FieldNames, between: char) -> Result<Option<Fields>, Wrong> {
    let Some((name, value)) = fields.find(names) else { return Ok(None) };
    let two = |from: Value, to: Value| Map::from_iter([("start".to_owned(), from), ("end".to_owned(), to)]);
    let read = match value {
        Value::Object(object) => Some(object.clone()),
        Value::Array(two_values) => match two_values.as_slice() {
            [from, to] => Some(two(from.clone(), to.clone())),
            _ => None,
        },
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Some(object),
            _ => {
                let parts = text.split_once([between, ':', ',']);
                parts.map(|(from, to)| two(from.trim().into(), to.trim().into()))
            }
        },
        _ => None,
    };
    let wants = "an object such as {\"start\": 1, \"end\": 9}";
    read.map(|object| Some(Fields::of(object))).ok_or_else(|| Wrong::of_type(name, wants, value))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Some characters: how many, or up to where. The end is not part of it.
fn characters(fields: &Fields, filled: Filled) -> Result<HandleRead, Wrong> {
    let offset = fields.number(OFFSET)?.map_or(0, size);
    let zero = |number: &u64| *number == 0 && filled == Filled::Yes;
    let length = fields.number(LENGTH)?.filter(|length| !zero(length)).map(size);
    let end = fields.number(END)?.filter(|end| !zero(end)).map(size);
    let length = match (length, end) {
        (Some(0), _) => return Err(Wrong::Piece { field: "length", why: "it must be 1 or more." }),
        (Some(_), Some(_)) => {
            return Err(Wrong::Piece { field: "end", why: "give length or end, not both." });
        }
        (Some(length), None) => length,
        (None, Some(end)) if end <= offset => {
            return Err(Wrong::Piece {
                field: "end",
                why: "it must be greater than offset; it is not part of the slice.",
            });
        }
        (None, Some(end)) => end - offset,
        (None, None) => limits::SLICE_CHARS,
    };
    Ok(HandleRead::Slice { offset, length })
}

/// Some lines, the last one included.
fn lines(fields: &Fields, from: FieldNames, to: FieldNames, filled: Filled) -> Result<HandleRead, Wrong> {
    let zero = |number: &u64| *number == 0 && filled == Filled::Yes;
    let from = fields.number(from)?.filter(|from| !zero(from)).map_or(1, size);
    if from == 0 {
        return Err(Wrong::Piece { field: "from", why: "lines count from 1." });
    }
    let to = fields.number(to)?.filter(|to| !zero(to)).map(size);
    let to = to.unwrap_or(from.saturating_add(limits::SLICE_LINES - 1));
    if to < from {
        return Err(Wrong::Backwards { from, to });
    }
    Ok(HandleRead::Lines { from, to })
}
