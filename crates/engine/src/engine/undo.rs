//! Taking back what agents changed, from the record: all of a session, one agent's, one turn's, some paths, some hunks of a
//! file, or everything since a turn began. What others did stays, and so does what changed while commands ran without a
//! sign that those did it, unless it is named.
//!
//! An undo is on record with what it changed itself, so that it can be taken back too. Everything has a preview: the same
//! work up to the point where files would be written.

use std::collections::BTreeSet;

use posse_protocol::{AgentId, Branch, Change, Event, EventKind, Seq};
use posse_store::{AgentRow, SessionRow};
use posse_workspace::{Checkpoints, Workspace, worktree};

use crate::changes::checkouts::{CHECKPOINTS, Checkouts};
use crate::engine::Engine;
use crate::engine::review::ReviewDiff;
use crate::engine::undo_request::{
    ChangePreview, ChangeRequest, FileHunks, MergeOutcome, UndoExtent, UndoOutcome, UndoRequest,
};
use crate::engine::undo_steps::{ChangeSteps, MERGED, Named, RecordedUndo};
use crate::error::EngineError;
use crate::limits::{BRANCH_DIFF_BYTES_MAX, DIFF_BYTES_MAX, EVENTS_PER_PAGE};
use crate::record::journal::Journal;
use crate::record::session_lock::SessionLock;

