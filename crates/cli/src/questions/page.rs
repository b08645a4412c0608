//! A question as it is drawn: what is asked, cut to the terminal from both ends, and below it, always in sight, who wants
//! what, and the choices. Pure; it must not know the terminal or who answers.

use posse_policy::explain;
use posse_protocol::{Question, visible};

use crate::limits::{BODY_ROWS_MIN, COLUMNS_MIN, HEADING_ROWS_MAX, REMARK_ROWS_MAX};
use crate::output::{Style, counted, grouped, one_line};

/// Columns and rows where nobody knows them.
const SIZE_UNKNOWN: (usize, usize) = (80, 24);
const INDENT: &str = "    ";
/// What a row begins with that goes on with the line above it.
const GOES_ON: &str = "  ↳ ";
const TAB_COLUMNS: usize = 8;
/// What is typed to give no answer to a question in words.
pub(super) const DECLINE: &str = "/decline";

/// Who asks what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    pub(super) title: &'a str,
    pub(super) question: &'a Question,
}

/// What is in sight of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Its beginning and its end.
    Ends,
    /// One page of all of it, from 0.
    Page(usize),
}

/// A drawn question, without the mark behind which the person types.
pub(super) struct Drawn {
    pub(super) text: String,
    /// What one more key shows; none if all is in sight.
    pub(super) next: Option<View>,
}

/// Draws a question into a terminal of this many columns and rows, the row for the answer included.
pub(super) fn drawn(style: Style, asked: Asked<'_>, size: (usize, usize), view: View, hint: &str) -> Drawn {
    let size = if size.0 == 0 || size.1 == 0 { SIZE_UNKNOWN } else { size };
    // The last column stays free: some terminals go to the next row behind it.
    let (width, height) = (size.0.max(COLUMNS_MIN) - 1, size.1);
    let hint = if hint.is_empty() { Vec::new() } else { in_words(hint, "  ", width) };
    let heading = heading(style, asked, width);
    let mut below = below(asked.question, width);
    let mut choices = choices(asked.question, width);
    // One more row is for the answer.
    let room = |below: &[String], choices: &[String]| {
        height.saturating_sub(below.len() + heading.len() + choices.len() + hint.len() + 1)
    };
    let body = body(asked.question, width);
    let wanted = body.len().min(BODY_ROWS_MIN);
    if room(&below, &choices) < wanted {
        choices = brief_choices(asked.question, width);
    }
    while room(&below, &choices) < wanted && !below.is_empty() {
        below.pop();
    }
    let (mut rows, next) = in_sight(&body, room(&below, &choices).max(1), width, view);
    rows.extend(below.iter().map(|row| style.dim(row)));
    rows.extend(heading);
    rows.extend(choices);
    rows.extend(hint.iter().map(|row| style.yellow(row)));
    Drawn { text: rows.iter().map(|row| format!("{row}\n")).collect(), next }
}

/// The rows of the body that there is room for, and a word about the others.
fn in_sight(body: &[String], room: usize, width: usize, view: View) -> (Vec<String>, Option<View>) {
    if body.len() <= room {
        return (body.to_vec(), None);
    }
    let rows = room.saturating_sub(1);
    let mark = |text: String| broken(&text, "  … ", width).into_iter().next().unwrap_or_default();
    match view {
        View::Page(number) if rows > 0 => {
            let pages = body.len().div_ceil(rows);
            let from = (number.min(pages - 1)) * rows;
            let mut shown = body[from..body.len().min(from + rows)].to_vec();
            let last = number + 1 >= pages;
            let then = if last { "Enter goes back to the ends" } else { "Enter shows the next" };
            shown.push(mark(format!(
                "page {} of {}; {then}",
                grouped(number as u64 + 1),
                grouped(pages as u64)
            )));
            (shown, Some(if last { View::Ends } else { View::Page(number + 1) }))
        }
        _ => {
            let (head, tail) = (rows.div_ceil(2), rows / 2);
            let hidden = counted((body.len() - rows) as u64, "more row");
            let mut shown = body[..head].to_vec();
            shown.push(mark(format!("{hidden} of {}: Enter shows them", grouped(body.len() as u64))));
            shown.extend_from_slice(&body[body.len() - tail..]);
            (shown, Some(View::Page(0)))
        }
    }
}

