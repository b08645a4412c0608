//! One agent's calls of delegation tools: they come in as commands, and answers go out.
//!
//! What a command means is decided by `surface`, whether it may be done by the tree; this carries it out.

mod merging;
mod single;
mod waiting;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use posse_protocol::visible::one_line;
use posse_protocol::{
    AgentId, CallId, CallKind, ContextMode, Ending, Grant, Role, Sender, Task, ToolCall, ToolOutcome,
};
use posse_report::quote;
use posse_surface::{AgentCommand, Join, Shape, Surface, Until};
use posse_tools::{Prepared, Toolbox};
use posse_workspace::Permit;

use crate::agents::context::{self, Snapshot};
use crate::agents::finished::FinishedAgent;
use crate::agents::offer::{roles_for, with_offer};
use crate::agents::start::StartedAgent;
use crate::crew::Crew;
use crate::delegation::answers::{self, CallAnswer};
use crate::delegation::handles;
use crate::delegation::starting::{self, Delegator};
use crate::delegation::team;
use crate::limits::{MESSAGE_BYTES_MAX, STOP_WAIT_MS};
use crate::models::choice::PricedModel;
use crate::remote::{Home, HomeReply, HomeRequest};
use crate::rights::shell_rights;

/// Lives as long as its agent.
pub(crate) struct DelegationCalls {
    crew: Arc<Crew>,
    id: AgentId,
    model: PricedModel,
    grant: Grant,
    surface: Surface,
    team: bool,
    /// How often in a row it asked for a status that had not changed.
    polls: AtomicU32,
    /// How long its waits have lasted since one of them told something.
    waited_ms: AtomicU64,
}

/// What a call turned out to be.
pub(crate) enum Work {
    /// A tool that runs.
    Tool {
        prepared: Box<Prepared>,
        /// The command it was written as, where everything is one.
        routed: Option<String>,
    },
    /// A call of a delegation tool.
    Delegation(Box<DelegationCall>),
}

/// A command that was understood and not carried out yet.
pub(crate) struct DelegationCall {
    call: CallId,
    /// The call as it was made, where home carries it out.
    raw: Option<Box<ToolCall>>,
    command: AgentCommand,
    title: String,
    routed: Option<String>,
    snapshot: Option<Arc<Snapshot>>,
    /// What `help` answers.
    help: Option<String>,
    /// What it may bring in although other programs act on it by themselves.
    permit: OnceLock<Permit>,
}

impl DelegationCall {
    /// Lets it bring in what other programs act on by themselves.
    pub(crate) fn permit(&self, permit: Permit) {
        let _ = self.permit.set(permit);
    }

    pub(crate) fn title(&self) -> String {
        self.title.clone()
    }

    /// What kind of thing it does.
    pub(crate) fn kind(&self) -> CallKind {
        match &self.command {
            AgentCommand::Merge { .. } => CallKind::Edit,
            AgentCommand::Read { .. } => CallKind::Read,
            AgentCommand::Run(_) | AgentCommand::Help(_) => CallKind::Other,
            _ => CallKind::Delegate,
        }
    }

    /// Whether it starts an agent.
    pub(crate) fn starts(&self) -> bool {
        matches!(self.command, AgentCommand::Start { .. })
    }

    /// What hooks are told of the start of an agent; none if it starts none.
    pub(crate) fn hook_input(&self) -> Option<serde_json::Value> {
        let AgentCommand::Start { task, .. } = &self.command else { return None };
        let mut input = serde_json::json!({"prompt": task.prompt, "description": task.title});
        if let Some(role) = &task.role {
            input["subagent_type"] = role.clone().into();
        }
        if let Some(model) = &task.model {
            input["model"] = model.clone().into();
        }
        Some(input)
    }

    /// The agent whose work it brings into the workspace, if it does.
    pub(crate) fn brings_in(&self) -> Option<&str> {
        match &self.command {
            AgentCommand::Merge { agent } => Some(agent),
            _ => None,
        }
    }

    /// Whether it starts, steers or stops an agent, rather than looking at one.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self.command,
            AgentCommand::Wait { .. }
                | AgentCommand::Status { .. }
                | AgentCommand::Read { .. }
                | AgentCommand::Help(_)
        )
    }
}

impl DelegationCalls {
    /// Its agent works with another model, or may do other things, from now on.
    pub(crate) fn change(&mut self, model: PricedModel, grant: Grant) {
        (self.model, self.grant) = (model, grant);
    }

