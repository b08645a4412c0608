//! Everything has a limit.

/// Columns of a tab.
pub const TAB_COLUMNS: usize = 4;
/// Bytes of one line that are painted; what is longer is cut and says so.
pub const LINE_BYTES_MAX: usize = 256 * 1024;
