//! Runs one agent of another machine's session: on a worker it is the only agent of a session of its own, whose record is the
//! worker's journal. What happens to it goes to its home; the tree, the person and the models' keys may be there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_agent::{Mail, Next, Recall};
use posse_model::Model;
use posse_policy::meet;
use posse_protocol::{
    AgentId, Answer, Budget, CallId, Ending, Event, EventKind, Failure, Grant, Isolation, KeptFile, MailId,
    Network, ProgressKind, Receipt, Report, Sender, Seq, SessionId, Update, visible::one_line,
};
use posse_roles::{Roles, Team};
use posse_store::Store;
use posse_surface::Surface;
use posse_tools::{MoveError, ToolSettings};

use crate::agents::conversation::Conversation;
use crate::agents::offer::toolbox;
use crate::agents::past_prompts::PastPrompts;
use crate::agents::receipt::Effects;
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, InterruptedAgent};
use crate::agents::sub_agents::{Delegation, Limits, SubAgents};
use crate::changes::checkouts;
use crate::changes::site::Site;
use crate::crew::Crew;
use crate::error::EngineError;
use crate::limits::{KEPT_AT_ONCE_BYTES_MAX, MOVE_AGAIN_MS, MOVE_ELSEWHERE_MS_MAX};
use crate::models::choice::{Models, PricedModel};
use crate::record::journal::Journal;
use crate::record::new_session_id;
use crate::remote::{
    Home, HomeLink, HomeModel, HostCommand, HostedEnd, HostedItem, HostedTask, kept, travels,
};
use crate::rights::approvals::{AnswerOutcome, ApprovalSettings};
use crate::session::Session;
use crate::session::opening::Opening;
use crate::session::process_parts::ProcessParts;
use crate::session::request::{KnowledgeSettings, SessionRequest};

/// What a worker needs to run an agent.
pub struct HostRequest {
    /// The agent.
    pub task: HostedTask,
    /// Its folder: a checkout of its own.
    pub folder: PathBuf,
    /// The worker's own models; none if it has none.
    pub models: Option<Models>,
    /// How its tools behave here.
    pub tools: ToolSettings,
    /// The most that any agent may do here.
    pub ceiling: Grant,
    /// The way to its home.
    pub home: Arc<dyn HomeLink>,
}

/// An agent of another machine's session that runs here.
pub struct HostedAgent {
    session: Session,
    crew: Weak<Crew>,
    /// Its folder: what it changed last is looked at when the rest of it has ended.
    site: Arc<Site>,
    home: Arc<Home>,
    agent: AgentId,
    store: Store,
    /// Where what its files were is kept.
    kept: PathBuf,
    /// Files that were changed since the last event for home, and their contents.
    changed: ChangedFiles,
    /// How many files were too much for home to keep.
    unkept: usize,
    /// An event that is being looked at.
    pending: Option<Arc<Event>>,
}

/// Files, and their contents by SHA-256.
type ChangedFiles = (Vec<KeptFile>, Vec<(String, Vec<u8>)>);

/// What happened to an agent that runs here.
#[derive(Debug)]
pub enum HostedUpdate {
    /// Something for home's record, with the contents of the files that it names.
    Item(Box<HostedItem>, Vec<(String, Vec<u8>)>),
    /// Something to show.
    Progress(ProgressKind),
}

/// Begins to run an agent, or continues where another worker was lost.
pub(crate) fn host(process: &ProcessParts, request: HostRequest) -> Result<HostedAgent, EngineError> {
    let HostRequest { task, folder, models, tools, ceiling, home } = request;
    if !tools.sandbox.on {
        return Err(EngineError::Refused("A worker without a sandbox runs no agents.".to_string()));
    }
    let home = Arc::new(Home::new(home, task.sum_up_over));
    let model = model_of(&task, models.as_ref(), &home)?;
    let grant = meet(&task.grant, &ceiling);
    let id = new_session_id();
    let session = SessionRequest {
        workspace: folder,
        prompt: String::new(),
        attachments: Vec::new(),
        models: Models::new(model.model.clone(), model.prices),
        grant: grant.clone(),
        budget: task.budget,
        stay: false,
        tools,
        project: None,
        delegation: Some(delegation(&task)?),
        approvals: ApprovalSettings { rules: task.rules.clone(), person: task.person },
        knowledge: KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers: None,
        traceparent: None,
        watcher: None,
    };
    let (agent, kept) = (task.agent, checkouts::kept(&process.data_dir, id));
    let opening = Opening { id, agent, after: Seq(0), began_within: None, home: Some(Arc::clone(&home)) };
    let (crew, updates) = opening.open(process, session, &grant, Opening::lock(process, id)?)?;
    let start = start(&crew, task, grant);
    let (weak, site) = (Arc::downgrade(&crew), Arc::clone(&crew.site));
    let session = Session::drive(process, crew, start, updates);
    let (changed, pending, store) = (ChangedFiles::default(), None, process.store.clone());
    Ok(HostedAgent { session, crew: weak, site, home, agent, store, kept, changed, unkept: 0, pending })
}

