//! Prompts: the first begins a session, others steer or wait, and Esc and Ctrl-C stop and leave.

use posse_protocol::{Approval, Budget, Ending, EventKind, Grant, MailId, Sender, SessionId};
use posse_tui::{
    BeginFrom, BeginSession, Chat, ChatEffect, ChatOutcome, ChatWishes, Leaving, OnTerminal, PromptWords,
    SteerCommand,
};

use super::support::*;

pub(crate) fn words(text: &str) -> PromptWords {
    PromptWords { text: text.to_owned(), files: Vec::new() }
}

fn begin(from: BeginFrom, text: &str) -> ChatEffect {
    ChatEffect::Begin(BeginSession { from, words: words(text), wishes: ChatWishes::default() })
}

fn steer(command: SteerCommand) -> Vec<ChatEffect> {
    vec![ChatEffect::Steer(command)]
}

fn tell(text: &str) -> Vec<ChatEffect> {
    steer(SteerCommand::Tell { agent: None, text: text.to_owned() })
}

fn not_begun(stage: &mut ChatStage, text: &str) {
    let outcome = ChatOutcome::NotBegun { words: words(text), why: "no model\nset one".to_owned() };
    stage.outcome(outcome);
}

#[test]
fn the_first_prompt_begins_a_session_and_is_remembered() {
    let mut stage = ChatStage::new();
    let effects = stage.keys("mend the parser\r");
    let remembered = ChatEffect::Remember("mend the parser".to_owned());
    assert_eq!(effects, [remembered, begin(BeginFrom::Nothing, "mend the parser")]);
    assert!(stage.shows("starting: mend the parser"));
    assert_eq!(stage.does("and more\r"), [], "it is just beginning");
    assert!(stage.shows("next turn: and more"), "{:?}", stage.rows());
    assert_eq!(stage.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() }), tell("and more"));
    assert!(!stage.shows("and more"));
    let mut stage = ChatStage::new();
    stage.keys("mend the parser\r");
    stage.keys("and more\r");
    not_begun(&mut stage, "mend the parser");
    assert_eq!(
        stage.does(ENTER),
        [begin(BeginFrom::Nothing, "mend the parser\n\nand more")],
        "nothing is lost"
    );
}

#[test]
fn what_could_not_begin_is_written_again_without_what_commands_said() {
    let mut stage = ChatStage::new();
    stage.keys("!ls\r");
    let (command, text) = ("ls".to_owned(), "a.rs".to_owned());
    stage.outcome(ChatOutcome::Said { command, text, failed: false, for_model: true });
    let with = "fix a.rs\n\n[I ran `ls`. Its output:]\na.rs";
    assert_eq!(stage.does("fix a.rs\r"), [begin(BeginFrom::Nothing, with)]);
    stage.printed();
    not_begun(&mut stage, with);
    assert_eq!(stage.printed(), ["no model", "set one"]);
    assert_eq!(stage.written(), "fix a.rs");
    assert_eq!(stage.does(ENTER), [begin(BeginFrom::Nothing, with)], "what ls said goes with it again");
    stage.outcome(ChatOutcome::Begun { session: session(), notes: vec!["be careful".to_owned()] });
    assert_eq!(stage.printed(), ["! be careful"]);
    assert_eq!(stage.does("more\r"), tell("more"), "and only once");
}

#[test]
fn a_large_prompt_that_could_not_begin_comes_back_whole() {
    let text = "a long line of a log\n".repeat(500_000);
    let mut stage = ChatStage::new();
    stage.paste(&text);
    assert!(
        stage.written().starts_with("[Pasted") || stage.written().starts_with('['),
        "{}",
        stage.written()
    );
    let sent = stage.does(ENTER);
    let [ChatEffect::Begin(first)] = &sent[..] else { panic!("{} effects", sent.len()) };
    assert_eq!(first.words.text.trim_end(), text.trim_end());
    not_begun(&mut stage, &first.words.text);
    assert!(stage.written().starts_with('['), "a chip: {}", stage.written());
    assert_eq!(stage.does(ENTER), sent);
}

