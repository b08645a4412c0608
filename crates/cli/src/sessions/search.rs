//! `posse sessions search`: where something was said.

use anyhow::bail;
use posse_engine::Engine;
use posse_engine::record::Hit;
use posse_protocol::visible;

use crate::display::short;
use crate::exit::Exit;
use crate::limits::{QUERY_COLUMNS_MAX, SEARCH_TITLE_COLUMNS_MAX};
use crate::output::{self, Style, columns, local_time, one_line};

/// Finds nothing: exit code 1, as programs that search do.
pub(super) fn run(engine: &Engine, query: &str, limit: usize, json: bool) -> anyhow::Result<Exit> {
    if !query.contains(char::is_alphanumeric) {
        bail!("give words to look for: posse sessions search WORDS");
    }
    let hits = engine.search(query, limit)?;
    let mut text = String::new();
    if json {
        for hit in &hits {
            text.push_str(&output::json_line(&as_json(hit))?);
        }
    } else if hits.is_empty() {
        text = format!("Nothing on record says {:?}.\n", one_line(query, QUERY_COLUMNS_MAX));
    } else {
        text = told(Style::for_stdout(), &hits, output::stdout_width());
        if hits.len() == limit {
            text.push_str(&format!("\nThere may be more: -n {}\n", limit * 2));
        }
        text.push_str(&Style::for_stdout().dim("\nposse sessions show SESSION shows all of it\n"));
    }
    output::print(&text)?;
    Ok(if hits.is_empty() { Exit::Failed } else { Exit::Completed })
}

/// The hits of a session stand under its name; the session with the best one comes first.
fn told(style: Style, hits: &[Hit], width: usize) -> String {
    let mut text = String::new();
    let mut session = None;
    let first = |hit: &Hit| hits.iter().position(|other| other.session == hit.session);
    let mut grouped = hits.iter().collect::<Vec<_>>();
    grouped.sort_by_key(|hit| first(hit));
    for hit in grouped {
        if session.replace(hit.session) != Some(hit.session) {
            text.push_str(&format!(
                "{}  {}  {}\n",
                style.bold(&short(hit.session)),
                style.dim(&local_time(hit.at_ms)),
                one_line(hit.title.as_deref().unwrap_or(""), SEARCH_TITLE_COLUMNS_MAX),
            ));
        }
        let who = format!("  {} {}: ", one_line(&hit.agent_name, 40), hit.what.word());
        let room = width.saturating_sub(columns(&who) + 1).max(20);
        text.push_str(&format!("{}{}\n", style.dim(&who), marked(style, &hit.snippet, room)));
    }
    text
}

/// The place that was found, in one line, with the found words in bold.
fn marked(style: Style, snippet: &str, columns_max: usize) -> String {
    let (mut text, mut room) = (String::new(), columns_max);
    let mut found = false;
    for piece in snippet.split_inclusive([Hit::MARK_BEGIN, Hit::MARK_END]) {
        let ends = piece.ends_with(Hit::MARK_BEGIN) || piece.ends_with(Hit::MARK_END);
        let plain = visible::line(piece.trim_end_matches([Hit::MARK_BEGIN, Hit::MARK_END]));
        let shown = cut(&plain, room);
        room -= columns(&shown).min(room);
        text.push_str(&if found { style.bold(&shown) } else { shown });
        if ends {
            found = piece.ends_with(Hit::MARK_BEGIN);
        }
    }
    text.trim_matches(' ').to_string()
}

/// As much of a piece as fits, with its spaces.
fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_string();
    }
    let mut cut = text.chars().take(room.saturating_sub(1)).collect::<String>();
    while columns(&cut) > room.saturating_sub(1) {
        cut.pop();
    }
    if room > 0 { format!("{cut}…") } else { String::new() }
}

fn as_json(hit: &Hit) -> serde_json::Value {
    let plain = hit.snippet.replace([Hit::MARK_BEGIN, Hit::MARK_END], "");
    serde_json::json!({
        "session": hit.session,
        "seq": hit.seq,
        "agent": hit.agent_name,
        "what": hit.what.word(),
        "at_ms": hit.at_ms,
        "title": hit.title,
        "snippet": plain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_words_stand_out_and_lines_are_cut() {
        let cases = [
            ("plain text", 20, "plain text"),
            ("the \u{2}word\u{3} here", 20, "the word here"),
            ("the \u{2}word\u{3} here", 10, "the word …"),
            ("the \u{2}word\u{3} here", 6, "the w…"),
            ("two\nlines \u{1b}[2Jand \u{2}more\u{3}", 40, "two\\nlines \\u{1b}[2Jand more"),
            ("日本語 \u{2}日本\u{3}", 8, "日本語"),
        ];
        for (snippet, room, want) in cases {
            let text = marked(Style::plain(), snippet, room);
            assert!(text.starts_with(want) && columns(&text) <= room, "{snippet:?} in {room}: {text:?}");
        }
        assert_eq!(marked(Style::coloured(), "a \u{2}b\u{3} c", 20), "a \u{1b}[1mb\u{1b}[0m c");
    }
}
