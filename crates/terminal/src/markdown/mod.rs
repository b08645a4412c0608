//! The parts that Markdown is read with: kinds of lines, marks inside of them, and tables. Pure.

mod inline;
mod line;
mod table;

pub use self::inline::{Inline, TakePiece, TextEnd, pieces};
pub use self::line::{CodeFence, LineKind, line_kind};
pub use self::table::TableDraft;
