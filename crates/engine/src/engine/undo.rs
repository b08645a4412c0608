//! Taking back what agents changed, from the record: all of a session, one agent's, one turn's, some paths. What others
//! did stays, and so does what changed while commands ran without a sign that those did it, unless it is named.
//!
//! An undo is on record with what it changed itself, so that it can be taken back too.

use std::collections::{BTreeMap, BTreeSet};

use posse_protocol::{AgentId, Branch, Change, Conflict, Effect, Event, EventKind, Seq};
use posse_store::{AgentRow, SessionRow};
use posse_workspace::{Checkpoints, Workspace, worktree};

use crate::changes::checkouts::{CHECKPOINTS, Checkouts};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::{BRANCH_DIFF_BYTES_MAX, EVENTS_PER_PAGE};
use crate::record::journal::Journal;
use crate::record::session_lock::SessionLock;

/// How much is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoExtent {
    /// The newest turn that changed something.
    Last,
    /// What one agent and those below it did.
    Agent(String),
    /// What one agent did in one turn; the main agent where none is named.
    Turn {
        /// The agent's name.
        agent: Option<String>,
        /// The turn.
        turn: u32,
    },
    /// Everything.
    Session,
}

/// What came of taking something back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOutcome {
    /// What was taken back, in words.
    pub what: String,
    /// What that changed.
    pub changes: Vec<Change>,
    /// What was left as it is.
    pub conflicts: Vec<Conflict>,
    /// Paths that changed meanwhile, not certain by whom: left as they are.
    pub not_certain: Vec<String>,
}

/// What came of bringing an agent's work into the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOutcome {
    /// Its branch.
    pub branch: String,
    /// What came in.
    pub changes: Vec<Change>,
    /// What did not go together, and is still on the branch.
    pub conflicts: Vec<Conflict>,
}

/// One step that changed something, as it is on record.
struct Step {
    agent: AgentId,
    turn: u32,
    changes: Vec<Change>,
    /// Whether it is certain that the agent made them.
    certain: bool,
}

/// Paths that a person named, relative to the workspace; a folder stands for all below it. None: all that is certain.
#[derive(Clone, Copy)]
struct Named<'a>(&'a [String]);