#[test]
fn a_fork_that_could_not_begin_is_a_fork_the_next_time() {
    let from = BeginFrom::Fork { session: session(), turn: None, files: false };
    for fork in ["/fork try again\r", "/fork \rtry again\r"] {
        let mut stage = ChatStage::at_rest();
        let effects = stage.does(fork);
        assert_eq!(effects, [ChatEffect::LetGo, begin(from.clone(), "try again")], "{fork:?}");
        not_begun(&mut stage, "try again");
        assert_eq!(stage.does(ENTER), [begin(from.clone(), "try again")]);
    }
    let mut stage = ChatStage::at_rest();
    stage.keys("/fork \r");
    stage.keys("/new\r");
    assert_eq!(stage.does("anew\r"), [begin(BeginFrom::Nothing, "anew")]);
}

#[test]
fn enter_steers_while_it_works_and_tab_queues() {
    let mut stage = ChatStage::at_work();
    assert_eq!(stage.does("look at b.rs\r"), tell("look at b.rs"));
    assert_eq!(stage.does("then test\t"), steer(SteerCommand::Prompt(words("then test"))));
    assert_eq!(stage.written(), "");
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does("next\r"), steer(SteerCommand::Prompt(words("next"))));
    stage.paste("/tmp/a b.png");
    let shown = PromptWords { text: "[a b.png]".to_owned(), files: vec!["/tmp/a b.png".to_owned()] };
    assert_eq!(stage.does(ENTER), steer(SteerCommand::Prompt(shown)));
}

#[test]
fn what_waits_is_shown_edited_and_withdrawn() {
    let mut stage = ChatStage::at_work();
    assert_eq!(stage.does(ALT_UP), []);
    assert!(stage.shows("nothing waits"));
    stage.event(1, mailed(1, "first", false));
    stage.event(1, mailed(2, "second\nline", true));
    let from_others = EventKind::Mailed {
        id: MailId(3),
        from: Sender::Reports,
        text: "a report".to_owned(),
        is_prompt: false,
        attachments: Vec::new(),
    };
    stage.event(1, from_others);
    assert!(stage.shows("  next turn: first") && stage.shows("  then: second line"));
    assert!(!stage.shows("a report"), "only what the person said can be changed");
    stage.keys(ALT_UP);
    assert_eq!(stage.does(ENTER), []);
    assert!(stage.shows("› second"));
    assert_eq!(
        stage.does("!\r"),
        steer(SteerCommand::Edit { mail: MailId(2), text: "second\nline!".to_owned() })
    );
    stage.keys(ALT_UP);
    stage.keys(ALT_UP);
    assert_eq!(stage.does(DELETE), steer(SteerCommand::Withdraw(MailId(1))));
    stage.event(1, EventKind::MailWithdrawn { id: MailId(1) });
    assert!(!stage.shows("first"));
    stage.keys(ALT_UP);
    stage.keys(ENTER);
    assert_eq!(stage.does(ESC), [], "Esc leaves the message as it was, and stops nothing");
    assert_eq!(stage.written(), "");
    stage.event(1, mailed(4, &"long ".repeat(2_000), true));
    stage.keys(ALT_UP);
    assert_eq!(stage.does(ENTER), []);
    assert!(stage.shows("too long to edit"), "only its beginning is known here: {:?}", stage.rows());
    assert_eq!(stage.written(), "");
}

#[test]
fn a_long_queue_shows_the_chosen_entry() {
    let mut stage = ChatStage::at_work();
    for number in 1..=9 {
        stage.event(1, mailed(number, &format!("message {number}"), true));
    }
    assert!(stage.shows("message 1") && stage.shows("+7 more waiting"), "{:?}", stage.rows());
    for number in [9, 8, 7, 6, 5, 4] {
        stage.keys(ALT_UP);
        assert!(stage.shows(&format!("message {number}")), "{number}: {:?}", stage.rows());
    }
}

#[test]
fn escape_stops_the_turn_and_twice_at_rest_goes_back() {
    let mut stage = ChatStage::at_work();
    assert_eq!(stage.does(ESC), steer(SteerCommand::StopTurn));
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does(ESC), []);
    assert!(stage.shows("Esc again goes back to a turn"));
    stage.keys("x");
    stage.keys("\x7f");
    stage.keys(ESC);
    assert_eq!(stage.view(), "", "another key came between");
    assert_eq!(stage.does(ESC).len(), 1);
    assert!(stage.view().starts_with("Picker"));
    stage.keys(ESC);
    assert_eq!(stage.view(), "");
    stage.keys(ESC);
    stage.now_ms += 10_000;
    stage.keys(ESC);
    assert_eq!(stage.view(), "", "too late for a second");
    assert_eq!(stage.keys("words\x1b\x1b"), [], "not with words in the composer");
}

