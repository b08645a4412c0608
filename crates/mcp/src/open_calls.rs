//! The calls that a server works on: when each last showed that it goes on, and where questions go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_tools::{OutsideAnswer, OutsideQuestion, OutsideQuestions};
use rmcp::model::ProgressToken;
use tokio::sync::{oneshot, watch};

use crate::limits;

/// All calls that are under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenCalls(Arc<Mutex<Vec<OpenCall>>>);

#[derive(Clone, Debug)]
struct OpenCall {
    token: ProgressToken,
    pulse: Pulse,
    questions: Option<OutsideQuestions>,
}

/// Says that a call goes on.
#[derive(Clone, Debug)]
pub(crate) struct Pulse(watch::Sender<Beat>);

#[derive(Clone, Copy, Debug)]
struct Beat {
    at: Instant,
    /// Questions that wait for the person: time does not count meanwhile.
    asking: u32,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Beat { at: Instant::now(), asking: 0 }))
    }

    fn beat(&self) {
        self.0.send_modify(|beat| beat.at = Instant::now());
    }

    /// Waits until it has been silent for so long, or until its time is over in all.
    pub(crate) async fn silent_for(&self, idle: Duration) {
        let mut beats = self.0.subscribe();
        let mut left = Duration::from_millis(limits::CALL_TOTAL_MS);
        loop {
            let Beat { at, asking } = *beats.borrow_and_update();
            if asking > 0 {
                // The person has all the time there is.
                let _ = beats.changed().await;
                continue;
            }
            let (now, quiet) = (Instant::now(), idle.saturating_sub(at.elapsed()));
            tokio::select! {
                () = tokio::time::sleep(quiet.min(left)) => return,
                _ = beats.changed() => left = left.saturating_sub(now.elapsed()),
            }
        }
    }
}

/// A call that is in the list as long as this lives.
pub(crate) struct Listed {
    calls: OpenCalls,
    token: ProgressToken,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.calls.all().retain(|call| call.token != self.token);
    }
}

impl OpenCalls {
    fn all(&self) -> MutexGuard<'_, Vec<OpenCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call.
    pub(crate) fn add(
        &self,
        token: ProgressToken,
        pulse: Pulse,
        questions: Option<OutsideQuestions>,
    ) -> Listed {
        self.all().push(OpenCall { token: token.clone(), pulse, questions });
        Listed { calls: self.clone(), token }
    }

    /// The server has told progress of a call.
    pub(crate) fn progressed(&self, token: &ProgressToken) {
        if let Some(call) = self.all().iter().find(|call| call.token == *token) {
            call.pulse.beat();
        }
    }

    /// Where a question goes that the server asks by itself: to the call that began last, since a server does not say which it
    /// is about.
    pub(crate) fn asker(&self, server: &str) -> Option<Asker> {
        let all = self.all();
        let call = all.iter().rev().find(|call| call.questions.is_some())?;
        Some(Asker::new(server, call.questions.clone()?, call.pulse.clone()))
    }
}

/// Asks the person within one call.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    server: String,
    questions: OutsideQuestions,
    pulse: Pulse,
}

impl Asker {
    pub(crate) fn new(server: &str, questions: OutsideQuestions, pulse: Pulse) -> Self {
        Self { server: server.to_owned(), questions, pulse }
    }

    /// Asks, and waits for the answer with the call's time stopped.
    pub(crate) async fn ask(&self, text: String, choices: Vec<String>) -> OutsideAnswer {
        struct Asking<'a>(&'a Pulse);
        impl Drop for Asking<'_> {
            fn drop(&mut self) {
                self.0.0.send_modify(|beat| {
                    *beat = Beat { at: Instant::now(), asking: beat.asking.saturating_sub(1) };
                });
            }
        }
        self.pulse.0.send_modify(|beat| beat.asking += 1);
        let _asking = Asking(&self.pulse);
        let (answer, answered) = oneshot::channel();
        let question = OutsideQuestion { server: self.server.clone(), text, choices, answer };
        if self.questions.send(question).await.is_err() {
            return OutsideAnswer::Nobody;
        }
        answered.await.unwrap_or(OutsideAnswer::Nobody)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_stops_the_clock() {
        let pulse = Pulse::new();
        let (sender, mut questions) = tokio::sync::mpsc::channel(1);
        let asker = Asker::new("x", sender, pulse.clone());
        let asked = tokio::spawn(async move { asker.ask("why?".to_owned(), Vec::new()).await });
        let question = questions.recv().await.unwrap();
        let silent = tokio::spawn(async move { pulse.silent_for(Duration::from_millis(1)).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!silent.is_finished(), "the person thinks");
        question.answer.send(OutsideAnswer::Said("because".to_owned())).unwrap();
        assert_eq!(asked.await.unwrap(), OutsideAnswer::Said("because".to_owned()));
        silent.await.unwrap();
    }
}
