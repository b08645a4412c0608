//! The agents of a session as their events leave them, read in the order of the record. Forks and follow-ups begin with
//! what the other agent knew at that moment, so all of them are read side by side.

use std::collections::HashMap;
use std::sync::Arc;

use posse_agent::{Mail, Recall};
use posse_delegate::{Endpoint, KnownEnd};
use posse_policy::meet;
use posse_protocol::{
    AgentId, Branch, Brief, Budget, CallId, ContextMode, Event, EventKind, Grant, Isolation, MailId, Message,
    Question, Report, Role, RoleOrigin, Sender, Seq, ToolCall, ToolSpec, Words,
};
use posse_surface::AgentCommand;
use posse_tools::{Knowledge, Toolbox};

use crate::agents::conversation::Conversation;
use crate::agents::offer::{roles_for, shared_offer, toolbox_knowing};
use crate::agents::past_prompts::PastPrompts;
use crate::agents::receipt::Effects;
use crate::agents::start::AgentIdentity;
use crate::crew::Crew;
use crate::delegation::team;
use crate::models::choice::PricedModel;
use crate::remote::{WorkerRun, travels};
use crate::session::main_agent::{main_role, main_tools};

/// All agents of a session.
pub(crate) struct Replay<'a> {
    crew: &'a Arc<Crew>,
    /// What the main agent may do now.
    grant: Grant,
    by_id: HashMap<AgentId, ReplayedAgent>,
    /// In the order of their admission, the main agent first.
    pub(crate) order: Vec<AgentId>,
    /// Background commands that had not ended: names and texts.
    pub(crate) commands: Vec<(String, String)>,
    /// The number of the last message that was sent.
    pub(crate) last_mail: MailId,
    /// When the newest event happened.
    last_ms: u64,
}

/// One agent, as far as it has come.
pub(crate) struct ReplayedAgent {
    pub(crate) who: AgentIdentity,
    pub(crate) parent: Option<AgentId>,
    pub(crate) model: PricedModel,
    pub(crate) grant: Grant,
    pub(crate) budget: Budget,
    pub(crate) continues: Option<AgentId>,
    pub(crate) brief: Option<Brief>,
    pub(crate) admitted_at: Seq,
    pub(crate) isolation: Isolation,
    pub(crate) branch: Option<Branch>,
    /// The worker or the label of workers that it runs on.
    pub(crate) on: Option<String>,
    /// The last epoch on record, and the worker that had it.
    pub(crate) epoch: u64,
    pub(crate) worker: Option<WorkerRun>,
    /// How many events of it workers have told.
    pub(crate) told_by_workers: u64,
    /// What it was begun with; none if it had not begun.
    pub(crate) begun: Option<ReplayedConversation>,
    pub(crate) effects: Effects,
    pub(crate) report: Option<Report>,
    pub(crate) end: Option<KnownEnd>,
    /// How it had ended before it was resumed.
    reopened: Option<(KnownEnd, Report)>,
    pub(crate) delivered: bool,
    /// The question that waited for a person.
    pub(crate) asking: Option<Question>,
    /// Words that came before it had begun.
    pub(crate) mail: Vec<Mail>,
    /// What its earlier prompts came to, and when it rested last.
    pub(crate) past: PastPrompts,
    pub(crate) rested_at: Option<Seq>,
    clock: PastClock,
    /// The conversation it takes up, or is a fork of.
    pub(crate) known: Vec<Arc<Message>>,
    /// What its requests begin with where it takes up the conversation of another: all of it is the other's.
    borrowed: Option<Conversation>,
    /// The calls of its last reply that have no answer, and where that is on record.
    calls: HashMap<CallId, ToolCall>,
    replied_at: Option<Seq>,
}

/// An agent that has begun.
pub(crate) struct ReplayedConversation {
    /// Without messages: those are recalled.
    pub(crate) conversation: Conversation,
    pub(crate) recall: Recall,
}

/// An agent's working time, from the times of events.
#[derive(Default)]
struct PastClock {
    worked_ms: u64,
    /// Since when it runs; none while it stands still.
    since_ms: Option<u64>,
    /// For how many questions to a person it stands still: its own, and those of agents below it.
    questions: usize,
}

