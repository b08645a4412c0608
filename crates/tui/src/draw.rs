//! The live region: what is being written, questions, the composer, the queue, the to-do list, the agents, the status line.
//! Pure: the chat in, lines out. It takes at most a third of the screen; what does not fit is counted.

mod agents;

use posse_terminal::{Ink, Look, Region, TextLine, columns};
use posse_view::{Activity, AgentView, TodoState, words};

use crate::chat::status;
use crate::chat::{Chat, ChatWaiting};
use crate::limits::{
    COMPLETED_COLUMNS_MAX, COMPLETIONS_SHOWN_MAX, COMPOSER_ROWS_MAX, OUTPUT_ROWS_MAX, QUEUE_SHOWN_MAX,
    REGION_PART, REGION_ROWS_MIN, ROW_CHARS_MAX, TODO_SHOWN_MAX,
};
use crate::questions;

/// What turns while work goes on.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// What the composer begins with.
const PROMPT: &str = "› ";

/// The live region of a chat.
pub fn region(chat: &Chat) -> Region {
    let width = chat.columns.saturating_sub(1).max(1);
    let budget = (chat.rows / REGION_PART).max(REGION_ROWS_MIN).min(chat.rows.saturating_sub(1).max(1));
    let status = (budget > 1).then(|| status::line(chat, width));
    let (composer, cursor) = composer(chat, width, budget);
    let mut room = budget.saturating_sub(composer.len() + status.iter().len());
    let mut take = |mut lines: Vec<TextLine>| {
        lines.truncate(room);
        room -= lines.len();
        lines
    };
    // What the keys go to comes first: a list that is open, then the question.
    let all = budget.saturating_sub(composer.len() + 1);
    let asks = chat.waiting.is_some() || chat.session.as_ref().is_some_and(|one| one.question().is_some());
    let list = take(list(chat, if asks { all / 2 } else { all }));
    let asked = take(asked(chat, width, all - list.len()));
    let now = take(now(chat, width));
    let queue = take(queue(chat, (all / 2).max(1)));
    let tail = tail(chat, width, room);
    let todo = todo(chat);
    let least_todo = todo.len().min(1).min(room / 3);
    let least_tail = tail.len().min(2).min(room / 3);
    let agents = agents::rows(chat, width, room - least_todo - least_tail);
    let todo: Vec<_> = todo.into_iter().take(room - agents.len() - least_tail).collect();
    let tail_room = room - agents.len() - todo.len();
    let skipped = tail.len().saturating_sub(tail_room);
    let tail = tail.into_iter().skip(skipped).collect::<Vec<_>>();
    let above = [tail, now, asked].concat();
    let at = above.len();
    let mut lines = above;
    lines.extend(composer);
    lines.extend([list, queue, todo, agents].concat());
    lines.extend(status);
    let lines: Vec<_> = lines.into_iter().map(|line| line.cut(width)).collect();
    let last = (lines.len().saturating_sub(1), width - 1);
    Region { lines, cursor: cursor.map(|(row, column)| ((row + at).min(last.0), column.min(last.1))) }
}

/// A text of a stranger in one row: as much of it as any screen shows.
fn one_row(text: &str) -> String {
    text.chars().take(ROW_CHARS_MAX).map(|c| if c == '\n' { ' ' } else { c }).collect()
}

/// What an agent does now. A retry tells how long it still waits.
fn doing(agent: &AgentView, now_ms: u64) -> String {
    match &agent.doing {
        Activity::Retrying { attempt, attempts_max, delay_ms, reason } => {
            let left = agent.last_at_ms.saturating_add(*delay_ms).saturating_sub(now_ms);
            let (attempt, attempts_max, reason) = (*attempt, *attempts_max, reason.clone());
            one_row(&words::doing(&Activity::Retrying { attempt, attempts_max, delay_ms: left, reason }))
        }
        _ => one_row(&words::now(agent, now_ms)),
    }
}

/// The spinner, or a mark where it would turn.
pub(crate) fn spinner(now_ms: u64) -> &'static str {
    FRAMES[usize::try_from(now_ms / 120).unwrap_or(0) % FRAMES.len()]
}

/// The last rows of what the main agent writes.
fn tail(chat: &Chat, width: usize, room: usize) -> Vec<TextLine> {
    let Some(session) = &chat.session else { return Vec::new() };
    let mut rows = session.transcript.tail();
    if rows.is_empty() && session.transcript.shows_reasoning {
        let thought = session.transcript.reasoning_tail().unwrap_or_default();
        let look = Look::of(Ink::Quiet).italic();
        rows = thought.lines().map(|line| TextLine::of(&format!("  ┊ {line}"), look)).collect();
    }
    let rows = rows.iter().flat_map(|line| line.wrapped(width, 0)).collect::<Vec<_>>();
    let skipped = rows.len().saturating_sub(room);
    rows.into_iter().skip(skipped).collect()
}

