//! What single events do to a view.

use posse_protocol::AgentState;
use posse_protocol::{Conflict, Effect, Ending, EventKind, FileChange, Receipt, Sender, Seq, Usage};
use posse_view::{Activity, BranchState, FoldError, Folded, SessionView, TodoState};

use crate::sample::*;

#[test]
fn events_are_taken_by_their_numbers() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, turn(1)).add(1, turn(2)).add(1, turn(3));
    let events = &script.events;
    let mut view = SessionView::default();
    assert_eq!(view.fold(&events[1]), Err(FoldError::Gap { expected: Seq(1), found: Seq(2) }));
    assert_eq!(view, SessionView::default(), "what is refused changes nothing");
    view.fold(&events[0]).unwrap();
    view.fold(&events[1]).unwrap();
    let before = view.clone();
    assert_eq!(view.fold(&events[3]), Err(FoldError::Gap { expected: Seq(3), found: Seq(4) }));
    assert_eq!(view.fold(&events[0]), Ok(Folded::default()), "it is there already");
    assert_eq!(view.fold(&events[1]), Ok(Folded::default()));
    let mut other = events[2].clone();
    other.session = "00000000-0000-7000-8000-000000000098".parse().unwrap();
    assert_eq!(view.fold(&other), Err(FoldError::OtherSession));
    assert_eq!(view, before);
    view.fold(&events[2]).unwrap();
    assert_eq!((view.seq, view.main().unwrap().turn), (Seq(3), 2));
}

#[test]
fn what_cannot_be_read_is_passed_over() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, turn(1)).add(1, turn(2)).add(1, turn(3));
    let mut view = SessionView::default();
    view.fold(&script.events[0]).unwrap();
    view.pass_over(Seq(4));
    view.fold(&script.events[3]).unwrap();
    let main = view.main().unwrap();
    assert_eq!((view.seq, main.turn, main.own.turns), (Seq(4), 3, 1));
    view.pass_over(Seq(2));
    assert_eq!(view.seq, Seq(4), "nothing is taken back");
}

#[test]
fn the_clock_stands_still_while_a_person_is_asked() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1).admit(3, 2, "bob", 2).admit(4, 1, "eve", 1);
    script.add(2, started(1)).add(3, started(2)).add(4, started(1));
    let spent = |script: &EventScript| {
        let (view, now) = (script.view(), script.now_ms());
        [1, 2, 3, 4].map(|n| view.agents.get(id(n)).unwrap().worked_ms(now).unwrap())
    };
    assert_eq!(spent(script.wait(1_000)), [1_000, 1_000, 1_000, 1_000]);
    script.add(3, asks("a"));
    assert_eq!(spent(script.wait(60_000)), [1_000, 1_000, 1_000, 61_000], "those above wait as well");
    script.add(2, asks("b")).add(3, allowed("a"));
    assert_eq!(spent(script.wait(500)), [1_000, 1_000, 1_500, 61_500], "ann still asks");
    script.add(2, allowed("b"));
    assert_eq!(spent(script.wait(500)), [1_500, 1_500, 2_000, 62_000]);
    // It is stopped with its question open: those above go on, and it has what was measured.
    script.add(3, asks("c")).wait(100).add(3, settled(Ending::Cancelled, receipt("x", None)));
    assert_eq!(spent(script.wait(100)), [1_600, 1_600, 700, 62_200]);
    script.add(1, interrupted(&[1, 2, 4])).wait(99_000).add(2, resumed(1_600));
    assert_eq!(spent(script.wait(50)), [1_600, 1_650, 700, 62_200], "nobody works meanwhile");
    assert_eq!(script.view().agents.get(id(3)).unwrap().duration_ms, Some(700));
}