impl PastClock {
    fn begin(&mut self, at_ms: u64, worked_ms: u64) {
        *self = Self { worked_ms, since_ms: Some(at_ms), questions: 0 };
    }

    /// Nobody works any more.
    fn end(&mut self, at_ms: u64) {
        let since_ms = self.since_ms.take().unwrap_or(at_ms);
        self.worked_ms = self.worked_ms.saturating_add(at_ms.saturating_sub(since_ms));
        self.questions = 0;
    }

    /// It waited until now for a machine to work on.
    fn waited(&mut self, at_ms: u64) {
        self.since_ms = self.since_ms.map(|_| at_ms);
    }

    fn asked(&mut self, at_ms: u64) {
        let questions = self.questions + 1;
        self.end(at_ms);
        self.questions = questions;
    }

    fn answered(&mut self, at_ms: u64) {
        if self.questions == 1 {
            self.since_ms = Some(at_ms);
        }
        self.questions = self.questions.saturating_sub(1);
    }
}

impl<'a> Replay<'a> {
    pub(crate) fn new(crew: &'a Arc<Crew>, grant: Grant) -> Self {
        let (by_id, order, commands) = (HashMap::new(), Vec::new(), Vec::new());
        Self { crew, grant, by_id, order, commands, last_mail: MailId::default(), last_ms: 0 }
    }

    pub(crate) fn take(&mut self, id: AgentId) -> Option<ReplayedAgent> {
        let mut replayed = self.by_id.remove(&id)?;
        replayed.clock.end(self.last_ms);
        Some(replayed)
    }

    fn is_elsewhere(&self, agent: AgentId) -> bool {
        self.by_id.get(&agent).is_some_and(|replayed| replayed.on.is_some())
    }

    /// Takes in one event of the session, in order.
    pub(crate) fn event(&mut self, event: Event) {
        let Event { seq, agent, parent, at_ms, kind, .. } = event;
        self.time_passes(agent, at_ms, &kind);
        match &kind {
            EventKind::AgentAdmitted { .. } => return self.admitted(seq, agent, parent, kind),
            EventKind::AgentStarted { .. } => return self.started(seq, agent, parent, at_ms, &kind),
            // Those on a worker may run on; it tells how they end.
            EventKind::BackgroundStarted { .. } if self.is_elsewhere(agent) => {}
            EventKind::BackgroundStarted { name, command } => {
                self.commands.push((name.clone(), command.clone()))
            }
            EventKind::BackgroundEnded { name, .. } => self.commands.retain(|(other, _)| other != name),
            EventKind::ReportsDelivered { agents } => {
                for id in agents {
                    if let Some(replayed) = self.by_id.get_mut(id) {
                        replayed.delivered = true;
                    }
                }
            }
            EventKind::Mailed { id, .. } => self.last_mail = self.last_mail.max(*id),
            // What it had claimed and not done is open again.
            EventKind::AgentSettled { .. } => drop(self.crew.board(|board| board.release_all(agent))),
            _ => {}
        }
        let Some(replayed) = self.by_id.get_mut(&agent) else { return };
        if replayed.on.is_some() && travels(&kind) {
            replayed.told_by_workers += 1;
        }
        match (&mut replayed.begun, &kind) {
            (Some(begun), _) => begun.recall.event(&kind),
            (None, _) => Mail::follow(&mut replayed.mail, &kind),
        }
        match kind {
            EventKind::Replied { reply, .. } => {
                replayed.replied_at = Some(seq);
                replayed.calls = reply.calls.into_iter().map(|call| (call.id.clone(), call)).collect();
            }
            EventKind::ToolFinished { call, ok, effects, .. } => {
                replayed.effects.add(&effects, 0);
                let call = replayed.calls.remove(&call).filter(|_| ok);
                if let Some(call) = call {
                    self.used_board(agent, &call);
                }
            }
            EventKind::PersonNeeded { question } => replayed.asking = Some(question),
            EventKind::AgentPlaced { worker, epoch, run, lease_ms } => {
                (replayed.worker, replayed.epoch) = (Some(WorkerRun { worker, run, lease_ms }), epoch);
            }
            EventKind::PersonAnswered { .. } => replayed.asking = None,
            EventKind::CheckedOut { branch, base } => {
                // One on a worker that continues earlier work begins where that ended.
                let earlier = replayed.branch.take().filter(|_| replayed.on.is_some());
                let tip = earlier.map_or_else(|| base.clone(), |earlier| earlier.tip);
                replayed.branch = Some(Branch { name: branch, base, tip, diff: String::new() });
            }
            kind => replayed.live(seq, at_ms, kind),
        }
    }

