//! Drives one agent from its task to its end. All waiting happens here.

use std::time::{Duration, Instant};

use posse_agent::{Agent, Input, Output, Purpose, Step};
use posse_model::{Model, Signal, Transcript};
use posse_protocol::{AgentId, Effect, EventKind, ModelError, Reply, Report, Sender, ToolCall, Update};
use posse_store::StoreError;
use posse_tools::Toolbox;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::journal::{Journal, Unacknowledged};
use crate::limits::{LAST_WORD_MS_MAX, LAST_WORD_MS_MIN};
use crate::receipt::Effects;
use crate::stage::Stage;
use crate::tool_calls::{self, Progressed};

/// Owns everything one agent needs while it runs.
pub(crate) struct Driver {
    agent: Agent,
    id: AgentId,
    model: Model,
    /// The conversation as the model's protocol writes it; grows with the agent's, one message at a time.
    transcript: Transcript,
    /// The transcript before any message: where a shortened conversation starts again.
    empty: Transcript,
    epoch: u32,
    toolbox: Toolbox,
    journal: Journal,
    updates: broadcast::Sender<Update>,
    cancel: CancellationToken,
    started: Instant,
    deadline: Option<Instant>,
    /// How long a last report may take once the time is over.
    last_word: Duration,
    effects: Effects,
}

/// How a piece of waiting ended.
enum Waited<T> {
    Done(T),
    Cancelled,
    TimeUp,
}

impl Driver {
    #[allow(clippy::too_many_arguments, reason = "the one place where an agent's parts come together")]
    pub(crate) fn new(
        agent: Agent,
        id: AgentId,
        model: Model,
        transcript: Transcript,
        toolbox: Toolbox,
        journal: Journal,
        updates: broadcast::Sender<Update>,
        cancel: CancellationToken,
    ) -> Self {
        let started = Instant::now();
        let deadline = agent.time_ms().map(|ms| started + Duration::from_millis(ms));
        let last_word_ms = (agent.time_ms().unwrap_or(0) / 10).clamp(LAST_WORD_MS_MIN, LAST_WORD_MS_MAX);
        let last_word = Duration::from_millis(last_word_ms);
        let (empty, effects) = (transcript.clone(), Effects::default());
        Self {
            agent,
            id,
            model,
            transcript,
            empty,
            epoch: 0,
            toolbox,
            journal,
            updates,
            cancel,
            started,
            deadline,
            last_word,
            effects,
        }
    }

    /// Runs the agent to its end, which is on record when this returns.
    pub(crate) async fn run(mut self, prompt: String) -> Report {
        let mut input = Input::Told { from: Sender::Person, text: prompt };
        loop {
            let Output { record, step } = self.agent.handle(input, self.elapsed_ms());
            for kind in record {
                self.journal.note(kind);
            }
            input = match step {
                Step::CallModel { turn, purpose } => self.call_model(turn, purpose).await,
                Step::CallTools { calls } => self.call_tools(&calls).await,
                Step::Settle(ending) => {
                    let text = self.agent.last_words().to_string();
                    let report = Report {
                        ending,
                        text,
                        receipt: self.effects.receipt(&self.agent),
                        warnings: Vec::new(),
                    };
                    self.journal.note(EventKind::AgentSettled { report: report.clone() });
                    if let Err(error) = self.journal.durable().await {
                        tracing::error!(%error, "the end of an agent could not be recorded");
                    }
                    return report;
                }
                Step::Wait => {
                    self.cancel.cancelled().await;
                    Input::Cancel { partial: String::new(), done: Vec::new() }
                }
            };
        }
    }

    async fn call_model(&mut self, turn: u32, purpose: Purpose) -> Input {
        if purpose == Purpose::LastWord {
            self.deadline = self.deadline.map(|at| at.max(Instant::now() + self.last_word));
        }
        self.extend_transcript();
        let since = Instant::now();
        let mut on_record = self.journal.send_and_take();
        let stage = Stage::new(self.id, self.updates.clone());
        let waited = {
            let mut on_signal = |signal| match signal {
                Signal::Retrying { attempt, delay_ms, reason } => {
                    self.journal.note(EventKind::Retrying { attempt, delay_ms, reason });
                    self.journal.send();
                }
                signal => stage.show(signal),
            };
            let call = self.model.call(&self.transcript, &mut on_signal);
            wait(on_stage(call, &mut on_record, &stage), &self.cancel, self.deadline).await
        };
        self.journal.give_back(on_record);
        let duration_ms = since.elapsed().as_millis() as u64;
        match waited {
            Waited::Done(Ok(result)) => self.replied(turn, result, duration_ms),
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => Input::Cancel { partial: stage.partial(), done: Vec::new() },
            Waited::TimeUp => self.time_up(stage.partial(), Vec::new()),
        }
    }

    fn replied(&mut self, turn: u32, result: Result<Reply, ModelError>, duration_ms: u64) -> Input {
        match result {
            Ok(reply) => {
                self.journal.note(EventKind::Replied { turn, reply: reply.clone(), duration_ms });
                Input::Replied(reply)
            }
            Err(error) => {
                self.journal.note(EventKind::ModelFailed { turn, error: error.clone() });
                Input::ModelFailed(error)
            }
        }
    }

    async fn call_tools(&mut self, calls: &[ToolCall]) -> Input {
        self.toolbox.next_turn();
        let mut progressed = Progressed::default();
        let run = tool_calls::run(&self.toolbox, calls, &mut self.journal, &mut progressed);
        let waited = wait(run, &self.cancel, self.deadline).await;
        progressed.stopped();
        self.effects.add(&progressed.effects);
        for effect in progressed.effects {
            if let Effect::Todo { text } = effect {
                self.agent.pin("To-do list", text);
            }
        }
        match waited {
            Waited::Done(Ok(())) => Input::ToolsDone(progressed.done),
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => Input::Cancel { partial: String::new(), done: progressed.done },
            Waited::TimeUp => self.time_up(String::new(), progressed.done),
        }
    }

    /// Time is over: the agent gets a moment for a last report, and after that none.
    fn time_up(&mut self, partial: String, done: Vec<posse_agent::Done>) -> Input {
        self.deadline = Some(Instant::now() + self.last_word);
        Input::TimeUp { partial, done }
    }

    /// Brings the transcript up to the conversation: only what is new is encoded.
    fn extend_transcript(&mut self) {
        let conversation = self.agent.conversation();
        if conversation.epoch() != self.epoch {
            self.epoch = conversation.epoch();
            self.transcript = self.empty.clone();
        }
        for message in &conversation.messages()[self.transcript.len()..] {
            self.transcript.push(message);
        }
    }

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

async fn wait<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
) -> Waited<T> {
    let time_up = async {
        match deadline {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Waited::Cancelled,
        () = time_up => Waited::TimeUp,
        done = work => Waited::Done(done),
    }
}

fn broken(error: &StoreError) -> Input {
    Input::Broken { message: format!("the record cannot be written: {error}") }
}

/// Makes a call whose request may leave before its turn is on record. What comes is shown once everything before it
/// is published; a reply that is complete by then needs no showing, since its event holds all of it.
async fn on_stage<T>(
    call: impl Future<Output = T>,
    on_record: &mut Unacknowledged,
    stage: &Stage,
) -> Result<T, StoreError> {
    let mut call = std::pin::pin!(call);
    tokio::select! {
        biased;
        recorded = on_record.durable() => {
            recorded?;
            stage.open();
            Ok(call.await)
        }
        result = &mut call => Ok(result),
    }
}