    pub(crate) fn new(crew: Arc<Crew>, id: AgentId, model: PricedModel, grant: Grant) -> Option<Self> {
        let delegation = crew.delegation.as_ref()?;
        let (surface, team) = (delegation.surface, delegation.team);
        Some(Self {
            crew,
            id,
            model,
            grant,
            surface,
            team,
            polls: AtomicU32::new(0),
            waited_ms: AtomicU64::new(0),
        })
    }

    /// Whether a call is one of a delegation tool. Where everything is a command, there are no other tools.
    pub(crate) fn owns(&self, call: &ToolCall) -> bool {
        self.surface == Surface::Shell || self.surface.owns(&call.name, self.team)
    }

    /// Reads a call. Nothing is done yet; the error is the answer to it.
    pub(crate) fn read(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        snapshot: Option<Arc<Snapshot>>,
    ) -> Result<Work, ToolOutcome> {
        let (command, routed) = if self.surface == Surface::Shell {
            if !self.surface.owns(&call.name, self.team) {
                let text = format!(
                    "There is no tool {}. Use bash: `help` lists its commands.",
                    one_line(&call.name, 60)
                );
                return Err(ToolOutcome::error(text));
            }
            let routed = posse_surface::parse_routed(call).map_err(ToolOutcome::error)?;
            let role = self.role_started(&routed.command);
            shell_rights::may_run(&self.grant.tools, &routed, role).map_err(ToolOutcome::error)?;
            (routed.command, Some(routed.name))
        } else {
            (self.surface.parse(call, self.team).map_err(ToolOutcome::error)?, None)
        };
        if let AgentCommand::Run(call) = &command {
            let prepared = Box::new(toolbox.prepare(call)?);
            return Ok(Work::Tool { prepared, routed });
        }
        let title = one_line(&answers::title(&command), posse_protocol::limits::TITLE_CHARS_MAX);
        let raw = self.crew.home.is_some().then(|| Box::new(call.clone()));
        let (call, permit) = (call.id.clone(), OnceLock::new());
        let help = match &command {
            AgentCommand::Help(about) if raw.is_none() => Some(self.help(about.as_deref(), toolbox)),
            _ => None,
        };
        Ok(Work::Delegation(Box::new(DelegationCall {
            call,
            raw,
            command,
            title,
            routed,
            snapshot,
            help,
            permit,
        })))
    }

    /// The role that a command starts.
    fn role_started(&self, command: &AgentCommand) -> Option<&Role> {
        let AgentCommand::Start { task, .. } = command else { return None };
        self.crew.delegation.as_ref()?.roles.find(task.role.as_deref()?).ok()
    }

    /// What this agent may use, or how one command is used.
    fn help(&self, about: Option<&str>, toolbox: &Toolbox) -> String {
        let Some(delegation) = &self.crew.delegation else { return String::new() };
        let depth = self.crew.tree(|tree| tree.node(self.id).map(|node| node.depth)).unwrap_or_default();
        let roles = roles_for(delegation, &self.grant, depth);
        let tools = toolbox.specs_now();
        with_offer(&self.crew, delegation, &tools, &roles, &self.grant, |offer| {
            posse_surface::shell_help(offer, about)
        })
    }

    /// Carries a command out.
    pub(crate) async fn carry_out(&self, asked: DelegationCall) -> CallAnswer {
        let DelegationCall { call, raw, command, routed, snapshot, help, permit, .. } = asked;
        if let (Some(home), Some(call)) = (&self.crew.home, raw) {
            return carried_out_at_home(home, *call).await;
        }
        if !matches!(command, AgentCommand::Status { .. }) {
            self.polls.store(0, Ordering::Relaxed);
        }
        let mut answer = match command {
            AgentCommand::Start { task, join, shape, reuse } => {
                let started = match self.crew.started_by(self.id, &call) {
                    Some(started) => Ok(started),
                    None => match self.about_session(task, routed.as_deref()).await {
                        Ok(task) => self.start(call, task, reuse, snapshot).await,
                        Err(answer) => Err(answer),
                    },
                };
                match started {
                    Ok(started) => self.join(started, join, shape).await,
                    Err(answer) => answer,
                }
            }
            AgentCommand::Wait { agents, until, timeout_ms } => self.wait(&agents, until, timeout_ms).await,
            AgentCommand::Status { agent, page } => self.status(agent.as_deref(), page).await,
            AgentCommand::Message { agent, text, interrupt } => self.message(&agent, text, interrupt).await,
            AgentCommand::Eval { agent, message, interrupt, wait_ms } => {
                self.eval(&agent, message, interrupt, wait_ms).await
            }
            AgentCommand::Cancel { agent } | AgentCommand::Close { agent } => self.stop(&agent).await,
            AgentCommand::Merge { agent } => {
                self.merge(&agent, permit.into_inner().unwrap_or_default()).await
            }
            AgentCommand::Read { handle, read } => self.read_handle(&handle, &read),
            AgentCommand::Tell { to, text } => team::tell(&self.crew, self.id, to.as_deref(), &text),
            AgentCommand::Board(command) => team::board(&self.crew, self.id, command),
            AgentCommand::Help(_) => CallAnswer::ok(help.unwrap_or_default()),
            AgentCommand::Run(call) => CallAnswer::error(format!("{} is not a delegation tool", call.name)),
        };
        if let Some(routed) = routed {
            answer.outcome.text = format!("[{routed}]\n{}", answer.outcome.text);
        }
        answer
    }