#[test]
fn ctrl_c_empties_stops_and_twice_leaves() {
    let leave = ChatEffect::Leave(Leaving::Close);
    let mut stage = ChatStage::at_work();
    assert_eq!(stage.does("some words\x03"), []);
    assert_eq!(stage.written(), "");
    assert_eq!(stage.does(CTRL_C), steer(SteerCommand::StopTurn));
    assert_eq!(stage.does(CTRL_C), std::slice::from_ref(&leave));
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does(CTRL_C), []);
    stage.now_ms += 10_000;
    assert_eq!(stage.does(CTRL_C), [], "too late for a second");
    assert_eq!(stage.does(CTRL_C), [leave]);
    let mut stage = ChatStage::new();
    assert_eq!(stage.does("!sleep 100\r"), [ChatEffect::Sandboxed("sleep 100".to_owned())]);
    assert_eq!(stage.does(CTRL_C), [ChatEffect::StopCommand], "as every shell does");
    assert_eq!(stage.does("!ls\r"), []);
    assert_eq!(stage.written(), "!ls", "one at a time");
    assert_eq!(stage.does("\x03\x1b"), [ChatEffect::StopCommand]);
}

#[test]
fn commands_of_the_person() {
    let mut stage = ChatStage::new();
    assert_eq!(stage.does("!\r"), []);
    assert_eq!(stage.does("!!\r"), []);
    assert_eq!(stage.does("!!vim x\r"), [ChatEffect::OnTerminal(OnTerminal::Command("vim x".to_owned()))]);
    assert_eq!(stage.printed(), ["$ vim x  outside the sandbox"]);
    assert_eq!(stage.does("!cargo test\r"), [ChatEffect::Sandboxed("cargo test".to_owned())]);
    stage.outcome(ChatOutcome::Output("running 3 tests\n".to_owned()));
    assert!(stage.shows("$ cargo test") && stage.shows("│ running 3 tests"), "{:?}", stage.rows());
    let (command, text) = ("cargo test".to_owned(), "ok\n".repeat(500));
    stage.outcome(ChatOutcome::Said { command, text, failed: true, for_model: true });
    let printed = stage.printed();
    assert_eq!(printed.len(), 403);
    assert_eq!((printed[0].as_str(), printed[401].as_str()), ("$ cargo test", "  … 100 more lines"));
    assert!(!stage.shows("$ cargo test"));
}

#[test]
fn modes_by_key_and_by_name() {
    let mut stage = ChatStage::new();
    let mut modes = Vec::new();
    assert_eq!(Chat::new(80, 24, 0).mode(), Approval::Ask, "before the configuration is read");
    for _ in 0..4 {
        stage.keys(SHIFT_TAB);
        modes.push(stage.chat.mode());
    }
    assert_eq!(modes, [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto]);
    stage.keys("/mode full\r");
    assert_eq!(stage.chat.mode(), Approval::Full);
    let effects = stage.does("go\r");
    let wishes = ChatWishes { approval: Some(Approval::Full), ..ChatWishes::default() };
    let wished = BeginSession { from: BeginFrom::Nothing, words: words("go"), wishes };
    assert_eq!(effects, [ChatEffect::Begin(wished)]);
    stage.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() });
    let effects = stage.does(SHIFT_TAB);
    assert!(
        matches!(&effects[..], [ChatEffect::Steer(SteerCommand::Settings(change))] if change.approval == Some(Approval::Plan)),
        "{effects:?}"
    );
    assert!(stage.shows("mode plan: nothing is changed"));
}

