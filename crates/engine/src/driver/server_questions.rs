//! Questions that servers ask the person while calls of their tools run.

use std::task::Poll;

use posse_protocol::{Answer, CallId, EventKind, TraceParent};
use posse_store::StoreError;
use posse_tools::{OutsideAnswer, OutsideQuestion, Prepared};
use tokio::sync::{mpsc, oneshot};

use crate::driver::gate::{ComingAnswer, Gate};
use crate::record::journal::Journal;

/// The questions of all calls that run, one at a time.
#[derive(Default)]
pub(crate) struct ServerQuestions<'a> {
    asking: Vec<(CallId, mpsc::Receiver<OutsideQuestion>)>,
    open: Option<OpenQuestion<'a>>,
}

/// One that waits for the person.
struct OpenQuestion<'a> {
    call: CallId,
    coming: ComingAnswer<'a>,
    reply: oneshot::Sender<OutsideAnswer>,
}

/// What happens next.
pub(crate) enum ServerNews {
    /// A server of this call asks.
    Asks(CallId, OutsideQuestion),
    /// The person has answered.
    Answered(Answer),
}

impl<'a> ServerQuestions<'a> {
    /// Listens to the server of a call.
    pub(crate) fn listen(
        &mut self,
        call: &CallId,
        prepared: Prepared,
        traceparent: Option<TraceParent>,
    ) -> Prepared {
        if !prepared.is_outside() {
            return prepared;
        }
        let (sender, questions) = mpsc::channel(1);
        self.asking.push((call.clone(), questions));
        prepared.heard_through(sender, traceparent)
    }

    /// The call whose question is open.
    pub(crate) fn open_for(&self) -> Option<&CallId> {
        self.open.as_ref().map(|open| &open.call)
    }

    /// Waits for the next question, or for the answer to the one that is open.
    pub(crate) async fn next(&mut self) -> ServerNews {
        std::future::poll_fn(|context| {
            if let Some(open) = &mut self.open {
                return open.coming.as_mut().poll(context).map(ServerNews::Answered);
            }
            for (call, questions) in &mut self.asking {
                if let Poll::Ready(Some(question)) = questions.poll_recv(context) {
                    return Poll::Ready(ServerNews::Asks(call.clone(), question));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Puts a question to the person, or hands on the answer.
    pub(crate) async fn handle(
        &mut self,
        news: ServerNews,
        gate: &'a Gate,
        journal: &mut Journal,
    ) -> Result<(), StoreError> {
        match news {
            ServerNews::Asks(call, question) => {
                let coming = gate.put_for_server(&call, &question, journal).await?;
                self.open = Some(OpenQuestion { call, coming, reply: question.answer });
            }
            ServerNews::Answered(answer) => {
                let Some(OpenQuestion { call, reply, .. }) = self.open.take() else { return Ok(()) };
                journal.note(EventKind::PersonAnswered { call, answer: answer.clone() });
                journal.send();
                // It may have given up meanwhile.
                let _ = reply.send(match answer {
                    Answer::Said { text } => OutsideAnswer::Said(text),
                    Answer::No { .. } => OutsideAnswer::Declined,
                    _ => OutsideAnswer::Nobody,
                });
            }
        }
        Ok(())
    }

    /// A call has ended: nobody answers its question any more.
    pub(crate) fn ended(&mut self, call: &CallId, journal: &mut Journal) {
        self.asking.retain(|(asking, _)| asking != call);
        if self.open.as_ref().is_some_and(|open| open.call == *call) {
            self.open = None;
            journal.note(EventKind::PersonAnswered { call: call.clone(), answer: Answer::Withdrawn });
        }
    }
}
