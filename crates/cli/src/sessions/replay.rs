//! How a cassette of a session is played: what has to be configured, and what to type. It must not write anything.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{EventKind, QueueReason, Sender, Seq, Update};
use posse_view::SessionView;

use crate::limits::{PROMPT_CHARS_MAX, REPLAY_NAMES_SHOWN_MAX};
use crate::output::{one_line, visible};
use crate::recorded::fold;

/// What the record says about how a session went.
#[derive(Default)]
pub(super) struct SessionReplay {
    /// Names of its models.
    models: BTreeSet<String>,
    /// What the person said first.
    prompt: Option<String>,
    /// Whether agents waited for each other's model calls.
    one_at_a_time: bool,
    /// The names of what the person showed first.
    shown: Vec<String>,
    /// Whether images were shown, and whether documents were.
    images: bool,
    documents: bool,
    /// Agents that called a model, of which only the result was kept.
    not_in_it: Vec<String>,
}

impl SessionReplay {
    pub(super) async fn read(engine: &Engine, session: &SessionRow) -> anyhow::Result<Self> {
        let mut replay = Self::default();
        let (mut view, mut heard) = (SessionView::default(), HashSet::new());
        let mut updates = engine.recorded(session.id, Seq(0));
        while let Some(Update::Event(event)) = updates.next().await {
            fold(&mut view, &event)?;
            for attachment in event.kind.attachments() {
                let image = attachment.media_type.is_image();
                replay.images |= image;
                replay.documents |= !image;
            }
            match &event.kind {
                EventKind::Told { from: Sender::Person, text, attachments, .. }
                    if event.parent.is_none() && replay.prompt.is_none() =>
                {
                    replay.prompt = Some(text.clone());
                    replay.shown = attachments.iter().map(|attachment| attachment.name.clone()).collect();
                }
                EventKind::AgentQueued { reason: QueueReason::Endpoint, .. } => replay.one_at_a_time = true,
                EventKind::Replied { .. } => drop(heard.insert(event.agent)),
                _ => {}
            }
        }
        for agent in &view.agents {
            if agent.has_ended() && agent.own.turns > 0 && !heard.contains(&agent.id) {
                replay.not_in_it.push(agent.name.clone());
            }
            replay.models.extend(agent.model.clone());
        }
        Ok(replay)
    }

    /// What to configure and what to type. Models are told of each other by name, so those of the cassette are called
    /// as they were.
    pub(super) fn how(&self, session: &SessionRow, path: &Path) -> anyhow::Result<String> {
        let config = self.config(path)?;
        let model = one_line(session.model.as_deref().unwrap_or("NAME"), 100);
        let delegates = match session.surface.as_str() {
            "" => "--no-agents".to_string(),
            surface => format!("--surface {}", one_line(surface, 100)),
        };
        let quoted = self.prompt.as_deref().and_then(quoted);
        let (prompt, note) = match quoted {
            Some(prompt) => (prompt, ""),
            None => ("< PROMPT".to_string(), "\nPROMPT is a file with the whole prompt, as it was given.\n"),
        };
        let shown = self.shown.iter().map(|name| format!(" --image {}", one_line(name, 100)));
        let delegates = format!("{delegates}{}", shown.collect::<String>());
        Ok(format!(
            "{}To play it, put this into a configuration of its own,\n\n{config}\nand give it the same task in a folder \
             with the same files:\n\n  posse run --config FILE --model {model} {delegates} {prompt}\n{note}",
            self.missing()
        ))
    }

    fn config(&self, path: &Path) -> anyhow::Result<String> {
        let mut models = toml::Table::new();
        for name in &self.models {
            let mut model = toml::toml! { protocol = "replay" };
            model.insert("cassette".into(), path.display().to_string().into());
            for (name, is_set) in [("images", self.images), ("documents", self.documents)] {
                if is_set {
                    model.insert(name.into(), true.into());
                }
            }
            if self.one_at_a_time {
                model.insert("max_concurrent".into(), 1.into());
            }
            models.insert(name.clone(), model.into());
        }
        let config = toml::to_string(&toml::Table::from_iter([("models".to_string(), models.into())]))?;
        Ok(visible(&config).lines().map(|line| format!("  {line}\n")).collect())
    }

    /// Says whose calls cannot be played.
    fn missing(&self) -> String {
        if self.not_in_it.is_empty() {
            return String::new();
        }
        let names = self.not_in_it.iter().take(REPLAY_NAMES_SHOWN_MAX).map(|name| one_line(name, 60));
        let mut names = names.collect::<Vec<_>>();
        if let Some(more @ 1..) = self.not_in_it.len().checked_sub(REPLAY_NAMES_SHOWN_MAX) {
            names.push(format!("{more} more"));
        }
        format!(
            "The calls of {} are not in it: of them only the result was kept (record = \"result\"), so the session cannot \
             be played past their start.\n",
            names.join(", ")
        )
    }
}

/// A prompt as it is typed in a shell; none if it is better kept in a file.
fn quoted(prompt: &str) -> Option<String> {
    let plain = prompt == visible(prompt) && !prompt.contains(['\n', '\t']);
    if !plain || prompt.chars().count() > PROMPT_CHARS_MAX {
        return None;
    }
    // Within double quotes these mean something to a shell; within single ones nothing but their end does.
    match (prompt.contains(['"', '$', '`', '!', '\\']), prompt.contains('\'')) {
        (false, _) => Some(format!("\"{prompt}\"")),
        (true, false) => Some(format!("'{prompt}'")),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn prompts_are_quoted_whole_or_not_at_all() {
        let long = "long ".repeat(40);
        let cases = [
            ("share it out", Some("\"share it out\"")),
            ("what is $HOME?", Some("'what is $HOME?'")),
            ("say \"hi\"", Some("'say \"hi\"'")),
            ("two\nlines", None),
            ("it's", Some("\"it's\"")),
            ("it's $HOME", None),
            ("\u{1b}[2J", None),
            (long.as_str(), None),
        ];
        for (prompt, want) in cases {
            assert_eq!(quoted(prompt).as_deref(), want, "{prompt:?}");
        }
    }
}