    /// Working time is what passes between an agent's beginning and its end, while its process runs. While a person is
    /// asked it stands still for whoever asks and for all above, who may wait for it.
    fn time_passes(&mut self, agent: AgentId, at_ms: u64, kind: &EventKind) {
        let before_ms = std::mem::replace(&mut self.last_ms, at_ms);
        match kind {
            EventKind::PersonNeeded { .. } => self.line_of(agent, |clock| clock.asked(at_ms)),
            EventKind::PersonAnswered { .. } => self.line_of(agent, |clock| clock.answered(at_ms)),
            EventKind::AgentPlaced { epoch: 1, .. } => {
                if let Some(replayed) = self.by_id.get_mut(&agent) {
                    replayed.clock.waited(at_ms);
                }
            }
            EventKind::AgentSettled { .. } | EventKind::AgentRested { .. } => {
                if let Some(replayed) = self.by_id.get_mut(&agent) {
                    replayed.clock.end(at_ms);
                }
            }
            // It was gone since nobody knows when: what is on record before is the last sign of life.
            EventKind::SessionInterrupted { .. } => {
                self.by_id.values_mut().for_each(|replayed| replayed.clock.end(before_ms));
            }
            _ => {}
        }
    }

    /// The clocks of an agent and of all above it.
    fn line_of(&mut self, agent: AgentId, change: impl Fn(&mut PastClock)) {
        let mut next = Some(agent);
        while let Some(replayed) = next.and_then(|id| self.by_id.get_mut(&id)) {
            change(&mut replayed.clock);
            next = replayed.parent;
        }
    }

    /// What agents did with the team's board is done again: it is nowhere else.
    fn used_board(&self, agent: AgentId, call: &ToolCall) {
        let Some(delegation) = self.crew.delegation.as_ref().filter(|delegation| delegation.team) else {
            return;
        };
        if delegation.surface.owns(&call.name, true)
            && let Ok(AgentCommand::Board(command)) = delegation.surface.parse(call, true)
        {
            let _ = team::board(self.crew, agent, command);
        }
    }

    fn admitted(&mut self, seq: Seq, id: AgentId, parent: Option<AgentId>, kind: EventKind) {
        let EventKind::AgentAdmitted { name, role, depth, title, context, continues, brief, .. } = kind
        else {
            return;
        };
        let brief = brief.map(|brief| *brief);
        let mut replayed = self.unknown_agent(seq, id, parent, &role, depth);
        (replayed.who.name, replayed.who.title, replayed.continues) = (name, title, continues);
        let from = match context {
            _ if continues.is_some() => continues,
            ContextMode::Fork => parent,
            _ => None,
        };
        let from = from.and_then(|from| self.by_id.get(&from));
        if let Some(ReplayedAgent { begun: Some(from), .. }) = from {
            let all = continues.is_some();
            let conversation = from.recall.agent().conversation().messages();
            replayed.known = if all { conversation } else { from.recall.last_request() }.to_vec();
            replayed.borrowed = Some(from.conversation.clone());
        }
        if let Some(brief) = &brief {
            replayed.grant = self.narrowed(parent, &brief.grant);
            replayed.budget = brief.budget;
            replayed.model = self.model(&brief.model);
            if let Some(words) = &brief.system_prompt {
                replayed.who.role.prompt.clone_from(words);
            }
            (replayed.isolation, replayed.branch) = (brief.isolation, brief.branch.clone());
            replayed.on.clone_from(&brief.on);
        }
        replayed.brief = brief;
        self.order.push(id);
        self.by_id.insert(id, replayed);
    }