#[test]
fn questions_are_kept_in_order_and_go_with_their_agent() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1).add(2, started(1));
    script.add(2, asks("a")).add(1, asks("b")).add(2, asks("c"));
    let view = script.view();
    let open =
        |view: &SessionView| view.questions.iter().map(|one| one.question.call.0.clone()).collect::<Vec<_>>();
    assert_eq!(open(&view), ["a", "b", "c"]);
    assert_eq!(view.questions.first().map(|one| (one.agent, one.asked_at_ms)), Some((id(2), START_MS)));
    assert_eq!(view.agents.get(id(2)).unwrap().state, AgentState::NeedsPerson);
    let mut view = view;
    let folded = view.fold(script.add(2, allowed("a")).events.last().unwrap()).unwrap();
    assert_eq!(folded.question.unwrap().question.call.0, "a");
    assert_eq!(view.agents.get(id(2)).unwrap().state, AgentState::NeedsPerson, "one is still open");
    view.fold(script.add(2, settled(Ending::Cancelled, Receipt::default())).events.last().unwrap()).unwrap();
    assert_eq!(open(&view), ["b"]);
    view.fold(script.add(1, interrupted(&[1])).events.last().unwrap()).unwrap();
    assert!(view.questions.is_empty(), "it is asked again when the session goes on");
    assert_eq!(view.interrupted(), Some(1));
}

#[test]
fn a_finished_call_is_handed_back() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, tool_started("c", "shell make")).add(1, tool_started("d", "shell ls"));
    let mut view = script.view();
    let folded = view.fold(script.add(1, tool_finished("c", "ok", Vec::new())).events.last().unwrap());
    assert_eq!(folded.unwrap().call.unwrap().title, "shell make");
    let again = view.fold(script.add(1, tool_finished("c", "ok", Vec::new())).events.last().unwrap());
    assert_eq!(again.unwrap().call, None, "a refused call never began");
    let main = view.main().unwrap();
    assert_eq!((main.calls.len(), main.own.tool_calls), (1, 2));
    assert_eq!(main.doing, Activity::Calling { title: "shell ls".to_owned() });
}

#[test]
fn a_to_do_list_is_the_last_one() {
    let mut script = EventScript::new();
    let todo = |text: &str| vec![Effect::Todo { text: text.to_owned() }];
    script.add(1, started(0)).add(1, tool_finished("c", "", todo("[ ] one")));
    script.add(1, tool_finished("d", "", todo("[x] one\n[>] two [x] y\n[ ] three\nodd")));
    let view = script.view();
    let items = view.main().unwrap().todo.iter().map(|item| (item.text.as_str(), item.state));
    let expected = [
        ("one", TodoState::Done),
        ("two [x] y", TodoState::Doing),
        ("three", TodoState::Pending),
        ("odd", TodoState::Pending),
    ];
    assert_eq!(items.collect::<Vec<_>>(), expected);
}

#[test]
fn a_receipt_tells_what_the_events_do_not() {
    let mut script = EventScript::new();
    let usage = Usage { input_tokens: Some(500), output_tokens: Some(10), ..Usage::default() };
    let whole = Receipt { turns: 4, tool_calls: 3, usage, cost_usd: Some(0.75), ..Receipt::default() };
    script.add(1, started(0)).admit(2, 1, "ann", 1).add(2, started(1));
    script.add(2, turn(1)).add(2, replied("", 100, Some(0.25), false));
    assert_eq!(script.view().main().unwrap().below.cost_usd, Some(0.25));
    script.add(2, settled(Ending::Completed, whole.clone()));
    let view = script.view();
    let (main, ann) = (view.main().unwrap(), view.agents.get(id(2)).unwrap());
    assert_eq!((ann.own.turns, ann.own.tool_calls, ann.own.usage), (4, 3, usage));
    assert_eq!((ann.own.cost_usd, ann.own.cost_unknown), (Some(0.75), 0));
    assert_eq!(main.below, ann.own);
    assert_eq!((main.in_all().agents, view.in_all.agents), (2, 2));
    // A second report of the same life adds nothing.
    script.add(2, settled(Ending::Completed, whole));
    assert_eq!(script.view().main().unwrap().below, main.below);
}

