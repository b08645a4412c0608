//! An agent on a worker as its events leave it: what it has said and spent, what it did, and the request that its model would
//! get next. What a worker tells that is none of its business is refused here.

use std::collections::BTreeSet;
use std::sync::Arc;

use posse_agent::{Next, Recall, Recalled};
use posse_model::limits::CALLS_MAX;
use posse_protocol::limits::BYTES_PER_TOKEN;
use posse_protocol::{AgentId, Budget, CallId, Effect, EventKind, Receipt, ToolSpec, Usage};
use posse_store::limits::EVENT_BYTES_MAX;

use crate::agents::context::Snapshot;
use crate::agents::conversation::Conversation;
use crate::agents::receipt::{Effects, Inherited};
use crate::crew::Crew;
use crate::elsewhere::requests::HomeSpent;
use crate::limits::{REMOTE_EFFECTS_MAX, REMOTE_EVENTS_MAX, REMOTE_REPLY_TOKENS_MAX, REMOTE_REPLY_USD_MAX};
use crate::remote::{HostedItem, travels};

pub(super) struct Mirror {
    pub(super) conversation: Conversation,
    recall: Recall,
    effects: Effects,
    /// How many effects were added.
    effects_count: usize,
    /// How many of its events are on record or about to be.
    pub(super) count: u64,
}

impl Mirror {
    pub(super) fn new(mut conversation: Conversation, recall: Recall, effects: Effects, count: u64) -> Self {
        conversation.follow(recall.agent().conversation());
        Self { conversation, recall, effects, effects_count: 0, count }
    }

    /// Takes in an event that a worker tells, as it goes on record, and says how many bytes it has.
    pub(super) fn take_in(&mut self, name: &str, item: HostedItem) -> Result<(HostedItem, usize), String> {
        let HostedItem { mut kind, kept } = item;
        if !travels(&kind) {
            return Err("its worker told something that is not for a worker to tell".to_string());
        }
        let bytes = written_bytes(&kind);
        if bytes > EVENT_BYTES_MAX {
            return Err("its worker told of something that is too long for the record".to_string());
        }
        self.count += 1;
        if self.count > REMOTE_EVENTS_MAX {
            return Err(format!("its worker told more than {REMOTE_EVENTS_MAX} events"));
        }
        match &mut kind {
            EventKind::TurnStarted { turn, .. }
                if *turn > self.recall.agent().spent().turns.saturating_add(1) =>
            {
                return Err("its worker told of a turn that cannot be the next".to_string());
            }
            EventKind::Replied { reply, cost_usd, .. } if !is_of_one_reply(&reply.usage, *cost_usd) => {
                return Err("its worker told of tokens or costs that are more than one reply has".to_string());
            }
            EventKind::Replied { reply, .. } if reply.calls.len() > CALLS_MAX => {
                return Err(format!("its worker told of a reply with more than {CALLS_MAX} calls"));
            }
            EventKind::ToolFinished { effects, .. } => {
                // A worker has no notes, and notes are for good.
                effects.retain(|effect| !matches!(effect, Effect::Noted(_)));
                // What it changed is measured in the end, so those beyond the limit are only on record.
                let room = REMOTE_EFFECTS_MAX.saturating_sub(self.effects_count);
                self.effects.add(&effects[..effects.len().min(room)], 0);
                self.effects_count = self.effects_count.saturating_add(effects.len());
            }
            // Commands of all agents are listed together.
            EventKind::BackgroundStarted { name: command, .. }
            | EventKind::BackgroundEnded { name: command, .. } => {
                *command = format!("{name}:{command}");
            }
            _ => {}
        }
        if kept.iter().any(|file| leads_out(&file.path)) {
            return Err("its worker named a file outside of its folder".to_string());
        }
        self.recall.event(&kind);
        Ok((HostedItem { kind, kept }, bytes))
    }

    /// The request that its model would get next.
    pub(super) fn request(&mut self) -> Conversation {
        self.conversation.catch_up(self.recall.agent().conversation());
        self.conversation.clone()
    }

    /// Its conversation, for a call that hands it on.
    pub(super) fn snapshot(&mut self) -> Arc<Snapshot> {
        let conversation = self.request();
        let agent = self.recall.agent();
        Arc::new(Snapshot {
            conversation,
            task: agent.task().to_string(),
            todo: agent.pinned(posse_agent::TODO).map(str::to_string),
            changed: self.effects.changed(),
            words: agent.last_words().to_string(),
        })
    }

    /// Calls that had begun when its home ended, and that may do nothing twice.
    pub(super) fn interrupted(&self) -> BTreeSet<CallId> {
        match self.recall.clone().finish().next {
            Next::CallTools { begun, .. } => {
                begun.into_iter().filter_map(|(call, repeatable)| (!repeatable).then_some(call)).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    /// What home knows that it has spent before this process.
    pub(super) fn spent(&self) -> HomeSpent {
        let (agent, spent) = (self.recall.agent(), self.recall.agent().spent());
        let cost_usd = spent.cost_usd.unwrap_or(0.0);
        HomeSpent { calls: spent.turns, tokens: agent.tokens_counted(), cost_usd }
    }

    /// Its last words, and what it did as far as its events tell. Which files it changed is measured otherwise.
    pub(super) fn outcome(&mut self, inherited: Inherited, elapsed_ms: u64) -> (String, Receipt) {
        let Recalled { mut agent, next, .. } = self.recall.clone().finish();
        if let Next::TakeIn(input) = next {
            // What comes of its last reply is not on record: it has ended with it.
            agent.handle(*input, elapsed_ms);
        }
        let receipt = std::mem::take(&mut self.effects).receipt(&agent, inherited);
        (agent.last_words().to_string(), receipt)
    }

    /// The tools that its model is offered.
    pub(super) fn tools(&self) -> &[ToolSpec] {
        &self.conversation.tools
    }

    /// About how many tokens its next request has.
    pub(super) fn tokens_next(&self) -> u64 {
        self.recall.agent().conversation().bytes() as u64 / BYTES_PER_TOKEN
    }

    /// Tells the tree what it has spent. A worker can say anything: beyond what home has seen itself, no more counts against
    /// those above it than the agent may spend.
    pub(super) fn tell_spent(&self, crew: &Crew, id: AgentId, seen: HomeSpent, budget: &Budget) {
        let agent = self.recall.agent();
        let (told, mut spent) = (agent.tokens_counted(), agent.spent());
        let tokens = budget.tokens.map_or(told, |most| told.min(most)).max(seen.tokens);
        let told_usd = spent.cost_usd.map(|usd| budget.cost_usd.map_or(usd, |most| usd.min(most)));
        spent.cost_usd = match told_usd {
            None if seen.cost_usd == 0.0 => None,
            told_usd => Some(told_usd.unwrap_or(0.0).max(seen.cost_usd)),
        };
        crew.set_spent(id, &spent, tokens);
    }
}

/// Whether one reply can have taken so much.
fn is_of_one_reply(usage: &Usage, cost_usd: Option<f64>) -> bool {
    let Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens } = usage;
    let all = [input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens];
    all.into_iter().flatten().all(|tokens| *tokens <= REMOTE_REPLY_TOKENS_MAX)
        && cost_usd.is_none_or(|usd| (0.0..=REMOTE_REPLY_USD_MAX).contains(&usd))
}

/// How long something is on record.
fn written_bytes(kind: &EventKind) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, kind) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

/// Whether a path is none within a folder.
fn leads_out(path: &str) -> bool {
    let bad =
        |part: &str| part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git");
    path.len() > 4096 || path.contains('\0') || path.split('/').any(bad)
}