/// What is to be taken back, worked out.
struct Taken {
    what: String,
    events: Vec<Seq>,
    paths: Vec<String>,
    changes: Vec<Change>,
    /// What stays in effect of files of which only a part is taken back.
    left: Vec<Change>,
    not_certain: Vec<String>,
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
        let request = UndoRequest { extent: extent.clone(), paths: paths.to_vec(), hunks: Vec::new() };
        self.undo_selected(session, &request).await
    }

    /// The same, with a choice of hunks.
    pub async fn undo_selected(
        &self,
        session: &SessionRow,
        request: &UndoRequest,
    ) -> Result<UndoOutcome, EngineError> {
        let agents = self.agents_of(session).await?;
        let taken = self.wanted(session, &self.steps(session).await?, &agents, request).await?;
        self.take_back(session, &agents, taken).await
    }

    /// Takes the newest undo of a session back.
    pub async fn redo(&self, session: &SessionRow) -> Result<UndoOutcome, EngineError> {
        let taken = undone_last(self.steps(session).await?)?;
        let agents = self.agents_of(session).await?;
        self.take_back(session, &agents, taken).await
    }

    /// Brings the files back to where they were when a turn of the main agent began: all that agents changed since is taken
    /// back, the newest first. What others changed since stays.
    pub async fn rewind(&self, session: &SessionRow, turn: u32) -> Result<UndoOutcome, EngineError> {
        let taken = since(&self.steps(session).await?, turn)?;
        let agents = self.agents_of(session).await?;
        self.take_back(session, &agents, taken).await
    }

    /// What would happen now, without doing it.
    pub async fn preview(
        &self,
        session: &SessionRow,
        request: &ChangeRequest,
    ) -> Result<ChangePreview, EngineError> {
        let (steps, agents) = (self.steps(session).await?, self.agents_of(session).await?);
        let not_covered = steps.not_covered.clone();
        let taken = match request {
            ChangeRequest::Undo(request) => self.wanted(session, &steps, &agents, request).await?,
            ChangeRequest::Redo => undone_last(steps)?,
            ChangeRequest::Rewind { turn } => since(&steps, *turn)?,
            ChangeRequest::Merge { agent } => {
                let (workspace, checkpoints, _, branch) = self.to_merge(session, &agents, agent).await?;
                let merge = worktree::preview_merge(&workspace, &checkpoints, &branch).await?;
                let (changes, conflicts) = (merge.changes, merge.conflicts);
                let diff = checkpoints.diff(&changes, DIFF_BYTES_MAX).await?;
                let (what, not_certain) = (format!("merge {}", branch.name), Vec::new());
                return Ok(ChangePreview { what, changes, diff, conflicts, not_certain, not_covered });
            }
        };
        let Taken { what, changes, not_certain, .. } = taken;
        let checkpoints = self.to_take_back(session, &changes).await?;
        let undone = checkpoints.preview_undo(&changes).await?;
        let (changes, conflicts) = (undone.changes, undone.conflicts);
        let diff = checkpoints.diff(&changes, DIFF_BYTES_MAX).await?;
        Ok(ChangePreview { what, changes, diff, conflicts, not_certain, not_covered })
    }

    /// What a person asked to be taken back, worked out from the record.
    async fn wanted(
        &self,
        session: &SessionRow,
        steps: &ChangeSteps,
        agents: &[AgentRow],
        request: &UndoRequest,
    ) -> Result<Taken, EngineError> {
        let mut paths = request.paths.clone();
        paths.extend(request.hunks.iter().map(|file| file.path.clone()));
        let wanted = Named(&paths);
        let (what, these, turn) = match &request.extent {
            UndoExtent::Session => ("the whole session".to_string(), None, None),
            UndoExtent::Agent(name) => (format!("the work of {name}"), Some(family(agents, name)?), None),
            UndoExtent::Turn { agent, turn } => {
                let name = agent.as_deref().unwrap_or("main");
                (format!("turn {turn} of {name}"), Some(named(agents, name)?), Some(*turn))
            }
            UndoExtent::Last => {
                let newest = steps.of(None, None, wanted).last().and_then(|seq| steps.by_seq.get(seq));
                let Some(step) = newest else { return Err(nothing(steps)) };
                let name = agents.iter().find(|row| row.id == step.agent).map_or("main", |row| &row.name);
                let what = match step.turn {
                    MERGED => format!("the merged work of {name}"),
                    turn => format!("turn {turn} of {name}"),
                };
                (what, Some(BTreeSet::from([step.agent])), Some(step.turn))
            }
        };
        let events = steps.of(these.as_ref(), turn, wanted);
        if events.is_empty() {
            return Err(nothing(steps));
        }
        let changes = steps.changes(&events, wanted);
        let not_certain = if paths.is_empty() { steps.not_certain(these.as_ref(), turn) } else { Vec::new() };
        let taken = Taken { what, events, paths, changes, left: Vec::new(), not_certain };
        if request.hunks.is_empty() { Ok(taken) } else { self.only_hunks(session, taken, request).await }
    }

    /// The same for some hunks of some files.
    async fn only_hunks(
        &self,
        session: &SessionRow,
        mut taken: Taken,
        request: &UndoRequest,
    ) -> Result<Taken, EngineError> {
        let (_, checkpoints) = self.checkpoints(session).await?;
        for FileHunks { path, hunks } in &request.hunks {
            let (own, others): (Vec<_>, Vec<_>) =
                taken.changes.into_iter().partition(|change| change.path == *path);
            taken.changes = others;
            let whole = joined(own).ok_or_else(|| {
                EngineError::Refused(format!(
                    "{path} was not changed there, or others changed it in between, so its hunks cannot be told apart"
                ))
            })?;
            let split = checkpoints.split_change(&whole, hunks).await?.ok_or_else(|| {
                EngineError::NotFound(format!(
                    "{path} has no such hunk, or is no text; posse diff shows its hunks"
                ))
            })?;
            taken.changes.push(split.taken);
            taken.left.push(split.left);
        }
        taken.what = format!("a part of {}", taken.what);
        Ok(taken)
    }

    /// What agents of a session changed, as a diff.
    pub async fn diff(
        &self,
        session: &SessionRow,
        agent: Option<&str>,
        bytes_max: usize,
    ) -> Result<String, EngineError> {
        Ok(self.diff_to_review(session, agent, None, bytes_max).await?.diff)
    }

    /// What agents of a session changed, with what a person has reviewed of it: all of them, one with those below it, or one in
    /// one of its turns (the main agent where none is named).
    pub async fn diff_to_review(
        &self,
        session: &SessionRow,
        agent: Option<&str>,
        turn: Option<u32>,
        bytes_max: usize,
    ) -> Result<ReviewDiff, EngineError> {
        let steps = self.steps(session).await?;
        let agents = self.agents_of(session).await?;
        let these = match (agent, turn) {
            (name, Some(_)) => Some(named(&agents, name.unwrap_or("main"))?),
            (Some(name), None) => Some(family(&agents, name)?),
            (None, None) => None,
        };
        let all = Named(&[]);
        let changes = steps.changes(&steps.of(these.as_ref(), turn, all), all);
        // Work in a checkout that was not merged is on its branch only.
        if changes.is_empty()
            && let (Some(agent), None) = (agent, turn)
            && let Some((_, branch)) = self.branch(session, &named(&agents, agent)?).await?
        {
            return Ok(ReviewDiff::new(branch.diff, Some(branch.name), &steps.reviewed));
        }
        if changes.is_empty() {
            return Err(nothing(&steps));
        }
        let diff = self.checkpoints(session).await?.1.diff(&changes, bytes_max).await?;
        Ok(ReviewDiff::new(diff, None, &steps.reviewed))
    }

    /// Brings the work of an agent with a checkout of its own into the workspace.
    pub async fn merge(&self, session: &SessionRow, agent: &str) -> Result<MergeOutcome, EngineError> {
        let agents = self.agents_of(session).await?;
        let (workspace, checkpoints, from, branch) = self.to_merge(session, &agents, agent).await?;
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

    /// What is needed to merge the work of an agent.
    async fn to_merge(
        &self,
        session: &SessionRow,
        agents: &[AgentRow],
        agent: &str,
    ) -> Result<(Workspace, Checkpoints, AgentId, Branch), EngineError> {
        let of_name = named(agents, agent)?;
        let nothing = || {
            EngineError::NothingToDo(format!("{agent} had no checkout of its own, or changed nothing in it"))
        };
        let (from, branch) = self.branch(session, &of_name).await?.ok_or_else(nothing)?;
        let (workspace, checkpoints) = self.checkpoints(session).await?;
        let protected = worktree::protected_in(&workspace, &branch).await?;
        Ok((self.permitted(workspace, protected), checkpoints, from, branch))
    }

    /// The checkpoints of the workspace, in which what taking these changes back writes is permitted if somebody says so.
    async fn to_take_back(
        &self,
        session: &SessionRow,
        changes: &[Change],
    ) -> Result<Checkpoints, EngineError> {
        // The repository's state goes back by a way of its own, which never writes what can run.
        let written = changes.iter().filter(|change| !change.path.starts_with(".git/"));
        let workspace = self.permitted_back(Workspace::open(&session.workspace)?, written);
        Ok(Checkpoints::open(&self.parts.data_dir.join(CHECKPOINTS), &workspace).await?)
    }

    async fn take_back(
        &self,
        session: &SessionRow,
        agents: &[AgentRow],
        taken: Taken,
    ) -> Result<UndoOutcome, EngineError> {
        let Taken { what, events, paths, changes, left, not_certain } = taken;
        let undone = self.to_take_back(session, &changes).await?.undo(&changes).await?;
        let (changes, conflicts) = (undone.changes, undone.conflicts);
        let mut journal = self.main_journal(session, agents)?;
        journal.note(EventKind::Undone {
            what: what.clone(),
            events,
            paths,
            changes: changes.clone(),
            conflicts: conflicts.clone(),
            left,
        });
        journal.durable().await?;
        Ok(UndoOutcome { what, changes, conflicts, not_certain })
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

    async fn steps(&self, session: &SessionRow) -> Result<ChangeSteps, EngineError> {
        let mut steps = ChangeSteps::default();
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

/// What leads from before the first of these changes of one file to after the last; none if others changed it in between.
fn joined(changes: Vec<Change>) -> Option<Change> {
    let follow = changes.windows(2).all(|pair| pair[0].after == pair[1].before);
    let (first, last) = (changes.first()?.clone(), changes.into_iter().next_back()?);
    follow.then_some(Change { after: last.after, ..first })
}

/// The newest undo that is in effect.
fn undone_last(mut steps: ChangeSteps) -> Result<Taken, EngineError> {
    let Some((seq, RecordedUndo { what, changes, .. })) = steps.undone.pop_last() else {
        return Err(EngineError::NothingToDo("nothing was undone in this session".to_string()));
    };
    let (what, events) = (format!("brought back: {what}"), vec![seq]);
    Ok(Taken { what, events, paths: Vec::new(), changes, left: Vec::new(), not_certain: Vec::new() })
}

/// All that changed files since a turn of the main agent began.
fn since(steps: &ChangeSteps, turn: u32) -> Result<Taken, EngineError> {
    let none = || {
        let last = steps.turns.keys().next_back().copied().unwrap_or_default();
        EngineError::NotFound(format!("there is no turn {turn}: the main agent has had {last} so far"))
    };
    let since = steps.since_turn(turn).ok_or_else(none)?;
    if since.iter().all(|(_, changes)| changes.is_empty()) {
        return Err(EngineError::NothingToDo(format!("agents changed nothing since turn {turn} began")));
    }
    Ok(Taken {
        what: format!("everything since turn {turn} began"),
        events: since.iter().map(|(seq, _)| *seq).collect(),
        paths: Vec::new(),
        changes: since.into_iter().flat_map(|(_, changes)| changes.to_vec()).collect(),
        left: Vec::new(),
        not_certain: steps.not_certain_since(turn),
    })
}

fn nothing(steps: &ChangeSteps) -> EngineError {
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
