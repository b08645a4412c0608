//! What the earlier prompts of a session came to. An agent that rests reports what it did for its last prompt only; its end
//! and the check of its words need all of it.

use posse_protocol::{Below, Receipt, Usage, limits};

/// The sum of the receipts of all prompts that are answered.
#[derive(Clone, Default)]
pub(crate) struct PastPrompts(Receipt);

impl PastPrompts {
    /// After an agent that had ended: its receipt covers everything until then.
    pub(crate) fn ended(receipt: Receipt) -> Self {
        Self(receipt)
    }

    /// Takes the figures of earlier prompts out of a receipt whose figures cover the agent's whole life. Its lists are of this
    /// prompt already.
    pub(crate) fn only_new(&self, mut receipt: Receipt) -> Receipt {
        let Self(past) = self;
        receipt.turns = receipt.turns.saturating_sub(past.turns);
        receipt.tool_calls = receipt.tool_calls.saturating_sub(past.tool_calls);
        receipt.duration_ms = receipt.duration_ms.saturating_sub(past.duration_ms);
        receipt.usage = less(receipt.usage, past.usage);
        receipt.cost_usd = receipt.cost_usd.map(|usd| (usd - past.cost_usd.unwrap_or(0.0)).max(0.0));
        let (below, before) = (receipt.below, past.below);
        receipt.below = Below {
            agents: below.agents.saturating_sub(before.agents),
            turns: below.turns.saturating_sub(before.turns),
            tool_calls: below.tool_calls.saturating_sub(before.tool_calls),
            commands: below.commands.saturating_sub(before.commands),
            commands_failed: below.commands_failed.saturating_sub(before.commands_failed),
            usage: less(below.usage, before.usage),
            cost_usd: below.cost_usd.map(|usd| (usd - before.cost_usd.unwrap_or(0.0)).max(0.0)),
        };
        receipt
    }

    /// Adds the receipt of a prompt that is answered.
    pub(crate) fn add(&mut self, receipt: &Receipt) {
        self.0 = self.with(receipt);
    }

    /// Everything until now, the prompt of this receipt included.
    pub(crate) fn with(&self, receipt: &Receipt) -> Receipt {
        let mut all = self.0.clone();
        all.turns = all.turns.saturating_add(receipt.turns);
        all.tool_calls = all.tool_calls.saturating_add(receipt.tool_calls);
        all.duration_ms = all.duration_ms.saturating_add(receipt.duration_ms);
        all.usage.add(receipt.usage);
        all.cost_usd = sum(all.cost_usd, receipt.cost_usd);
        all.below = both(all.below, receipt.below);
        receipt.files.iter().for_each(|file| file.add_to(&mut all.files));
        receipt.files_below.iter().for_each(|file| file.add_to(&mut all.files_below));
        receipt.files_not_certain.iter().for_each(|file| file.add_to(&mut all.files_not_certain));
        all.not_covered.clone_from(&receipt.not_covered);
        all.commands.extend(receipt.commands.iter().cloned());
        all.commands.truncate(limits::RECEIPT_COMMANDS_MAX);
        all.commands_total = all.commands_total.saturating_add(receipt.commands_total);
        all.commands_failed = all.commands_failed.saturating_add(receipt.commands_failed);
        all.last_command = receipt.last_command.clone().or(all.last_command);
        // Tests that ran for an earlier prompt say nothing about files that were changed since.
        let edited = !receipt.files.is_empty() || !receipt.files_below.is_empty();
        for tests in all.tests.iter_mut().chain(&mut all.tests_below) {
            tests.edited_after |= edited;
        }
        all.tests = receipt.tests.clone().or(all.tests);
        all.tests_below = receipt.tests_below.clone().or(all.tests_below);
        all.test_files.retain(|file| !receipt.test_files.iter().any(|new| new.path == file.path));
        all.test_files.extend(receipt.test_files.iter().cloned());
        all.test_files.truncate(limits::RECEIPT_TEST_FILES_MAX);
        all.commits.extend(receipt.commits.iter().cloned());
        all.commits.drain(..all.commits.len().saturating_sub(limits::RECEIPT_COMMITS_MAX));
        all.commits_total = all.commits_total.saturating_add(receipt.commits_total);
        all.children.extend(receipt.children.iter().cloned());
        all.children.truncate(limits::RECEIPT_CHILDREN_MAX);
        all.children_total = all.children_total.saturating_add(receipt.children_total);
        all.denied.extend(receipt.denied.iter().cloned());
        all.denied.truncate(limits::RECEIPT_DENIALS_MAX);
        all.branch = receipt.branch.clone().or(all.branch);
        all
    }
}

fn both(mut all: Below, new: Below) -> Below {
    all.agents = all.agents.saturating_add(new.agents);
    all.turns = all.turns.saturating_add(new.turns);
    all.tool_calls = all.tool_calls.saturating_add(new.tool_calls);
    all.commands = all.commands.saturating_add(new.commands);
    all.commands_failed = all.commands_failed.saturating_add(new.commands_failed);
    all.usage.add(new.usage);
    Below { cost_usd: sum(all.cost_usd, new.cost_usd), ..all }
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.map_or(b, |a| Some(a + b.unwrap_or(0.0)))
}

/// What is unknown in both stays unknown.
fn less(all: Usage, past: Usage) -> Usage {
    let minus = |all: Option<u64>, past: Option<u64>| all.map(|all| all.saturating_sub(past.unwrap_or(0)));
    Usage {
        input_tokens: minus(all.input_tokens, past.input_tokens),
        cached_tokens: minus(all.cached_tokens, past.cached_tokens),
        cache_write_tokens: minus(all.cache_write_tokens, past.cache_write_tokens),
        output_tokens: minus(all.output_tokens, past.output_tokens),
        reasoning_tokens: minus(all.reasoning_tokens, past.reasoning_tokens),
    }
}
