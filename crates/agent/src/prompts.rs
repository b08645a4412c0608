//! What the loop itself says to a model. Each text is a file of its own under `prompts/`.

pub(crate) const EMPTY_REPLY: &str = include_str!("../prompts/empty_reply.md").trim_ascii_end();
pub(crate) const SHORT_REPORT: &str = include_str!("../prompts/short_report.md").trim_ascii_end();
pub(crate) const CUT_OFF: &str = include_str!("../prompts/cut_off.md").trim_ascii_end();
pub(crate) const SUMMARISE: &str = include_str!("../prompts/summarise.md").trim_ascii_end();
pub(crate) const AFTER_SUMMARY: &str = include_str!("../prompts/after_summary.md").trim_ascii_end();
pub(crate) const AFTER_TRIM: &str = include_str!("../prompts/after_trim.md").trim_ascii_end();
pub(crate) const REPEATED: &str = include_str!("../prompts/repeated.md").trim_ascii_end();
const LAST_WORD: &str = include_str!("../prompts/last_word.md").trim_ascii_end();

/// Asks for a last report, saying why it is the last.
pub(crate) fn last_word(reason: &str) -> String {
    LAST_WORD.replace("{reason}", reason)
}