/// What the main agent does now, with the output of its command; or what is being begun.
fn now(chat: &Chat, width: usize) -> Vec<TextLine> {
    if let Some((_, words)) = &chat.beginning {
        let first = words.text.lines().next().unwrap_or_default();
        let line = TextLine::of(&format!("{} starting: ", spinner(chat.now_ms)), Ink::Accent);
        return vec![line.with(&one_row(first), Ink::Quiet)];
    }
    let mut lines = Vec::new();
    if let Some(question) = &chat.side {
        lines.push(TextLine::of(
            &format!("{} on the side: {}", spinner(chat.now_ms), one_row(question)),
            Ink::Quiet,
        ));
    }
    if let Some((command, output)) = &chat.typed {
        let command = one_row(command);
        lines.push(TextLine::of(&format!("{} Esc stops · $ {command}", spinner(chat.now_ms)), Ink::Accent));
        lines.extend(last_rows(output));
    }
    let Some(session) = chat.session.as_ref().filter(|session| session.is_at_work()) else { return lines };
    let asks = session.question().map(|open| open.agent);
    if asks.is_some() && asks == session.main().map(|main| main.id) {
        // The question says what it does.
        return lines;
    }
    let mut parts = Vec::new();
    if let Some(main) = session.main() {
        parts.push(words::turn(main));
        parts.extend(main.worked_ms(chat.now_ms).map(words::duration));
        parts.push("Esc stops".to_owned());
        parts.push(doing(main, chat.now_ms));
    }
    parts.retain(|part| !part.is_empty());
    let mark = if session.question().is_none() { spinner(chat.now_ms) } else { "?" };
    lines
        .push(TextLine::of(&format!("{mark} "), Ink::Accent).with(&parts.join(" · "), Ink::Quiet).cut(width));
    if let Some((_, output)) = &session.output {
        lines.extend(last_rows(output));
    }
    lines
}

/// The last rows of what a command wrote.
fn last_rows(output: &str) -> Vec<TextLine> {
    let told = output.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let last = told.iter().skip(told.len().saturating_sub(OUTPUT_ROWS_MAX));
    last.map(|line| TextLine::of(&format!("  │ {line}"), Ink::Quiet)).collect()
}

/// The question that is open, or the plan that waits.
fn asked(chat: &Chat, width: usize, rows_max: usize) -> Vec<TextLine> {
    let Some(session) = &chat.session else { return Vec::new() };
    if let Some(open) = session.question() {
        return questions::drawn(open, &session.view, chat.answering.as_ref(), width, rows_max);
    }
    if chat.waiting != Some(ChatWaiting::Plan) {
        return Vec::new();
    }
    let head =
        TextLine::of("? ", Look::of(Ink::Warning).bold()).with("the plan is ready", Look::PLAIN.bold());
    let keys: &[(&str, &str)] = if chat.answering_plan {
        &[
            ("y", "work on it (auto)"),
            ("n", "refuse"),
            ("c", "change it: say how"),
            ("e", "work, commands ask (edit)"),
            ("Esc", "back"),
        ]
    } else {
        &[("Ctrl+Q", "answers"), ("or", "write what to change")]
    };
    let keys: Vec<_> = keys.iter().map(|(key, means)| (*key, (*means).to_owned())).collect();
    let mut lines = vec![head];
    lines.extend(questions::key_rows(&keys, width));
    lines
}

/// What is written, with its cursor; or what an answer or a search is given in.
fn composer(chat: &Chat, width: usize, budget: usize) -> (Vec<TextLine>, Option<(usize, usize)>) {
    let (prompt, editor) = match (&chat.answering, chat.composer.search_found()) {
        (Some(answering), _) => match answering.editor() {
            Some((prompt, editor)) => (prompt.to_owned(), editor),
            None => return (vec![TextLine::of("  press a key", Ink::Quiet)], None),
        },
        (None, Some((query, found))) => {
            let line = TextLine::of(&format!("search: {query}"), Ink::Accent);
            let column = line.columns();
            let found = found.unwrap_or("nothing found").lines().next().unwrap_or_default().to_owned();
            return (vec![line.with(&format!("  {found}"), Look::PLAIN)], Some((0, column)));
        }
        (None, None) => (PROMPT.to_owned(), &chat.composer.editor),
    };
    let indent = columns(&prompt);
    let rows_max = COMPOSER_ROWS_MAX.min(budget.saturating_sub(1) / 2 + 1);
    let window = editor.window(width.saturating_sub(indent).max(1), rows_max);
    let mut rows = Vec::new();
    for (number, row) in window.rows.into_iter().enumerate() {
        let head = if number == 0 && window.above == 0 { prompt.clone() } else { " ".repeat(indent) };
        let mut line = TextLine::of(&head, Look::of(Ink::Accent).bold());
        line.append(row);
        rows.push(line);
    }
    if editor.is_empty() && chat.answering.is_none() {
        let hint = if chat.session.is_none() { "say what to do; / lists commands, ? helps" } else { "" };
        rows =
            vec![TextLine::of(&prompt, Look::of(Ink::Accent).bold()).with(&format!(" {hint}"), Ink::Quiet)];
    }
    (rows, Some((window.cursor.0, window.cursor.1 + indent)))
}

