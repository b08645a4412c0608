//! Undoing hunks, rewinding to a turn, and previews that say what happens then.

use posse_engine::record::SessionRow;
use posse_engine::{
    ChangePreview, ChangeRequest, EngineError, FileHunks, UndoExtent, UndoOutcome, UndoRequest,
};
use posse_testkit::Turn;

use crate::approvals::write;
use crate::crew::Stage;
use crate::undoing::{edit, last, read};

fn lines(change: impl Fn(usize) -> bool) -> String {
    let line = |n| if change(n) { format!("LINE {n}.\n") } else { format!("line {n}.\n") };
    (1..=60).map(line).collect()
}

fn hunks(hunks: &[u32]) -> UndoRequest {
    let hunks = vec![FileHunks { path: "long.txt".to_owned(), hunks: hunks.to_vec() }];
    UndoRequest { extent: UndoExtent::Session, paths: Vec::new(), hunks }
}

/// What is previewed is what then happens, and the preview itself does nothing.
#[track_caller]
fn same(preview: &ChangePreview, outcome: &UndoOutcome) {
    let told = (&preview.what, &preview.changes, &preview.conflicts, &preview.not_certain);
    assert_eq!(told, (&outcome.what, &outcome.changes, &outcome.conflicts, &outcome.not_certain));
}

async fn preview(stage: &Stage, request: &ChangeRequest) -> ChangePreview {
    stage.engine.preview(&last(stage), request).await.unwrap()
}

async fn edited() -> (Stage, SessionRow) {
    let change = |n: usize| edit("long.txt", &format!("line {n}.\n"), &format!("LINE {n}.\n"));
    let turns = vec![read("long.txt"), change(5), change(30), change(55), Turn::text("done")];
    let mut stage = Stage::new([("main", turns)]).await;
    stage.files = stage.files.file("long.txt", lines(|_| false));
    stage.run("go").await;
    assert_eq!(stage.files.read("long.txt"), lines(|n| [5, 30, 55].contains(&n)));
    let session = last(&stage);
    (stage, session)
}

#[tokio::test]
async fn chosen_hunks_go_back_and_the_others_stay() {
    let (stage, session) = edited().await;
    // What the person does since stays, too.
    let mine = stage.files.read("long.txt").replace("line 20.", "mine");
    std::fs::write(stage.files.path().join("long.txt"), mine).unwrap();
    let now = |change: &[usize]| lines(|n| change.contains(&n)).replace("line 20.", "mine");
    let request = hunks(&[2]);
    let told = preview(&stage, &ChangeRequest::Undo(request.clone())).await;
    assert_eq!(stage.files.read("long.txt"), now(&[5, 30, 55]), "a preview writes nothing");
    assert!(told.diff.contains("-LINE 30.\n+line 30.\n") && !told.diff.contains("-LINE 5."), "{}", told.diff);
    let outcome = stage.engine.undo_selected(&session, &request).await.unwrap();
    same(&told, &outcome);
    assert_eq!(stage.files.read("long.txt"), now(&[5, 55]));
    // What is left counts as the session's work, in two hunks now.
    let diff = stage.engine.diff(&session, None, 100_000).await.unwrap();
    assert!(diff.contains("+LINE 5.") && diff.contains("+LINE 55.") && !diff.contains("LINE 30."), "{diff}");
    stage.engine.undo_selected(&session, &hunks(&[2])).await.unwrap();
    assert_eq!(stage.files.read("long.txt"), now(&[5]));
    // Forth again, one after the other.
    let told = preview(&stage, &ChangeRequest::Redo).await;
    same(&told, &stage.engine.redo(&session).await.unwrap());
    assert_eq!(stage.files.read("long.txt"), now(&[5, 55]));
    stage.engine.redo(&session).await.unwrap();
    assert_eq!(stage.files.read("long.txt"), now(&[5, 30, 55]));
    assert!(matches!(stage.engine.redo(&session).await, Err(EngineError::NothingToDo(_))));
    stage.engine.undo_selected(&session, &hunks(&[1, 3])).await.unwrap();
    stage.engine.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    assert_eq!(stage.files.read("long.txt"), now(&[]));
}

