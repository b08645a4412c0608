//! One row for each sub-agent, in the order in which they came: state, name, title, role, model, turn, time, tokens, cost, and
//! what it does now. Rows of settled agents stay until the next prompt. Where room is short, what matters least goes first.

use posse_terminal::{Ink, Look, TextLine, columns};
use posse_view::{AgentView, words};

use crate::chat::Chat;
use crate::limits::SILENT_TOLD_AFTER_MS;
use crate::short_number::short;

/// Columns that what an agent does keeps.
const DOING_COLUMNS: usize = 24;

/// The rows of the sub-agents, and a row that counts those that do not fit.
pub(super) fn rows(chat: &Chat, width: usize, room: usize) -> Vec<TextLine> {
    let Some(session) = chat.session.as_ref().filter(|session| !session.replaying) else { return Vec::new() };
    let all: Vec<_> = session.shown_agents().collect();
    if all.is_empty() || room == 0 {
        return Vec::new();
    }
    // Those at work are worth more than those that have ended.
    let fits = if all.len() <= room { all.len() } else { room - 1 };
    let open = all.iter().filter(|(_, agent)| !agent.has_ended()).count();
    let mut ended_shown = fits.saturating_sub(open);
    let mut lines = Vec::new();
    for (number, agent) in &all {
        let is_shown = if agent.has_ended() {
            let shown = ended_shown > 0;
            ended_shown = ended_shown.saturating_sub(1);
            shown
        } else {
            lines.len() < fits
        };
        if is_shown && lines.len() < fits {
            lines.push(row(agent, *number, width, chat.now_ms));
        }
    }
    let left = all.len() - lines.len();
    if left > 0 {
        let open_left =
            all.iter().filter(|(_, agent)| !agent.has_ended()).count().saturating_sub(lines.len());
        let at_work = if open_left > 0 { format!(", {open_left} of them at work") } else { String::new() };
        lines.push(TextLine::of(&format!("  +{left} more{at_work} (Ctrl+T)"), Ink::Quiet));
    }
    lines
}

/// One row.
pub(crate) fn row(agent: &AgentView, number: usize, width: usize, now_ms: u64) -> TextLine {
    let ended = agent.has_ended();
    let blocked = agent.report.as_ref().is_some_and(|report| report.blocked);
    let mark = match agent.state {
        posse_protocol::AgentState::Running => super::spinner(now_ms),
        state => words::mark(state, blocked),
    };
    let ink = match (ended, agent.state.is_failure(), blocked) {
        (_, true, _) => Ink::Bad,
        (true, _, true) => Ink::Warning,
        (true, ..) => Ink::Good,
        _ => Ink::Accent,
    };
    let indent = "  ".repeat(usize::try_from(agent.depth).unwrap_or(1).clamp(1, 6));
    let name_ink = Ink::Agent(u8::try_from(number % 6).unwrap_or(0));
    let name_look = if ended { Look::of(Ink::Quiet) } else { Look::of(name_ink).bold() };
    let head = TextLine::of(&format!("{indent}{mark} "), ink).with(&agent.name, name_look);
    let room = width.saturating_sub(head.columns());
    let doing = doing(agent, now_ms);
    let rest = parts(agent, now_ms, room, columns(&doing).min(DOING_COLUMNS));
    let mut line = head.with(&rest, Ink::Quiet);
    if !doing.is_empty() {
        line.push(" · ", Ink::Quiet);
        line.push(&doing, if ended { Ink::Quiet } else { Ink::Plain });
    }
    line.cut(width)
}

/// What it does now, or how it ended.
fn doing(agent: &AgentView, now_ms: u64) -> String {
    if agent.has_ended() {
        return words::state(agent.state).to_owned();
    }
    let quiet = now_ms.saturating_sub(agent.last_at_ms.max(agent.heard_at_ms.unwrap_or(0)));
    let doing = super::doing(agent, now_ms);
    let works = agent.state == posse_protocol::AgentState::Running && agent.silent_ms(now_ms).is_none();
    if works && quiet >= SILENT_TOLD_AFTER_MS && agent.asks.is_empty() {
        return format!("{doing} · silent for {}", words::duration(quiet));
    }
    doing
}

/// Title, role, model, machine, turn, time, tokens and cost, as far as there is room beside what it does.
fn parts(agent: &AgentView, now_ms: u64, room: usize, doing: usize) -> String {
    let title = agent.title.as_deref().filter(|title| !title.is_empty());
    let time = agent.duration_ms.or_else(|| agent.worked_ms(now_ms)).map(words::duration);
    let own = agent.own.usage.total_tokens();
    let in_all = agent.in_all().usage.total_tokens().filter(|all| Some(*all) != own);
    let tokens = own.map(|own| match in_all {
        Some(all) => format!("{} ({})", short(own), short(all)),
        None => short(own),
    });
    let cost = agent.in_all().cost_usd.map(|usd| format!("${usd:.2}"));
    // The rank says what goes first where room is short: the highest.
    let mut parts: Vec<(u8, String)> = Vec::new();
    let title = title.map(|title| format!("\"{}\"", title.chars().take(40).collect::<String>()));
    let turn = (agent.turn > 0).then(|| words::turn(agent));
    let all = [
        (3, title),
        (6, Some(agent.role.clone())),
        (5, agent.model.clone()),
        (5, words::on(agent)),
        (2, turn),
        (1, time),
        (4, tokens),
        (4, cost),
    ];
    parts.extend(
        all.into_iter().filter_map(|(rank, part)| Some((rank, part?))).filter(|(_, part)| !part.is_empty()),
    );
    loop {
        let text: String = parts.iter().map(|(_, part)| format!(" · {part}")).collect();
        if columns(&text) + doing + 3 <= room || parts.is_empty() {
            return text;
        }
        let Some(worst) = parts.iter().map(|(rank, _)| *rank).max() else { return text };
        parts.retain(|(rank, _)| *rank != worst);
    }
}