    fn started(&mut self, seq: Seq, id: AgentId, parent: Option<AgentId>, at_ms: u64, kind: &EventKind) {
        let EventKind::AgentStarted { role, depth, model, budget, grant, system, checkout, .. } = kind else {
            return;
        };
        let mut replayed = match self.by_id.remove(&id) {
            Some(replayed) => replayed,
            None => {
                self.order.push(id);
                self.unknown_agent(seq, id, parent, role, *depth)
            }
        };
        // What the main agent may do is the person's to say, today; what others may is never more.
        replayed.grant = if parent.is_none() { self.grant.clone() } else { self.narrowed(parent, grant) };
        // Whoever resumes the session chooses the main agent's model.
        let main = || self.crew.models.main().clone();
        replayed.model = if parent.is_none() { main() } else { self.model(model) };
        replayed.budget = *budget;
        if checkout.is_some() {
            replayed.isolation = Isolation::Worktree;
        }
        replayed.clock.begin(at_ms, 0);
        let mut begun = self.begin(&replayed, system.clone());
        for Mail { id, from, words, is_prompt } in std::mem::take(&mut replayed.mail) {
            let Words { text, attachments } = words;
            begun.recall.event(&EventKind::Mailed { id, from, text, is_prompt, attachments });
        }
        replayed.begun = Some(begun);
        self.by_id.insert(id, replayed);
    }

    /// What an agent begins with, but for its task.
    pub(crate) fn begin(&self, replayed: &ReplayedAgent, system: String) -> ReplayedConversation {
        let own = || match replayed.parent {
            None => main_tools(self.crew, &replayed.grant).1,
            Some(_) => self.offers(replayed),
        };
        let tools = replayed.borrowed.as_ref().map_or_else(own, |borrowed| Arc::clone(&borrowed.tools));
        let max_output_tokens = match &replayed.borrowed {
            None => replayed.brief.as_ref().and_then(|brief| brief.max_output_tokens),
            // It sends the other's bytes, without a limit of its own; to another model they are encoded anew.
            Some(borrowed) => {
                borrowed.max_output_tokens.filter(|_| borrowed.model.name() == replayed.model.name())
            }
        };
        let conversation = Conversation::new(replayed.model.clone(), system, tools, max_output_tokens);
        let depth = replayed.who.depth;
        let settings =
            conversation.settings(replayed.budget, self.crew.sum_up_over(depth), self.crew.stays_at(depth));
        ReplayedConversation { recall: Recall::new(settings, &replayed.known), conversation }
    }

    fn offers(&self, replayed: &ReplayedAgent) -> Arc<[ToolSpec]> {
        let toolbox = replayed.toolbox(self.crew);
        let delegation = self.crew.delegation.as_ref();
        let roles = delegation.map(|d| roles_for(d, &replayed.grant, replayed.who.depth)).unwrap_or_default();
        shared_offer(self.crew, &toolbox, &roles, &replayed.grant)
    }

    /// An agent of which only this is known.
    fn unknown_agent(
        &self,
        seq: Seq,
        id: AgentId,
        parent: Option<AgentId>,
        role: &str,
        depth: u32,
    ) -> ReplayedAgent {
        ReplayedAgent {
            who: AgentIdentity {
                id,
                name: if parent.is_none() { "main".to_string() } else { role.to_string() },
                title: String::new(),
                depth,
                role: self.role(role),
            },
            parent,
            model: self.crew.models.main().clone(),
            grant: Grant::none(),
            budget: Budget::UNLIMITED,
            continues: None,
            brief: None,
            admitted_at: seq,
            isolation: Isolation::Shared,
            branch: None,
            on: None,
            epoch: 0,
            worker: None,
            told_by_workers: 0,
            begun: None,
            effects: Effects::default(),
            report: None,
            end: None,
            reopened: None,
            delivered: false,
            asking: None,
            mail: Vec::new(),
            past: PastPrompts::default(),
            rested_at: None,
            clock: PastClock::default(),
            known: Vec::new(),
            borrowed: None,
            calls: HashMap::new(),
            replied_at: None,
        }
    }

    /// A role as it is today; one that is gone is kept by name, with no rights to give.
    fn role(&self, name: &str) -> Role {
        let found = self.crew.delegation.as_ref().and_then(|delegation| delegation.roles.find(name).ok());
        found.cloned().unwrap_or_else(|| Role {
            name: name.to_string(),
            origin: RoleOrigin::BuiltIn,
            ..main_role(Grant::none(), Budget::UNLIMITED)
        })
    }