#[tokio::test]
async fn hunks_that_are_none_are_refused_and_change_nothing() {
    let (stage, session) = edited().await;
    let before = stage.files.read("long.txt");
    for numbers in [&[0][..], &[4], &[1, 9], &[]] {
        let outcome = stage.engine.undo_selected(&session, &hunks(numbers)).await;
        assert!(matches!(outcome, Err(EngineError::NotFound(_))), "{numbers:?}: {outcome:?}");
    }
    let mut other = hunks(&[1]);
    other.hunks[0].path = "a.txt".to_owned();
    assert!(stage.engine.undo_selected(&session, &other).await.is_err());
    assert_eq!(stage.files.read("long.txt"), before);
}

async fn three_turns() -> (Stage, SessionRow) {
    let turns = vec![
        read("a.txt").and_call("read_file", serde_json::json!({"path": "b.txt"})),
        edit("a.txt", "alpha", "first"),
        edit("b.txt", "beta", "second"),
        write("c.txt", "third\n"),
        Turn::text("done"),
    ];
    let stage = Stage::new([("main", turns)]).await;
    stage.run("go").await;
    let session = last(&stage);
    (stage, session)
}

fn files(stage: &Stage) -> [Option<String>; 3] {
    ["a.txt", "b.txt", "c.txt"].map(|name| std::fs::read_to_string(stage.files.path().join(name)).ok())
}

#[tokio::test]
async fn the_files_go_back_to_the_beginning_of_a_turn() {
    let some = |text: &str| Some(text.to_owned());
    let all = [some("first\n"), some("second\n"), some("third\n")];
    // Turn 1 reads, turn 2 changes a, turn 3 changes b, turn 4 makes c.
    let cases = [
        (1, [some("alpha\n"), some("beta\n"), None]),
        (2, [some("alpha\n"), some("beta\n"), None]),
        (3, [some("first\n"), some("beta\n"), None]),
        (4, [some("first\n"), some("second\n"), None]),
    ];
    assert_eq!(cases.len(), 4);
    let (stage, session) = three_turns().await;
    let error = stage.engine.rewind(&session, 5).await.unwrap_err();
    assert!(matches!(error, EngineError::NothingToDo(_)), "{error:?}");
    for (turn, want) in cases {
        assert_eq!(files(&stage), all);
        let told = preview(&stage, &ChangeRequest::Rewind { turn }).await;
        assert_eq!(files(&stage), all, "a preview writes nothing");
        same(&told, &stage.engine.rewind(&session, turn).await.unwrap());
        assert_eq!(files(&stage), want, "turn {turn}");
        stage.engine.redo(&session).await.unwrap();
    }
    assert_eq!(files(&stage), all);
    let error = stage.engine.rewind(&session, 9).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no turn 9: the main agent has had 5 so far");
}

#[tokio::test]
async fn rewinding_takes_back_undos_since_and_keeps_what_the_person_did() {
    let (stage, session) = three_turns().await;
    // The change of turn 2 is undone now: at the beginning of turn 3 it was there.
    let turn = UndoExtent::Turn { agent: None, turn: 2 };
    stage.engine.undo(&session, &turn, &[]).await.unwrap();
    std::fs::write(stage.files.path().join("c.txt"), "mine\n").unwrap();
    let told = preview(&stage, &ChangeRequest::Rewind { turn: 3 }).await;
    let outcome = stage.engine.rewind(&session, 3).await.unwrap();
    same(&told, &outcome);
    assert_eq!(
        outcome.conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(),
        ["c.txt"]
    );
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(files(&stage), [some("first\n"), some("beta\n"), some("mine\n")]);
    stage.engine.redo(&session).await.unwrap();
    assert_eq!(files(&stage), [some("alpha\n"), some("second\n"), some("mine\n")]);
    // The undo of turn 2 is in effect again, so it can be taken back.
    stage.engine.redo(&session).await.unwrap();
    assert_eq!(files(&stage), [some("first\n"), some("second\n"), some("mine\n")]);
}
