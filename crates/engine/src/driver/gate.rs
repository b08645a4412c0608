//! The gate every call goes through once its grant allows it: done, asked, or denied.

use std::pin::Pin;

use posse_policy::{Act, Decision, Undo, Wish, pattern_for, session_pattern};
use posse_protocol::{
    AgentId, Answer, Approval, CallId, Denial, EventKind, FreeQuestion, Question, ToolOutcome, visible,
};
use posse_store::StoreError;
use posse_tools::{NOBODY_HERE, OutsideQuestion, Preview};
use posse_workspace::Permit;

use crate::crew::Crew;
use crate::delegation::calls::{DelegationCall, Work};
use crate::record::journal::Journal;
use crate::rights::approvals::{PendingQuestion, WrittenFiles};

/// The gate of one agent.
pub(crate) struct Gate {
    pub(crate) crew: std::sync::Arc<Crew>,
    pub(crate) agent: AgentId,
    pub(crate) name: String,
    pub(crate) approval: Approval,
    /// Whether its commands can reach the network.
    pub(crate) reaches_out: bool,
    /// The project's file that its role comes from, if the person has not trusted that.
    pub(crate) strange_file: Option<String>,
}

/// An answer that is waited for.
pub(crate) type ComingAnswer<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// What became of a call at the gate.
pub(crate) enum GateOutcome {
    /// It may run.
    Free,
    /// It may not; the outcome is the answer to the call.
    Denied(Denial, ToolOutcome),
    /// A person has to be asked.
    Ask(Box<PendingQuestion>),
    /// It was a question, and this is the answer to the call.
    Answered(ToolOutcome),
}

/// What an agent is told if the person does not want to answer.
const DECLINED: &str = include_str!("../../prompts/declined.md").trim_ascii();

impl Gate {
    /// Looks at a call. Nothing is asked yet. What may run at once is permitted what it needs.
    pub(crate) fn look(&self, call: &CallId, work: &Work, undo: Undo) -> GateOutcome {
        let (wish, obeyed) = match work {
            Work::Tool { prepared, .. } => (prepared.wish(), prepared.obeyed_by()),
            Work::Delegation(asked) => match asked.brings_in() {
                Some(agent) => return self.look_at_merge(call, asked, agent),
                None => return GateOutcome::Free,
            },
        };
        let wish = Wish { act: obeyed.map_or(wish.act, Act::Obeyed), ..wish };
        if wish.act == Act::Leave && self.crew.home.is_some() {
            return self.denied(&wish, "an agent on a worker never leaves the sandbox".to_string());
        }
        // A link must not lead round a rule. Where there are none, every path is like the other.
        let place = match work {
            Work::Tool { prepared, .. } if obeyed.is_some() || self.crew.approvals.has_rules() => {
                prepared.place()
            }
            _ => None,
        };
        let mut wishes = vec![wish];
        let real = place.as_deref().filter(|place| *place != wish.what);
        wishes.extend(real.map(|what| Wish { what, ..wish }));
        match self.crew.approvals.judge(self.agent, self.approval, undo, &wishes) {
            Decision::Allow | Decision::Ask(_) if let Some(asks) = free(work) => {
                let question = Question::new(call.clone(), wish.tool, wish.what);
                let question = Question { asks: Some(asks), ..question };
                GateOutcome::Ask(Box::new(PendingQuestion::free(question)))
            }
            Decision::Allow => {
                if obeyed.is_some() {
                    self.permit(work);
                }
                GateOutcome::Free
            }
            Decision::Deny(reason) => self.denied(&wish, reason),
            Decision::Ask(why) => {
                if let Some(denied) = self.not_to_be_shown(&wish, work) {
                    return denied;
                }
                // A skill can wait for the person; nothing else can.
                if let Work::Tool { prepared, .. } = work
                    && !self.crew.approvals.has_person()
                    && prepared.as_draft()
                {
                    return GateOutcome::Free;
                }
                let leaves = wish.act == Act::Leave;
                let told = if leaves { self.written(wish.what) } else { WrittenFiles::default() };
                let mut asks = self.pending(call, &wish, self.why(why), undo);
                asks.wishes = wishes.iter().map(|wish| (wish.what.to_string(), wish.act)).collect();
                asks.seen = told.seen;
                asks.question = Question {
                    real_path: real_path(work),
                    leaves,
                    written: told.named,
                    written_more: told.more,
                    writing: told.writing,
                    ..asks.question
                };
                GateOutcome::Ask(asks)
            }
        }
    }

