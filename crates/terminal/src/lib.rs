//! Text for terminals. A [`TextLine`] is a row of [`Span`]s with looks; the only way from it to bytes makes everything
//! harmless that a terminal would act on, so text from strangers needs no care before it is put into one. A [`Screen`]
//! turns finished lines and a live region into the bytes of an inline chat.
//!
//! Pure: this crate must not know a terminal, files, clocks, the environment or sessions.
#![forbid(unsafe_code)]

mod completing;
mod diff;
mod editor;
mod fuzzy;
mod highlight;
mod history;
mod keys;
pub mod limits;
mod look;
pub mod markdown;
mod patch;
mod screen;
mod text_line;
mod theme;

pub use completing::Completing;
pub use diff::{DiffText, diff_lines};
pub use editor::{Chip, Editor, EditorDraft, EditorRows, EditorWindow, Submission};
pub use fuzzy::{PathIndex, rank};
pub use highlight::{Highlighter, language_of_path};
pub use history::{HistorySearch, PromptHistory};
pub use keys::{Key, KeyCode, KeyReader, PastedText, TerminalInput, TerminalReply};
pub use look::{Ink, Look};
pub use markdown::Markdown;
pub use patch::{FilePatch, file_patches};
pub use screen::{Region, Screen};
pub use text_line::{Span, TextLine, columns};
pub use theme::Theme;