/// What is asked about: the command, or the path and what would be changed there; or the agent's words and its choices.
fn body(question: &Question, width: usize) -> Vec<String> {
    let lines = |text: &str| -> Vec<String> {
        visible::text(text).lines().flat_map(|line| broken(line, INDENT, width)).collect()
    };
    if let Some(asks) = &question.asks {
        let numbered =
            asks.choices.iter().zip(1..).map(|(choice, n)| format!("{n}  {}", visible::line(choice)));
        let choices = numbered.flat_map(|choice| broken(&choice, INDENT, width)).collect::<Vec<_>>();
        return lines(&question.what).into_iter().chain(choices).collect();
    }
    match &question.preview {
        None if is_command(question) => lines(&question.what),
        None => lines(&visible::line(&question.what)),
        Some(preview) => {
            let mut rows = lines(&visible::line(&question.what));
            rows.extend(lines(preview));
            rows
        }
    }
}

/// Remarks, the most important first.
fn below(question: &Question, width: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if !question.written.is_empty() {
        let named = question.written.iter().map(|path| one_line(path, 100)).collect::<Vec<_>>().join(", ");
        let more = match question.written_more {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        remarks.push(format!("written in this session: {named}{more}"));
    }
    if !question.writing.is_empty() {
        let named = question.writing.iter().map(|what| one_line(what, 60)).collect::<Vec<_>>().join(", ");
        remarks.push(format!("still running, and may write: {named}"));
    }
    remarks.extend(question.real_path.as_ref().map(|path| format!("that is {}", visible::line(path))));
    if is_command(question) {
        remarks.extend(explain(&question.what).iter().map(|note| visible::line(note)));
    }
    remarks.iter().flat_map(|remark| cut(in_words(remark, "  ", width), REMARK_ROWS_MAX)).collect()
}

/// Who wants what, the gravest words whole and in one row.
fn heading(style: Style, asked: Asked<'_>, width: usize) -> Vec<String> {
    let Asked { name, title, question } = asked;
    let tool = one_line(&question.tool, 40);
    let wants = match (question.leaves, is_command(question)) {
        _ if question.asks.is_some() => "asks you".to_string(),
        (true, true) => "wants to run this outside the sandbox, with all your rights".to_string(),
        (true, false) => format!("wants to use {tool}, which asks in every mode but full"),
        (false, _) => format!("wants to use {tool} ({})", visible::line(&question.why)),
    };
    // Beside it there are the mark, a space and the colon.
    let name = clipped(name, width.saturating_sub(wide(&wants) + 4).max(8));
    let mut rows = Vec::new();
    if !title.is_empty() {
        let task = in_words(&format!("task of {name}: {title}"), "  ", width);
        rows.extend(cut(task, 1).iter().map(|row| style.dim(row)));
    }
    let text = cut(in_words(&format!("{name} {wants}:"), "  ", width), HEADING_ROWS_MAX);
    rows.extend(text.iter().enumerate().map(|(number, row)| match (number, row.split_at_checked(2)) {
        (0, Some((_, rest))) => format!("{} {}", style.yellow("?"), style.bold(rest)),
        _ => style.bold(row),
    }));
    rows
}

/// One row a choice, where the terminal is wide enough.
fn choices(question: &Question, width: usize) -> Vec<String> {
    let rows: Vec<String> = if let Some(asks) = &question.asks {
        let number = if asks.choices.is_empty() { "" } else { "the number of a choice, or " };
        vec![
            format!("  type {number}your own answer"),
            format!("  {DECLINE}  no answer; you may say why after it"),
        ]
    } else if question.leaves {
        let every = "  outside session   yes, and every command outside until a file is written";
        let very = if is_command(question) { "this very command" } else { "the same again" };
        let mut rows = vec!["  outside           yes, once".to_string()];
        rows.extend(is_command(question).then(|| every.to_string()));
        rows.push(format!("  outside pattern   yes, and {very} until a file is written"));
        rows.push("  n                 no; you may say why after it".to_string());
        rows
    } else {
        // Of what other programs act on by themselves nothing else is ever allowed.
        let every = match question.pattern.starts_with("obeyed(") {
            true => "this very file".to_string(),
            false => format!("every {}", one_line(&question.tool, 30)),
        };
        let pattern = match is_command(question) {
            true => "this very command".to_string(),
            false => one_line(&question.pattern, width.saturating_sub(40).clamp(10, 80)),
        };
        vec![
            "  y  yes, once".to_string(),
            format!("  s  yes, and {every} until the session ends"),
            format!("  p  yes, and {pattern} until the session ends"),
            "  n  no; you may say why after it".to_string(),
        ]
    };
    rows.iter().flat_map(|row| in_words(row.trim_start(), "  ", width)).collect()
}

/// The same in as few rows as there can be.
fn brief_choices(question: &Question, width: usize) -> Vec<String> {
    let text = if let Some(asks) = &question.asks {
        if asks.choices.is_empty() { "answer | /decline" } else { "number | answer | /decline" }
    } else if question.leaves && is_command(question) {
        "outside | outside session | outside pattern | n"
    } else if question.leaves {
        "outside | outside pattern | n"
    } else {
        "y once | s session | p pattern | n no"
    };
    in_words(text, "  ", width)
}

/// Whether what is asked about is a command, word for word.
pub(super) fn is_command(question: &Question) -> bool {
    question.tool == "shell"
}

/// A line broken into rows of at most so many columns, the first behind an indent and the others behind a mark.
fn broken(line: &str, indent: &str, width: usize) -> Vec<String> {
    let goes_on = if indent.len() < GOES_ON.chars().count() { indent } else { GOES_ON };
    let room = width.saturating_sub(indent.chars().count()).max(1);
    let (mut rows, mut row, mut taken) = (Vec::new(), indent.to_string(), 0);
    for c in line.chars() {
        let columns = if c == '\t' { TAB_COLUMNS - taken % TAB_COLUMNS } else { columns_at_most(c) };
        if taken + columns > room && taken > 0 && !visible::is_mark(c) {
            rows.push(std::mem::replace(&mut row, goes_on.to_string()));
            taken = 0;
        }
        if c == '\t' {
            row.push_str(&" ".repeat(columns.min(room)));
        } else {
            row.push(c);
        }
        taken += columns;
    }
    rows.push(row);
    rows
}

/// Words of ours in rows, broken between words where there are some.
fn in_words(text: &str, indent: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(indent.len()).max(1);
    let mut rows: Vec<String> = Vec::new();
    for word in text.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if wide(row) + wide(word.trim_end_matches(' ')) <= room => row.push_str(word),
            _ => rows.push(word.to_string()),
        }
    }
    rows.iter().flat_map(|row| broken(row.trim_end_matches(' '), indent, width)).collect()
}

/// The first rows, the last of them with a mark if there were more.
fn cut(mut rows: Vec<String>, rows_max: usize) -> Vec<String> {
    if rows.len() > rows_max {
        rows.truncate(rows_max);
        if let Some(last) = rows.last_mut() {
            last.pop();
            last.push('…');
        }
    }
    rows
}

/// The start of a name, in one row.
fn clipped(name: &str, room: usize) -> String {
    if wide(name) <= room {
        return name.to_string();
    }
    let mut taken = columns_at_most('…');
    let fits = |c: &char| {
        taken += columns_at_most(*c);
        taken <= room
    };
    format!("{}…", name.chars().take_while(fits).collect::<String>())
}

fn wide(text: &str) -> usize {
    text.chars().map(columns_at_most).sum()
}

/// Columns that a character takes at most, whatever the terminal thinks of it: a row must never become two.
fn columns_at_most(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests;
