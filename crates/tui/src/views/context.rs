//! What fills an agent's context window, as a table with bars.

use posse_engine::{ContextKind, ContextUse};
use posse_protocol::words::{counted, grouped};
use posse_terminal::{Ink, Look, TextLine};

/// Columns of the widest bar.
const BAR_COLUMNS: u64 = 20;
/// Columns of what a bar stands for.
const LABEL_COLUMNS: usize = 28;

/// The table.
pub(super) fn lines(used: &ContextUse) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let of_window = |tokens: u64| match used.window_tokens {
        Some(window @ 1..) => {
            format!(
                "{} of {} tokens ({}%)",
                grouped(tokens),
                grouped(window),
                tokens.saturating_mul(100) / window
            )
        }
        _ => counted(tokens, "token"),
    };
    if let Some(tokens) = used.counted_tokens {
        lines.push(TextLine::plain(&format!("counted by the provider   {}", of_window(tokens))));
    }
    lines.push(TextLine::plain(&format!("estimated from the texts  {}", of_window(used.estimated_tokens))));
    if used.compactions > 0 {
        lines.push(TextLine::of(&format!("shortened {}", counted(used.compactions, "time")), Ink::Quiet));
    }
    lines.push(TextLine::default());
    let all = used.parts.iter().map(|part| part.tokens).fold(0, u64::saturating_add).max(1);
    for part in &used.parts {
        let label = match &part.tool {
            Some(tool) => format!("{} · {tool}", kind_words(part.kind)),
            None => kind_words(part.kind).to_owned(),
        };
        let label = TextLine::plain(&label).cut(LABEL_COLUMNS);
        let gap = LABEL_COLUMNS.saturating_sub(label.columns()) + 1;
        let filled = (part.tokens.saturating_mul(BAR_COLUMNS)).div_ceil(all).min(BAR_COLUMNS);
        let bar = |symbol: &str, columns: u64| symbol.repeat(usize::try_from(columns).unwrap_or(0));
        let mut line = label;
        line.push(&" ".repeat(gap), Look::PLAIN);
        line.push(&bar("█", filled), Ink::Accent);
        line.push(&bar("░", BAR_COLUMNS - filled), Ink::Quiet);
        line.push(&format!(" {:>3}%", part.tokens.saturating_mul(100) / all), Look::PLAIN);
        line.push(&format!(" {:>9}", grouped(part.tokens)), Look::PLAIN);
        line.push(&format!("  {}", counted(part.texts, "text")), Ink::Quiet);
        lines.push(line);
    }
    lines
}

fn kind_words(kind: ContextKind) -> &'static str {
    match kind {
        ContextKind::System => "system prompt",
        ContextKind::ToolDescriptions => "descriptions of tools",
        ContextKind::Person => "your words",
        ContextKind::Parent => "task from its parent",
        ContextKind::Peer => "messages of other agents",
        ContextKind::Reports => "reports of sub-agents",
        ContextKind::Posse => "reminders of Posse",
        ContextKind::Summary => "summary of what was before",
        ContextKind::ModelText => "replies",
        ContextKind::Reasoning => "reasoning",
        ContextKind::ToolCalls => "calls",
        ContextKind::ToolResults => "results",
    }
}
