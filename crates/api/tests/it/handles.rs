//! One handle for sessions in this process and in another: every route, with equal values, and equal errors.

use std::collections::BTreeSet;
use std::fmt::Debug;

use posse_api::calls::changes::{ChangeFiles, MoveToBackground, PreviewChange, ReviewHunks, ShowDiff};
use posse_api::calls::library::{ForgetNote, ListNotes, SearchRecord, ShowStats};
use posse_api::calls::record::{
    ListAgents, ListEvents, ListQuestions, ListSessions, SessionQuestions, ShowContext, ShowEventDiff,
    ShowSession,
};
use posse_api::calls::servers::{FillPrompt, ListServers};
use posse_api::calls::steering::{
    AnswerQuestion, CancelSession, ChangeSettings, CloseSession, CompactNow, EditMessage, Posted,
    PromptSession, RenameSession, StopAgent, StopTurn, TellAgent, TopUpBudget, WithdrawMessage,
};
use posse_api::{Call, CallError, CallErrorKind, Client, Handle, ROUTES};
use posse_engine::{AnswerOutcome, ChangeRequest, Delivery, Engine, UndoExtent, UndoRequest};
use posse_protocol::{AgentId, Answer, Approval, Budget, CallId, SessionId};
use posse_setup::Wishes;
use posse_testkit::Turn;

use crate::stage::Stage;

/// Makes a call through both handles, compares what comes back, and notes that the route was taken.
struct Both {
    handles: [Handle; 2],
    taken: BTreeSet<&'static str>,
}

impl Both {
    async fn call<C>(&mut self, of: C::Of, call: C) -> Result<C::Answer, CallError>
    where
        C: Call + Clone,
        C::Answer: PartialEq + Debug,
    {
        self.taken.insert(C::NAME);
        let here = self.handles[0].call(of, call.clone()).await;
        let elsewhere = self.handles[1].call(of, call).await;
        assert_eq!(here, elsewhere, "{}", C::NAME);
        here
    }

    /// The same for calls that change what the next one finds: gives back both.
    async fn each<C: Call>(&mut self, of: C::Of, calls: [C; 2]) -> [Result<C::Answer, CallError>; 2] {
        self.taken.insert(C::NAME);
        let [first, second] = calls;
        [self.handles[0].call(of, first).await, self.handles[1].call(of, second).await]
    }
}