/// The completions around the chosen one, and a row that counts the others.
fn list(chat: &Chat, room: usize) -> Vec<TextLine> {
    let Some(list) = &chat.composer.list else { return Vec::new() };
    let shown = shown(list.items.len(), list.selected, room.min(COMPLETIONS_SHOWN_MAX + 1));
    let wide = list.items.iter().skip(shown.start).take(shown.len()).map(|item| columns(&item.text)).max();
    let wide = wide.unwrap_or(0).min(COMPLETED_COLUMNS_MAX);
    let mut lines: Vec<TextLine> = list.items[shown.clone()]
        .iter()
        .zip(shown.clone())
        .map(|(item, at)| {
            let look =
                if at == list.selected { Look::of(Ink::Accent).reverse() } else { Look::of(Ink::Accent) };
            let gap = " ".repeat(wide.saturating_sub(columns(&item.text)) + 2);
            TextLine::plain("  ").with(&item.text, look).with(&format!("{gap}{}", item.help), Ink::Quiet)
        })
        .collect();
    let more = list.items.len() - shown.len();
    if more > 0 && lines.len() < room {
        lines.push(TextLine::of(&format!("  +{more} more"), Ink::Quiet));
    }
    lines
}

/// Which of so many entries are shown, with the chosen one among them and a row left for a count where not all fit.
fn shown(count: usize, chosen: usize, room: usize) -> std::ops::Range<usize> {
    if count <= room {
        return 0..count;
    }
    let fits = room.saturating_sub(1).max(1).min(count);
    let from = chosen.saturating_sub(fits - 1).min(count - fits);
    from..from + fits
}

/// What waits to be told.
fn queue(chat: &Chat, room: usize) -> Vec<TextLine> {
    let queue = chat.session.as_ref().map(|session| session.queue()).unwrap_or_default();
    let mails = queue.iter().map(|mail| (mail.text.as_str(), mail.is_prompt));
    let early = chat.early.iter().map(|(words, queue)| (words.text.as_str(), *queue));
    let queue: Vec<(&str, bool)> = mails.chain(early).collect();
    let chosen = chat.composer.queue_at;
    let shown = shown(queue.len(), chosen.unwrap_or(0), room.min(QUEUE_SHOWN_MAX + 1));
    let mut lines: Vec<TextLine> = queue[shown.clone()]
        .iter()
        .zip(shown.clone())
        .map(|((text, is_prompt), at)| {
            let look =
                if chosen == Some(at) { Look::of(Ink::Person).reverse() } else { Look::of(Ink::Person) };
            let when = if *is_prompt { "then" } else { "next turn" };
            TextLine::of(&format!("  {when}: "), Ink::Quiet).with(&one_row(text), look)
        })
        .collect();
    let more = queue.len() - shown.len();
    if more > 0 && lines.len() < room {
        lines.push(TextLine::of(&format!("  +{more} more waiting"), Ink::Quiet));
    }
    lines
}

/// The to-do list of the main agent and the commands in the background, in a few rows.
fn todo(chat: &Chat) -> Vec<TextLine> {
    let Some(session) = &chat.session else { return Vec::new() };
    let mut lines = Vec::new();
    let items = session.main().map_or(&[][..], |main| &main.todo);
    let done = items.iter().filter(|item| item.state == TodoState::Done).count();
    if !items.is_empty() && done < items.len() {
        let open = items.iter().filter(|item| item.state != TodoState::Done).take(TODO_SHOWN_MAX);
        lines.push(TextLine::of(&format!("  to do: {done} of {} done", items.len()), Ink::Quiet));
        lines.extend(open.map(|item| {
            let (mark, ink) =
                if item.state == TodoState::Doing { ("▸", Ink::Accent) } else { ("☐", Ink::Quiet) };
            TextLine::of(&format!("  {mark} {}", one_row(&item.text)), ink)
        }));
    }
    if !session.jobs.is_empty() {
        let names = session.jobs.iter().map(|(name, job)| format!("{name} {}", one_row(&job.command)));
        let names = names.take(TODO_SHOWN_MAX).collect::<Vec<_>>().join(" · ");
        let count = words::counted(session.jobs.len() as u64, "command");
        lines.push(TextLine::of(&format!("  {count} in the background: {names}"), Ink::Quiet));
    }
    lines
}
