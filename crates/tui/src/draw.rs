//! The live region: what is being written, questions, the composer, the queue, the to-do list, the agents, the status line.
//! Pure: the chat in, lines out. It takes at most a third of the screen; what does not fit is counted.

mod agents;

use posse_terminal::{Ink, Look, Region, TextLine};
use posse_view::{TodoState, words};

use crate::chat::status;
use crate::chat::{Chat, ChatWaiting};
use crate::limits::{
    COMPLETIONS_SHOWN_MAX, COMPOSER_ROWS_MAX, OUTPUT_ROWS_MAX, QUEUE_SHOWN_MAX, REGION_PART, REGION_ROWS_MIN,
    TODO_SHOWN_MAX,
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
    let (composer, cursor) = composer(chat, width, budget);
    let mut room = budget.saturating_sub(composer.len() + 1);
    let mut take = |mut lines: Vec<TextLine>| {
        lines.truncate(room);
        room -= lines.len();
        lines
    };
    let asked = take(asked(chat, width, budget.saturating_sub(composer.len() + 1)));
    let list = take(list(chat));
    let now = take(now(chat, width));
    let queue = take(queue(chat));
    let agents_room = room;
    let agents = agents::rows(chat, width, agents_room);
    let take_rest = |lines: Vec<TextLine>, used: usize| {
        lines.into_iter().take(agents_room.saturating_sub(used)).collect::<Vec<_>>()
    };
    let todo = take_rest(todo(chat), agents.len());
    let tail_room = agents_room.saturating_sub(agents.len() + todo.len());
    let tail = tail(chat, width, tail_room);
    let above = [tail, now, asked].concat();
    let at = above.len();
    let mut lines = above;
    lines.extend(composer);
    lines.extend([list, queue, todo, agents].concat());
    lines.push(status::line(chat));
    let lines = lines.into_iter().map(|line| line.cut(width)).collect();
    Region { lines, cursor: cursor.map(|(row, column)| (row + at, column)) }
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
    if let Some(words) = &chat.beginning {
        let first = words.text.lines().next().unwrap_or_default();
        let line = TextLine::of(&format!("{} starting: ", spinner(chat.now_ms)), Ink::Accent);
        return vec![line.with(first, Ink::Quiet)];
    }
    let mut lines = Vec::new();
    if let Some(question) = &chat.side {
        lines.push(TextLine::of(&format!("{} on the side: {question}", spinner(chat.now_ms)), Ink::Quiet));
    }
    if let Some((command, output)) = &chat.typed {
        lines.push(TextLine::of(&format!("{} $ {command} · Esc stops", spinner(chat.now_ms)), Ink::Accent));
        lines.extend(last_rows(output));
    }
    let Some(session) = chat.session.as_ref().filter(|session| session.is_at_work()) else { return lines };
    let mut parts = Vec::new();
    if let Some(main) = session.main() {
        parts.push(words::turn(main));
        parts.extend(main.worked_ms(chat.now_ms).map(words::duration));
        parts.push(words::now(main, chat.now_ms));
    }
    parts.retain(|part| !part.is_empty());
    parts.push("Esc stops".to_owned());
    let mark = if session.view.questions.is_empty() { spinner(chat.now_ms) } else { "?" };
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
    if let Some(open) = session.view.questions.first() {
        return questions::drawn(open, &session.view, chat.answering.as_ref(), width, rows_max);
    }
    if chat.waiting != Some(ChatWaiting::Plan) {
        return Vec::new();
    }
    let key = |line: TextLine, key: &str, means: &str| {
        line.with(key, Look::of(Ink::Accent).bold()).with(&format!(" {means}  "), Ink::Quiet)
    };
    let head =
        TextLine::of("? ", Look::of(Ink::Warning).bold()).with("the plan is ready", Look::PLAIN.bold());
    let keys = TextLine::plain("  ");
    let keys = if chat.answering_plan {
        let keys = key(keys, "y", "work on it (auto)");
        let keys = key(keys, "e", "work, commands ask (edit)");
        let keys = key(keys, "c", "change it: say how");
        key(key(keys, "n", "refuse"), "Esc", "back")
    } else {
        key(keys, "Ctrl+Q", "answers, or write what to change")
    };
    vec![head, keys]
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
    let indent = posse_terminal::columns(&prompt);
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

/// The completions.
fn list(chat: &Chat) -> Vec<TextLine> {
    let Some(list) = &chat.composer.list else { return Vec::new() };
    let from = list.selected.saturating_sub(COMPLETIONS_SHOWN_MAX - 1);
    let shown = list.items.iter().enumerate().skip(from).take(COMPLETIONS_SHOWN_MAX);
    let mut lines: Vec<TextLine> = shown
        .map(|(at, item)| {
            let look =
                if at == list.selected { Look::of(Ink::Accent).reverse() } else { Look::of(Ink::Accent) };
            TextLine::plain("  ").with(&item.text, look).with(&format!("  {}", item.help), Ink::Quiet)
        })
        .collect();
    let below = list.items.len().saturating_sub(from + COMPLETIONS_SHOWN_MAX);
    if below > 0 {
        lines.push(TextLine::of(&format!("  +{below} more"), Ink::Quiet));
    }
    lines
}

/// What waits to be told.
fn queue(chat: &Chat) -> Vec<TextLine> {
    let queue = chat.session.as_ref().map_or(&[][..], |session| session.queue());
    let mails = queue.iter().map(|mail| (mail.text.as_str(), mail.is_prompt));
    let early = chat.early.iter().map(|(words, queue)| (words.text.as_str(), *queue));
    let queue: Vec<(&str, bool)> = mails.chain(early).collect();
    let shown = queue.iter().enumerate().take(QUEUE_SHOWN_MAX);
    let mut lines: Vec<TextLine> = shown
        .map(|(at, (text, is_prompt))| {
            let chosen = chat.composer.queue_at == Some(at);
            let look = if chosen { Look::of(Ink::Person).reverse() } else { Look::of(Ink::Person) };
            let when = if *is_prompt { "then" } else { "next turn" };
            TextLine::of(&format!("  {when}: "), Ink::Quiet).with(&text.replace('\n', " "), look)
        })
        .collect();
    if queue.len() > QUEUE_SHOWN_MAX {
        lines.push(TextLine::of(&format!("  +{} more waiting", queue.len() - QUEUE_SHOWN_MAX), Ink::Quiet));
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
            TextLine::of(&format!("  {mark} {}", item.text), ink)
        }));
    }
    if !session.jobs.is_empty() {
        let names = session.jobs.iter().map(|(name, job)| format!("{name} {}", job.command));
        let names = names.collect::<Vec<_>>().join(" · ").replace('\n', " ");
        lines.push(TextLine::of(&format!("  in the background: {names}"), Ink::Quiet));
    }
    lines
}
