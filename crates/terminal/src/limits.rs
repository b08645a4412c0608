//! Everything has a limit.

/// Columns of a tab.
pub const TAB_COLUMNS: usize = 4;
/// Bytes of one line that are painted; what is longer is cut and says so.
pub const LINE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of pasted text that are kept; the rest is counted.
pub const PASTE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of a control sequence from the terminal that are kept; a longer one is not understood.
pub const SEQUENCE_BYTES_MAX: usize = 256;
/// Bytes of a string from the terminal (OSC, DCS and the like) that are kept; a longer one is not understood.
pub const STRING_KEPT_BYTES_MAX: usize = 4 * 1024;
/// Bytes after which a string from the terminal that does not end counts as none.
pub const STRING_BYTES_MAX: usize = 1024 * 1024;

/// Characters of a line that are held back for a closing mark; past them the opening one is only a character.
pub const HELD_CHARS_MAX: usize = 160;
/// Marks inside marks of Markdown.
pub const MARKS_NESTED_MAX: usize = 6;
/// Backquotes that begin code.
pub const CODE_MARKS_MAX: usize = 8;
/// Spaces before a mark that still is one.
pub const LEAD_MAX: usize = 24;
/// Digits of a number before an item.
pub const DIGITS_MAX: usize = 4;
/// Quotes inside quotes.
pub const QUOTES_MAX: usize = 8;
/// Bytes of a line of Markdown that are held back for its end; past them it is shown in parts.
pub const SOURCE_LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a paragraph that are held back for its end; past them it is shown in parts.
pub const PARAGRAPH_BYTES_MAX: usize = 64 * 1024;
/// Rows of a table that are held back for its end; past them its columns are as wide as its rows so far need.
pub const TABLE_ROWS_MAX: usize = 500;
/// Cells of a table that are held back for its end.
pub const TABLE_CELLS_MAX: usize = 5_000;
/// Bytes of a table that are held back for its end.
pub const TABLE_BYTES_MAX: usize = 256 * 1024;
/// Columns of the narrowest cell that is worth drawing beside others.
pub const CELL_COLUMNS_MIN: usize = 6;
/// Columns of a rule.
pub const RULE_COLUMNS_MAX: usize = 40;
/// Bytes at the end of a text that is not finished that are drawn, and as many before them at most.
pub const TAIL_BYTES: usize = 4 * 1024;
/// Rows of what is not finished that are drawn: the last ones.
pub const TAIL_ROWS_MAX: usize = 100;
/// Rows of a table that is not finished that are drawn: the last ones.
pub const TAIL_TABLE_ROWS_MAX: usize = 30;
/// Bytes of the text in an editor, chips apart.
pub const EDITOR_BYTES_MAX: usize = 256 * 1024;
/// Lines of a paste that are shown as they are; more are a chip.
pub const PASTE_SHOWN_LINES_MAX: usize = 10;
/// Characters of a paste that are shown as they are; more are a chip.
pub const PASTE_SHOWN_CHARS_MAX: usize = 2_000;
/// Chips of an editor, with those that can come back.
pub const CHIPS_MAX: usize = 256;
/// Bytes of all chips of an editor.
pub const CHIP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Characters of a chip's label.
pub const CHIP_LABEL_CHARS_MAX: usize = 200;
/// Bytes of a text with the texts of its chips.
pub const SUBMISSION_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Changes that can be taken back.
pub const UNDO_STEPS_MAX: usize = 1_000;
/// Bytes of all changes that can be taken back.
pub const UNDO_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Texts that were cut out and can be put back.
pub const KILLS_MAX: usize = 32;
/// Bytes of such a text that others join.
pub const KILL_BYTES_MAX: usize = 256 * 1024;
/// Prompts of a folder that are kept.
pub const HISTORY_ENTRIES_MAX: usize = 1_000;
/// Bytes of such a prompt; longer ones are not kept.
pub const HISTORY_ENTRY_BYTES_MAX: usize = 64 * 1024;
/// Prompts that were changed while walking through them, and are kept until walking ends.
pub const HISTORY_EDITS_MAX: usize = 16;
/// Characters of what is looked for in the history.
pub const HISTORY_QUERY_CHARS_MAX: usize = 200;
/// Bytes of a word that may be a keyword.
pub const KEYWORD_BYTES_MAX: usize = 24;
/// Paths that can be completed, with folders.
pub const PATHS_MAX: usize = 200_000;
/// Bytes of all paths that can be completed.
pub const PATHS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of such a path, and of a name that is ranked.
pub const PATH_BYTES_MAX: usize = 4 * 1024;
/// Bytes of what is looked for among paths and names; nothing fits a longer one.
pub const QUERY_BYTES_MAX: usize = 128;
/// Beginnings of a query whose paths are remembered.
pub const NARROWED_MAX: usize = 16;
