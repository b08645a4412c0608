//! A home that gives a worker whatever it likes, with the right secret: what an engine would decide is decided here, and what its
//! model says is a script.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use posse_engine::remote::{
    HomeReply, HomeRequest, HostCommand, HostedEnd, HostedItem, HostedModel, HostedTask, HostedWork,
    PlacedTask, Seat, SeatCommand, SeatEvent, SeatStart, Workers,
};
use posse_model::{Protocol, ToolCallMode};
use posse_policy::Rules;
use posse_protocol::{
    AgentId, Answer, Budget, CallId, EventKind, Grant, Reply, SessionId, StopReason, ToolCall, Words,
};
use posse_roles::{Roles, Team};
use posse_testkit::Fixture;
use posse_workspace::bundle::{pack, snapshot};
use serde_json::Value;

use crate::stage::{REPORT, Stage};

/// What it gives to a worker.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) task: HostedTask,
    pub(super) bundle: Option<Vec<u8>>,
    pub(super) contents: Vec<(String, Vec<u8>)>,
    /// What the model calls, one call a turn. Then it ends.
    pub(super) calls: Vec<(&'static str, Value)>,
    /// How every question is answered.
    pub(super) answer: Answer,
    /// What else is said as soon as the worker has the agent.
    pub(super) says: Vec<HostCommand>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Got {
    pub(super) items: Vec<HostedItem>,
    pub(super) contents: Vec<(String, Vec<u8>)>,
    /// How it ended; none if the worker gave it back, or no worker took it.
    pub(super) end: Option<HostedEnd>,
    pub(super) bundle: Option<Vec<u8>>,
}

impl Got {
    /// Everything that the worker told, as text.
    pub(super) fn told(&self) -> String {
        let contents: Vec<String> =
            self.contents.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        format!("{}\n{:?}\n{}", serde_json::to_string(&self.items).unwrap(), self.end, contents.join("\n"))
    }

    /// The results of tools, whether they did what was asked, and what they said.
    pub(super) fn results(&self) -> Vec<(bool, &str)> {
        let results = self.items.iter().filter_map(|item| match &item.kind {
            EventKind::ToolFinished { ok, text, .. } => Some((*ok, text.as_str())),
            _ => None,
        });
        results.collect()
    }
}

pub(super) struct FalseHome {
    fleet: Arc<dyn Workers>,
    pub(super) files: Fixture,
    folder: PathBuf,
}

impl FalseHome {
    pub(super) fn new(stage: &Stage) -> Self {
        let folder = stage.folder("false-home");
        std::fs::create_dir_all(&folder).unwrap();
        let files = Fixture::new().file("a.txt", "alpha\n").file("sub/b.txt", "beta\n").git();
        Self { fleet: stage.fleet("false"), files, folder }
    }

    /// A task that wants everything, and the files that it begins with.
    pub(super) async fn given(&self) -> Given {
        let into = self.folder.join("checkouts");
        std::fs::create_dir_all(&into).unwrap();
        let sent = snapshot(self.files.path(), &into, "posse/false", &[]).await.unwrap().sent;
        let bundle = self.folder.join("base.bundle");
        let _ = std::fs::remove_file(&bundle);
        pack(self.files.path(), &sent.base, &[], &bundle).await.unwrap();
        let role = Roles::builtin(Team::Without).find("general").expect("a role").clone();
        let allow = ["shell", "leave", "write_file", "web_fetch"].map(str::to_owned);
        let task = HostedTask {
            session: SessionId::from(any_uuid()),
            agent: AgentId::from(any_uuid()),
            name: "agent".to_owned(),
            title: "a task".to_owned(),
            depth: 1,
            role,
            grant: Grant::full(),
            budget: Budget { turns: Some(50), ..Budget::UNLIMITED },
            model: HostedModel {
                name: "fake".to_owned(),
                id: "fake-model".to_owned(),
                at_home: true,
                protocol: Protocol::Chat,
                context_window: None,
                profile: None,
                images: false,
                documents: None,
                tool_calls: ToolCallMode::default(),
                prices: None,
            },
            max_output_tokens: None,
            system: "You read what is outside.".to_owned(),
            tools: Vec::new(),
            known: Vec::new(),
            words: Words { text: "do it".to_owned(), attachments: Vec::new() },
            context_files: Vec::new(),
            deliverables: Vec::new(),
            rules: Rules::parse(&allow, &[], &[]).unwrap(),
            person: true,
            surface: "agent".to_owned(),
            team: false,
            sum_up_over: None,
            work: HostedWork {
                base: sent.base.clone(),
                start: sent.base,
                inside: sent.inside,
                sha256: false,
                repository: "aaaa".to_owned(),
                kept: Vec::new(),
            },
            so_far: Vec::new(),
            worked_ms: 0,
        };
        Given {
            task,
            bundle: Some(std::fs::read(bundle).unwrap()),
            contents: Vec::new(),
            calls: Vec::new(),
            answer: Answer::Once,
            says: Vec::new(),
        }
    }

    /// Offers the task and drives it to its end, or until the worker gives it back.
    pub(super) async fn play(&self, given: Given) -> Got {
        let Given { mut task, bundle, contents, calls, answer, says } = given;
        (task.session, task.agent) = (any_uuid().into(), any_uuid().into());
        let start = SeatStart {
            session: task.session,
            agent: task.agent,
            on: "one".to_owned(),
            model: None,
            repository: task.work.repository.clone(),
            epoch: 0,
            worker: None,
            recorded: 0,
        };
        let mut seat = self.fleet.seat(start);
        let mut replies = replies(calls);
        let (mut got, mut count, mut placed) = (Got::default(), 0, false);
        let say = |command| drop(seat.commands.send(command));
        loop {
            let event = tokio::time::timeout(Duration::from_secs(60), seat.events.recv()).await;
            match event.expect("the worker says something").expect("a seat") {
                SeatEvent::Claimed { epoch, .. } if !placed => {
                    placed = true;
                    let path = self.folder.join(format!("{}.bundle", task.agent));
                    bundle.iter().for_each(|bytes| std::fs::write(&path, bytes).unwrap());
                    let bundle = bundle.as_ref().map(|_| path);
                    let (task, contents) = (task.clone(), contents.clone());
                    say(SeatCommand::Place(Box::new(PlacedTask { epoch, task, bundle, contents })));
                    says.iter().for_each(|command| say(SeatCommand::Say(command.clone())));
                }
                // It was given back.
                SeatEvent::Claimed { .. } | SeatEvent::NoWorker { .. } => break,
                SeatEvent::Items { items, contents } => {
                    count += items.len() as u64;
                    for item in &items {
                        if let EventKind::PersonNeeded { question } = &item.kind {
                            let (call, answer) = (question.call.clone(), answer.clone());
                            say(SeatCommand::Say(HostCommand::Answer { call, answer }));
                        }
                    }
                    got.items.extend(items);
                    got.contents.extend(contents);
                    say(SeatCommand::Recorded(count));
                }
                SeatEvent::Request { id, request, .. } => {
                    let reply = match request {
                        HomeRequest::CallModel => {
                            let reply = replies.pop_front().unwrap_or_else(last);
                            HomeReply::Replied { reply: Box::new(reply) }
                        }
                        HomeRequest::Idle => HomeReply::Noted,
                        HomeRequest::Delegate { .. } => HomeReply::Refused { reason: "no".to_owned() },
                    };
                    say(SeatCommand::Reply { id, reply });
                }
                SeatEvent::Ended { end, bundle } => {
                    got.end = Some(*end);
                    got.bundle = bundle.and_then(|path| {
                        let bytes = std::fs::read(&path).ok();
                        let _ = std::fs::remove_file(path);
                        bytes
                    });
                    break;
                }
                SeatEvent::Progress(_) | SeatEvent::CalledOff { .. } | SeatEvent::Aside { .. } => {}
            }
        }
        settle(seat).await;
        got
    }
}

/// The seat ends once it has told the worker, and nobody waits for what others had done.
async fn settle(seat: Seat) {
    let Seat { commands, mut events } = seat;
    let _ = commands.send(SeatCommand::Settled { is_kept: true });
    drop(commands);
    while events.recv().await.is_some() {}
}

fn last() -> Reply {
    Reply { text: REPORT.to_owned(), stop: StopReason::EndTurn, ..Reply::default() }
}

fn replies(calls: Vec<(&'static str, Value)>) -> VecDeque<Reply> {
    let call = |(number, (name, arguments)): (usize, (&str, Value))| {
        let id = CallId(format!("call-{number}"));
        let call = ToolCall { id, name: name.to_owned(), arguments: arguments.to_string() };
        Reply { calls: vec![call], stop: StopReason::ToolCalls, ..Reply::default() }
    };
    calls.into_iter().enumerate().map(call).chain([last()]).collect()
}

pub(super) fn any_uuid() -> uuid::Uuid {
    uuid::Uuid::from_u128(fastrand::u128(..))
}
