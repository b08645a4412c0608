//! Who is asked before a call runs, what the answers lead to, and what the others do meanwhile.

use std::cell::RefCell;
use std::time::Duration;

use posse_engine::Limits;
use posse_engine::{AnswerOutcome, ApprovalSettings, RecordDetail, Session};
use posse_protocol::{
    AgentId, AgentState, Answer, Approval, Denial, Event, EventKind, Grant, Network, Question, Sender, Update,
};
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::check::Ran;
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, named, sh, wait};

pub(crate) fn write(path: &str, content: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": content}))
}

/// A line of agents `d1`, `d2`, … of which the deepest takes these turns; the main agent itself for depth 0.
pub(crate) async fn at_depth(depth: usize, turns: Vec<Turn>) -> Stage {
    let names = ["main", "d1", "d2", "d3"];
    let mut scripts: [(&str, Vec<Turn>); 4] = names.map(|name| (name, Vec::new()));
    for level in 0..depth {
        let below = named(names[level + 1], "general", "Have it done.");
        scripts[level].1 = vec![Turn::call("agent", below), wait(), Turn::text(REPORT)];
    }
    scripts[depth].1 = turns.into_iter().chain([Turn::text(REPORT)]).collect();
    let mut stage = Stage::new(scripts).await;
    stage.delegation.limits = Limits { depth_max: 3, ..Limits::default() };
    stage
}

/// What an agent of the line is called.
pub(crate) fn actor(depth: usize) -> String {
    if depth == 0 { "main".to_string() } else { format!("d{depth}") }
}

/// In a mode, with somebody there to ask.
pub(crate) fn in_mode(mut stage: Stage, approval: Approval) -> Stage {
    stage.grant = Grant { approval, network: Network::None, ..Grant::full() };
    stage.approvals = ApprovalSettings { person: true, ..ApprovalSettings::default() };
    stage
}

/// Says yes to everything that needs a yes, and answers what is asked in words.
pub(crate) fn yes(question: &Question) -> Answer {
    match &question.asks {
        Some(asks) => {
            Answer::Said { text: asks.choices.first().cloned().unwrap_or("as you like".to_string()) }
        }
        None => Answer::Once,
    }
}

/// Follows a session to its end and answers what it asks.
pub(crate) async fn answered(mut session: Session, mut person: impl FnMut(&Question) -> Answer) -> Ran {
    let run = async {
        let mut updates = Vec::new();
        while let Some(update) = session.next().await {
            if let Update::Event(event) = &update
                && let EventKind::PersonNeeded { question } = &event.kind
            {
                let taken = session.answer(event.agent, &question.call, person(question));
                assert_eq!(taken, AnswerOutcome::Accepted, "{question:?}");
            }
            updates.push(update);
        }
        Ran { updates, report: session.report().await.unwrap() }
    };
    tokio::time::timeout(Duration::from_secs(100), run).await.expect("the session hangs")
}

impl Ran {
    /// What an agent asked, in order.
    pub(crate) fn questions_of(&self, name: &str) -> Vec<Question> {
        let asked = self.of(name).into_iter().filter_map(|event| match &event.kind {
            EventKind::PersonNeeded { question } => Some(question.clone()),
            _ => None,
        });
        asked.collect()
    }

    /// What was asked, by anybody, in order.
    fn asked(&self) -> Vec<String> {
        let asked = self.events().filter_map(|event| match &event.kind {
            EventKind::PersonNeeded { question } => Some(question.what.clone()),
            _ => None,
        });
        asked.collect()
    }
}

fn asks(event: &Event) -> bool {
    matches!(event.kind, EventKind::PersonNeeded { .. })
}

/// Waits until somebody asks. Gives back who, and what.
async fn first_question(followed: &mut Followed) -> (AgentId, Question) {
    last_question(followed, 1).await
}

/// Waits until there have been so many questions. Gives back who asked the last one, and what.
pub(crate) async fn last_question(followed: &mut Followed, asked: usize) -> (AgentId, Question) {
    let found = RefCell::new(None);
    let note = |event: &Event| match &event.kind {
        EventKind::PersonNeeded { question } => {
            found.replace(Some((event.agent, question.clone())));
            true
        }
        _ => false,
    };
    followed.until(asked, note).await;
    found.take().expect("a question")
}

