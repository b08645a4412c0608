//! Drives an agent with a scripted model and scripted tools.

use std::collections::BTreeSet;

use posse_agent::{Agent, Done, Input, Output, Settings, Step};
use posse_protocol::{
    Attachment, Budget, CallId, Ending, EventKind, MediaType, Message, ModelError, Reply, Sender, StopReason,
    ToolCall, Usage,
};

pub(crate) fn settings() -> Settings {
    Settings {
        budget: Budget { turns: Some(50), ..Budget::UNLIMITED },
        prices: None,
        context_window: None,
        fixed_bytes: 1000,
        sum_up_over: None,
        stays: false,
    }
}

/// An image that takes 400 tokens, whatever the length of its base64.
pub(crate) fn image(name: &str) -> Attachment {
    let data = "A".repeat(4_000).into();
    let (name, media_type, bytes) = (name.to_string(), MediaType::Png, 3_000);
    Attachment { name, media_type, bytes, width: 750, height: 400, data }
}

pub(crate) fn says(text: &str) -> Reply {
    Reply { text: text.into(), ..Reply::default() }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), arguments: arguments.into() }
}

/// A reply of calls `(name, arguments)`, with ids of their own.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Reply {
    let calls =
        calls.iter().enumerate().map(|(i, (name, args))| call(&format!("c{i}"), name, args)).collect();
    Reply { calls, stop: StopReason::ToolCalls, ..Reply::default() }
}

pub(crate) fn used(mut reply: Reply, input: u64, output: u64) -> Reply {
    reply.usage = Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
    reply
}

/// What one driven run came to.
pub(crate) struct Run {
    pub(crate) agent: Agent,
    pub(crate) ending: Option<Ending>,
    /// Every call that was run, as `name arguments`.
    pub(crate) ran: Vec<String>,
    pub(crate) events: Vec<EventKind>,
}

impl Run {
    /// The texts Posse itself put into the conversation.
    pub(crate) fn posse_said(&self) -> Vec<&str> {
        let said = |e: &'_ EventKind| matches!(e, EventKind::Told { from: Sender::Posse, .. });
        self.events
            .iter()
            .filter(|e| said(e))
            .map(|e| match e {
                EventKind::Told { text, .. } => text.as_str(),
                _ => "",
            })
            .collect()
    }
}

/// Runs an agent to its end: `model` answers each turn, `tool` each call with `(ok, text)`.
pub(crate) fn run(
    settings: Settings,
    mut model: impl FnMut(u32, &Agent) -> Result<Reply, ModelError>,
    mut tool: impl FnMut(&ToolCall) -> (bool, String),
) -> Run {
    let mut run = Run { agent: Agent::new(settings), ending: None, ran: Vec::new(), events: Vec::new() };
    let mut input = Input::Told { from: Sender::Person, text: "do it".into() };
    for elapsed_ms in 0..1000 {
        let Output { record, step } = run.agent.handle(input, elapsed_ms);
        run.events.extend(record);
        input = match step {
            Step::CallModel { turn, .. } => match model(turn, &run.agent) {
                Ok(reply) => Input::Replied(reply),
                Err(error) => Input::ModelFailed(error),
            },
            Step::CallTools { calls } => {
                Input::ToolsDone(calls.iter().map(|c| done(c, &mut tool, &mut run.ran)).collect())
            }
            Step::Settle(ending) => {
                run.ending = Some(ending);
                break;
            }
            Step::Wait | Step::Rest(_) => panic!("an agent that is answered never waits"),
        };
    }
    well_formed(&run.agent);
    run
}

fn done(call: &ToolCall, tool: &mut impl FnMut(&ToolCall) -> (bool, String), ran: &mut Vec<String>) -> Done {
    ran.push(format!("{} {}", call.name, call.arguments));
    let (ok, text) = tool(call);
    Done { id: call.id.clone(), ok, text, attachments: Vec::new(), ran: true, read_only: call.name == "read" }
}

/// Replies one after the other; the last again and again.
pub(crate) fn script(replies: Vec<Reply>) -> impl FnMut(u32, &Agent) -> Result<Reply, ModelError> {
    let mut at = 0;
    move |_, _| {
        let reply = replies[at.min(replies.len() - 1)].clone();
        at += 1;
        Ok(reply)
    }
}

pub(crate) fn fine(call: &ToolCall) -> (bool, String) {
    (true, format!("{} worked", call.name))
}

/// Every reply's calls are answered right after it, each once and in order; nothing else is.
pub(crate) fn well_formed(agent: &Agent) {
    let mut open: Vec<CallId> = Vec::new();
    for message in agent.conversation().messages() {
        match message.as_ref() {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty(), "calls {open:?} were never answered");
                open = calls.iter().map(|c| c.id.clone()).collect();
                let distinct = open.iter().collect::<BTreeSet<_>>();
                assert_eq!(distinct.len(), open.len(), "two calls with one id: {open:?}");
            }
            Message::Tools { results } => {
                let ids = results.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
                assert_eq!(ids, open);
                open.clear();
            }
            Message::User { .. } => {
                assert!(open.is_empty(), "words between calls {open:?} and their results")
            }
        }
    }
    if agent.ending().is_some() {
        assert!(open.is_empty(), "settled with open calls {open:?}");
    }
}
