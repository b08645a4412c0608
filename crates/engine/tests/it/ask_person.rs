//! Questions that agents ask in words: who may, what answers them, and what nobody's answer leads to.

use posse_engine::roles::load_roles;
use posse_engine::{AnswerOutcome, ApprovalSettings};
use posse_policy::Rules;
use posse_protocol::limits::ANSWER_BYTES_MAX;
use posse_protocol::{Answer, Approval, Event, EventKind, FreeQuestion, Question};
use posse_roles::Team;
use posse_surface::Surface;
use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::approvals::{answered, in_mode, last_question, write, yes};
use crate::check::Ran;
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, named, offered, wait};

const NOBODY: &str = "Nobody is here: decide, and say so in your report.";

fn ask(question: &str) -> Turn {
    Turn::call("ask_person", json!({"question": question}))
}

fn said(text: &str) -> Answer {
    Answer::Said { text: text.to_string() }
}

async fn alone(turns: Vec<Turn>, approval: Approval) -> Stage {
    let turns = turns.into_iter().chain([Turn::text("Done.")]).collect();
    in_mode(Stage::new([("main", turns)]).await, approval)
}

#[tokio::test]
async fn the_persons_words_are_the_result_in_every_mode_and_whatever_rules_say() {
    let rules =
        serde_json::from_value::<Rules>(json!({"allow": ["ask_person"], "ask": ["ask_person"]})).unwrap();
    let mut seen = 0;
    for approval in [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full] {
        let question = json!({"question": " Which\u{1b}[2J one?\n", "choices": ["this", " ", "that "]});
        let mut stage = alone(vec![Turn::call("ask_person", question)], approval).await;
        stage.approvals.rules = rules.clone();
        let ran = answered(stage.start("go"), |_| said("  neither\nof them ")).await;
        let asks = Some(FreeQuestion { choices: vec!["this".to_string(), "that".to_string()] });
        let asked = ran.questions_of("main");
        let whole =
            Question { asks, ..Question::new(asked[0].call.clone(), "ask_person", "Which\u{1b}[2J one?") };
        assert_eq!(asked, [whole], "{approval:?}");
        assert_eq!(ran.results_of("main"), [(true, "neither\nof them".to_string())], "{approval:?}");
        assert_eq!(ran.report.receipt.denied, []);
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[tokio::test]
async fn a_rule_that_denies_it_spares_the_person() {
    let mut stage = alone(vec![ask("May I?")], Approval::Full).await;
    stage.approvals.rules = serde_json::from_value(json!({"deny": ["AskUserQuestion"]})).unwrap();
    let ran = answered(stage.start("go"), yes).await;
    assert_eq!(ran.questions_of("main"), []);
    holds(&ran.results_of("main")[0].1, &["the rule \"deny", "forbids this"]);
}

#[tokio::test]
async fn only_words_answer_it_and_the_first_ones_count() {
    let stage = alone(vec![ask("Which one?")], Approval::Auto).await;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = last_question(&mut followed, 1).await;
    let pattern = Answer::Pattern { pattern: "ask_person".to_string() };
    let cases = [
        (Answer::Once, AnswerOutcome::WrongKind),
        (Answer::Session, AnswerOutcome::WrongKind),
        (pattern, AnswerOutcome::WrongKind),
        (said(" \n"), AnswerOutcome::BadText),
        (said(&"x".repeat(ANSWER_BYTES_MAX + 1)), AnswerOutcome::BadText),
        (said("this"), AnswerOutcome::Accepted),
        (said("that"), AnswerOutcome::NotOpen),
    ];
    assert_eq!(cases.len(), 7);
    for (answer, outcome) in cases {
        assert_eq!(followed.session.answer(agent, &question.call, answer.clone()), outcome, "{answer:?}");
    }
    assert_eq!(followed.finish().await.results_of("main"), [(true, "this".to_string())]);
    // And words do not allow what needs a yes.
    let stage = alone(vec![write("c.txt", "x\n")], Approval::Ask).await;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = last_question(&mut followed, 1).await;
    let refused = followed.session.answer(agent, &question.call, said("yes"));
    assert_eq!(refused, AnswerOutcome::WrongKind);
    let no = Answer::No { reason: String::new() };
    assert_eq!(followed.session.answer(agent, &question.call, no), AnswerOutcome::Accepted);
    followed.finish().await;
    assert!(!stage.files.path().join("c.txt").exists());
}

#[tokio::test]
async fn a_person_may_decline_and_be_asked_again() {
    let stage = alone(vec![ask("Which one?"), ask("Which one?")], Approval::Auto).await;
    let mut reasons = ["", " not now "].into_iter();
    let no = |_: &Question| Answer::No { reason: reasons.next().unwrap().to_string() };
    let ran = answered(stage.start("go"), no).await;
    let declined = "The person does not answer this. Decide, and say so in your report.";
    let told = [declined.to_string(), format!("{declined} They say: not now")];
    assert_eq!(ran.results_of("main"), told.map(|text| (true, text)));
    assert_eq!(ran.report.receipt.denied, []);
}

#[tokio::test]
async fn where_nobody_is_there_it_is_answered_at_once() {
    for surface in [Surface::Agent, Surface::Shell] {
        let call = match surface {
            Surface::Shell => Turn::call(
                "bash",
                json!({"command": "ask 'Which one?' --choice 'this, or so' --choice that"}),
            ),
            _ => ask("Which one?"),
        };
        let mut stage = alone(vec![call], Approval::Full).await.surface(surface);
        stage.approvals = ApprovalSettings::default();
        let ran = stage.run("go").await;
        let results = ran.results_of("main");
        assert!(results[0].0 && results[0].1.ends_with(NOBODY), "{surface}: {results:?}");
        let nobody =
            |event: &&Event| matches!(event.kind, EventKind::PersonAnswered { answer: Answer::Nobody, .. });
        assert_eq!(ran.events().filter(nobody).count(), 1, "{surface}");
    }
}

#[tokio::test]
async fn a_yes_for_the_session_answers_no_question_in_words() {
    let main = vec![
        Turn::call("agent", named("one", "general", "Write."))
            .and_call("ask_person", json!({"question": "Which one?"})),
        wait(),
        Turn::text("Done."),
    ];
    let one = vec![write("c.txt", "x\n"), Turn::text(REPORT)];
    let stage = in_mode(Stage::new([("main", main), ("one", one)]).await, Approval::Ask);
    let mut followed = Followed::new(stage.start("go"));
    let mut open = Vec::new();
    for count in 1..=2 {
        open.push(last_question(&mut followed, count).await);
    }
    let (free, approval): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(_, question)| question.asks.is_some());
    let answer =
        |(agent, question): &(_, Question), answer| followed.session.answer(*agent, &question.call, answer);
    assert_eq!(answer(&approval[0], Answer::Session), AnswerOutcome::Accepted);
    assert_eq!(answer(&free[0], said("this")), AnswerOutcome::Accepted, "it is still open");
    let ran = followed.finish().await;
    assert_eq!(ran.results_of("main")[1], (true, "this".to_string()));
}

/// A session whose child has a role of the project's, with these lines in its file.
async fn with_role(lines: &str, trusted: bool, child: Vec<Turn>) -> (Stage, Ran) {
    let main = vec![Turn::call("agent", named("child", "asker", "Do it.")), wait(), Turn::text("Done.")];
    let mut stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Full);
    let file = format!("---\nname: asker\ndescription: asks\n{lines}---\nGo.\n");
    stage.files = Fixture::new().file("a.txt", "alpha\n").file(".posse/agents/asker.md", file).git();
    let places = posse_engine::roles::project_role_places(stage.files.path());
    stage.delegation.roles = load_roles(Team::Without, &places).roles;
    if trusted {
        let origin = stage.delegation.roles.find("asker").unwrap().origin.clone();
        let posse_protocol::RoleOrigin::Project(path) = origin else { panic!("{origin:?}") };
        stage.delegation.trusted_files.insert(path);
    }
    let ran = answered(stage.start("go"), yes).await;
    (stage, ran)
}