#[tokio::test]
async fn each_mode_asks_allows_and_denies_as_its_table_says_at_every_depth() {
    let outside = json!({"command": "cat b.txt", "outside_sandbox": true});
    let calls = || {
        vec![
            write("c.txt", "x\n"),
            sh("cat a.txt"),
            Turn::call("shell", outside.clone()),
            Turn::call("web_fetch", json!({"url": "https://example.org/"})),
        ]
    };
    let table = [
        (Approval::Plan, ["denied", "allowed", "denied", "denied"]),
        (Approval::Ask, ["asked", "asked", "asked", "denied"]),
        (Approval::Edit, ["allowed", "asked", "asked", "denied"]),
        (Approval::Auto, ["allowed", "allowed", "asked", "denied"]),
        (Approval::Full, ["allowed", "allowed", "allowed", "denied"]),
    ];
    let what = ["c.txt", "cat a.txt", "cat b.txt", "https://example.org/"];
    let mut seen = 0;
    for (mode, expected) in table {
        for depth in [0, 2, 3] {
            let stage = in_mode(at_depth(depth, calls()).await, mode);
            let ran = answered(stage.start("go"), |_| Answer::Once).await;
            let name = actor(depth);
            let questions = ran.questions_of(&name);
            let results = ran.results_of(&name);
            let came = results.iter().zip(what).map(|((ok, _), what)| {
                match (questions.iter().any(|question| question.what == what), ok) {
                    (true, true) => "asked",
                    (false, true) => "allowed",
                    (false, false) => "denied",
                    (true, false) => "asked and denied",
                }
            });
            assert_eq!(came.collect::<Vec<_>>(), expected, "{mode:?} at depth {depth}: {results:?}");
            assert_eq!(stage.files.path().join("c.txt").exists(), mode != Approval::Plan, "{mode:?}");
            assert_eq!(ran.asked().len(), questions.len(), "nobody else asks");
            seen += expected.len();
        }
    }
    assert_eq!(seen, 60);
}

#[tokio::test]
async fn a_question_says_who_wants_exactly_what_and_where_it_really_leads() {
    let command = "cat a.txt &&  echo 'two  spaces' # all of it";
    let turns = vec![write("link/x.txt", "x\n"), write("away/x.txt", "x\n"), sh(command)];
    let stage = in_mode(at_depth(2, turns).await, Approval::Ask);
    let elsewhere = tempfile::tempdir().unwrap();
    let root = stage.files.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), root.join("away")).unwrap();
    let ran = answered(stage.start("go"), |_| Answer::Once).await;
    let questions = ran.questions_of("d2");
    let real = |path: std::path::PathBuf| Some(path.display().to_string());
    let outside = elsewhere.path().canonicalize().unwrap().join("x.txt");
    let expected = [
        ("write_file", "link/x.txt", real(root.join("sub/x.txt")), "changing a file", "write_file(link/*)"),
        ("write_file", "away/x.txt", real(outside.clone()), "changing a file", "write_file(away/*)"),
        ("shell", command, None, "running a command", &format!("shell({command})")),
    ];
    assert_eq!(questions.len(), expected.len(), "{questions:?}");
    for (question, (tool, what, real_path, doing, pattern)) in questions.iter().zip(expected) {
        let whole = Question {
            call: question.call.clone(),
            tool: tool.to_string(),
            what: what.to_string(),
            asks: None,
            real_path,
            preview: question.preview.clone(),
            leaves: false,
            written: Vec::new(),
            written_more: 0,
            writing: Vec::new(),
            why: format!("in mode ask, {doing} asks first"),
            pattern: pattern.to_string(),
        };
        assert_eq!(*question, whole);
    }
    let asked_by = ran.events().filter(|event| asks(event)).map(|event| event.agent).collect::<Vec<_>>();
    assert_eq!(asked_by, [ran.agents()["d2"]; 3], "the root sees who asks");
    assert_eq!(stage.files.read("sub/x.txt"), "x\n");
    let results = ran.results_of("d2");
    assert!(!results[1].0 && !outside.exists(), "a yes does not lead out of the workspace: {results:?}");
    holds(&results[2].1, &["alpha", "two  spaces"]);
}