    /// The question that a hook wants to be asked about a call that would run without one.
    pub(crate) fn question_of_hook(&self, call: &CallId, work: &Work, why: String) -> GateOutcome {
        let (tool, what, act) = match work {
            Work::Tool { prepared, .. } => {
                let wish = prepared.wish();
                (wish.tool.to_string(), wish.what.to_string(), wish.act)
            }
            Work::Delegation(asked) => ("agent".to_string(), asked.title(), Act::Edit),
        };
        let wish = Wish { tool: &tool, what: &what, act };
        let mut asks = self.pending(call, &wish, why, Undo::Holds);
        // An answer to another question must not answer this one by the mode.
        asks.approval = Approval::Ask;
        asks.question.real_path = real_path(work);
        GateOutcome::Ask(asks)
    }

    /// Denies a call because hooks said no.
    pub(crate) fn denied_by_hook(
        &self,
        work: &Work,
        tool: &str,
        reason: String,
        text: String,
    ) -> GateOutcome {
        let what = match work {
            Work::Tool { prepared, .. } => prepared.wish().what.to_string(),
            Work::Delegation(asked) => asked.title(),
        };
        self.refused(&Wish { tool, what: &what, act: Act::Read }, reason, text)
    }

    /// What the session wrote, as whoever lets this command out of the sandbox should know it.
    fn written(&self, command: &str) -> WrittenFiles {
        let site = self.crew.site(self.agent);
        self.crew.approvals.written(command, |path| site.workspace.can_be_run(path))
    }

    /// Why something asks. Whoever has not trusted a role's file should know that it asks for that alone.
    fn why(&self, why: String) -> String {
        match &self.strange_file {
            Some(file) => {
                let why = why.trim_end_matches('.');
                format!("{why}; its role comes from {file}, which you have not trusted (posse trust)")
            }
            None => why,
        }
    }

    /// A merge may bring in what other programs act on by themselves. It is asked for with the list of that; without a yes
    /// the rest comes in.
    fn look_at_merge(&self, call: &CallId, asked: &DelegationCall, agent: &str) -> GateOutcome {
        let wish = Wish { tool: "merge", what: agent, act: Act::Edit };
        let obeyed = self.obeyed_on_branch(agent);
        let listed = obeyed.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
        let what = format!("{agent}: {listed}");
        let more =
            obeyed.first().map(|(_, program)| Wish { tool: "merge", what: &what, act: Act::Obeyed(program) });
        let judge =
            |wish: &Wish<'_>| self.crew.approvals.judge(self.agent, self.approval, Undo::Holds, &[*wish]);
        let plain = judge(&wish);
        let without = plain == Decision::Allow;
        let both = more.map(|more| (more, judge(&more)));
        let (wish, why) = match (plain, both) {
            (Decision::Deny(reason), _) => return self.denied(&wish, reason),
            (Decision::Allow, None | Some((_, Decision::Allow))) => {
                asked.permit(if self.approval == Approval::Full {
                    Permit::Everything
                } else {
                    these(&obeyed)
                });
                return GateOutcome::Free;
            }
            // What may not be brought in is left out.
            (Decision::Allow, Some((_, Decision::Deny(_)))) => return GateOutcome::Free,
            (_, Some((more, Decision::Ask(why)))) => (more, why),
            (Decision::Ask(why), _) => (wish, why),
        };
        let mut asks = self.pending(call, &wish, why, Undo::Holds);
        asks.without = without;
        GateOutcome::Ask(asks)
    }

    /// The question whether this may be done, with nothing told besides.
    fn pending(&self, call: &CallId, wish: &Wish<'_>, why: String, undo: Undo) -> Box<PendingQuestion> {
        let question = Question::new(call.clone(), wish.tool, wish.what);
        Box::new(PendingQuestion {
            question: Question { why, pattern: pattern_for(wish), ..question },
            for_session: session_pattern(wish),
            approval: self.approval,
            undo,
            wishes: vec![(wish.what.to_string(), wish.act)],
            without: false,
            seen: 0,
            of_worker: false,
        })
    }

