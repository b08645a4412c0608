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