#[tokio::test]
async fn a_sub_agent_asks_only_where_its_role_names_the_tool() {
    let cases = [
        ("tools: [read_file, ask_person]\n", true, true),
        ("tools: Read, AskUserQuestion\n", true, true),
        ("tools: [read_file, ask_person]\n", false, false),
        ("tools: \"*\"\n", true, false),
        ("", true, false),
        ("tools: [read_file]\n", true, false),
    ];
    assert_eq!(cases.len(), 6);
    for (lines, trusted, may) in cases {
        let (stage, ran) = with_role(lines, trusted, vec![ask("Which one?"), Turn::text(REPORT)]).await;
        let requests = stage.model.requests();
        let first = requests
            .iter()
            .map(|request| request.json())
            .find(|request| posse_testkit::asker(request) == "child");
        let has_it = offered(&first.unwrap()).iter().any(|tool| tool == "ask_person");
        let asked = ran.questions_of("child").len() == 1;
        assert_eq!((has_it, asked), (may, may), "{lines:?}, trusted {trusted}");
        let (ok, text) = ran.results_of("child")[0].clone();
        assert_eq!((ok, text == "as you like"), (may, may), "{lines:?}: {text}");
        // The question names the agent: it is an event of its own.
        let by = ran.events().filter(|event| matches!(event.kind, EventKind::PersonNeeded { .. }));
        assert!(by.map(|event| event.agent).all(|agent| agent == ran.agents()["child"]));
    }
}

#[tokio::test]
async fn being_told_something_at_once_takes_the_question_back() {
    let stage = alone(vec![ask("Which one?")], Approval::Auto).await;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = last_question(&mut followed, 1).await;
    assert!(followed.session.tell("main", "Take this one.", true));
    followed.until(1, |event| matches!(event.kind, EventKind::PersonAnswered { .. })).await;
    let late = followed.session.answer(agent, &question.call, said("that"));
    assert_eq!(late, AnswerOutcome::NotOpen);
    let ran = followed.finish().await;
    let answers = ran.events().filter_map(|event| match &event.kind {
        EventKind::PersonAnswered { answer, .. } => Some(answer.clone()),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [Answer::Withdrawn]);
    let told = stage.model.requests().last().unwrap().json().to_string();
    holds(&told, &["Nobody had answered when it was taken back.", "Take this one."]);
}

#[tokio::test]
async fn what_is_too_long_is_not_asked() {
    let choices = |count: usize| vec!["x"; count];
    let cases = [
        (json!({"question": "  "}), "`question` is empty."),
        (json!({"question": "x".repeat(4_001)}), "`question` is too long; keep it to 4000 characters."),
        (json!({"question": "Which?", "choices": choices(11)}), "`choices` are too many; give at most 10."),
        (json!({"question": "Which?", "choices": ["x".repeat(201)]}), "keep it to 200 characters."),
    ];
    assert_eq!(cases.len(), 4);
    for (arguments, why) in cases {
        let stage = alone(vec![Turn::call("ask_person", arguments)], Approval::Auto).await;
        let ran = answered(stage.start("go"), yes).await;
        assert_eq!(ran.questions_of("main"), []);
        holds(&ran.results_of("main")[0].1, &[why, "Nothing was run."]);
    }
}