    /// What an agent has changed in its checkout that other programs act on by themselves, as its receipt has it. What is
    /// not in there is left out of a merge.
    fn obeyed_on_branch(&self, agent: &str) -> Vec<(String, &'static str)> {
        let id = self.crew.tree(|tree| tree.find(self.agent, agent));
        let Some(finished) = id.and_then(|id| self.crew.finished(id)) else { return Vec::new() };
        let receipt = &finished.report.receipt;
        let site = self.crew.site(self.agent);
        let files = receipt.files.iter().chain(&receipt.files_below);
        let obeyed = files.filter_map(|file| {
            let path = site.workspace.resolve(&file.path).ok()?;
            Some((path.to_string(), site.workspace.protected(&path)?))
        });
        obeyed.collect()
    }

    /// Lets a call write what other programs act on by themselves.
    fn permit(&self, work: &Work) {
        match work {
            Work::Tool { prepared, .. } => prepared.permit(),
            Work::Delegation(asked) => {
                asked.permit(these(
                    &asked.brings_in().map(|agent| self.obeyed_on_branch(agent)).unwrap_or_default(),
                ));
            }
        }
    }

    /// Denies a command that no person could judge by what they see: nobody is asked about control characters.
    fn not_to_be_shown(&self, wish: &Wish<'_>, work: &Work) -> Option<GateOutcome> {
        let command = matches!(work, Work::Tool { prepared, .. } if prepared.command().is_some());
        let control = visible::control(wish.what).filter(|_| command)?;
        let reason = format!("the command holds the control character U+{:04X}", u32::from(control));
        let text = format!(
            "Not allowed: {reason}, and a person is asked only about what can be shown. Nothing was done. Write it as an \
             escape that the program reads, such as printf '\\033' or $'\\x1b', and call again."
        );
        Some(self.refused(wish, reason, text))
    }

    fn denied(&self, wish: &Wish<'_>, reason: String) -> GateOutcome {
        let text = format!("Not allowed: {reason}. Nothing was done. Do not look for a way round it.");
        self.refused(wish, reason, text)
    }

