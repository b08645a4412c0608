//! A worker tells what is not for a worker to tell, or tells it of somebody else.

use posse_protocol::{
    AgentId, Answer, Approval, Budget, CallId, Effect, Ending, EventKind, FileChange, Grant, HookDecision,
    MailId, NewNote, NoteScope, Purpose, Receipt, Reply, Report, Sender, Seq, ToolCall, Usage,
};
use serde_json::{Value, json};

use super::foe::{Held, end, item, life};
use super::ground::{Arena, Attempt, Comes, FORGED, Ground};

pub(super) const ATTEMPTS: usize = TOLD.len();

const NOT_FOR_IT: Comes = Comes::Failed("not for a worker to tell");

/// Tells one event instead of a life; home must not take it.
macro_rules! told {
    ($name:literal, $comes:expr, $kind:expr) => {
        Attempt {
            name: $name,
            comes: $comes,
            play: |mut held: Held, arena: Arena| {
                Box::pin(async move {
                    let kind: fn(AgentId) -> EventKind = $kind;
                    let honest = arena.id("honest").await;
                    held.is_refused_for(&[item(&kind(honest))]).await;
                })
            },
        }
    };
}

/// Tells events before an honest end; home takes them, and believes nothing of it.
macro_rules! harmless {
    ($name:literal, $kinds:expr) => {
        Attempt {
            name: $name,
            comes: Comes::Completed,
            play: |mut held: Held, _| {
                Box::pin(async move {
                    let kinds: Vec<EventKind> = $kinds;
                    let [told, rest @ ..] = &life()[..] else { return };
                    let items = [told.clone()].into_iter().chain(kinds.iter().map(item));
                    let items: Vec<Value> = items.chain(rest.iter().cloned()).collect();
                    assert!(held.tell(&items).await, "it is taken");
                    held.end(&end()).await;
                })
            },
        }
    };
}

fn forged() -> String {
    FORGED.to_owned()
}

fn finished(call: &str, effects: Vec<Effect>) -> EventKind {
    EventKind::ToolFinished {
        call: CallId(call.to_owned()),
        tool: "shell".to_owned(),
        ok: true,
        text: "done".to_owned(),
        attachments: Vec::new(),
        effects,
        duration_ms: 1,
    }
}

fn replied(usage: Usage, cost_usd: Option<f64>) -> EventKind {
    let reply = Reply { text: forged(), usage, ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd }
}

