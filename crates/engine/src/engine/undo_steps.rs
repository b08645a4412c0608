//! What a session changed, step by step, and which of that is in effect after undos and redos.

use std::collections::{BTreeMap, BTreeSet};

use posse_protocol::{AgentId, Change, Effect, Event, EventKind, Purpose, Seq};

/// The turn of work that was merged: turns count from 1.
pub(crate) const MERGED: u32 = 0;

/// One step that changed something, as it is on record.
pub(crate) struct ChangeStep {
    pub(crate) agent: AgentId,
    pub(crate) turn: u32,
    pub(crate) changes: Vec<Change>,
    /// Whether it is certain that the agent made them.
    pub(crate) certain: bool,
}

/// Paths that a person named, relative to the workspace; a folder stands for all below it. None: all that is certain.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a>(pub(crate) &'a [String]);

impl Named<'_> {
    fn wants(self, step: &ChangeStep, change: &Change) -> bool {
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
pub(crate) struct ChangeSteps {
    /// Every step, with the changes of it that are in effect.
    pub(crate) by_seq: BTreeMap<Seq, ChangeStep>,
    /// Undos that are in effect: what they took back, and what they changed.
    pub(crate) undone: BTreeMap<Seq, RecordedUndo>,
    /// Whether files were changed, kept or not.
    pub(crate) changed: bool,
    /// Where each turn of the main agent begins.
    pub(crate) turns: BTreeMap<u32, Seq>,
    /// Everything that changed files for certain, undos included, in order.
    pub(crate) all: Vec<(Seq, Vec<Change>)>,
    /// What undo does not cover, in words.
    pub(crate) not_covered: Vec<String>,
    /// The hunks that a person has reviewed, by their ids.
    pub(crate) reviewed: BTreeSet<String>,
}

pub(crate) struct RecordedUndo {
    pub(crate) what: String,
    /// The steps as they were before.
    taken: Vec<(Seq, Vec<Change>)>,
    /// Undos that were in effect before and are not since.
    withdrawn: Vec<(Seq, RecordedUndo)>,
    pub(crate) changes: Vec<Change>,
}

impl ChangeSteps {
    pub(crate) fn add(&mut self, event: Event) {
        let Event { seq, agent, parent, kind, .. } = event;
        match kind {
            EventKind::TurnStarted { turn, purpose: Purpose::Work } if parent.is_none() => {
                self.turns.insert(turn, seq);
            }
            EventKind::NotCovered { what, .. } => self.not_covered = what,
            EventKind::Reviewed { hunks, reviewed: true } => self.reviewed.extend(hunks),
            EventKind::Reviewed { hunks, reviewed: false } => {
                self.reviewed.retain(|hunk| !hunks.contains(hunk));
            }
            EventKind::Changed { turn, changes } => {
                self.all.push((seq, changes.clone()));
                drop(self.by_seq.insert(seq, ChangeStep { agent, turn, changes, certain: true }))
            }
            EventKind::ChangedMeanwhile { turn, changes } => {
                drop(self.by_seq.insert(seq, ChangeStep { agent, turn, changes, certain: false }))
            }
            EventKind::Merged { from, changes, .. } => {
                self.all.push((seq, changes.clone()));
                self.by_seq.insert(seq, ChangeStep { agent: from, turn: MERGED, changes, certain: true });
            }
            EventKind::Undone { what, events, paths, changes, conflicts, left } => {
                self.all.push((seq, changes.clone()));
                let stays = |change: &Change| {
                    let conflict = conflicts.iter().any(|conflict| conflict.path == change.path);
                    conflict || !(paths.is_empty() || Named(&paths).holds(&change.path))
                };
                let left = left.into_iter().filter(|change| !stays(change)).collect();
                self.undo((seq, what, changes), &events, left, stays);
            }
            EventKind::ToolFinished { effects, .. } => {
                self.changed |= effects.iter().any(|effect| matches!(effect, Effect::File(_)));
            }
            _ => {}
        }
    }

    /// `left` is what is still in effect of files of which only a part was taken back.
    fn undo(
        &mut self,
        (seq, what, changes): (Seq, String, Vec<Change>),
        events: &[Seq],
        mut left: Vec<Change>,
        stays: impl Fn(&Change) -> bool,
    ) {
        // Taking nothing but undos back is no undo itself: what they took back is in effect again.
        let again = events.iter().all(|event| self.undone.contains_key(event));
        let (mut taken, mut withdrawn) = (Vec::new(), Vec::new());
        for event in events.iter().rev() {
            if let Some(undo) = self.undone.remove(event) {
                for (seq, changes) in &undo.taken {
                    if let Some(step) = self.by_seq.get_mut(seq) {
                        taken.push((*seq, std::mem::replace(&mut step.changes, changes.clone())));
                    }
                }
                withdrawn.push((*event, undo));
            } else if let Some(step) = self.by_seq.get_mut(event) {
                // What did not go back is still there; the newest step of a file keeps what is left of it.
                let own = |change: &Change| step.changes.iter().any(|other| other.path == change.path);
                let (mut kept, other): (Vec<_>, Vec<_>) = left.into_iter().partition(own);
                left = other;
                kept.extend(step.changes.iter().filter(|change| stays(change)).cloned());
                taken.push((*event, std::mem::replace(&mut step.changes, kept)));
            }
        }
        if again {
            for (seq, undo) in withdrawn.into_iter().flat_map(|(_, undo)| undo.withdrawn) {
                self.undone.insert(seq, undo);
            }
        } else if !taken.is_empty() {
            // The state of a step that was met first is the one from before.
            taken.reverse();
            self.undone.insert(seq, RecordedUndo { what, taken, withdrawn, changes });
        }
    }

    /// What is in effect of some agents' work, or of everybody's, and is wanted.
    pub(crate) fn of(
        &self,
        agents: Option<&BTreeSet<AgentId>>,
        turn: Option<u32>,
        named: Named<'_>,
    ) -> Vec<Seq> {
        let wanted = |step: &ChangeStep| {
            step.changes.iter().any(|change| named.wants(step, change)) && of_these(step, agents, turn)
        };
        self.by_seq.iter().filter(|(_, step)| wanted(step)).map(|(seq, _)| *seq).collect()
    }

    pub(crate) fn changes(&self, seqs: &[Seq], named: Named<'_>) -> Vec<Change> {
        let steps = seqs.iter().filter_map(|seq| self.by_seq.get(seq));
        let wanted =
            steps.flat_map(|step| step.changes.iter().filter(move |change| named.wants(step, change)));
        wanted.cloned().collect()
    }

    /// All that changed files since a turn of the main agent began, in order; none if there is no such turn.
    pub(crate) fn since_turn(&self, turn: u32) -> Option<Vec<(Seq, &[Change])>> {
        let began = *self.turns.get(&turn)?;
        let since = self.all.iter().filter(|(seq, _)| *seq > began);
        Some(since.map(|(seq, changes)| (*seq, changes.as_slice())).collect())
    }

    /// Paths that changed since a turn of the main agent began, not certain by whom.
    pub(crate) fn not_certain_since(&self, turn: u32) -> Vec<String> {
        let Some(began) = self.turns.get(&turn) else { return Vec::new() };
        let steps = self.by_seq.range(*began..).filter(|(_, step)| !step.certain);
        let paths: BTreeSet<&String> =
            steps.flat_map(|(_, step)| step.changes.iter().map(|change| &change.path)).collect();
        paths.into_iter().cloned().collect()
    }

    /// Paths that changed while these agents' commands ran, not certain by whom.
    pub(crate) fn not_certain(&self, agents: Option<&BTreeSet<AgentId>>, turn: Option<u32>) -> Vec<String> {
        let steps = self.by_seq.values().filter(|step| !step.certain && of_these(step, agents, turn));
        let paths: BTreeSet<&String> =
            steps.flat_map(|step| step.changes.iter().map(|change| &change.path)).collect();
        paths.into_iter().cloned().collect()
    }
}

fn of_these(step: &ChangeStep, agents: Option<&BTreeSet<AgentId>>, turn: Option<u32>) -> bool {
    agents.is_none_or(|agents| agents.contains(&step.agent)) && turn.is_none_or(|turn| turn == step.turn)
}
