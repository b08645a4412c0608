//! Adds up what tools did. Only effects that tools measured count, never an agent's words.

use posse_agent::Agent;
use posse_protocol::{CommandRun, Effect, FileChange, Receipt, limits};

/// The effects of one agent so far.
#[derive(Default)]
pub(crate) struct Effects {
    files: Vec<FileChange>,
    commands: Vec<CommandRun>,
    commands_total: u32,
}

impl Effects {
    pub(crate) fn add(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::File(change) => self.file(change),
                Effect::Command(run) => {
                    self.commands_total = self.commands_total.saturating_add(1);
                    if self.commands.len() < limits::RECEIPT_COMMANDS_MAX {
                        self.commands.push(run.clone());
                    }
                }
                Effect::Todo { .. } => {}
            }
        }
    }

    fn file(&mut self, change: &FileChange) {
        if let Some(known) = self.files.iter_mut().find(|f| f.path == change.path) {
            known.lines_added = known.lines_added.saturating_add(change.lines_added);
            known.lines_removed = known.lines_removed.saturating_add(change.lines_removed);
        } else if self.files.len() < limits::RECEIPT_FILES_MAX {
            self.files.push(change.clone());
        }
    }

    pub(crate) fn receipt(self, agent: &Agent) -> Receipt {
        let spent = agent.spent();
        Receipt {
            turns: spent.turns,
            tool_calls: agent.tool_calls(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
            duration_ms: spent.time_ms,
            files: self.files,
            commands: self.commands,
            commands_total: self.commands_total,
            below: posse_protocol::Below::default(),
            tests: None,
        }
    }
}