#[test]
fn what_is_below_an_agent_is_added_up() {
    let mut script = EventScript::new();
    // A turn and a reply of each: number, parent, tokens, cost. The parent of the last is not on record.
    let agents = [
        (2, 1, 10, None),
        (3, 1, 20, None),
        (4, 2, 100, Some(0.5)),
        (5, 4, 200, Some(0.25)),
        (6, 77, 1_000, None),
    ];
    script.add(1, started(0)).add(1, turn(1)).add(1, replied("", 1, Some(1.0), true));
    for (n, parent, ..) in agents {
        script.admit(n, parent, &format!("a-{n}"), 1);
    }
    // The last begins to work first.
    for (n, _, tokens, cost_usd) in agents.into_iter().rev() {
        script.add(n, turn(1)).add(n, replied("", tokens, cost_usd, false));
    }
    let view = script.view();
    let all = view.agents.iter().map(|agent| {
        let all = agent.in_all();
        (all.agents, all.turns, all.usage.input_tokens.unwrap(), all.cost_usd, all.cost_unknown)
    });
    let expected = [
        (5, 5, 331, Some(1.75), 2),
        (3, 3, 310, Some(0.75), 1),
        (1, 1, 20, None, 1),
        (2, 2, 300, Some(0.75), 0),
        (1, 1, 200, Some(0.25), 0),
        (1, 1, 1_000, None, 1),
    ];
    assert_eq!(all.collect::<Vec<_>>(), expected);
}

#[test]
fn an_unknown_cost_is_not_nothing() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1).add(2, started(1)).add(2, turn(1));
    let unknown = |script: &EventScript| script.view().main().unwrap().below.cost_unknown;
    assert_eq!(unknown(&script), 1, "a call that is under way");
    script.add(2, replied("", 1, Some(0.1), true));
    assert_eq!(unknown(&script), 0);
    script.add(2, turn(2)).add(2, replied("", 1, None, true));
    assert_eq!(unknown(&script), 1);
    script.add(2, settled(Ending::Completed, Receipt { cost_usd: Some(0.3), ..Receipt::default() }));
    assert_eq!(unknown(&script), 0, "the receipt has priced it");
}

#[test]
fn the_worker_that_has_an_agent_last_counts() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1).add(2, placed("gpu-1", 1)).add(2, started(1));
    script.add(2, tool_started("c", "shell make")).wait(50).add(2, placed("gpu-2", 2));
    let view = script.view();
    let ann = view.agents.get(id(2)).unwrap();
    assert_eq!((ann.on.as_deref(), &ann.doing), (Some("gpu-2"), &Activity::GoingOn));
    script.add(2, replied("", 5, None, false)).wait(50).add(2, EventKind::WorkKept { files: Vec::new() });
    let view = script.view();
    let kept = view.agents.get(id(2)).unwrap();
    assert_eq!(
        (kept.rests, kept.last_at_ms),
        (true, script.now_ms() - 50),
        "what home keeps changes nothing"
    );
    script.add(2, settled(Ending::Completed, Receipt::default()));
    let view = script.view();
    assert_eq!(view.agents.get(id(2)).unwrap().on.as_deref(), Some("gpu-2"), "it is known where it ran");
    assert_eq!(view.main().unwrap().on, None);
}

#[test]
fn who_rests_waits_for_sub_agents() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, replied("Hello.", 5, None, false));
    assert!(!script.view().rests(), "there is nobody to wait for");
    script.admit(2, 1, "ann", 1);
    assert!(script.view().rests());
    script.add(1, replied("", 5, None, true));
    assert!(!script.view().rests(), "it has called a tool");
    script.add(1, replied("They look.", 5, None, false)).add(2, started(1));
    assert_eq!(
        (script.view().rests(), script.view().main().unwrap().doing.clone()),
        (true, Activity::WaitingForSubAgents)
    );
    script.add(1, told(Sender::Reports, "somebody is done"));
    assert!(!script.view().rests());
    script
        .add(1, replied("One more.", 5, None, false))
        .add(2, settled(Ending::Completed, Receipt::default()));
    assert!(!script.view().rests(), "nobody is left");
}