/// A child writes three files and then the main agent one; gives back what was asked.
async fn asked_after(first: Answer) -> (Stage, Ran) {
    let main = vec![
        Turn::call("agent", named("child", "general", "Write.")),
        wait(),
        write("t/d.txt", "x\n"),
        Turn::text("Done."),
    ];
    let child = ["s/a.txt", "s/b.txt", "t/c.txt"].map(|path| write(path, "x\n"));
    let child = child.into_iter().chain([Turn::text(REPORT)]).collect();
    let stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Ask);
    let mut first = Some(first);
    let ran = answered(stage.start("go"), |_| first.take().unwrap_or(Answer::Once)).await;
    (stage, ran)
}

#[tokio::test]
async fn an_answer_holds_as_far_as_it_says_and_for_all_agents() {
    let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_string() };
    let cases = [
        (Answer::Once, vec!["s/a.txt", "s/b.txt", "t/c.txt", "t/d.txt"]),
        (Answer::Session, vec!["s/a.txt"]),
        (pattern("write_file(s/*)"), vec!["s/a.txt", "t/c.txt", "t/d.txt"]),
        (Answer::No { reason: "not yet".to_string() }, vec!["s/a.txt", "s/b.txt", "t/c.txt", "t/d.txt"]),
    ];
    let count = cases.len();
    for (answer, asked) in cases {
        let (stage, ran) = asked_after(answer.clone()).await;
        assert_eq!(ran.asked(), asked, "{answer:?}");
        let no = matches!(answer, Answer::No { .. });
        assert_eq!(stage.files.path().join("s/a.txt").exists(), !no, "{answer:?}");
        let written = ["s/b.txt", "t/c.txt", "t/d.txt"].map(|path| stage.files.read(path));
        assert_eq!(written, ["x\n"; 3], "{answer:?}");
        let on_record = ran.events().find_map(|event| match &event.kind {
            EventKind::PersonAnswered { answer, .. } => Some(answer.clone()),
            _ => None,
        });
        assert_eq!(on_record, Some(answer));
    }
    assert_eq!(count, 4);
}

