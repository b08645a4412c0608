//! The session that is open in the chat: its view, what it prints, and what is known of it beside.

use std::collections::BTreeMap;

use posse_protocol::{
    AgentState, Approval, CallId, Event, EventKind, Progress, ProgressKind, Sender, Seq, SessionId, Update,
};
use posse_view::{AgentView, Folded, OpenQuestion, QueuedMail, SessionView};

use crate::limits::OUTPUT_BYTES_MAX;
use crate::transcript::{ChatTranscript, keep_end};

/// What a person may have to know at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatAttention {
    pub(crate) questions: usize,
    pub(crate) at_work: bool,
}

/// A command that runs in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackgroundJob {
    pub(crate) command: String,
    pub(crate) since_ms: u64,
}

/// The session that is open.
pub(crate) struct ChatSession {
    /// Its id.
    pub(crate) id: SessionId,
    pub(crate) view: SessionView,
    pub(crate) transcript: ChatTranscript,
    /// The newest output of the main agent's running command.
    pub(crate) output: Option<(CallId, String)>,
    pub(crate) jobs: BTreeMap<String, BackgroundJob>,
    /// Tokens in the main agent's window, as the provider counted them last.
    pub(crate) window_tokens: Option<u64>,
    /// The effort that was last set.
    pub(crate) effort: Option<String>,
    /// Sub-agents that had settled when the last prompt was given: their rows are gone.
    pub(crate) rows_from: Seq,
    /// Whether nobody runs it any more: the next prompt takes it up again.
    pub(crate) over: bool,
    /// Whether what comes is from the record.
    pub(crate) replaying: bool,
    /// Since when it is at work.
    pub(crate) since_ms: u64,
}

impl ChatSession {
    pub(crate) fn new(id: SessionId, width: usize, now_ms: u64) -> Self {
        Self {
            id,
            view: SessionView::default(),
            transcript: ChatTranscript::new(width),
            output: None,
            jobs: BTreeMap::new(),
            window_tokens: None,
            effort: None,
            rows_from: Seq(0),
            over: false,
            replaying: false,
            since_ms: now_ms,
        }
    }

    pub(crate) fn main(&self) -> Option<&AgentView> {
        self.view.main()
    }

    /// Whether the main agent or one below it works.
    pub(crate) fn is_at_work(&self) -> bool {
        if self.over || self.replaying {
            return false;
        }
        self.view.open_sub_agents > 0
            || self.main().is_none_or(|main| {
                matches!(
                    main.state,
                    AgentState::Running | AgentState::NeedsPerson | AgentState::Pending | AgentState::Queued
                )
            })
    }

    pub(crate) fn attention(&self) -> ChatAttention {
        ChatAttention { questions: self.view.questions.len(), at_work: self.is_at_work() }
    }

    pub(crate) fn approval(&self) -> Option<Approval> {
        self.view.approval
    }

    /// What the person has said and the main agent was not told yet.
    pub(crate) fn queue(&self) -> Vec<&QueuedMail> {
        let mail = self.main().map_or(&[][..], |main| &main.mail);
        mail.iter().filter(|mail| mail.from == Sender::Person).collect()
    }

    /// The question that is to be answered first; none where nobody would hear the answer.
    pub(crate) fn question(&self) -> Option<&OpenQuestion> {
        self.view.questions.first().filter(|_| !self.over && !self.replaying)
    }

    /// Takes in an update. Says which diff is wanted.
    pub(crate) fn update(&mut self, update: &Update, now_ms: u64) -> Option<Seq> {
        let folded = match update {
            Update::Event(event) => {
                if event.seq <= self.view.seq {
                    return None;
                }
                match self.view.fold(event) {
                    Ok(folded) => folded,
                    Err(_) => {
                        // A damaged record: what is readable is shown.
                        self.view.pass_over(event.seq);
                        self.view.fold(event).unwrap_or_default()
                    }
                }
            }
            Update::Progress(progress) => {
                self.view.note(progress, now_ms);
                self.progress(progress);
                Folded::default()
            }
        };
        if let Update::Event(event) = update {
            self.event(event);
        }
        self.transcript.update(update, &folded, &self.view, now_ms)
    }

    fn progress(&mut self, progress: &Progress) {
        let ProgressKind::Output { call, text } = &progress.kind else { return };
        if self.main().is_none_or(|main| main.id != progress.agent) {
            return;
        }
        match &mut self.output {
            Some((one, output)) if one == call => output.push_str(text),
            _ => self.output = Some((call.clone(), text.clone())),
        }
        if let Some((_, output)) = &mut self.output {
            keep_end(output, OUTPUT_BYTES_MAX);
        }
    }

    fn event(&mut self, event: &Event) {
        let is_main = event.parent.is_none();
        match &event.kind {
            EventKind::BackgroundStarted { name, command } => {
                let job = BackgroundJob { command: command.clone(), since_ms: event.at_ms };
                self.jobs.insert(name.clone(), job);
            }
            EventKind::BackgroundEnded { name, .. } => {
                self.jobs.remove(name);
            }
            EventKind::Replied { reply, .. } if is_main => {
                let usage = reply.usage;
                let sum =
                    usage.input_tokens.map(|input| input.saturating_add(usage.output_tokens.unwrap_or(0)));
                self.window_tokens = sum.or(self.window_tokens);
            }
            EventKind::Compacted { .. } if is_main => self.window_tokens = None,
            EventKind::SettingsChanged { effort, .. } if is_main => self.effort.clone_from(effort),
            EventKind::AgentWoken { .. } if is_main => {
                self.rows_from = event.seq;
                self.since_ms = event.at_ms;
            }
            EventKind::ToolFinished { .. } if is_main => self.output = None,
            EventKind::SessionInterrupted { .. } => self.jobs.clear(),
            EventKind::SessionResumed { .. } => {
                self.over = false;
                self.jobs.clear();
            }
            _ => {}
        }
    }

    /// The sub-agents whose rows are shown: those that have not ended, and those that ended since the last prompt.
    pub(crate) fn shown_agents(&self) -> impl Iterator<Item = (usize, &AgentView)> {
        let from = self.rows_from;
        let agents = self.view.agents.iter().enumerate();
        agents
            .filter(move |(_, agent)| agent.parent.is_some() && (!agent.has_ended() || agent.last_seq > from))
    }
}