    fn refused(&self, wish: &Wish<'_>, reason: String, text: String) -> GateOutcome {
        let (agent, tool, what) = (self.name.clone(), wish.tool.to_string(), wish.what.to_string());
        GateOutcome::Denied(Denial { agent, tool, what, reason }, ToolOutcome::error(text))
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(
        &self,
        asks: &PendingQuestion,
        work: &Work,
        journal: &mut Journal,
    ) -> Result<GateOutcome, StoreError> {
        if asks.question.asks.is_some() {
            // The answer goes on record together with the result of the call, so that nobody is asked twice.
            let answer = self.answer_to(asks, asks.question.clone(), journal).await?;
            return Ok(GateOutcome::Answered(ToolOutcome::ok(words_of(answer))));
        }
        let preview = self.crew.approvals.has_person().then(|| self.preview(work)).flatten();
        let text = preview.as_ref().map(|preview| preview.text.clone()).or_else(|| self.brought_in(work));
        let question = Question { preview: text, ..asks.question.clone() };
        let answer = self.answer_to(asks, question.clone(), journal).await?;
        journal.send();
        let wish = Wish { tool: &question.tool, what: &question.what, act: Act::Read };
        Ok(match answer {
            Answer::Once | Answer::Session | Answer::Pattern { .. } => {
                let still = match (&preview, self.preview(work)) {
                    (Some(shown), Some(now)) => now.still(shown),
                    (shown, now) => shown.is_none() == now.is_none(),
                };
                if real_path(work) != question.real_path {
                    self.denied(&wish, "the path leads elsewhere than when the person was asked".to_string())
                } else if !still {
                    let reason = "the file has changed since the person was asked; read it again";
                    self.denied(&wish, reason.to_string())
                } else {
                    if asks.wishes.iter().any(|(_, act)| matches!(act, Act::Obeyed(_))) {
                        self.permit(work);
                    }
                    GateOutcome::Free
                }
            }
            _ if asks.without => GateOutcome::Free,
            Answer::No { reason } if reason.trim().is_empty() => {
                self.denied(&wish, "the person said no".to_string())
            }
            Answer::No { reason } => self.denied(&wish, format!("the person said no: {}", reason.trim())),
            Answer::Said { .. } | Answer::Nobody | Answer::Withdrawn => self
                .denied(&wish, format!("{}, and nobody is there to ask", question.why.trim_end_matches('.'))),
        })
    }

    /// Puts a question to the person, and waits for the answer with the agent's clock stopped. Notes both.
    async fn answer_to(
        &self,
        asks: &PendingQuestion,
        question: Question,
        journal: &mut Journal,
    ) -> Result<Answer, StoreError> {
        let call = question.call.clone();
        let answer = self.put(asks, question, journal).await?.await;
        journal.note(EventKind::PersonAnswered { call, answer: answer.clone() });
        Ok(answer)
    }

    /// Puts a question to the person and notes it. What it gives back is the answer, and stops the agent's clock until it is
    /// there or nobody waits for it any more.
    async fn put(
        &self,
        asks: &PendingQuestion,
        question: Question,
        journal: &mut Journal,
    ) -> Result<ComingAnswer<'_>, StoreError> {
        journal.note(EventKind::PersonNeeded { question });
        if !self.crew.approvals.has_person() {
            return Ok(Box::pin(std::future::ready(Answer::Nobody)));
        }
        // Open before it can be seen: whoever sees it may answer at once.
        let open = self.crew.approvals.open(self.agent, asks);
        let standing = self.crew.wait_for_person(self.agent);
        journal.durable().await?;
        Ok(Box::pin(async move {
            let _standing = standing;
            open.answer().await
        }))
    }

    /// Puts the question of a server to the person, within a call that runs.
    pub(crate) async fn put_for_server(
        &self,
        call: &CallId,
        asked: &OutsideQuestion,
        journal: &mut Journal,
    ) -> Result<ComingAnswer<'_>, StoreError> {
        let what = format!("The server {} asks: {}", asked.server, asked.text);
        let question = Question::new(call.clone(), "ask_person", &what);
        let question = Question { asks: Some(FreeQuestion { choices: asked.choices.clone() }), ..question };
        self.put(&PendingQuestion::free(question.clone()), question, journal).await
    }

    /// What a call would change, as things are now.
    fn preview(&self, work: &Work) -> Option<Preview> {
        match work {
            Work::Tool { prepared, .. } => prepared.preview(),
            Work::Delegation(_) => None,
        }
    }

    /// The work of another agent that a call would bring in, as a diff.
    fn brought_in(&self, work: &Work) -> Option<String> {
        let Work::Delegation(asked) = work else { return None };
        let name = asked.brings_in()?;
        let id = self.crew.tree(|tree| tree.find(self.agent, name))?;
        Some(self.crew.finished(id)?.report.receipt.branch.as_ref()?.diff.clone())
    }
}

/// What a call asks in words, if it asks and does nothing else.
fn free(work: &Work) -> Option<FreeQuestion> {
    match work {
        Work::Tool { prepared, .. } => prepared.asks(),
        Work::Delegation(_) => None,
    }
}

/// What the agent is told of the answer to a question in words.
fn words_of(answer: Answer) -> String {
    match answer {
        Answer::Said { text } => text.trim().to_string(),
        Answer::No { reason } if reason.trim().is_empty() => DECLINED.to_string(),
        Answer::No { reason } => format!("{DECLINED} They say: {}", reason.trim()),
        _ => NOBODY_HERE.to_string(),
    }
}

fn these(obeyed: &[(String, &'static str)]) -> Permit {
    Permit::These(obeyed.iter().map(|(path, _)| path.clone()).collect())
}

/// Where the path of a call really leads, links resolved.
fn real_path(work: &Work) -> Option<String> {
    match work {
        Work::Tool { prepared, .. } => Some(prepared.real_path()?.display().to_string()),
        Work::Delegation(_) => None,
    }
}