#[tokio::test]
async fn a_no_is_final_for_that_call_and_told_to_the_agent_and_its_parent() {
    let turns = vec![sh("cat a.txt"), sh("cat a.txt"), sh("cat b.txt")];
    let stage = in_mode(at_depth(2, turns).await, Approval::Ask);
    let no = |question: &Question| match question.what.as_str() {
        "cat a.txt" => Answer::No { reason: "  it is private  ".to_string() },
        _ => Answer::No { reason: String::new() },
    };
    let ran = answered(stage.start("go"), no).await;
    assert_eq!(ran.asked(), ["cat a.txt", "cat b.txt"], "what was refused is not asked again");
    let reasons = [
        "the person said no: it is private",
        "this was refused before, and asking again does not change that",
        "the person said no",
    ];
    let told = reasons.map(|reason| {
        (false, format!("Not allowed: {reason}. Nothing was done. Do not look for a way round it."))
    });
    assert_eq!(ran.results_of("d2"), told);
    let denied = [("cat a.txt", reasons[0]), ("cat a.txt", reasons[1]), ("cat b.txt", reasons[2])];
    let denied = denied.map(|(what, reason)| Denial {
        agent: "d2".to_string(),
        tool: "shell".to_string(),
        what: what.to_string(),
        reason: reason.to_string(),
    });
    for name in ["d2", "d1", "main"] {
        assert_eq!(ran.report_of(name).receipt.denied, denied, "{name}");
        assert_eq!(ran.report_of(name).receipt.commands_total, 0, "{name}");
    }
    let (_, text) = &ran.results_of("d1")[1];
    holds(text, &["denied to d2: shell cat a.txt (the person said no: it is private)"]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_leaves_the_question_open() {
    let stage = in_mode(at_depth(1, vec![write("c.txt", "x\n")]).await, Approval::Ask);
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = first_question(&mut followed).await;
    let main = followed.session.agent;
    let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_string() };
    assert_eq!(
        followed.session.answer(main, &question.call, Answer::Once),
        AnswerOutcome::NotOpen,
        "main asked nothing"
    );
    let bad = followed.session.answer(agent, &question.call, pattern("write_file("));
    assert_eq!(bad, AnswerOutcome::BadPattern);
    let other = followed.session.answer(agent, &question.call, pattern("grep(nowhere)"));
    assert_eq!(other, AnswerOutcome::BadPattern, "it does not cover what was asked");
    assert_eq!(
        followed.session.answer(agent, &question.call, pattern(&question.pattern)),
        AnswerOutcome::Accepted
    );
    assert_eq!(
        followed.session.answer(agent, &question.call, Answer::Once),
        AnswerOutcome::NotOpen,
        "it is answered"
    );
    followed.finish().await;
    assert_eq!(stage.files.read("c.txt"), "x\n");
}

#[tokio::test]
async fn others_go_on_while_one_waits_for_a_person_also_with_a_single_slot() {
    let mut seen = 0;
    for running_max in [1, 4] {
        let main = vec![
            Turn::call("agent", named("asks", "general", "Write."))
                .and_call("agent", named("works", "general", "Look.")),
            Turn::call("agent", json!({"action": "wait", "agents": ["works"]})),
            Turn::call("agent", json!({"action": "status"})),
            wait(),
            Turn::text("Done."),
        ];
        let works = vec![Turn::call("read_file", json!({"path": "a.txt"})), Turn::text(REPORT)];
        let asking = vec![write("c.txt", "x\n"), Turn::text(REPORT)];
        let stage = Stage::new([("main", main), ("asks", asking), ("works", works)]).await;
        let mut stage = in_mode(stage, Approval::Ask);
        stage.delegation.limits = Limits { running_max, ..Limits::default() };
        let mut followed = Followed::new(stage.start("go"));
        // Both starts, the wait for the other one, and the status.
        followed.until(4, |event| event.parent.is_none() && is_result(event)).await;
        let (agent, question) = first_question(&mut followed).await;
        let status = |name: &str| {
            let rows = stage.engine.agents(followed.session.id).unwrap();
            rows.into_iter().find(|row| row.name == name).map(|row| row.status.word()).unwrap()
        };
        assert_eq!(["asks", "works", "main"].map(status), ["needs_person", "completed", "running"]);
        assert_eq!(followed.session.answer(agent, &question.call, Answer::Once), AnswerOutcome::Accepted);
        let id = followed.session.id;
        let ran = followed.finish().await;
        holds(&ran.results_of("main")[3].1, &["asks (general) needs_person"]);
        assert_eq!(["asks", "works", "main"].map(|name| ran.ended(name)), ["completed"; 3]);
        let rows = stage.engine.agents(id).unwrap();
        assert!(rows.iter().all(|row| row.status.word() == "completed"), "{rows:?}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

fn is_result(event: &Event) -> bool {
    matches!(event.kind, EventKind::ToolFinished { .. })
}

#[tokio::test]
async fn the_clocks_of_the_one_who_asks_and_of_those_above_stand_still() {
    let within = |name: &str| {
        let mut call = named(name, "general", "Have it done.");
        call["max_time_ms"] = json!(2_000);
        Turn::call("agent", call)
    };
    let stage = Stage::new([
        ("main", vec![within("outer"), wait(), Turn::text("Done.")]),
        ("outer", vec![within("inner"), wait(), Turn::text(REPORT)]),
        ("inner", vec![write("c.txt", "x\n"), Turn::text(REPORT)]),
    ]);
    let stage = in_mode(stage.await, Approval::Ask);
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = first_question(&mut followed).await;
    tokio::time::sleep(Duration::from_millis(3_000)).await;
    assert_eq!(followed.session.answer(agent, &question.call, Answer::Once), AnswerOutcome::Accepted);
    let ran = followed.finish().await;
    assert_eq!(["inner", "outer", "main"].map(|name| ran.ended(name)), ["completed"; 3]);
    for name in ["inner", "outer"] {
        let took_ms = ran.report_of(name).receipt.duration_ms;
        assert!(took_ms < 3_000, "{name} took {took_ms} ms, the time of the person included");
    }
}

#[tokio::test]
async fn stopping_one_that_asks_withdraws_its_question() {
    let cases = [("the agent", ["cancelled", "completed"]), ("the session", ["cancelled", "cancelled"])];
    let mut seen = 0;
    for (what, endings) in cases {
        let stage = in_mode(at_depth(1, vec![write("c.txt", "x\n")]).await, Approval::Ask);
        let mut followed = Followed::new(stage.start("go"));
        let (agent, question) = first_question(&mut followed).await;
        match what {
            "the agent" => assert!(followed.session.stop("d1")),
            _ => followed.session.cancel(),
        }
        followed
            .until(1, |event| event.agent == agent && matches!(event.kind, EventKind::AgentSettled { .. }))
            .await;
        assert_eq!(
            followed.session.answer(agent, &question.call, Answer::Once),
            AnswerOutcome::NotOpen,
            "{what}: nobody asks"
        );
        let ran = followed.finish().await;
        assert_eq!(["d1", "main"].map(|name| ran.ended(name)), endings, "{what}");
        assert!(!stage.files.path().join("c.txt").exists(), "{what}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn with_nobody_to_ask_it_is_denied_and_every_report_above_says_so() {
    let turns =
        vec![write("c.txt", "x\n"), sh("touch d.txt"), Turn::call("read_file", json!({"path": "a.txt"}))];
    let mut stage = in_mode(at_depth(2, turns).await, Approval::Ask);
    stage.approvals = ApprovalSettings::default();
    let ran = stage.run("go").await;
    let results = ran.results_of("d2");
    assert_eq!(results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>(), [false, false, true]);
    let denials = [("write_file", "c.txt", "changing a file"), ("shell", "touch d.txt", "running a command")];
    let denials = denials.map(|(tool, what, doing)| Denial {
        agent: "d2".to_string(),
        tool: tool.to_string(),
        what: what.to_string(),
        reason: format!("in mode ask, {doing} asks first, and nobody is there to ask"),
    });
    for ((_, text), denial) in results.iter().zip(&denials) {
        holds(text, &["Not allowed: ", &denial.reason]);
    }
    for name in ["d2", "d1", "main"] {
        assert_eq!(ran.report_of(name).receipt.denied, denials, "{name}");
    }
    for name in ["d1", "main"] {
        let told = ran.results_of(name)[1].1.clone() + &ran.told(name, Sender::Reports).join("\n");
        for Denial { tool, what, reason, .. } in &denials {
            holds(&told, &[&format!("denied to d2: {tool} {what} ({reason})")]);
        }
    }
    let answers = ran
        .events()
        .filter(|event| matches!(&event.kind, EventKind::PersonAnswered { answer: Answer::Nobody, .. }));
    assert_eq!(answers.count(), 2);
    assert!(!["c.txt", "d.txt"].iter().any(|file| stage.files.path().join(file).exists()));
}

#[tokio::test]
async fn rules_deny_ask_and_allow_whatever_the_mode_says() {
    let rules = |kind: &str, rule: &str| {
        let mut rules = json!({});
        rules[kind] = json!([rule]);
        serde_json::from_value::<posse_policy::Rules>(rules).unwrap()
    };
    let cases: [(Approval, &str, &str, Turn, usize, bool); 6] = [
        (Approval::Full, "deny", "shell(rm *)", sh("rm a.txt"), 0, false),
        (Approval::Full, "deny", "shell(rm *)", sh("echo x; rm a.txt"), 0, false),
        (Approval::Full, "ask", "shell(rm *)", sh("rm a.txt"), 1, true),
        (Approval::Ask, "allow", "shell(cat a.txt)", sh("cat a.txt"), 0, true),
        (Approval::Ask, "allow", "shell(cat a.txt)", sh("cat a.txt; rm b.txt"), 1, true),
        (Approval::Plan, "allow", "write_file", write("c.txt", "x\n"), 0, false),
    ];
    let count = cases.len();
    for (mode, kind, rule, turn, asked, ok) in cases {
        let mut stage = in_mode(at_depth(2, vec![turn.clone()]).await, mode);
        stage.approvals.rules = rules(kind, rule);
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let results = ran.results_of("d2");
        assert_eq!((ran.asked().len(), results[0].0), (asked, ok), "{kind} {rule} {turn:?}: {results:?}");
    }
    assert_eq!(count, 6);
}

#[tokio::test]
async fn calls_of_one_turn_are_asked_one_after_the_other_in_order() {
    let both = write("c.txt", "x\n").and_call("write_file", json!({"path": "d.txt", "content": "y\n"}));
    let stage = in_mode(at_depth(1, vec![both]).await, Approval::Ask);
    let answer = |question: &Question| match question.what.as_str() {
        "c.txt" => Answer::No { reason: "no".to_string() },
        _ => Answer::Once,
    };
    let ran = answered(stage.start("go"), answer).await;
    assert_eq!(ran.asked(), ["c.txt", "d.txt"]);
    assert_eq!(ran.results_of("d1").iter().map(|(ok, _)| *ok).collect::<Vec<_>>(), [false, true]);
    assert_eq!(stage.files.read("d.txt"), "y\n");
    let request: Value = stage.requests_of("d1")[1].json();
    let results = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    assert_eq!(results.count(), 2);
}

#[tokio::test]
async fn being_told_something_at_once_withdraws_the_question() {
    let turns = vec![write("c.txt", "x\n"), Turn::call("read_file", json!({"path": "a.txt"}))];
    let stage = in_mode(at_depth(1, turns).await, Approval::Ask);
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = first_question(&mut followed).await;
    assert!(followed.session.tell("d1", "Only look.", true));
    followed
        .until(2, |event| event.agent == agent && matches!(event.kind, EventKind::TurnStarted { .. }))
        .await;
    assert_eq!(
        followed.session.answer(agent, &question.call, Answer::Once),
        AnswerOutcome::NotOpen,
        "nobody asks any more"
    );
    let rows = stage.engine.agents(followed.session.id).unwrap();
    let status = rows.into_iter().find(|row| row.id == agent).map(|row| row.status).unwrap();
    assert_ne!(status, AgentState::NeedsPerson);
    let ran = followed.finish().await;
    assert_eq!(
        (ran.ended("d1"), ran.told("d1", Sender::Person)),
        ("completed", vec!["Only look.".to_string()])
    );
    assert!(!stage.files.path().join("c.txt").exists());
    let closed =
        ran.of("d1").into_iter().filter(|event| matches!(event.kind, EventKind::PersonAnswered { .. }));
    assert_eq!(closed.count(), 1, "whoever shows the question learns that it is closed");
}

#[tokio::test]
async fn a_yes_inside_the_sandbox_is_no_yes_outside_it() {
    let outside = |command: &str| Turn::call("shell", json!({"command": command, "outside_sandbox": true}));
    let turns = vec![sh("cat a.txt"), outside("cat a.txt"), sh("cat b.txt"), outside("cat b.txt")];
    let cases = [
        (Answer::Session, vec!["shell(cat a.txt)", "leave(cat a.txt)"]),
        (Answer::Once, vec!["shell(cat a.txt)", "leave(cat a.txt)", "shell(cat b.txt)", "leave(cat b.txt)"]),
    ];
    let mut seen = 0;
    for (answer, expected) in cases {
        let stage = in_mode(at_depth(1, turns.clone()).await, Approval::Ask);
        let ran = answered(stage.start("go"), |_| answer.clone()).await;
        let asked = ran.questions_of("d1").into_iter().map(|question| question.pattern).collect::<Vec<_>>();
        assert_eq!(asked, expected, "{answer:?}");
        assert!(ran.results_of("d1").iter().all(|(ok, _)| *ok), "{answer:?}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn a_question_is_seen_also_where_only_results_are_recorded() {
    let mut stage = in_mode(at_depth(1, vec![write("c.txt", "x\n")]).await, Approval::Ask);
    stage.delegation.sub_agents.record = RecordDetail::Result;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = first_question(&mut followed).await;
    assert_eq!(followed.session.answer(agent, &question.call, Answer::Once), AnswerOutcome::Accepted);
    assert_eq!(followed.finish().await.ended("d1"), "completed");
    assert_eq!(stage.files.read("c.txt"), "x\n");
}
