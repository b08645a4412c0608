//! Adds up what tools did. Only effects that tools measured count, never an agent's words.

use posse_agent::Agent;
use posse_protocol::{Below, CommandRun, Denial, Effect, FileChange, Receipt, TestsSeen, limits};

/// What an agent's sub-agents did and used.
#[derive(Clone, Default)]
pub(crate) struct Inherited {
    pub(crate) below: Below,
    pub(crate) files: Vec<FileChange>,
    pub(crate) not_certain: Vec<FileChange>,
    pub(crate) denied: Vec<Denial>,
}

/// The effects of one agent so far.
#[derive(Clone, Default)]
pub(crate) struct Effects {
    files: Vec<FileChange>,
    not_certain: Vec<FileChange>,
    commands: Vec<CommandRun>,
    commands_total: u32,
    commands_failed: u32,
    last_command: Option<CommandRun>,
    /// Of the last command that ran some: the state in which the work is handed over.
    tests: Option<TestsSeen>,
    denied: Vec<Denial>,
}

impl Effects {
    pub(crate) fn add(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::File(change) => change.add_to(&mut self.files),
                Effect::NotCertain(change) => change.add_to(&mut self.not_certain),
                Effect::Command(run) => {
                    self.commands_total = self.commands_total.saturating_add(1);
                    self.commands_failed = self.commands_failed.saturating_add(run.failed().into());
                    self.last_command = Some(run.clone());
                    self.tests = TestsSeen::of(run).or(self.tests.take());
                    if self.commands.len() < limits::RECEIPT_COMMANDS_MAX {
                        self.commands.push(run.clone());
                    }
                }
                Effect::Denied(denial) => self.denied.push(denial.clone()),
                Effect::Todo { .. } | Effect::Noted(_) => {}
            }
        }
    }

    /// Paths of the files changed.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    pub(crate) fn receipt(mut self, agent: &Agent, inherited: Inherited) -> Receipt {
        let spent = agent.spent();
        inherited.not_certain.iter().for_each(|file| file.add_to(&mut self.not_certain));
        self.denied.extend(inherited.denied);
        self.denied.truncate(limits::RECEIPT_DENIALS_MAX);
        Receipt {
            turns: spent.turns,
            tool_calls: agent.tool_calls(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
            duration_ms: spent.time_ms,
            below: inherited.below,
            files: self.files,
            files_below: inherited.files,
            files_not_certain: self.not_certain,
            not_covered: Vec::new(),
            commands: self.commands,
            commands_total: self.commands_total,
            commands_failed: self.commands_failed,
            last_command: self.last_command,
            tests: self.tests,
            denied: self.denied,
            branch: None,
            ..Receipt::default()
        }
    }
}