impl Named<'_> {
    fn wants(self, step: &Step, change: &Change) -> bool {
        if self.0.is_empty() { step.certain } else { self.holds(&change.path) }
    }

    fn holds(self, path: &str) -> bool {
        let within = |named: &String| {
            path.strip_prefix(named.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.iter().any(|named| named.is_empty() || within(named))
    }
}

/// What a session changed, and what of that is in effect.
#[derive(Default)]
struct Steps {
    /// Every step, with the changes of it that are in effect.
    by_seq: BTreeMap<Seq, Step>,
    /// Undos that are in effect: what they took back, and what they changed.
    undone: BTreeMap<Seq, Undo>,
    /// Whether files were changed, kept or not.
    changed: bool,
}

/// What is to be taken back.
struct Taken {
    what: String,
    events: Vec<Seq>,
    paths: Vec<String>,
    changes: Vec<Change>,
}

struct Undo {
    what: String,
    /// The steps as they were before.
    taken: Vec<(Seq, Vec<Change>)>,
    changes: Vec<Change>,
}

impl Steps {
    fn add(&mut self, event: Event) {
        let Event { seq, agent, kind, .. } = event;
        match kind {
            EventKind::Changed { turn, changes } => {
                drop(self.by_seq.insert(seq, Step { agent, turn, changes, certain: true }))
            }
            EventKind::ChangedMeanwhile { turn, changes } => {
                drop(self.by_seq.insert(seq, Step { agent, turn, changes, certain: false }))
            }
            EventKind::Merged { from, changes, .. } => {
                self.by_seq.insert(seq, Step { agent: from, turn: MERGED, changes, certain: true });
            }
            EventKind::Undone { what, events, paths, changes, conflicts } => {
                let stays = |change: &Change| {
                    let conflict = conflicts.iter().any(|conflict| conflict.path == change.path);
                    conflict || !(paths.is_empty() || Named(&paths).holds(&change.path))
                };
                self.undo(seq, what, &events, changes, stays);
            }
            EventKind::ToolFinished { effects, .. } => {
                self.changed |= effects.iter().any(|effect| matches!(effect, Effect::File(_)));
            }
            _ => {}
        }
    }

    fn undo(
        &mut self,
        seq: Seq,
        what: String,
        events: &[Seq],
        changes: Vec<Change>,
        stays: impl Fn(&Change) -> bool,
    ) {
        let mut taken = Vec::new();
        for event in events {
            if let Some(undo) = self.undone.remove(event) {
                // An undo was taken back: what it took back is in effect again.
                for (seq, changes) in undo.taken {
                    if let Some(step) = self.by_seq.get_mut(&seq) {
                        step.changes = changes;
                    }
                }
            } else if let Some(step) = self.by_seq.get_mut(event) {
                // What did not go back is still there.
                let left = step.changes.iter().filter(|change| stays(change)).cloned().collect();
                taken.push((*event, std::mem::replace(&mut step.changes, left)));
            }
        }
        if !taken.is_empty() {
            self.undone.insert(seq, Undo { what, taken, changes });
        }
    }

    /// What is in effect of some agents' work, or of everybody's, and is wanted.
    fn of(&self, agents: Option<&BTreeSet<AgentId>>, turn: Option<u32>, named: Named<'_>) -> Vec<Seq> {
        let wanted = |step: &Step| {
            step.changes.iter().any(|change| named.wants(step, change)) && of_these(step, agents, turn)
        };
        self.by_seq.iter().filter(|(_, step)| wanted(step)).map(|(seq, _)| *seq).collect()
    }

    fn changes(&self, seqs: &[Seq], named: Named<'_>) -> Vec<Change> {
        let steps = seqs.iter().filter_map(|seq| self.by_seq.get(seq));
        let wanted =
            steps.flat_map(|step| step.changes.iter().filter(move |change| named.wants(step, change)));
        wanted.cloned().collect()
    }

    /// Paths that changed while these agents' commands ran, not certain by whom.
    fn not_certain(&self, agents: Option<&BTreeSet<AgentId>>, turn: Option<u32>) -> Vec<String> {
        let steps = self.by_seq.values().filter(|step| !step.certain && of_these(step, agents, turn));
        let paths: BTreeSet<&String> =
            steps.flat_map(|step| step.changes.iter().map(|change| &change.path)).collect();
        paths.into_iter().cloned().collect()
    }
}

fn of_these(step: &Step, agents: Option<&BTreeSet<AgentId>>, turn: Option<u32>) -> bool {
    agents.is_none_or(|agents| agents.contains(&step.agent)) && turn.is_none_or(|turn| turn == step.turn)
}

impl Engine {
    /// Takes back what agents of a session changed. What others changed since stays. With paths, relative to the
    /// workspace, only those are taken back, also where it is not certain who changed them.
    pub async fn undo(
        &self,
        session: &SessionRow,
        extent: &UndoExtent,
        paths: &[String],
    ) -> Result<UndoOutcome, EngineError> {
        let steps = self.steps(session).await?;
        let agents = self.agents_of(session).await?;
        let wanted = Named(paths);
        let (what, these, turn) = match extent {
            UndoExtent::Session => ("the whole session".to_string(), None, None),
            UndoExtent::Agent(name) => (format!("the work of {name}"), Some(family(&agents, name)?), None),
            UndoExtent::Turn { agent, turn } => {
                let name = agent.as_deref().unwrap_or("main");
                (format!("turn {turn} of {name}"), Some(named(&agents, name)?), Some(*turn))
            }
            UndoExtent::Last => {
                let newest = steps.of(None, None, wanted).last().and_then(|seq| steps.by_seq.get(seq));
                let Some(step) = newest else { return Err(nothing(&steps)) };
                let name = agents.iter().find(|row| row.id == step.agent).map_or("main", |row| &row.name);
                let what = match step.turn {
                    MERGED => format!("the merged work of {name}"),
                    turn => format!("turn {turn} of {name}"),
                };
                (what, Some(BTreeSet::from([step.agent])), Some(step.turn))
            }
        };
        let seqs = steps.of(these.as_ref(), turn, wanted);
        if seqs.is_empty() {
            return Err(nothing(&steps));
        }
        let changes = steps.changes(&seqs, wanted);
        let not_certain = if paths.is_empty() { steps.not_certain(these.as_ref(), turn) } else { Vec::new() };
        let taken = Taken { what, events: seqs, paths: paths.to_vec(), changes };
        let undoing = self.take_back(session, &agents, taken).await?;
        Ok(UndoOutcome { not_certain, ..undoing })
    }

    /// Takes the newest undo of a session back.
    pub async fn redo(&self, session: &SessionRow) -> Result<UndoOutcome, EngineError> {
        let mut steps = self.steps(session).await?;
        let Some((seq, Undo { what, changes, .. })) = steps.undone.pop_last() else {
            return Err(EngineError::NothingToDo("nothing was undone in this session".to_string()));
        };
        let agents = self.agents_of(session).await?;
        let what = format!("brought back: {what}");
        self.take_back(session, &agents, Taken { what, events: vec![seq], paths: Vec::new(), changes }).await
    }

    /// What agents of a session changed, as a diff.
    pub async fn diff(
        &self,
        session: &SessionRow,
        agent: Option<&str>,
        bytes_max: usize,
    ) -> Result<String, EngineError> {
        let steps = self.steps(session).await?;
        let agents = self.agents_of(session).await?;
        let family = agent.map(|name| family(&agents, name)).transpose()?;
        let all = Named(&[]);
        let changes = steps.changes(&steps.of(family.as_ref(), None, all), all);
        // Work in a checkout that was not merged is on its branch only.
        if changes.is_empty()
            && let Some(agent) = agent
            && let Some((_, branch)) = self.branch(session, &named(&agents, agent)?).await?
        {
            return Ok(branch.diff);
        }
        if changes.is_empty() {
            return Err(nothing(&steps));
        }
        Ok(self.checkpoints(session).await?.1.diff(&changes, bytes_max).await?)
    }

    /// Brings the work of an agent with a checkout of its own into the workspace.
    pub async fn merge(&self, session: &SessionRow, agent: &str) -> Result<MergeOutcome, EngineError> {
        let agents = self.agents_of(session).await?;
        let of_name = named(&agents, agent)?;
        let nothing = || {
            EngineError::NothingToDo(format!("{agent} had no checkout of its own, or changed nothing in it"))
        };
        let (from, branch) = self.branch(session, &of_name).await?.ok_or_else(nothing)?;
        let (workspace, checkpoints) = self.checkpoints(session).await?;
        let protected = worktree::protected_in(&workspace, &branch).await?;
        let workspace = self.permitted(workspace, protected);
        let merge = worktree::merge(&workspace, Some(&checkpoints), &branch).await?;
        let mut journal = self.main_journal(session, &agents)?;
        let (changes, conflicts) = (merge.changes, merge.conflicts);
        journal.note(EventKind::Merged {
            from,
            branch: branch.name.clone(),
            changes: changes.clone(),
            conflicts: conflicts.clone(),
        });
        journal.durable().await?;
        Ok(MergeOutcome { branch: branch.name, changes, conflicts })
    }

    async fn take_back(
        &self,
        session: &SessionRow,
        agents: &[AgentRow],
        taken: Taken,
    ) -> Result<UndoOutcome, EngineError> {
        let Taken { what, events, paths, changes } = taken;
        // The repository's state goes back by a way of its own, which never writes what can run.
        let written = changes.iter().filter(|change| !change.path.starts_with(".git/"));
        let workspace = self.permitted_back(Workspace::open(&session.workspace)?, written);
        let checkpoints = Checkpoints::open(&self.parts.data_dir.join(CHECKPOINTS), &workspace).await?;
        let undone = checkpoints.undo(&changes).await?;
        let (changes, conflicts) = (undone.changes, undone.conflicts);
        let mut journal = self.main_journal(session, agents)?;
        journal.note(EventKind::Undone {
            what: what.clone(),
            events,
            paths,
            changes: changes.clone(),
            conflicts: conflicts.clone(),
        });
        journal.durable().await?;
        Ok(UndoOutcome { what, changes, conflicts, not_certain: Vec::new() })
    }

    pub(crate) async fn checkpoints(
        &self,
        session: &SessionRow,
    ) -> Result<(Workspace, Checkpoints), EngineError> {
        let workspace = Workspace::open(&session.workspace)?;
        let checkpoints = Checkpoints::open(&self.parts.data_dir.join(CHECKPOINTS), &workspace).await?;
        Ok((workspace, checkpoints))
    }

    fn main_journal(&self, session: &SessionRow, agents: &[AgentRow]) -> Result<Journal, EngineError> {
        let main = find(agents, "main")?.id;
        Ok(Journal::new(self.parts.store.clone(), session.id, main, None))
    }

    async fn agents_of(&self, session: &SessionRow) -> Result<Vec<AgentRow>, EngineError> {
        let id = session.id;
        self.read(move |engine| engine.agents(id)).await
    }

    async fn steps(&self, session: &SessionRow) -> Result<Steps, EngineError> {
        let mut steps = Steps::default();
        self.each_event(session, |event| steps.add(event)).await?;
        Ok(steps)
    }

    /// The newest branch that one of these agents left its work on.
    async fn branch(
        &self,
        session: &SessionRow,
        agents: &BTreeSet<AgentId>,
    ) -> Result<Option<(AgentId, Branch)>, EngineError> {
        let (mut newest, mut open) = (None, None);
        self.each_event(session, |event| match event.kind {
            _ if !agents.contains(&event.agent) => {}
            EventKind::CheckedOut { branch, base } => open = Some((event.agent, branch, base)),
            EventKind::AgentSettled { report } => {
                open = None;
                newest = report.receipt.branch.map(|branch| (event.agent, branch)).or(newest.take());
            }
            _ => {}
        })
        .await?;
        match open {
            None => Ok(newest),
            Some((agent, name, base)) => {
                Ok(self.left_behind(session, &name, &base).await?.map(|branch| (agent, branch)))
            }
        }
    }

    /// The branch of an agent that was interrupted, with what was in its checkout committed to it.
    async fn left_behind(
        &self,
        session: &SessionRow,
        name: &str,
        base: &str,
    ) -> Result<Option<Branch>, EngineError> {
        let idle = SessionLock::take(&self.parts.processes, session.id).map_err(EngineError::DataDir)?;
        let _idle = idle.ok_or_else(|| EngineError::Busy("It is still at work; wait for it.".to_string()))?;
        let workspace = Workspace::open(&session.workspace)?;
        Checkouts::new(self.parts.processes.clone(), session.id).clear(&workspace).await;
        Ok(worktree::left_on(workspace.root(), name, base, BRANCH_DIFF_BYTES_MAX).await?)
    }

    async fn each_event(&self, session: &SessionRow, mut see: impl FnMut(Event)) -> Result<(), EngineError> {
        let (id, mut after) = (session.id, Seq(0));
        loop {
            let page = self.read(move |engine| engine.events_after(id, after, EVENTS_PER_PAGE)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            page.into_iter().for_each(&mut see);
        }
    }
}

/// The turn of work that was merged: turns count from 1.
const MERGED: u32 = 0;

fn nothing(steps: &Steps) -> EngineError {
    EngineError::NothingToDo(if steps.by_seq.is_empty() && steps.changed {
        "nothing of this session can be taken back here: what it changed was not kept, or is on branches that were not merged"
            .to_string()
    } else {
        "nothing that agents changed is in this folder".to_string()
    })
}

fn find<'a>(agents: &'a [AgentRow], name: &str) -> Result<&'a AgentRow, EngineError> {
    agents.iter().find(|row| row.name == name).ok_or_else(|| {
        let names = agents.iter().map(|row| row.name.as_str()).take(20).collect::<Vec<_>>().join(", ");
        EngineError::NotFound(format!("there is no agent {name} in this session; there are: {names}"))
    })
}

/// All agents of a name: one that is asked again goes on as another with the same name.
fn named(agents: &[AgentRow], name: &str) -> Result<BTreeSet<AgentId>, EngineError> {
    find(agents, name)?;
    Ok(agents.iter().filter(|row| row.name == name).map(|row| row.id).collect())
}

/// The agents of a name and all below them.
fn family(agents: &[AgentRow], name: &str) -> Result<BTreeSet<AgentId>, EngineError> {
    let mut family = named(agents, name)?;
    // Rows come in the order of their starts, parents before children.
    for row in agents {
        if row.parent.is_some_and(|parent| family.contains(&parent)) {
            family.insert(row.id);
        }
    }
    Ok(family)
}