/// The model that the agent uses: one of the worker's own, or one that home calls.
fn model_of(task: &HostedTask, own: Option<&Models>, home: &Arc<Home>) -> Result<PricedModel, EngineError> {
    if task.model.at_home {
        let calls = HomeModel(Arc::clone(home));
        let model = Model::elsewhere(task.model.config(), Arc::new(calls));
        return Ok(PricedModel { model, prices: task.model.prices });
    }
    let lacks = || EngineError::Refused(format!("This worker has no model {}.", task.model.name));
    own.and_then(|own| own.named(&task.model.name)).cloned().ok_or_else(lacks)
}

/// What a worker has to know of delegation: how calls of its tools are read. Home carries them out.
fn delegation(task: &HostedTask) -> Result<Delegation, EngineError> {
    let unknown = |_| EngineError::Refused(format!("This worker knows no surface {:?}.", task.surface));
    Ok(Delegation {
        surface: task.surface.parse::<Surface>().map_err(unknown)?,
        roles: Roles::builtin(Team::Without),
        limits: Limits::default(),
        sub_agents: SubAgents::default(),
        coordinator: false,
        team: task.team,
        trusted_files: std::collections::BTreeSet::new(),
    })
}

fn start(crew: &Arc<Crew>, task: HostedTask, grant: Grant) -> AgentStart {
    let model = crew.models.main().clone();
    let toolbox = toolbox(crew, &crew.site.workspace, &grant, task.agent, &task.role, task.depth, &model);
    let mut conversation =
        Conversation::new(model, task.system.clone(), task.tools.clone().into(), task.max_output_tokens);
    let mut journal = crew.main_journal();
    journal.note(EventKind::SessionStarted {
        workspace: crew.site.folder.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        sandboxed: crew.tools.sandbox.on,
        project: crew.project_path.clone(),
        surface: task.surface.clone(),
        coordinator: false,
        team: task.team,
        traceparent: None,
    });
    let had_begun = task.so_far.iter().any(|kind| matches!(kind, EventKind::Told { .. }));
    let interrupted = had_begun.then(|| {
        journal.note(started(&task, &conversation, &grant));
        let taken_over = taken_over(crew, &task, &conversation, &grant, &mut journal);
        for mail in gone_commands(&task, &mut journal) {
            crew.deliver(task.agent, mail, false);
        }
        Box::new(taken_over)
    });
    if interrupted.is_none() {
        conversation.extend(&task.known);
    }
    let told = interrupted.is_none().then_some((Sender::Parent, task.words));
    let context_files = if told.is_some() { task.context_files } else { Vec::new() };
    AgentStart {
        who: AgentIdentity {
            id: task.agent,
            name: task.name,
            title: task.title,
            depth: task.depth,
            role: task.role,
        },
        grant,
        budget: task.budget,
        toolbox,
        conversation,
        task: FirstTask { told, context_files, deliverables: task.deliverables },
        forked: Vec::new(),
        mail: Vec::new(),
        isolation: Isolation::Shared,
        branch: None,
        on: None,
        placed: None,
        journal,
        resumed: false,
        interrupted,
    }
}

/// That an agent has begun, on another worker.
fn started(task: &HostedTask, conversation: &Conversation, grant: &Grant) -> EventKind {
    let config = conversation.model.model.config();
    EventKind::AgentStarted {
        role: task.role.name.clone(),
        depth: task.depth,
        model: config.name.clone(),
        model_id: config.model.clone(),
        budget: task.budget,
        grant: grant.clone(),
        system: conversation.system.clone(),
        checkout: None,
    }
}

/// An agent as another worker left it. A question that was open there is taken back.
fn taken_over(
    crew: &Crew,
    task: &HostedTask,
    conversation: &Conversation,
    grant: &Grant,
    journal: &mut Journal,
) -> InterruptedAgent {
    let settings = conversation.settings(task.budget, crew.sum_up_over(task.depth), false);
    let mut recall = Recall::new(settings, &task.known);
    let (mut effects, mut asking) = (Effects::default(), None);
    for kind in &task.so_far {
        recall.event(kind);
        match kind {
            EventKind::ToolFinished { effects: more, .. } => drop(effects.add(more, 0)),
            EventKind::PersonNeeded { question } => asking = Some(question.call.clone()),
            EventKind::PersonAnswered { .. } => asking = None,
            _ => {}
        }
    }
    if let Some(call) = asking {
        journal.note(EventKind::PersonAnswered { call, answer: Answer::Withdrawn });
    }
    let recalled = recall.finish();
    InterruptedAgent {
        agent: recalled.agent,
        next: Some(again(recalled.next, crew, grant)),
        worked: Duration::from_millis(task.worked_ms),
        effects,
        past: PastPrompts::default(),
    }
}

