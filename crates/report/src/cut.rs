//! Makes words shorter without losing what matters: cuts are made inside sections, and SUMMARY, RISKS and BLOCKERS give
//! way last. Where they do not all fit either, each keeps a fair part.

use crate::section_names::SectionName;
use crate::sections::{SectionSpan, spans};

/// What stands where something was cut.
const CUT: &str = " […]";

/// At most so many bytes of a text, and how many characters were left out.
pub(crate) fn within(text: &str, bytes_max: usize) -> (String, usize) {
    if text.len() <= bytes_max {
        return (text.to_owned(), 0);
    }
    let spans = spans(text);
    let matters = matters(&spans);
    let size = |wanted: bool| {
        spans.iter().zip(&matters).map(move |(span, m)| if *m == wanted { span.len() } else { 0 })
    };
    let first = shares(&size(true).collect::<Vec<_>>(), bytes_max);
    let left = bytes_max.saturating_sub(first.iter().sum());
    let rest = shares(&size(false).collect::<Vec<_>>(), left);
    let (mut out, mut left_out) = (String::new(), 0);
    for ((span, first), rest) in spans.iter().zip(first).zip(rest) {
        let piece = &text[span.range()];
        let kept = shortened(piece, first.max(rest));
        left_out += piece.chars().count() - kept.chars().count();
        out.push_str(kept);
        if kept.len() < piece.len() && !kept.is_empty() {
            out.push_str(CUT);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    (out, left_out)
}

/// Which parts matter most. Without a summary the words before the first heading are one.
fn matters(spans: &[SectionSpan]) -> Vec<bool> {
    let has_summary = spans.iter().any(|span| span.name == Some(SectionName::Summary));
    let matters = |span: &SectionSpan| match span.name {
        Some(SectionName::Summary | SectionName::Risks | SectionName::Blockers) => true,
        Some(_) => false,
        None => !has_summary && spans.len() > 1,
    };
    spans.iter().map(matters).collect()
}

/// Shares room out so that what is small stays whole and the others get the same.
fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes[*at]);
    let mut shares = vec![0; sizes.len()];
    let mut left = room;
    for (nth, at) in order.iter().enumerate() {
        shares[*at] = sizes[*at].min(left / (sizes.len() - nth));
        left -= shares[*at];
    }
    shares
}

/// The beginning of a piece, with room for the mark; at the end of a word if there is one near.
fn shortened(piece: &str, bytes_max: usize) -> &str {
    if piece.len() <= bytes_max {
        return piece;
    }
    let room = bytes_max.saturating_sub(CUT.len() + 1);
    let kept = &piece[..piece.floor_char_boundary(room)];
    let word_end = kept.rfind(char::is_whitespace).filter(|at| *at >= kept.len() - kept.len() / 8);
    word_end.map_or(kept, |at| &kept[..at]).trim_end()
}