    fn find(&self, name: &str) -> Result<AgentId, CallAnswer> {
        self.crew.tree(|tree| tree.find(self.id, name)).ok_or_else(|| {
            let known = self.crew.tree(|tree| {
                let mine = tree.nodes().filter(|node| tree.is_below(node.id, self.id));
                mine.map(|node| node.name.clone()).take(50).collect::<Vec<_>>()
            });
            let known = if known.is_empty() {
                "You have started none.".to_string()
            } else {
                format!("Yours are: {}.", known.join(", "))
            };
            CallAnswer::error(format!("There is no agent {}. {known}", one_line(name, 60)))
        })
    }

    async fn start(
        &self,
        call: CallId,
        task: Task,
        reuse: bool,
        snapshot: Option<Arc<Snapshot>>,
    ) -> Result<StartedAgent, CallAnswer> {
        if task.context != ContextMode::Fresh && snapshot.is_none() {
            let text = "This conversation cannot be forked from here; use context \"fresh\".";
            return Err(CallAnswer::error(text));
        }
        if let (ContextMode::Selective, Some(snapshot)) = (task.context, &snapshot)
            && let Err(why) = context::has_turns(snapshot, &task.context_turns)
        {
            return Err(CallAnswer::error(why));
        }
        // Nobody else asks the only agent of a role before this task is with it.
        let turn = if reuse { self.turn(&task).await? } else { None };
        if let Some(existing) = turn.as_ref().and_then(|turn| turn.existing) {
            let words = match (&snapshot, task.context) {
                (Some(snapshot), ContextMode::Summary) => {
                    context::first_words(&task, &context::digest(snapshot))
                }
                _ => task.prompt,
            };
            return self.follow_up(Some(call), existing, words, task.title);
        }
        starting::start(&self.crew, self.asker(Some(call), snapshot), task, None).map_err(CallAnswer::error)
    }

    fn asker(&self, call: Option<CallId>, snapshot: Option<Arc<Snapshot>>) -> Delegator {
        Delegator { id: self.id, call, model: self.model.clone(), snapshot }
    }

    async fn join(&self, started: StartedAgent, join: Join, shape: Shape) -> CallAnswer {
        if join == Join::Background {
            return CallAnswer::ok(answers::started(&started));
        }
        self.settled(&[started.id], Until::All, None).await;
        let reports = self.crew.take_reports(self.id, &[started.id]);
        self.deliver(&reports, shape, String::new())
    }

    /// Tells reports that were taken.
    fn deliver(&self, reports: &[Arc<FinishedAgent>], shape: Shape, after: String) -> CallAnswer {
        let ok = reports.iter().all(|done| done.report.ending == Ending::Completed);
        let mut text = reports
            .iter()
            .map(|done| answers::report(&self.crew, done, shape))
            .collect::<Vec<_>>()
            .join("\n\n");
        if text.is_empty() || !after.is_empty() {
            text = format!("{text}\n{after}").trim().to_string();
        }
        let outcome = if ok { ToolOutcome::ok(text) } else { ToolOutcome::error(text) };
        CallAnswer { outcome, delivered: reports.iter().map(|done| done.id).collect() }
    }