#[test]
fn a_plan_is_approved_changed_or_refused() {
    let planned = || {
        let mut stage = ChatStage::new();
        stage.keys("/mode plan\r");
        let mut stage = stage.begun();
        stage.event(1, replied("1. do it", 10));
        stage.keys("/mode plan\r");
        stage.event(1, EventKind::AgentRested { report: Some(report(Ending::Completed, "1. do it")) });
        stage
    };
    let mut stage = planned();
    assert!(stage.shows("the plan is ready"), "{:?}", stage.rows());
    assert_eq!(stage.does("yes\r").len(), 1, "keys go to the composer: the plan is to be changed");
    for (key, mode, prompts) in
        [("y", Approval::Auto, true), ("e", Approval::Edit, true), ("n", Approval::Plan, false)]
    {
        let mut stage = planned();
        stage.keys(CTRL_Q);
        assert!(stage.shows("work on it (auto)"));
        let effects = stage.does(key);
        let approved = effects.iter().any(|effect| {
            matches!(effect, ChatEffect::Steer(SteerCommand::Prompt(words)) if words.text.starts_with("I approve the plan"))
        });
        assert_eq!((stage.chat.mode(), approved), (mode, prompts), "{key}");
        assert!(!stage.shows("the plan is ready"), "{key}");
    }
    let mut stage = planned();
    stage.keys("\x11\x1b");
    assert!(stage.shows("the plan is ready"), "Esc goes back to the composer");
    assert_eq!(stage.written(), "");
}

#[test]
fn a_session_that_is_lost_is_taken_up_again() {
    let mut stage = ChatStage::at_work();
    stage.event(1, asks(question("c1", "rm a")));
    stage.event(1, mailed(7, "queued", true));
    stage.keys(ALT_UP);
    stage.keys(ENTER);
    stage.keys(CTRL_Q);
    stage.printed();
    let lost = Some("the session's process is gone (reset).".to_owned());
    stage.outcome(ChatOutcome::SessionOver { lost });
    let told = "! the session's process is gone (reset). Your next prompt takes the session up";
    assert_eq!(stage.printed(), [told, "  again."]);
    assert!(!stage.shows("rm a"), "nobody would hear an answer: {:?}", stage.rows());
    assert_eq!(stage.chat.title(), "mend the parser");
    assert_eq!(stage.does(ENTER), [begin(BeginFrom::Session(session()), "queued")], "a prompt of its own");
    stage.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() });
    stage.event(1, EventKind::SessionResumed { version: String::new(), sandboxed: true, traceparent: None });
    let resumed = EventKind::AgentResumed {
        model: "large".to_owned(),
        model_id: String::new(),
        elapsed_ms: 5,
        budget: Budget::UNLIMITED,
        grant: Grant::none(),
    };
    stage.event(1, resumed);
    stage.event(1, turn(2));
    assert_eq!(stage.does("and b\r"), tell("and b"));
    assert_eq!(stage.printed(), ["· the session goes on"]);
}

#[test]
fn another_session_is_opened_with_its_last_lines() {
    let other: SessionId = session();
    let mut stage = ChatStage::new();
    assert_eq!(stage.does(&format!("/resume {other}\r")), [ChatEffect::Open(other)]);
    stage.recorded(1, session_started());
    stage.recorded(1, started(0));
    for number in 1..=300 {
        stage.recorded(1, turn(number));
        stage.recorded(1, replied(&format!("reply {number}"), 10));
    }
    stage.recorded(1, asks(question("c1", "rm a")));
    assert!(!stage.shows("rm a"), "what is read is not asked");
    assert_eq!(stage.printed(), [""; 0]);
    stage.outcome(ChatOutcome::CaughtUp);
    let printed = stage.printed();
    assert_eq!(printed.len(), 201);
    assert_eq!(printed[0], "… 400 earlier lines (Ctrl+O shows all)");
    assert_eq!(printed[199..], ["reply 300", ""]);
    assert_eq!(stage.does("more\r"), [begin(BeginFrom::Session(other), "more")], "nobody runs it");
    not_begun(&mut stage, "more");
    stage.outcome(ChatOutcome::Followed);
    assert!(stage.shows("rm a"), "somebody runs it and asks");
    assert_eq!(stage.does(ENTER), tell("more"));
}

#[test]
fn notifications_only_for_those_who_look_elsewhere() {
    let notes = |focus: &str| {
        let mut stage = ChatStage::at_work();
        stage.keys(focus);
        let mut effects = stage.event(1, asks(question("c1", "rm a")));
        effects.extend(stage.event(1, answered("c1")));
        effects.extend(stage.event(1, replied("Done.", 10)));
        effects.extend(stage.event(1, EventKind::AgentRested { report: None }));
        effects
    };
    let notify = |text: &str| ChatEffect::Notify(text.to_owned());
    assert_eq!(notes("\x1b[O"), [notify("needs you: mend the parser"), notify("done: mend the parser")]);
    assert_eq!(notes("\x1b[I"), []);
    assert_eq!(notes(""), []);
}
