//! Questions of an agent on a worker: they wait here, where the person is, and their answers travel back.

use std::collections::HashMap;
use std::sync::Arc;

use posse_protocol::{AgentId, Answer, CallId, Question};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::crew::Crew;
use crate::rights::approvals::PendingQuestion;

/// The open questions of one agent, and the answers that it was given. Dropping a question takes it back.
#[derive(Default)]
pub(super) struct RemoteQuestions {
    open: HashMap<CallId, AbortOnDropHandle<()>>,
    given: Vec<(CallId, Answer)>,
}

impl RemoteQuestions {
    /// Puts a question to the person, with the agent's clock stopped until it is answered.
    pub(super) fn open(
        &mut self,
        crew: &Arc<Crew>,
        agent: AgentId,
        question: Question,
        answers: mpsc::UnboundedSender<(CallId, Answer)>,
    ) {
        if !crew.approvals.has_person() {
            let _ = answers.send((question.call, Answer::Nobody));
            return;
        }
        let (call, crew) = (question.call.clone(), Arc::clone(crew));
        let asked = PendingQuestion::of_worker(question);
        let waiting = tokio::spawn(async move {
            let open = crew.approvals.open(agent, &asked);
            let _waits = crew.wait_for_person(agent);
            let answer = open.answer().await;
            let _ = answers.send((asked.question.call.clone(), answer));
        });
        self.open.insert(call, AbortOnDropHandle::new(waiting));
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// The person has answered, and the worker is told.
    pub(super) fn gave(&mut self, call: &CallId, answer: &Answer) {
        if *answer != Answer::Nobody {
            self.given.push((call.clone(), answer.clone()));
        }
    }

    /// The answer that goes on record where a worker says that a question was answered so: what nobody has said is no answer.
    pub(super) fn as_given(&self, call: &CallId, answer: &Answer) -> Answer {
        let for_all = |given: &Answer| matches!(given, Answer::Session | Answer::Pattern { .. });
        let was_given = self.given.iter().any(|(of, given)| match of == call {
            // A pattern that does not cover the call lets that one call run.
            true => given == answer || (for_all(given) && *answer == Answer::Once),
            // What is allowed from now on answers other questions, too.
            false => for_all(given) && given == answer,
        });
        match answer {
            Answer::Nobody | Answer::Withdrawn => answer.clone(),
            _ if was_given => answer.clone(),
            _ => Answer::Withdrawn,
        }
    }

    /// It is answered, or nobody wants to know any more.
    pub(super) fn close(&mut self, call: &CallId) {
        self.open.remove(call);
    }

    /// Takes all of them back: their worker is gone.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}
