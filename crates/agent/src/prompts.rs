//! What the loop itself says to a model. Each text is a file of its own under `prompts/`.

use crate::limits;

pub(crate) const EMPTY_REPLY: &str = include_str!("../prompts/empty_reply.md").trim_ascii_end();
pub(crate) const CUT_OFF: &str = include_str!("../prompts/cut_off.md").trim_ascii_end();
pub(crate) const SUMMARISE: &str = include_str!("../prompts/summarise.md").trim_ascii_end();
pub(crate) const AFTER_SUMMARY: &str = include_str!("../prompts/after_summary.md").trim_ascii_end();
pub(crate) const AFTER_TRIM: &str = include_str!("../prompts/after_trim.md").trim_ascii_end();
pub(crate) const REPEATED: &str = include_str!("../prompts/repeated.md").trim_ascii_end();
const SUM_UP: &str = include_str!("../prompts/sum_up.md").trim_ascii_end();
const LAST_WORD: &str = include_str!("../prompts/last_word.md").trim_ascii_end();

/// Asks for a last report, saying why it is the last.
pub(crate) fn last_word(reason: &str) -> String {
    LAST_WORD.replace("{reason}", reason)
}

/// Asks for a report in short, for a reader who takes so many bytes.
pub(crate) fn sum_up(bytes_max: usize) -> String {
    SUM_UP.replace("{words}", &(bytes_max / limits::BYTES_PER_SUMMED_WORD).to_string())
}
