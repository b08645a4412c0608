//! handle_read: a piece of a stored value, by characters, lines, count or JSONPath.

use posse_protocol::{HandleRead, ToolSpec};

use crate::{
    command::Command,
    fields::Fields,
    limits,
    offer::{boolean, integer, text, tool},
    wrong::Wrong,
};

/// The tool's name.
pub(crate) const NAME: &str = "handle_read";

/// The tool.
pub(crate) fn spec() -> ToolSpec {
    let description = "Read part of a stored value: offset and length (characters), from and to (lines), count (its \
                       size), or jsonpath.";
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

/// Reads a call. Models that fill in every field send zeros and "" for what they do not mean.
pub(crate) fn parse(fields: &mut Fields) -> Result<Command, Wrong> {
    const HANDLE: &[&str] = &["handle", "handle_id", "id", "name", "ref"];
    ["slice", "range", "lines", "projection"].iter().for_each(|name| fields.flatten(name));
    let handle = fields.word(HANDLE, limits::HANDLE_CHARS_MAX)?.ok_or_else(|| fields.missing(HANDLE))?;
    Ok(Command::Read { handle, read: piece(fields)? })
}

fn piece(fields: &Fields) -> Result<HandleRead, Wrong> {
    const JSONPATH: &[&str] = &["jsonpath", "json_path", "path", "query"];
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let path = fields.capped(JSONPATH, limits::PATH_BYTES_MAX, "Use a simpler path.")?;
    if let Some(path) = path {
        return Ok(HandleRead::JsonPath(path.trim().to_owned()));
    } else if fields.flag(&["count"])? == Some(true) {
        return Ok(HandleRead::Count);
    }
    let from = fields.positive(&["from", "from_line", "start_line", "line_start"])?.map(size);
    let to = fields.positive(&["to", "to_line", "end_line", "line_end"])?.map(size);
    if from.is_some() || to.is_some() {
        let from = from.unwrap_or(1);
        let to = to.unwrap_or(from.saturating_add(limits::SLICE_LINES - 1));
        if to < from {
            return Err(Wrong::Backwards { from, to });
        }
        return Ok(HandleRead::Lines { from, to });
    }
    let offset = fields.number(&["offset", "start"])?.map_or(0, size);
    let length = fields.positive(&["length", "limit", "len"])?.map_or(limits::SLICE_CHARS, size);
    Ok(HandleRead::Slice { offset, length })
}