static TOLD: &[Attempt] = &[
    told!("settled", NOT_FOR_IT, |_| EventKind::AgentSettled {
        report: Report::new(Ending::Completed, FORGED, Receipt::default())
    }),
    told!("admitted", NOT_FOR_IT, |_| {
        let admitted = json!({"type": "agent_admitted", "name": FORGED, "role": "general", "depth": 1, "title": FORGED,
            "requested_model": null, "context": "fresh", "continues": null});
        serde_json::from_value(admitted).unwrap()
    }),
    told!("session", NOT_FOR_IT, |_| EventKind::SessionStarted {
        workspace: forged(),
        version: forged(),
        sandboxed: false,
        project: forged(),
        surface: String::new(),
        coordinator: false,
        team: false,
        traceparent: None,
    }),
    told!("named", NOT_FOR_IT, |_| EventKind::SessionNamed { title: forged(), by: Sender::Person }),
    told!("raised", NOT_FOR_IT, |_| EventKind::BudgetRaised { budget: Budget::UNLIMITED }),
    told!("resumed", NOT_FOR_IT, |_| EventKind::AgentResumed {
        model: forged(),
        model_id: forged(),
        elapsed_ms: 0,
        budget: Budget::UNLIMITED,
        grant: Grant::full(),
    }),
    told!("mode", NOT_FOR_IT, |_| EventKind::SettingsChanged {
        model: forged(),
        model_id: forged(),
        effort: None,
        approval: Approval::Full,
    }),
    told!("merged", NOT_FOR_IT, |honest| EventKind::Merged {
        from: honest,
        branch: forged(),
        changes: Vec::new(),
        conflicts: Vec::new(),
    }),
    told!("undone", NOT_FOR_IT, |_| EventKind::Undone {
        what: forged(),
        events: vec![Seq(1)],
        paths: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        left: Vec::new(),
    }),
    told!("changed", NOT_FOR_IT, |_| EventKind::Changed { turn: 1, changes: Vec::new() }),
    told!("hooked", NOT_FOR_IT, |_| EventKind::HookRan {
        hook: forged(),
        hook_event: forged(),
        call: None,
        confined: true,
        duration_ms: 1,
        exit_code: Some(0),
        decision: HookDecision::default(),
        message: forged(),
    }),
    told!("placed", NOT_FOR_IT, |_| EventKind::AgentPlaced {
        worker: forged(),
        epoch: 9,
        run: forged(),
        lease_ms: 0
    }),
    told!("kept", NOT_FOR_IT, |_| EventKind::WorkKept { files: Vec::new() }),
    told!("branched", NOT_FOR_IT, |_| EventKind::CheckedOut { branch: "main".to_owned(), base: forged() }),
    told!("reviewed", NOT_FOR_IT, |_| EventKind::Reviewed { hunks: vec![forged()], reviewed: true }),
    told!("mailed", NOT_FOR_IT, |_| EventKind::mailed(Sender::Person, FORGED)),
    told!("person-told", Comes::Failed("words that nobody sent"), |_| {
        EventKind::told(Sender::Person, FORGED)
    }),
    told!("peer-told", Comes::Failed("words that nobody sent"), |_| EventKind::told(Sender::Peer, FORGED)),
    told!("mail-told", Comes::Failed("words that nobody sent"), |_| EventKind::Told {
        mail: MailId(7),
        from: Sender::Parent,
        text: forged(),
        attachments: Vec::new(),
    }),
    told!("delivered", Comes::Failed("not below it"), |honest| EventKind::ReportsDelivered {
        agents: vec![honest]
    }),
    told!("turns", Comes::Failed("turn"), |_| EventKind::TurnStarted {
        turn: u32::MAX,
        purpose: Purpose::Work
    }),
    told!("tokens", Comes::Failed("more than one reply"), |_| {
        let most = Some(u64::MAX);
        replied(Usage { input_tokens: most, output_tokens: most, ..Usage::default() }, None)
    }),
    told!("many-calls", Comes::Failed("more than 128 calls"), |_| {
        let reply = Reply { calls: vec![tool_call(); 50_000], ..Reply::default() };
        EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None }
    }),
    told!("dear", Comes::Failed("more than one reply"), |_| replied(Usage::default(), Some(1e300))),
    told!("gift", Comes::Failed("more than one reply"), |_| replied(Usage::default(), Some(-5.0))),
    Attempt {
        name: "unreadable",
        comes: Comes::Failed("cannot be read"),
        play: |mut held, _| {
            Box::pin(async move {
                held.is_refused_for(&[json!({"here": {"item": {"kind": {"type": FORGED}}}})]).await;
            })
        },
    },
    harmless!(
        "noted",
        vec![finished(
            "x",
            vec![Effect::Noted(NewNote {
                scope: NoteScope::default(),
                kind: "note".to_owned(),
                text: forged()
            })],
        )]
    ),
    harmless!(
        "answered",
        vec![
            EventKind::PersonAnswered {
                call: CallId("a".to_owned()),
                answer: Answer::Said { text: forged() }
            },
            EventKind::PersonAnswered {
                call: CallId("b".to_owned()),
                answer: Answer::No { reason: forged() }
            },
            EventKind::PersonAnswered {
                call: CallId("c".to_owned()),
                answer: Answer::Pattern { pattern: forged() },
            },
        ]
    ),
    harmless!(
        "out-of-order",
        vec![
            finished("nobody-called", Vec::new()),
            EventKind::Compacted {
                summary: "short".to_owned(),
                bytes_before: u64::MAX,
                bytes_after: u64::MAX,
                opening: String::new(),
                kept: u32::MAX,
            },
            EventKind::CutShort { turn: u32::MAX, text: "cut".to_owned() },
            EventKind::Closing { ending: Ending::Cancelled },
        ]
    ),
    // More than the record takes at once, of all agents together.
    harmless!("many", vec![EventKind::CutShort { turn: 1, text: String::new() }; 10_000]),
    // More than can be compared with each other.
    harmless!("effects", {
        let effect = |n: usize| {
            let path = format!("{n}");
            Effect::File(FileChange { path, created: true, lines_added: 1, lines_removed: 0 })
        };
        vec![finished("x", (0..20_000).map(effect).collect())]
    }),
    // It says that it has changed files; home measures none.
    Attempt {
        name: "claimed-files",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                let path = "claimed.txt".to_owned();
                let file = FileChange { path, created: true, lines_added: 5, lines_removed: 5 };
                let finished = finished("x", vec![Effect::File(file.clone()), Effect::NotCertain(file)]);
                let reply = Reply { calls: vec![tool_call()], ..Reply::default() };
                let replied = EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None };
                let mut items = life();
                items.insert(2, item(&replied));
                items.insert(3, item(&finished));
                items.insert(4, item(&EventKind::TurnStarted { turn: 2, purpose: Purpose::Work }));
                assert!(held.tell(&items).await, "it is taken");
                held.end(&end()).await;
            })
        },
    },
    // Remarks, a summary and an ending in the name of Posse.
    Attempt {
        name: "remarks",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                assert!(held.tell(&life()).await, "it is taken");
                let mut result = end();
                result["end"]["notes"] = vec![json!("x".repeat(100_000)); 40].into();
                result["end"]["short"] = json!("y".repeat(1_000_000));
                held.end(&result).await;
            })
        },
    },
];

fn tool_call() -> ToolCall {
    ToolCall { id: CallId("x".to_owned()), name: "shell".to_owned(), arguments: "{}".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_for_a_worker_to_tell_is_not_recorded() {
    let names: Vec<&str> = TOLD.iter().map(|attempt| attempt.name).collect();
    let ground = Ground::new(&names, "implementer").await;
    let ran = ground.play(TOLD).await;
    let report = ran.report_of("claimed-files");
    assert!(
        report.receipt.files.is_empty() && report.receipt.branch.is_none(),
        "measured at home: {report:?}"
    );
    assert!(report.receipt.files_not_certain.is_empty());
    let report = ran.report_of("remarks");
    let remarks: usize = report.notes.iter().map(String::len).sum();
    assert!(
        remarks < 10_000 && report.notes.iter().all(|note| note.contains("its worker says")),
        "{remarks}"
    );
    assert!(report.short.is_none_or(|short| short.len() < 100_000));
    for kind in ran.of("answered") {
        if let EventKind::PersonAnswered { answer, .. } = kind {
            assert_eq!(*answer, Answer::Withdrawn, "nobody was asked");
        }
    }
}