    async fn message(&self, name: &str, text: String, interrupt: bool) -> CallAnswer {
        if text.len() > MESSAGE_BYTES_MAX {
            return CallAnswer::error(format!(
                "The message is longer than {MESSAGE_BYTES_MAX} bytes; put it into a file and name the file."
            ));
        }
        let id = match self.find(name) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        if self.crew.tell(id, Sender::Parent, text.clone(), interrupt) {
            let when = if interrupt { "at once: what it does is stopped for it" } else { "at its next turn" };
            return CallAnswer::ok(format!("{} gets it {when}.", self.crew.name(id)));
        }
        // It may be about to end, and can be followed up once it has.
        if !self.settled(&[id], Until::All, Some(STOP_WAIT_MS)).await {
            let name = self.crew.name(id);
            return CallAnswer::error(format!(
                "{name} has not read its mail for long; wait for it, or stop it."
            ));
        }
        let title = one_line(&text, 60);
        match self.follow_up(None, id, text, title) {
            Ok(started) => CallAnswer::ok(answers::followed_up(&started, &self.crew.name(id))),
            Err(answer) => answer,
        }
    }

    /// Goes on with the conversation of an agent that has ended, as a new agent of the same name.
    fn follow_up(
        &self,
        call: Option<CallId>,
        id: AgentId,
        text: String,
        title: String,
    ) -> Result<StartedAgent, CallAnswer> {
        let gone = || {
            CallAnswer::error(
                "Its conversation is no longer at hand; start a new agent with what it needs to know.",
            )
        };
        let finished = self.crew.finished(id).ok_or_else(gone)?;
        if finished.report.ending == Ending::Cancelled {
            return Err(CallAnswer::error(format!(
                "{} was stopped, and what is stopped stays stopped; start a new agent.",
                finished.name
            )));
        }
        let kept = finished.continuation.clone().ok_or_else(gone)?;
        let task = Task::new(title, text);
        starting::start(&self.crew, self.asker(call, None), task, Some((id, kept))).map_err(CallAnswer::error)
    }

    /// Says something, waits, and looks: one call of the dialect in which agents are sessions.
    async fn eval(
        &self,
        name: &str,
        message: Option<String>,
        interrupt: bool,
        wait_ms: Option<u64>,
    ) -> CallAnswer {
        if let Some(message) = message {
            let answer = self.message(name, message, interrupt).await;
            if !answer.outcome.ok || wait_ms.is_none() {
                return answer;
            }
        }
        match wait_ms {
            Some(_) => self.wait(&[name.to_string()], Until::All, wait_ms).await,
            None => {
                let id = match self.find(name) {
                    Ok(id) => id,
                    Err(answer) => return answer,
                };
                let reports = self.crew.take_reports(self.id, &[id]);
                if reports.is_empty() {
                    self.status(Some(name), 0).await
                } else {
                    self.deliver(&reports, Shape::Text, String::new())
                }
            }
        }
    }

    async fn stop(&self, name: &str) -> CallAnswer {
        let id = match self.find(name) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        let stopped = self.crew.cancel(id);
        let over = self.settled(&[id], Until::All, Some(STOP_WAIT_MS)).await;
        let reports = self.crew.take_reports(self.id, &[id]);
        let delivered = reports.iter().map(|done| done.id).collect();
        let mut text = match (stopped, over) {
            (0, true) => format!("{} had ended before.", self.crew.name(id)),
            (0 | 1, _) => format!("{} is stopped.", self.crew.name(id)),
            (n, _) => format!("{} is stopped, with {} below it.", self.crew.name(id), n - 1),
        };
        for done in &reports {
            text = format!("{text}\n{}", answers::report(&self.crew, done, Shape::Text));
        }
        CallAnswer { outcome: ToolOutcome::ok(text), delivered }
    }

    fn read_handle(&self, handle: &str, read: &posse_protocol::HandleRead) -> CallAnswer {
        match handles::value(&self.crew, self.id, handle, read) {
            Err(why) => CallAnswer::error(why),
            Ok(value) => match posse_report::read(&value, read) {
                // Only what was asked for is quoted; what is said about it stands outside.
                Ok(piece) if piece.text.is_empty() => CallAnswer::ok(piece.note),
                Ok(piece) => {
                    let text = format!("{}\n{}", quote("value", handle, &piece.text), piece.note);
                    CallAnswer::ok(text.trim_end())
                }
                Err(why) => CallAnswer::error(why),
            },
        }
    }
}

/// Lets home carry a call out: the tree is there.
async fn carried_out_at_home(home: &Home, call: ToolCall) -> CallAnswer {
    match home.ask(HomeRequest::Delegate { call }).await {
        HomeReply::Delegated { outcome, delivered, kin } => {
            home.set_kin(kin);
            CallAnswer { outcome, delivered }
        }
        HomeReply::Refused { reason } => CallAnswer::error(reason),
        HomeReply::Replied { .. } | HomeReply::ModelFailed { .. } | HomeReply::Noted => {
            CallAnswer::error("Home did not say what came of it.")
        }
    }
}