#[test]
fn words_to_one_that_has_ended_open_it_again() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, told(Sender::Person, "\n  fix\tit \nnow"));
    script.wait(700).add(1, settled(Ending::Completed, receipt("x", None)));
    let view = script.view();
    assert_eq!((view.state, view.title.as_deref()), (AgentState::Completed, Some("fix it")));
    script.wait(5_000).add(1, told(Sender::Person, "and more"));
    let view = script.view();
    let main = view.main().unwrap();
    assert_eq!((view.state, main.state, main.ended_at_ms), (AgentState::Running, AgentState::Running, None));
    assert_eq!(view.title.as_deref(), Some("fix it"), "the first words stay");
    assert_eq!(main.worked_ms(script.now_ms() + 300), Some(1_000), "what was in between does not count");
}

/// What is in the folder after these events, and what became of the branch.
fn after(kinds: &[EventKind]) -> (usize, Option<BranchState>) {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1);
    for kind in kinds {
        script.add(2, kind.clone());
    }
    let file = FileChange { path: "a.rs".to_owned(), created: false, lines_added: 1, lines_removed: 0 };
    let main = Receipt { files_below: vec![file], ..Receipt::default() };
    let view = script.view();
    let branch = view.agents.get(id(2)).unwrap().branch.as_ref();
    (view.files_in_folder(&main).len(), branch.map(|branch| branch.state))
}

#[test]
fn work_on_a_branch_is_not_work_in_the_folder() {
    use BranchState::{Conflicts, Merged, Unmerged, Working};
    let checked_out = || EventKind::CheckedOut { branch: "posse/ann".to_owned(), base: "a".to_owned() };
    let done = |branch: bool| settled(Ending::Completed, receipt("a.rs", branch.then_some("posse/ann")));
    let merged = |conflicts| EventKind::Merged {
        from: id(2),
        branch: "posse/ann".to_owned(),
        changes: Vec::new(),
        conflicts,
    };
    let conflict = || vec![Conflict { path: "a.rs".to_owned(), text: String::new() }];
    let cases = [
        (vec![checked_out()], (1, Some(Working))),
        (vec![checked_out(), done(false)], (1, None)),
        (vec![done(false)], (1, None)),
        (vec![checked_out(), done(true)], (0, Some(Unmerged))),
        (vec![done(true), merged(Vec::new())], (1, Some(Merged))),
        (vec![merged(Vec::new()), done(true)], (1, Some(Merged))),
        (vec![done(true), merged(conflict())], (1, Some(Conflicts))),
        (vec![done(true), merged(conflict()), merged(Vec::new())], (1, Some(Merged))),
    ];
    for (number, (kinds, expected)) in cases.into_iter().enumerate() {
        assert_eq!(after(&kinds), expected, "{number}");
    }
}

#[test]
fn a_session_whose_process_is_gone_is_shown_as_interrupted() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1).add(2, started(1)).admit(3, 1, "bob", 1).add(3, queued());
    script.add(1, asks("a")).wait(9_000).add(1, allowed("a")).wait(400).add(1, asks("b"));
    script.add(2, settled(Ending::Completed, Receipt::default()));
    let mut view = script.view();
    view.show_interrupted();
    assert!(view.questions.is_empty());
    assert_eq!((view.state, view.interrupted()), (AgentState::Interrupted, Some(2)));
    assert_eq!(view.agents.get(id(2)).unwrap().state, AgentState::Completed);
    assert_eq!(view.main().unwrap().worked_ms(script.now_ms() + 9_000), Some(400));
}
