//! What interfaces ask of the record: sessions by page, open questions, the diff of an event, what fills a context window.

use posse_engine::{ContextKind, Engine, EngineError, SessionFilter};
use posse_protocol::{AgentState, Answer, Approval, EventKind, Seq, Usage};
use posse_testkit::Turn;
use serde_json::json;

use crate::approvals::{at_depth, in_mode, last_question, write};
use crate::check::World;
use crate::crew::Stage;
use crate::follow::Followed;
use crate::undoing::edit;

async fn titles(engine: &Engine, filter: &SessionFilter) -> Vec<String> {
    let (mut filter, mut found) = (filter.clone(), Vec::new());
    loop {
        let page = engine.session_page(filter.clone()).await.unwrap();
        assert!(page.sessions.len() <= filter.limit.unwrap_or(50));
        found.extend(page.sessions.into_iter().filter_map(|row| row.title));
        filter.cursor = page.next;
        if filter.cursor.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn sessions_come_page_by_page_and_new_ones_move_nothing() {
    let world = World::new((0..14).map(|_| Turn::text("done"))).await;
    for n in 0..12 {
        world.run(&format!("task {n} is 50% done")).await;
    }
    let mut filter = SessionFilter { limit: Some(5), ..SessionFilter::default() };
    let first = world.engine.session_page(filter.clone()).await.unwrap();
    world.run("a new one").await;
    filter.cursor.clone_from(&first.next);
    let rest = titles(&world.engine, &filter).await;
    let all = first.sessions.into_iter().filter_map(|row| row.title).chain(rest).collect::<Vec<_>>();
    assert_eq!(all, (0..12).rev().map(|n| format!("task {n} is 50% done")).collect::<Vec<_>>());

    let folder = world.files.path().to_str().unwrap().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    let completed = vec![AgentState::Completed];
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (SessionFilter { folder: Some(folder.clone()), ..Default::default() }, 13),
        (SessionFilter { folder: Some(elsewhere.path().display().to_string()), ..Default::default() }, 0),
        (SessionFilter { states: completed.clone(), limit: Some(1), ..Default::default() }, 13),
        (SessionFilter { states: vec![AgentState::Failed, AgentState::Running], ..Default::default() }, 0),
        (SessionFilter { text: text(" TASK 7 "), ..Default::default() }, 1),
        (SessionFilter { text: text("50% done"), ..Default::default() }, 12),
        (SessionFilter { text: text("5_% done"), ..Default::default() }, 0),
        (SessionFilter { text: text(" "), ..Default::default() }, 13),
        (
            SessionFilter {
                folder: Some(folder),
                states: completed,
                text: text("new"),
                ..Default::default()
            },
            1,
        ),
    ];
    assert_eq!(cases.len(), 9);
    for (filter, count) in cases {
        assert_eq!(titles(&world.engine, &filter).await.len(), count, "{filter:?}");
    }
    for cursor in ["", "5", "x.y", "5.nothing"] {
        let filter = SessionFilter { cursor: Some(cursor.to_owned()), ..SessionFilter::default() };
        assert!(matches!(world.engine.session_page(filter).await, Err(EngineError::Refused(_))), "{cursor}");
    }
}

#[tokio::test]
async fn open_questions_are_found_in_every_process_until_they_are_answered() {
    let stage = in_mode(at_depth(1, vec![write("new.txt", "one\n")]).await, Approval::Ask);
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = last_question(&mut followed, 1).await;
    // Another writer on the same database, as another process has one.
    let other = Engine::open(stage.data.path()).unwrap();
    for session in [None, Some(followed.session.id)] {
        let pending = other.pending_questions(session).await.unwrap();
        assert_eq!(pending.len(), 1);
        assert_eq!((pending[0].agent, &pending[0].question), (agent, &question));
        assert_eq!((pending[0].agent_name.as_str(), pending[0].title.as_deref()), ("d1", Some("go")));
        assert_eq!(pending[0].session, followed.session.id);
    }
    let unknown = "00000000-0000-7000-8000-000000000000".parse().unwrap();
    assert_eq!(other.pending_questions(Some(unknown)).await.unwrap(), []);
    followed.session.answer(agent, &question.call, Answer::Once);
    followed.until(1, |event| matches!(event.kind, EventKind::PersonAnswered { .. })).await;
    assert_eq!(other.pending_questions(None).await.unwrap(), []);
    followed.finish().await;
}

#[tokio::test]
async fn one_event_is_shown_as_a_diff() {
    let read = Turn::call("read_file", json!({"path": "a.txt"}));
    let turns = vec![read, edit("a.txt", "alpha", "omega"), write("new.txt", "one\n"), Turn::text("done")];
    let stage = Stage::new([("main", turns)]).await;
    let session = stage.start("go");
    let id = session.id;
    let ran = Followed::new(session).finish().await;
    let changed = ran.events().filter(|event| matches!(event.kind, EventKind::Changed { .. }));
    let changed = changed.map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!(changed.len(), 2);
    let diff = stage.engine.event_diff(id, changed[0], None).await.unwrap();
    assert_eq!(diff.paths, ["a.txt"]);
    assert!(diff.diff.ends_with("@@ -1 +1 @@\n-alpha\n+omega\n"), "{}", diff.diff);
    let diff = stage.engine.event_diff(id, changed[1], None).await.unwrap();
    assert!(diff.diff.contains("new file") && diff.diff.ends_with("+one\n"), "{}", diff.diff);
    let short = stage.engine.event_diff(id, changed[1], Some(20)).await.unwrap();
    assert!(short.diff.len() < diff.diff.len(), "{}", short.diff);
    assert!(matches!(stage.engine.event_diff(id, Seq(1), None).await, Err(EngineError::NothingToDo(_))));
    for seq in [Seq(0), Seq(9_999)] {
        assert!(matches!(stage.engine.event_diff(id, seq, None).await, Err(EngineError::NotFound(_))));
    }
}

#[tokio::test]
async fn what_fills_a_context_window_is_told_by_kind() {
    let usage = Usage { input_tokens: Some(50_000), output_tokens: Some(10), ..Usage::default() };
    let turns = vec![
        Turn::call("read_file", json!({"path": "a.txt"})).reasoning("hm, hm").usage(usage),
        Turn::text("It says alpha.").usage(usage),
    ];
    let stage = Stage::new([("main", turns)]).await;
    let session = stage.start("what does it say?");
    let id = session.id;
    let ran = Followed::new(session).finish().await;
    let found =
        stage.engine.context_use(id, "main", |model| (model == "fake").then_some(200_000)).await.unwrap();
    assert_eq!((found.model.as_str(), found.window_tokens), ("fake", Some(200_000)));
    assert_eq!((found.counted_tokens, found.compactions), (Some(50_010), 0));
    let bytes = |kind: ContextKind| {
        let parts = found.parts.iter().filter(|part| part.kind == kind);
        parts.map(|part| (part.texts, part.bytes, part.tool.as_deref())).collect::<Vec<_>>()
    };
    let told = ran.events().find_map(|event| match &event.kind {
        EventKind::AgentStarted { system, .. } => Some(system.len() as u64),
        _ => None,
    });
    let result = ran.results()[0].1.len() as u64;
    assert_eq!(bytes(ContextKind::System), [(1, told.unwrap(), None)]);
    assert_eq!(bytes(ContextKind::Person), [(1, "what does it say?".len() as u64, None)]);
    assert_eq!(bytes(ContextKind::ModelText), [(1, "It says alpha.".len() as u64, None)]);
    assert_eq!(bytes(ContextKind::Reasoning), [(1, "hm, hm".len() as u64, None)]);
    assert_eq!(bytes(ContextKind::ToolResults), [(1, result, Some("read_file"))]);
    assert_eq!(bytes(ContextKind::ToolCalls).len(), 1);
    assert_eq!(bytes(ContextKind::Summary), []);
    // All that the provider counted and nobody said.
    assert!(bytes(ContextKind::ToolDescriptions)[0].1 > 100_000, "{found:#?}");
    assert_eq!(found.estimated_tokens, found.parts.iter().map(|part| part.tokens).sum::<u64>());
    assert!(matches!(stage.engine.context_use(id, "nobody", |_| None).await, Err(EngineError::NotFound(_))));
}