fn unknown() -> SessionId {
    "01890000-0000-7000-8000-000000000000".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_gives_the_same_here_and_elsewhere() {
    let stage = Stage::new().await;
    let wishes = Wishes { stay: true, ..Wishes::default() };
    let session = stage.start_with(wishes, [Turn::text("Done.")]).await;
    let id = session.id;
    let mut both = Both { handles: stage.handles(id).await, taken: BTreeSet::new() };
    let limited = |limit| ListSessions { limit: Some(limit), ..ListSessions::default() };
    let list = both.call((), limited(5)).await.unwrap();
    assert_eq!(list.sessions.iter().map(|row| row.id).collect::<Vec<_>>(), [id]);
    assert_eq!(both.call(id, ShowSession {}).await.unwrap().session, list.sessions[0]);
    assert_eq!(both.call(id, ListAgents {}).await.unwrap().agents.len(), 1);
    let page = both.call(id, ListEvents { after: 1, limit: 1 }).await.unwrap();
    assert_eq!(page.events.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [2]);
    let errors = [
        both.call(unknown(), ShowSession {}).await.unwrap_err().kind,
        both.call(unknown(), ListAgents {}).await.unwrap_err().kind,
        both.call((), limited(1001)).await.unwrap_err().kind,
        both.call(id, ListEvents { after: 0, limit: usize::MAX }).await.unwrap_err().kind,
    ];
    let (not_found, bad) = (CallErrorKind::NotFound, CallErrorKind::BadRequest);
    assert_eq!(errors, [not_found, not_found, bad, bad]);
    assert!(both.call(id, ListEvents { after: u64::MAX, limit: 1 }).await.unwrap().events.is_empty());
    queries(&mut both, id).await;
    commands(&mut both, id).await;
    // Following has tests of its own.
    both.taken.insert("follow_session");
    assert_eq!(both.taken, ROUTES.iter().filter(|route| !route.serve_only).map(|route| route.name).collect());
    session.report().await.unwrap();
    while !matches!(
        Handle::of(&stage.engine, id).await,
        Err(CallError { kind: CallErrorKind::NotRunning, .. })
    ) {
        tokio::task::yield_now().await;
    }
    over(&mut both, id).await;
}

/// The other queries, of a session that has changed nothing yet.
async fn queries(both: &mut Both, id: SessionId) {
    let running = |states: &str| ListSessions { states: Some(states.to_owned()), ..ListSessions::default() };
    assert_eq!(both.call((), running("running, resting")).await.unwrap().sessions.len(), 1);
    assert_eq!(both.call((), running("completed")).await.unwrap().sessions.len(), 0);
    let context = both.call(id, ShowContext { agent: "main".to_owned() }).await.unwrap().context;
    assert!(context.estimated_tokens > 0, "{context:?}");
    assert!(both.call(id, SessionQuestions {}).await.unwrap().questions.is_empty());
    assert!(both.call((), ListQuestions {}).await.unwrap().questions.is_empty());
    let search = |query: &str| SearchRecord { query: query.to_owned(), limit: 5 };
    assert_eq!(both.call((), search("absent-word")).await.unwrap().hits.len(), 0);
    assert!(both.call((), ListNotes { project: None, limit: 5 }).await.unwrap().notes.is_empty());
    assert_eq!(both.call((), ForgetNote { id: 7 }).await.unwrap_err().kind, CallErrorKind::NotFound);
    let bad_mark = ReviewHunks { hunks: vec!["x".to_owned()], reviewed: true };
    assert_eq!(both.call(id, bad_mark).await.unwrap_err().kind, CallErrorKind::Refused);
    let mark = || ReviewHunks { hunks: vec!["0".repeat(32)], reviewed: true };
    assert!(both.each(id, [mark(), mark()]).await.iter().all(Result::is_ok));
    both.call((), ShowStats { since_ms: Some(1), project: Some("none".to_owned()) }).await.unwrap();
    let errors = [
        both.call((), running("asleep")).await.unwrap_err().kind,
        both.call((), ListSessions { cursor: Some("x".to_owned()), ..ListSessions::default() })
            .await
            .unwrap_err()
            .kind,
        both.call(id, ShowEventDiff { seq: 1, bytes_max: None }).await.unwrap_err().kind,
        both.call(id, ShowEventDiff { seq: u64::MAX, bytes_max: None }).await.unwrap_err().kind,
        both.call(id, ShowContext { agent: "nobody".to_owned() }).await.unwrap_err().kind,
        both.call((), search(&"x".repeat(5000))).await.unwrap_err().kind,
    ];
    use CallErrorKind::{BadRequest, NotFound, NothingToDo, Refused, TooLarge};
    assert_eq!(errors, [BadRequest, Refused, NothingToDo, NotFound, NotFound, TooLarge]);
}

fn tell(agent: Option<&str>, text: &str) -> TellAgent {
    TellAgent { agent: agent.map(str::to_owned), text: text.to_owned(), delivery: Delivery::NextTurn }
}

/// Every command, to a session whose model does not answer.
async fn commands(both: &mut Both, id: SessionId) {
    let posted = |[one, two]: [Result<Posted, CallError>; 2]| [one.unwrap().mail, two.unwrap().mail];
    let mail = posted(both.each(id, [tell(None, "First."), tell(None, "Second.")]).await);
    assert!(mail[0] < mail[1]);
    let edit = |mail| EditMessage { mail, text: "Changed.".to_owned() };
    for edited in both.each(id, mail.map(edit)).await {
        edited.unwrap();
    }
    for withdrawn in both.each(id, mail.map(|mail| WithdrawMessage { mail })).await {
        withdrawn.unwrap();
    }
    let prompt = || PromptSession { text: "And then?".to_owned(), attachments: Vec::new() };
    posted(both.each(id, [prompt(), prompt()]).await);
    let agent = both.call(id, ListAgents {}).await.unwrap().agents[0].id;
    let answer = |answer| AnswerQuestion { agent, call: CallId("none".to_owned()), answer };
    let outcome = both.call(id, answer(Answer::Once)).await.unwrap().outcome;
    assert_eq!(outcome, AnswerOutcome::NotOpen);
    let plan = ChangeSettings { approval: Some(Approval::Plan), ..ChangeSettings::default() };
    both.call(id, plan).await.unwrap();
    both.call(id, TopUpBudget { agent: None, more: Budget::UNLIMITED }).await.unwrap_err();
    both.call(id, CompactNow { agent: None }).await.unwrap();
    let rename = || RenameSession { title: "Work".to_owned() };
    for renamed in both.each(id, [rename(), rename()]).await {
        assert_eq!(renamed.unwrap().session.title.as_deref(), Some("Work"));
    }
    assert!(both.call(id, ListServers {}).await.unwrap().servers.is_empty());
    let fill = FillPrompt { name: "mcp__s__p".to_owned(), arguments: Vec::new() };
    assert_eq!(both.call(id, fill).await.unwrap_err().kind, CallErrorKind::NotFound);
    files(both, id, agent).await;
    let long = "x".repeat(posse_api::limits::TEXT_BYTES_MAX + 1);
    let errors = [
        both.call(id, tell(Some("nobody"), "Hello")).await.unwrap_err().kind,
        both.call(id, tell(None, " ")).await.unwrap_err().kind,
        both.call(id, tell(None, &long)).await.unwrap_err().kind,
        both.call(id, WithdrawMessage { mail: mail[0] }).await.unwrap_err().kind,
        both.call(id, answer(Answer::Nobody)).await.unwrap_err().kind,
        both.call(id, answer(Answer::Said { text: long.clone() })).await.unwrap_err().kind,
        both.call(id, StopAgent { agent: "nobody".to_owned() }).await.unwrap_err().kind,
        both.call(id, ChangeSettings { model: Some("none".to_owned()), ..ChangeSettings::default() })
            .await
            .unwrap_err()
            .kind,
    ];
    use CallErrorKind::{BadRequest, NotFound, Refused, TooLarge};
    assert_eq!(errors, [NotFound, Refused, TooLarge, NotFound, BadRequest, TooLarge, NotFound, Refused]);
    // From here on the session may end at any moment.
    let closed = both.each(id, [CloseSession {}, CloseSession {}]).await;
    assert!(closed.iter().all(Result::is_ok), "{closed:?}");
    let stopped = both.each(id, [StopTurn {}, StopTurn {}]).await;
    stopped[0].as_ref().unwrap();
    let ended = both.each(id, [CancelSession {}, CancelSession {}]).await;
    let over = |call: &Result<_, CallError>| {
        let kind = call.as_ref().err().map(|error| error.kind);
        kind.is_none_or(|kind| [CallErrorKind::NotRunning, CallErrorKind::NothingToDo].contains(&kind))
    };
    assert!(stopped.iter().chain(&ended).all(over), "{stopped:?} {ended:?}");
}

/// Nothing was changed, so nothing can be taken back.
async fn files(both: &mut Both, id: SessionId, agent: AgentId) {
    use CallErrorKind::{NotFound, NothingToDo, Refused};
    let undo = UndoRequest { extent: UndoExtent::Session, paths: Vec::new(), hunks: Vec::new() };
    let changes = [
        ChangeRequest::Undo(undo),
        ChangeRequest::Redo,
        ChangeRequest::Rewind { turn: 1 },
        ChangeRequest::Merge { agent: "nobody".to_owned() },
    ];
    for change in changes {
        let preview = both.call(id, PreviewChange { change: change.clone() }).await.unwrap_err().kind;
        assert!([NotFound, NothingToDo].contains(&preview), "{change:?} {preview:?}");
        let done = both.call(id, ChangeFiles { change: change.clone() }).await.unwrap_err().kind;
        assert_eq!(done, preview, "{change:?}");
    }
    let diff = both.call(id, ShowDiff { agent: None, turn: None }).await;
    assert!(diff.as_ref().map_or(true, |found| found.diff.is_empty()), "{diff:?}");
    let command = MoveToBackground { agent, call: CallId("none".to_owned()) };
    assert_eq!(both.call(id, command).await.unwrap_err().kind, Refused);
}

/// A session that is over can be asked about, and told nothing.
async fn over(both: &mut Both, id: SessionId) {
    both.call(id, ShowSession {}).await.unwrap();
    let errors = [
        both.call(id, tell(None, "Hello")).await.unwrap_err().kind,
        both.call(id, StopTurn {}).await.unwrap_err().kind,
        both.call(id, CancelSession {}).await.unwrap_err().kind,
        both.call(id, CompactNow { agent: None }).await.unwrap_err().kind,
    ];
    assert_eq!(errors, [CallErrorKind::NotRunning; 4]);
}

#[test]
fn the_table_says_what_each_route_takes_and_gives() {
    let document = posse_api::openapi();
    let mut places = BTreeSet::new();
    for route in ROUTES {
        assert!(route.path.starts_with("/api/"), "{}", route.path);
        let verb = format!("{:?}", route.verb).to_lowercase();
        assert!(places.insert((verb.clone(), route.path)), "{} twice", route.path);
        let operation = &document["paths"][route.path][&verb];
        assert_eq!(operation["operationId"], route.name);
        assert!(
            !operation["description"].as_str().unwrap().is_empty(),
            "{} does not say what it does",
            route.name
        );
        if verb == "post" {
            let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let name = body.as_str().unwrap().rsplit('/').next().unwrap();
            let schema = &document["components"]["schemas"][name];
            assert_eq!(schema["additionalProperties"], false, "{}", route.name);
        }
    }
    assert_eq!(places.len(), ROUTES.len());
}

#[test]
fn kinds_of_errors_have_a_status_and_stay_themselves_on_the_wire() {
    for kind in CallErrorKind::ALL {
        let error = CallError { kind, message: "why".to_owned() };
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<CallError>(&text).unwrap(), error);
        assert!(kind.status().is_client_error() || kind.status().is_server_error());
    }
    let newer: CallError = serde_json::from_str(r#"{"kind":"of_tomorrow","message":"m"}"#).unwrap();
    assert_eq!(newer.kind, CallErrorKind::Unknown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_no_process_runs_is_said_to_be_that() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let (id, other) = (session.id, stage.other());
    stage.let_go();
    session.report().await.unwrap();
    for engine in [&stage.engine, &other] {
        let Err(error) = Handle::of(engine, id).await else { panic!("it has ended") };
        assert_eq!(error.kind, CallErrorKind::NotRunning);
        assert!(error.message.contains(&format!("posse resume {id}")), "{error}");
        let Err(error) = Handle::of(engine, unknown()).await else { panic!("there is none") };
        assert_eq!(error.kind, CallErrorKind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_does_not_listen_is_unreachable() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let id = session.id;
    let [_, elsewhere] = stage.handles(id).await;
    let (engine, model, go, root) = (stage.engine.clone(), stage.model, stage.go, stage.root);
    stage.listening.close().await;
    let error = elsewhere.call(id, ShowSession {}).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Unreachable);
    // It has not noticed.
    let again: Engine = engine.clone();
    let mut listening = posse_api::listen(&again);
    let socket = listening.ready().await.unwrap();
    let client = Client::new(socket);
    assert_eq!(client.call(id, ShowSession {}).await.unwrap().session.id, id);
    go.store(true, std::sync::atomic::Ordering::Release);
    session.report().await.unwrap();
    drop((model, root));
}