/// Background commands that ran on the worker that was lost: they have ended with it, and the agent is told.
fn gone_commands(task: &HostedTask, journal: &mut Journal) -> Vec<Mail> {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for kind in &task.so_far {
        match kind {
            EventKind::BackgroundStarted { name, command } => open.push((name, command)),
            EventKind::BackgroundEnded { name, .. } => open.retain(|(other, _)| other != name),
            _ => {}
        }
    }
    let gone = open.into_iter().map(|(name, command)| {
        // Home knows it by its agent's name, too.
        let name = name.rsplit(':').next().unwrap_or(name).to_string();
        let text = format!("{name} was stopped when its machine was lost: {}", one_line(command, 100));
        journal.note(EventKind::BackgroundEnded { name, exit_code: None, tail: String::new() });
        Mail { id: MailId::default(), from: Sender::Posse, words: text.into(), is_prompt: false }
    });
    gone.collect()
}

/// What an agent does next that another worker had. What its open calls did was done in a folder that is gone, so they are
/// made again, unless they could reach beyond it. Calls of delegation tools are home's, which knows them by their ids.
fn again(next: Next, crew: &Crew, grant: &Grant) -> Next {
    let Next::CallTools { calls, mut begun, done } = next else { return next };
    let delegates = |call: &CallId| {
        let surface = crew.delegation.as_ref().map(|delegation| (delegation.surface, delegation.team));
        let named = calls.iter().find(|known| known.id == *call);
        surface.zip(named).is_some_and(|((surface, team), call)| {
            surface != Surface::Shell && surface.owns(&call.name, team)
        })
    };
    let confined = grant.network == Network::None;
    for (call, repeatable) in &mut begun {
        *repeatable |= confined || delegates(call);
    }
    Next::CallTools { calls, begun, done }
}

impl HostedAgent {
    /// What happens next; `None` once the agent has ended and everything was told. What is not awaited to the end can be
    /// awaited again.
    pub async fn next(&mut self) -> Option<HostedUpdate> {
        loop {
            if self.pending.is_none() {
                match self.session.next().await? {
                    Update::Progress(progress) => return Some(HostedUpdate::Progress(progress.kind)),
                    Update::Event(event) => self.pending = Some(event),
                }
            }
            let Some(event) = self.pending.clone() else { continue };
            if let EventKind::Changed { changes, .. } | EventKind::ChangedMeanwhile { changes, .. } =
                &event.kind
            {
                let changed = self.contents(changes.iter().cloned().map(kept).collect()).await;
                let Some((files, contents)) = changed else {
                    // This process is at its end. Home is told nothing that it cannot have the files of.
                    return std::future::pending().await;
                };
                self.changed.0.extend(files);
                self.changed.1.extend(contents);
            }
            self.pending = None;
            if travels(&event.kind) {
                let (kept, contents) = std::mem::take(&mut self.changed);
                let item = HostedItem { kind: event.kind.clone(), kept };
                return Some(HostedUpdate::Item(Box::new(item), contents));
            }
        }
    }

    /// Files that were changed, with their contents. One that is not kept here cannot be kept at home either, and home does not keep
    /// any amount. None if they cannot be looked at.
    async fn contents(&mut self, mut files: Vec<KeptFile>) -> Option<ChangedFiles> {
        files.retain(|file| !file.path.starts_with(".git/") && file.path != ".git");
        let saved = files.iter().filter_map(|file| file.after.clone()).collect::<Vec<_>>();
        let bytes = self.site.history.kept_bytes(&saved).await.ok()?;
        let mut contents = Vec::new();
        let mut room_bytes = KEPT_AT_ONCE_BYTES_MAX.saturating_sub(bytes_of(&self.changed.1));
        for (saved, bytes) in saved.into_iter().zip(bytes) {
            match bytes {
                Some(bytes) if bytes.len() as u64 <= room_bytes => {
                    room_bytes -= bytes.len() as u64;
                    contents.push((saved.blob, bytes));
                }
                Some(_) => {
                    let before = files.len();
                    files.retain(|file| file.after.as_ref() != Some(&saved));
                    self.unkept += before - files.len();
                }
                None => {
                    tracing::warn!(?saved, "a file that was changed is not kept");
                    files.retain(|file| file.after.as_ref() != Some(&saved));
                }
            }
        }
        Some((files, contents))
    }

