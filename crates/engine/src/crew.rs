//! All agents of one session: the tree that says who may run, and what the engine holds for each of them.
//!
//! Everything that several agents touch is behind one lock here, which is never held across a wait. Drivers own the rest.

pub(crate) mod background;
pub(crate) mod mail;
mod taking_over;
pub(crate) mod waiting;

pub(crate) use taking_over::ReplayedCrew;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_agent::{Kin, Mail};
use posse_delegate::{
    Admission, Board, Freed, Node, Refusal, Request, State as AgentState, StatusLook, Tree,
};
use posse_protocol::{
    AgentId, Below, CallId, ChildEnded, CommandRun, Effect, Ending, EventKind, MailId, Receipt, Report, Spent,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agents::clock::Clock;
use crate::agents::finished::{FinishedAgent, FinishedAgents};
use crate::agents::process_slots::ProcessSlot;
use crate::agents::receipt::Inherited;
use crate::agents::session_parts::SessionParts;
use crate::agents::start::{AgentIdentity, AgentStart};
use crate::changes::site::Site;
use crate::crew::background::Background;
use crate::crew::mail::Wanted;

/// Shared by the drivers of one session; ends with the last of them.
pub(crate) struct Crew {
    parts: SessionParts,
    inner: Mutex<Inner>,
    /// Says that an agent has ended, whoever waits.
    ended: watch::Sender<()>,
    /// Cancelled once the first events of a new session are handed to the record: nothing may come before them.
    pub(crate) begun: CancellationToken,
    /// Commands that run beside the agents.
    pub(crate) background: Background,
    /// Runs an agent whose turn has come.
    start_agent: StartAgent,
}

/// Sets an agent to work on a task of its own. Handed to the crew, which knows no drivers.
pub(crate) type StartAgent = fn(&Arc<Crew>, AgentStart);

impl Deref for Crew {
    type Target = SessionParts;

    fn deref(&self) -> &SessionParts {
        &self.parts
    }
}

struct Inner {
    tree: Tree,
    members: HashMap<AgentId, Member>,
    board: Board,
    finished: FinishedAgents,
    /// Agents that were started by calls which had no answer when their process ended.
    started_by: HashMap<(AgentId, CallId), AgentId>,
    /// Whose turn it is with the only agent of a role, by role.
    turns: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
    /// The number of the last message that was sent.
    last_mail: MailId,
    /// How to let go of the drivers; none once that was done.
    drivers: Option<Vec<AbortHandle>>,
    /// What goes on beside the agents and ends with the session.
    beside: Vec<AbortOnDropHandle<()>>,
}

/// What is held for an agent until it settles.
struct Member {
    signals: AgentSignals,
    /// Words that wait for its next turn, and prompts that wait until it has answered the one before.
    mail: Vec<Mail>,
    /// What the person wants of it besides.
    wanted: Wanted,
    /// Whether it takes no more messages: its last turn has begun.
    mailbox_closed: bool,
    /// How many of its calls wait for sub-agents.
    waits: usize,
    /// Its slot among the agents of the process, while it holds one. The main agent needs none.
    process_slot: Option<ProcessSlot>,
    /// What its sub-agents did, as far as they have ended.
    inherited: Inherited,
    /// Its background commands that have ended, and what they changed, until it takes them in.
    ended_jobs: Vec<(CommandRun, Vec<Effect>)>,
    /// Where it works.
    site: Arc<Site>,
    state: StartState,
    /// Whether it runs on a worker.
    elsewhere: bool,
    /// Whether it has yet to find out where it works: it had begun in another process.
    moving: bool,
    /// The name of its model, where it had begun in another process.
    model: String,
}

impl Member {
    fn new(site: Arc<Site>, state: StartState) -> Self {
        let model = match &state {
            StartState::Ready(start) => start.conversation.model.name().to_string(),
            _ => String::new(),
        };
        Self {
            elsewhere: false,
            moving: false,
            model,
            site,
            signals: AgentSignals::default(),
            mail: Vec::new(),
            wanted: Wanted::default(),
            mailbox_closed: false,
            waits: 0,
            process_slot: None,
            inherited: Inherited::default(),
            ended_jobs: Vec::new(),
            state,
        }
    }
}

/// Where an agent is on its way to its driver.
enum StartState {
    /// Being put together; `go` once its turn has come.
    Preparing { go: bool },
    /// Waits for its turn.
    Ready(Box<AgentStart>),
    /// With its driver.
    Driven,
}

/// How others reach an agent's driver.
#[derive(Clone, Default)]
pub(crate) struct AgentSignals {
    /// Stops it.
    pub(crate) cancel: CancellationToken,
    /// Something waits for it: mail, a report, its turn to go on.
    pub(crate) news: watch::Sender<()>,
    /// Mail that does not wait for the end of what it does.
    pub(crate) interrupt: watch::Sender<()>,
    /// Its working time.
    pub(crate) clock: Clock,
}

/// What has come in for an agent.
pub(crate) struct News {
    pub(crate) kin: Kin,
    pub(crate) mail: Vec<Mail>,
    pub(crate) reports: Vec<Arc<FinishedAgent>>,
    /// Reports that home has put into words, where the agent is on a worker: the text, and whose they are.
    pub(crate) worded: Vec<(String, Vec<AgentId>)>,
}

impl Crew {
    pub(crate) fn new(parts: SessionParts, tree: Tree, start_agent: StartAgent) -> Arc<Self> {
        let members = HashMap::from([(parts.main, Member::new(Arc::clone(&parts.site), StartState::Driven))]);
        let inner = Inner {
            tree,
            members,
            board: Board::default(),
            finished: FinishedAgents::default(),
            started_by: HashMap::new(),
            turns: HashMap::new(),
            last_mail: MailId::default(),
            drivers: Some(Vec::new()),
            beside: Vec::new(),
        };
        let crew = Arc::new(Self {
            parts,
            inner: Mutex::new(inner),
            ended: watch::Sender::default(),
            begun: CancellationToken::new(),
            background: Background::default(),
            start_agent,
        });
        background::follow(&crew);
        crew
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the tree, or changes something in it that frees no slot.
    pub(crate) fn tree<T>(&self, look: impl FnOnce(&mut Tree) -> T) -> T {
        look(&mut self.lock().tree)
    }

    pub(crate) fn board<T>(&self, use_it: impl FnOnce(&mut Board) -> T) -> T {
        use_it(&mut self.lock().board)
    }

    pub(crate) fn signals(&self, id: AgentId) -> AgentSignals {
        self.lock().members.get(&id).map(|member| member.signals.clone()).unwrap_or_default()
    }

    /// Where an agent works, and those it starts unless they get a checkout.
    pub(crate) fn site(&self, id: AgentId) -> Arc<Site> {
        self.lock().members.get(&id).map_or_else(|| Arc::clone(&self.site), |member| Arc::clone(&member.site))
    }

    /// Records where an agent works, and wakes the children that wait for it.
    pub(crate) fn set_site(&self, id: AgentId, site: Arc<Site>) {
        let mut inner = self.lock();
        if let Some(member) = inner.members.get_mut(&id) {
            (member.site, member.moving) = (site, false);
        }
        // Those below may wait for it.
        inner.members.values().for_each(|member| member.signals.news.send_replace(()));
    }

    /// Keeps something going beside the agents, until the session ends. It must not hold the crew.
    pub(crate) fn keep_beside(&self, going: AbortOnDropHandle<()>) {
        let mut inner = self.lock();
        inner.beside.retain(|going| !going.is_finished());
        inner.beside.push(going);
    }

    /// Whether an agent runs on a worker.
    pub(crate) fn is_elsewhere(&self, id: AgentId) -> bool {
        self.lock().members.get(&id).is_some_and(|member| member.elsewhere)
    }

    pub(crate) fn name(&self, id: AgentId) -> String {
        self.tree(|tree| tree.node(id).map(|node| node.name.clone())).unwrap_or_default()
    }

    /// Admits a task: from here on its agent exists. What it runs with follows by `make_ready`.
    pub(crate) fn admit(&self, request: Request) -> Result<Admission, Refusal> {
        let mut inner = self.lock();
        let (id, parent) = (request.id, request.parent);
        let admission = inner.tree.admit(request)?;
        let site = inner
            .members
            .get(&parent)
            .map_or_else(|| Arc::clone(&self.site), |member| Arc::clone(&member.site));
        inner.members.insert(id, Member::new(site, StartState::Preparing { go: admission.queued.is_none() }));
        Ok(admission)
    }

    /// Takes what an admitted agent runs with, and starts it if its turn has come.
    pub(crate) fn make_ready(self: &Arc<Self>, start: AgentStart) {
        let mut inner = self.lock();
        let Some(member) = inner.members.get_mut(&start.who.id) else { return };
        member.elsewhere = start.on.is_some();
        if member.signals.cancel.is_cancelled() {
            member.state = StartState::Driven;
            drop(inner);
            return self.settle_unstarted(start);
        }
        match member.state {
            StartState::Preparing { go: true } => {
                member.state = StartState::Driven;
                drop(inner);
                (self.start_agent)(self, start);
            }
            _ => member.state = StartState::Ready(Box::new(start)),
        }
    }

    /// Starts those whose turn has come, and tells those that may go on.
    fn start_freed(self: &Arc<Self>, freed: Freed) {
        let mut begin = Vec::new();
        {
            let mut inner = self.lock();
            for id in freed.go_on {
                if let Some(member) = inner.members.get(&id) {
                    member.signals.news.send_replace(());
                }
            }
            for id in freed.start {
                let Some(member) = inner.members.get_mut(&id) else { continue };
                match std::mem::replace(&mut member.state, StartState::Driven) {
                    StartState::Ready(start) => begin.push(*start),
                    StartState::Preparing { .. } => member.state = StartState::Preparing { go: true },
                    StartState::Driven => {}
                }
            }
        }
        for start in begin {
            (self.start_agent)(self, start);
        }
    }

    /// Settles an agent that has nothing to go on with.
    pub(crate) fn settle_without_words(self: &Arc<Self>, id: AgentId, report: Report) {
        self.settle(id, self.without_words(id, report));
    }

    /// What is kept of an agent that has nothing to go on with.
    fn without_words(&self, id: AgentId, report: Report) -> FinishedAgent {
        let of = |node: &Node| (node.name.clone(), node.role.clone(), node.title.clone());
        let (name, role, title) = self.tree(|tree| tree.node(id).map(of)).unwrap_or_default();
        FinishedAgent { id, name, role, title, report, continuation: None }
    }

    /// Settles an agent that was stopped before it began.
    pub(crate) fn settle_unstarted(self: &Arc<Self>, start: AgentStart) {
        let crew = Arc::clone(self);
        tokio::spawn(async move {
            let AgentStart { who: AgentIdentity { id, .. }, mut journal, .. } = start;
            let (ending, receipt) = (Ending::Cancelled, Receipt::default());
            let report = Report::new(ending, "", receipt);
            journal.note(EventKind::AgentSettled { report: report.clone() });
            if let Err(error) = journal.durable().await {
                tracing::error!(%error, "the end of an agent could not be recorded");
            }
            crew.settle_without_words(id, report);
        });
    }

    /// Rejects further messages: the agent's last turn has begun.
    pub(crate) fn close_mailbox(&self, id: AgentId) {
        if let Some(member) = self.lock().members.get_mut(&id) {
            member.mailbox_closed = true;
        }
    }

    /// The reports of some sub-agents that have not been told yet; taking them delivers them.
    pub(crate) fn take_reports(&self, id: AgentId, of: &[AgentId]) -> Vec<Arc<FinishedAgent>> {
        self.lock().take_reports(id, Some(of))
    }

    /// All reports that have not been told yet; taking them delivers them.
    pub(crate) fn take_all_reports(&self, id: AgentId) -> Vec<Arc<FinishedAgent>> {
        self.lock().take_reports(id, None)
    }

    /// Whether all of these have ended.
    pub(crate) fn all_settled(&self, ids: &[AgentId]) -> bool {
        let inner = self.lock();
        ids.iter().all(|id| settled(&inner.tree, *id))
    }

    /// Whether one of these has ended.
    pub(crate) fn any_settled(&self, ids: &[AgentId]) -> bool {
        let inner = self.lock();
        ids.iter().any(|id| settled(&inner.tree, *id))
    }

    /// An agent that has ended, as long as it is kept.
    pub(crate) fn finished(&self, id: AgentId) -> Option<Arc<FinishedAgent>> {
        self.lock().finished.get(id)
    }

    /// What was measured for those whose conversation an agent took up, the last first, as long as they are kept.
    pub(crate) fn earlier(&self, id: AgentId) -> Vec<Receipt> {
        let inner = self.lock();
        let before = |id: &AgentId| inner.tree.node(*id).and_then(|node| node.continues);
        let line = std::iter::successors(before(&id), before);
        line.filter_map(|id| inner.finished.get(id)).map(|finished| finished.report.receipt.clone()).collect()
    }

    pub(crate) fn below(&self, id: AgentId) -> Below {
        self.tree(|tree| tree.family(id).below)
    }

    /// Takes what an agent's sub-agents did since it was taken last; what they used is the sum over all of them.
    pub(crate) fn take_inherited(&self, id: AgentId) -> Inherited {
        let mut inner = self.lock();
        let below = inner.tree.family(id).below;
        let Some(member) = inner.members.get_mut(&id) else { return Inherited::default() };
        let edits = member.inherited.edits;
        let taken = std::mem::replace(&mut member.inherited, Inherited { edits, ..Inherited::default() });
        Inherited { below, ..taken }
    }

    /// How often others have changed files where an agent works.
    pub(crate) fn edits(&self, id: AgentId) -> u64 {
        self.lock().members.get(&id).map_or(0, |member| member.inherited.edits)
    }

    /// An agent has changed files: whoever above it works in the same place and has tested before has to know.
    pub(crate) fn note_edit(&self, id: AgentId) {
        let mut inner = self.lock();
        let Some(site) = inner.members.get(&id).map(|member| Arc::clone(&member.site)) else { return };
        let mut at = Some(id);
        while let Some(now) = at {
            at = inner.tree.node(now).and_then(|node| node.parent);
            let Some(member) = inner.members.get_mut(&now).filter(|member| Arc::ptr_eq(&member.site, &site))
            else {
                continue;
            };
            member.inherited.tests.iter_mut().for_each(|tests| tests.edited_after = true);
            if now != id {
                member.inherited.edits += 1;
            }
        }
    }

    /// Work of another place was merged into that of an agent: what was tested before is another thing now.
    pub(crate) fn note_merge(&self, id: AgentId) {
        self.note_edit(id);
        if let Some(member) = self.lock().members.get_mut(&id) {
            member.inherited.edits += 1;
        }
    }

    /// A background command of an agent has ended.
    pub(crate) fn add_ended_job(&self, owner: AgentId, run: CommandRun, effects: Vec<Effect>) {
        if let Some(member) = self.lock().members.get_mut(&owner) {
            member.ended_jobs.push((run, effects));
        }
    }

    pub(crate) fn take_ended_jobs(&self, id: AgentId) -> Vec<(CommandRun, Vec<Effect>)> {
        self.lock()
            .members
            .get_mut(&id)
            .map(|member| std::mem::take(&mut member.ended_jobs))
            .unwrap_or_default()
    }

    /// The agent itself, or the closest one above it that is still there.
    pub(crate) fn nearest(&self, id: AgentId) -> AgentId {
        let inner = self.lock();
        let above = |id: AgentId| inner.tree.node(id).and_then(|node| node.parent);
        let mut line = std::iter::successors(Some(id), |id| above(*id));
        line.find(|id| inner.members.contains_key(id)).unwrap_or(self.main)
    }

    pub(crate) fn set_spent(&self, id: AgentId, spent: &Spent, tokens: u64) {
        self.tree(|tree| tree.spent(id, spent, tokens));
    }

    pub(crate) fn look(&self, by: AgentId, of: Option<AgentId>) -> StatusLook {
        self.tree(|tree| tree.look(by, of))
    }

    /// Stops an agent and all below it. What it said and did stays.
    pub(crate) fn cancel(self: &Arc<Self>, id: AgentId) -> usize {
        let (mut waiting, mut stopped) = (Vec::new(), 0);
        {
            let mut inner = self.lock();
            for id in inner.tree.cancel(id) {
                stopped += 1;
                let Some(member) = inner.members.get_mut(&id) else { continue };
                member.signals.cancel.cancel();
                if matches!(member.state, StartState::Ready(_))
                    && let StartState::Ready(start) = std::mem::replace(&mut member.state, StartState::Driven)
                {
                    waiting.push(*start);
                }
            }
        }
        for start in waiting {
            // One that had begun in another process has something to report.
            if start.interrupted.is_some() {
                (self.start_agent)(self, start)
            } else {
                self.settle_unstarted(start)
            }
        }
        stopped
    }

    /// Stops everything below an agent and waits until it has ended.
    pub(crate) async fn stop_below(self: &Arc<Self>, id: AgentId) {
        let children = self.tree(|tree| tree.live_children(id));
        if children.is_empty() {
            return;
        }
        let mut news = self.signals(id).news.subscribe();
        for child in &children {
            self.cancel(*child);
        }
        while !self.all_settled(&children) {
            let _ = news.changed().await;
        }
    }

    /// An agent has ended, and that is on record: its slot and what it did not spend go back, its parent is told.
    pub(crate) fn settle(self: &Arc<Self>, id: AgentId, finished: FinishedAgent) {
        let freed = {
            let mut inner = self.lock();
            let Some(settled) = inner.tree.settle(id, &finished.report.ending, &finished.report.receipt)
            else {
                return;
            };
            inner.members.remove(&id);
            inner.board.release_all(id);
            inner.inherit(id, &finished.report);
            inner.finished.put(finished);
            // Those further up may wait for it as well.
            let parent = |id: AgentId| inner.tree.node(id).and_then(|node| node.parent);
            for above in std::iter::successors(parent(id), |id| parent(*id)) {
                if let Some(member) = inner.members.get(&above) {
                    member.signals.news.send_replace(());
                }
            }
            settled.freed
        };
        self.start_freed(freed);
        self.ended.send_replace(());
    }
}

impl Inner {
    /// What an agent that has ended did counts for its parent.
    fn inherit(&mut self, id: AgentId, report: &Report) {
        let Some(node) = self.tree.node(id) else { return };
        let (name, role, ending) = (node.name.clone(), node.role.clone(), report.ending.clone());
        if let Some(member) = node.parent.and_then(|parent| self.members.get_mut(&parent)) {
            member.inherited.add(id, ChildEnded { name, role, ending }, &report.receipt);
        }
    }

    fn take_reports(&mut self, id: AgentId, of: Option<&[AgentId]>) -> Vec<Arc<FinishedAgent>> {
        let mut taken = self.tree.take_reports(id, of);
        // What is told together is told in the order in which it was begun, so that a recording can be played back.
        taken.sort_unstable();
        taken.into_iter().filter_map(|id| self.finished.get(id)).collect()
    }
}

fn settled(tree: &Tree, id: AgentId) -> bool {
    tree.node(id).is_none_or(|node| matches!(node.state, AgentState::Settled(_)))
}

fn kin(tree: &Tree, id: AgentId) -> Kin {
    let family = tree.family(id);
    Kin {
        live: family.live,
        tokens: family.tokens.saturating_add(family.reserved_tokens),
        cost_usd: family.cost_usd + family.reserved_cost_usd,
    }
}