    /// A model by its configured name; the main agent's if it is not there any more.
    fn model(&self, name: &str) -> PricedModel {
        let models = &self.crew.models;
        models.reach(Some(name), None).unwrap_or_else(|_| models.main().clone())
    }

    /// Rights only narrow: what is on record, met with what the parent has now.
    fn narrowed(&self, parent: Option<AgentId>, grant: &Grant) -> Grant {
        match parent.and_then(|parent| self.by_id.get(&parent)) {
            Some(parent) => meet(&parent.grant, grant),
            None => Grant::none(),
        }
    }
}

impl ReplayedAgent {
    /// Takes in how it begins again, rests and ends.
    fn live(&mut self, seq: Seq, at_ms: u64, kind: EventKind) {
        match kind {
            EventKind::AgentResumed { elapsed_ms, budget, .. } => {
                self.clock.begin(at_ms, elapsed_ms);
                self.budget = budget;
                self.reopened = self.end.take().zip(self.report.take()).or(self.reopened.take());
            }
            EventKind::BudgetRaised { budget } => self.budget = budget,
            EventKind::AgentWoken { elapsed_ms, budget } => {
                self.clock.begin(at_ms, elapsed_ms);
                (self.budget, self.report, self.end) = (budget, None, None);
            }
            EventKind::AgentRested { report: None } => {
                if let Some((end, report)) = self.reopened.take() {
                    (self.end, self.report) = (Some(end), Some(report));
                }
            }
            EventKind::AgentRested { report: Some(report) } => {
                self.past.add(&report.receipt);
                self.effects = Effects::default();
                self.rested_at = Some(seq);
                let (ending, receipt) = (report.ending.clone(), report.receipt.clone());
                self.end = Some(KnownEnd { at: seq, ending, receipt });
                self.report = Some(report);
            }
            EventKind::AgentSettled { report } => {
                let (ending, receipt) = (report.ending.clone(), report.receipt.clone());
                self.end = Some(KnownEnd { at: seq, ending, receipt });
                self.report = Some(report);
            }
            _ => {}
        }
    }

    /// The tools it has now.
    pub(crate) fn toolbox(&self, crew: &Crew) -> Toolbox {
        let AgentIdentity { id, role, depth, .. } = &self.who;
        let knowledge = match &self.on {
            Some(_) => Knowledge { sub_agent: true, ..Knowledge::default() },
            None => crew.knowledge(role, *depth),
        };
        toolbox_knowing(crew, &crew.site(*id).workspace, &self.grant, *id, knowledge, &self.model)
    }

    /// Whose turn it waits for: that of its model, unless the model is a worker's own.
    pub(crate) fn endpoint(&self, crew: &Crew) -> Endpoint {
        crew.endpoint(&self.model, self.on.as_deref())
    }

    /// How long it had worked.
    pub(crate) fn worked_ms(&self) -> u64 {
        self.clock.worked_ms
    }

    /// Why it cannot go on, if it cannot.
    pub(crate) fn cannot_go_on(&self) -> Option<&'static str> {
        match (&self.begun, &self.brief, self.replied_at) {
            (None, _, Some(_)) => Some("its beginning is damaged on record"),
            (None, None, None) => Some("what it was asked to do is not on record"),
            _ => None,
        }
    }

    /// What it is told first, if nothing was said to it yet.
    pub(crate) fn first_words(&self) -> Option<(Sender, Words)> {
        self.brief.as_ref().map(|brief| (Sender::Parent, brief.words.as_str().into()))
    }

    /// The system prompt of the agent whose conversation it begins with.
    pub(crate) fn borrowed_system(&self) -> Option<&str> {
        self.borrowed.as_ref().map(|borrowed| borrowed.system.as_str())
    }

    /// Whether a call that had started an agent still waits for its answer. Ids may come again in later replies; where
    /// replies are not on record, all of them may.
    pub(crate) fn awaits(&self, call: &CallId, admitted_at: Seq) -> bool {
        self.replied_at.is_none_or(|at| at < admitted_at && self.calls.contains_key(call))
    }
}