    /// Takes in what home has to say.
    pub fn hear(&self, command: HostCommand) {
        let Some(crew) = self.crew.upgrade() else { return };
        match command {
            HostCommand::Mail { id, from, words, interrupt } if self.home.is_new_mail(id) => {
                crew.deliver(self.agent, Mail { id, from, words, is_prompt: false }, interrupt);
            }
            HostCommand::Reports { text, agents, kin } => {
                self.home.set_kin(kin);
                self.home.add_reports(text, agents);
                crew.wake(self.agent);
            }
            HostCommand::Kin { kin, roster } => {
                self.home.set_kin(kin);
                self.home.set_roster(roster);
                crew.wake(self.agent);
            }
            HostCommand::Answer { call, answer } => {
                let outcome = crew.approvals.answer(self.agent, &call, answer);
                // The person said yes to this call, whatever else the pattern was meant to cover.
                if outcome == AnswerOutcome::BadPattern {
                    crew.approvals.answer(self.agent, &call, Answer::Once);
                }
            }
            HostCommand::Mail { .. } => {}
            HostCommand::Budget { budget } => {
                let now = crew.tree(|tree| tree.node(self.agent).map(|node| node.budget));
                if let Some(more) = now.and_then(|now| more_of(now, budget)) {
                    drop(crew.top_up(self.agent, more));
                }
            }
            HostCommand::Mode { approval } => crew.approvals.limit_to(approval),
            HostCommand::ToBackground { call } => {
                drop(tokio::spawn(move_when_it_runs(crew, self.agent, call)))
            }
            HostCommand::Cancel => drop(crew.cancel(self.agent)),
        }
    }

    /// Stops the agent where it is: somebody else has it. What is in its folder stays.
    pub async fn abandon(self) {
        if let Some(crew) = self.crew.upgrade() {
            crew.stop_drivers().await;
            crew.background.stop_all(&crew).await;
        }
        forget(self.session.id, &self.store, &self.kept);
    }

    /// How it ended, for home, once there is nothing more to come. Its work is for the caller to commit.
    pub async fn end(self) -> HostedEnd {
        let unkept = self.unkept;
        let (id, store, kept) = (self.session.id, self.store.clone(), self.kept.clone());
        let report = self.session.report().await;
        forget(id, &store, &kept);
        let broke = || {
            let message = "a fault in Posse ended this agent".to_string();
            Report::new(Ending::Failed { failure: Failure::Internal { message } }, "", Receipt::default())
        };
        let Report { ending, short, mut notes, .. } = report.unwrap_or_else(broke);
        if unkept > 0 {
            notes.push(format!(
                "{unkept} files that it changed were too much to keep at home while it worked"
            ));
        }
        HostedEnd { ending, short, notes, tip: None }
    }
}

/// Moves the command of a call to the background. Home hears of a call before its command runs. What comes of it is told as it
/// happens.
async fn move_when_it_runs(crew: Arc<Crew>, agent: AgentId, call: CallId) {
    let again = Duration::from_millis(MOVE_AGAIN_MS);
    for _ in 0..MOVE_ELSEWHERE_MS_MAX / MOVE_AGAIN_MS {
        match crew.to_background(agent, &call).await {
            Err(MoveError::NotRunning) => tokio::time::sleep(again).await,
            _ => return,
        }
    }
}

/// Takes a session off this worker's record: everything of it was told, or somebody else has the agent.
fn forget(id: SessionId, store: &Store, kept: &Path) {
    let _ = std::fs::remove_dir_all(kept);
    if let Err(error) = store.delete_session(id) {
        tracing::warn!(%error, "a session of another machine stays on this record");
    }
}

fn bytes_of(contents: &[(String, Vec<u8>)]) -> u64 {
    contents.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

/// What one budget has more than another; none if that is nothing.
fn more_of(now: Budget, most: Budget) -> Option<Budget> {
    fn more<T: PartialOrd + std::ops::Sub<Output = T>>(now: Option<T>, most: Option<T>) -> Option<T> {
        now.zip(most).filter(|(now, most)| most > now).map(|(now, most)| most - now)
    }
    let more = Budget {
        turns: more(now.turns, most.turns),
        tokens: more(now.tokens, most.tokens),
        time_ms: more(now.time_ms, most.time_ms),
        cost_usd: more(now.cost_usd, most.cost_usd),
    };
    (more != Budget::UNLIMITED).then_some(more)
}
