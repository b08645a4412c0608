//! Commands that begin with a slash: each does what its help says, and those that do not exist are named.

use posse_engine::{ChangeRequest, UndoExtent, UndoRequest};
use posse_protocol::{Approval, EventKind};
use posse_setup::UserCommand;
use posse_terminal::Theme;
use posse_tui::{
    BeginFrom, BeginSession, ChatEffect, ChatInput, ChatOutcome, ChatQuery, ChatWishes, Leaving, SteerCommand,
};

use super::prompting::words;
use super::support::*;

fn posse(line: &str) -> ChatEffect {
    ChatEffect::Posse(line.split(' ').map(str::to_owned).collect())
}

fn undo(extent: UndoExtent) -> ChatEffect {
    ChatEffect::Change(ChangeRequest::Undo(UndoRequest { extent, paths: Vec::new(), hunks: Vec::new() }))
}

#[test]
fn each_command_does_what_it_says() {
    use ChatEffect::{Change, Leave, LetGo, Query, Side, Steer, Trust};
    let export = format!("sessions export {}", session());
    let cases: Vec<(&str, Vec<ChatEffect>)> = vec![
        ("/agents", vec![posse("agents list")]),
        ("/agents show explore", vec![posse("agents show explore")]),
        ("/permissions", vec![posse("rules list")]),
        ("/permissions list", vec![posse("rules list")]),
        ("/resume", vec![Query(ChatQuery::Sessions { text: String::new(), all: false })]),
        ("/resume parser", vec![Query(ChatQuery::Sessions { text: "parser".to_owned(), all: false })]),
        ("/new", vec![LetGo]),
        ("/clear", vec![LetGo]),
        ("/fork", vec![LetGo]),
        ("/rewind", vec![Query(ChatQuery::Events { session: session(), agent: None })]),
        ("/undo", vec![undo(UndoExtent::Last)]),
        ("/undo all", vec![undo(UndoExtent::Session)]),
        ("/undo agent coder-1", vec![undo(UndoExtent::Agent("coder-1".to_owned()))]),
        ("/undo everything", vec![]),
        ("/redo", vec![Change(ChangeRequest::Redo)]),
        ("/diff", vec![Query(ChatQuery::Diff(None))]),
        ("/diff coder-1", vec![Query(ChatQuery::Diff(Some("coder-1".to_owned())))]),
        ("/merge coder-1", vec![Change(ChangeRequest::Merge { agent: "coder-1".to_owned() })]),
        ("/jobs", vec![]),
        ("/mcp", vec![Query(ChatQuery::Servers { show: true })]),
        ("/mcp test github", vec![posse("mcp test github")]),
        ("/skills", vec![posse("skills list")]),
        ("/memory list", vec![posse("memory list")]),
        ("/stats", vec![posse("stats")]),
        ("/cost", vec![]),
        ("/context", vec![Query(ChatQuery::Context)]),
        ("/compact", vec![Steer(SteerCommand::Compact)]),
        ("/export", vec![posse(&export)]),
        ("/export --format json", vec![posse(&format!("{export} --format json"))]),
        ("/trust", vec![posse("trust --show")]),
        ("/trust yes", vec![Trust]),
        ("/doctor", vec![posse("doctor")]),
        ("/config", vec![posse("config show")]),
        ("/copy", vec![ChatEffect::Copy("Done.".to_owned())]),
        ("/copy 1", vec![ChatEffect::Copy("Done.".to_owned())]),
        ("/copy 2", vec![]),
        ("/copy 0", vec![]),
        ("/side why?", vec![Side("why?".to_owned())]),
        ("/rename A title", vec![Steer(SteerCommand::Rename("A title".to_owned()))]),
        ("/sessions list", vec![posse("sessions list")]),
        ("/demo", vec![posse("demo --play --fast")]),
        ("/version", vec![posse("--version")]),
        ("/detach", vec![Leave(Leaving::Detach)]),
        ("/quit", vec![Leave(Leaving::Close)]),
        ("/exit", vec![Leave(Leaving::Close)]),
        ("/help", vec![]),
        ("/?", vec![]),
        ("?", vec![]),
        ("/tasks", vec![]),
        ("/model", vec![]),
        ("/mode", vec![]),
        ("/theme", vec![]),
        ("/reasoning", vec![]),
    ];
    assert_eq!(cases.len(), 53);
    for (command, expected) in cases {
        let mut stage = ChatStage::at_rest();
        assert_eq!(stage.does(&format!("{command}\r")), expected, "{command}");
        assert_eq!(stage.written(), "", "{command} is sent at once");
    }
}

#[test]
fn what_commands_show() {
    let view = |command: &str| {
        let mut stage = ChatStage::at_rest();
        stage.printed();
        stage.keys(command);
        let note = stage.rows().last().cloned().unwrap_or_default();
        (stage.printed(), stage.view(), note)
    };
    let views = ["/tasks\r", "/model\r", "/resume\r", "/rewind\r", "\x14"];
    let opened: Vec<_> =
        views.iter().map(|command| view(command).1.split('(').next().unwrap().to_owned()).collect();
    assert_eq!(opened, ["Work", "Picker", "Picker", "Picker", "Work"]);
    for command in ["/help\r", "?\r", "/?\r", "\x1bOP"] {
        let (printed, ..) = view(command);
        assert!(printed.iter().any(|line| line.starts_with("  Ctrl+Q")), "{command:?}: {printed:?}");
        assert!(printed.iter().any(|line| line.starts_with("  /detach")), "{command:?}");
        assert!(printed.iter().any(|line| line.starts_with("  /quit")), "{command:?}");
    }
    assert_eq!(view("/mode\r").0[3], "  ● auto all inside the sandbox; leaving it asks first");
    assert_eq!(view("/merge\r").2, "  name the agent: /merge coder-1");
    assert_eq!(view("/jobs\r").2, "  no command runs in the background");
    let cost = view("/cost\r").0;
    assert_eq!(cost.len(), 2);
    assert!(cost[0].contains("1 turn · 1,234 tokens · $0.0123"), "{cost:?}");
    assert!(cost[1].starts_with("  in all"), "{cost:?}");
}

#[test]
fn commands_about_a_session_say_so_without_one() {
    let commands =
        "/tasks /fork /rewind /undo /redo /diff /jobs /cost /context /compact /relay /export /reasoning";
    for command in commands.split(' ') {
        let mut stage = ChatStage::new();
        assert_eq!(stage.does(&format!("{command}\r")), [], "{command}");
        assert!(stage.shows("there is no session yet"), "{command}: {:?}", stage.rows());
    }
    for command in ["/merge coder-1", "/side why?", "/rename x", "\x0f"] {
        let mut stage = ChatStage::new();
        assert_eq!(stage.does(&format!("{command}\r")), [], "{command}");
        assert!(stage.shows("there is no session yet"), "{command}: {:?}", stage.rows());
    }
}

#[test]
fn prompts_that_commands_write() {
    for (command, begins) in [("/init", "Look"), ("/relay", ""), ("/agent explore find Foo", "")] {
        let mut stage = ChatStage::at_rest();
        let effects = stage.does(&format!("{command}\r"));
        let [ChatEffect::Steer(SteerCommand::Prompt(words))] = &effects[..] else {
            panic!("{command}: {effects:?}")
        };
        assert!(words.text.len() > 20 && words.text.starts_with(begins), "{command}: {}", words.text);
        assert!(!words.text.contains('{'), "{}", words.text);
    }
    let mut stage = ChatStage::at_work();
    let effects = stage.does("/agent explore find Foo\r");
    assert!(
        matches!(&effects[..], [ChatEffect::Steer(SteerCommand::Tell { agent: None, text })] if text.contains("explore") && text.contains("find Foo")),
        "{effects:?}"
    );
    assert_eq!(stage.does("/agent explore\r"), []);
}

#[test]
fn model_and_effort_hold_for_this_session_and_the_next() {
    let mut stage = ChatStage::at_rest();
    let effects = stage.does("/model small\r");
    assert!(
        matches!(&effects[..], [ChatEffect::Steer(SteerCommand::Settings(change))] if change.model.as_deref() == Some("small")),
        "{effects:?}"
    );
    let effects = stage.does("/effort high\r");
    assert!(
        matches!(&effects[..], [ChatEffect::Steer(SteerCommand::Settings(change))] if change.effort.as_deref() == Some("high")),
        "{effects:?}"
    );
    stage.keys("/new\r");
    let wishes =
        ChatWishes { model: Some("small".to_owned()), effort: Some("high".to_owned()), approval: None };
    let begin = BeginSession { from: BeginFrom::Nothing, words: words("go"), wishes };
    assert_eq!(stage.does("go\r"), [ChatEffect::Begin(begin)]);
    let effects = stage.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() });
    assert!(
        matches!(&effects[..], [ChatEffect::Steer(SteerCommand::Settings(change))] if change.effort.as_deref() == Some("high"))
    );
}

#[test]
fn unknown_commands_are_named_and_paths_are_prompts() {
    let mut stage = ChatStage::at_rest();
    stage.printed();
    assert_eq!(stage.does("/modle\r"), []);
    assert_eq!(stage.printed().len(), 1);
    assert_eq!(stage.does("/frobnicate now\r"), []);
    assert_eq!(stage.printed(), ["there is no command /frobnicate"]);
    assert_eq!(
        stage.does("/etc/hosts is wrong\r"),
        [ChatEffect::Steer(SteerCommand::Prompt(words("/etc/hosts is wrong")))]
    );
}

#[test]
fn commands_and_skills_of_the_person() {
    let command = UserCommand {
        name: "review".to_owned(),
        prompt: Default::default(),
        file: Default::default(),
        of_project: false,
        trusted: false,
    };
    let mut stage = ChatStage::new();
    let mut facts = facts();
    facts.commands = vec![command.clone()];
    stage.input(ChatInput::Facts(Box::new(facts)));
    let arguments = "the parser".to_owned();
    let expected = ChatEffect::UserCommand { command: Box::new(command), arguments };
    assert_eq!(stage.does("/review the parser\r"), [expected]);
    let begin = |text: &str| {
        let wishes = ChatWishes::default();
        ChatEffect::Begin(BeginSession { from: BeginFrom::Nothing, words: words(text), wishes })
    };
    assert_eq!(stage.outcome(ChatOutcome::Expanded("Review it.".to_owned())), [begin("Review it.")]);
    assert_eq!(stage.outcome(ChatOutcome::Expanded("Again.".to_owned())), [], "one session at a time");
    assert!(stage.shows("then: Again."), "{:?}", stage.rows());
    let mut stage = ChatStage::new();
    assert_eq!(stage.does("/pdf\r"), [begin("Use the skill \"pdf\".")]);
    let mut stage = ChatStage::new();
    assert_eq!(stage.does("/pdf read a.pdf\r"), [begin("Use the skill \"pdf\". read a.pdf")]);
}

#[test]
fn colours_change_by_name_and_by_background() {
    let mut stage = ChatStage::new();
    stage.keys("\x1b]11;rgb:ffff/ffff/ffff\x07");
    assert_eq!(stage.chat.theme(), Theme::Light);
    stage.keys("\x1b]11;rgb:1010/1010/1010\x07");
    assert_eq!(stage.chat.theme(), Theme::Dark);
    stage.keys("/theme none\r");
    stage.keys("\x1b]11;rgb:ffff/ffff/ffff\x07");
    assert_eq!(stage.chat.theme(), Theme::Colourless, "what was chosen stays");
}

#[test]
fn rewinding_forks_before_the_turn() {
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does("/rewind 3\r"), [ChatEffect::LetGo], "files need a preview first");
    let from = BeginFrom::Fork { session: session(), turn: Some(2), files: false };
    let begin = BeginSession { from, words: words("again"), wishes: ChatWishes::default() };
    assert_eq!(stage.does("again\r"), [ChatEffect::Begin(begin)]);
}

#[test]
fn settings_of_the_session_are_shown() {
    let mut stage = ChatStage::at_rest();
    let changed = EventKind::SettingsChanged {
        model: "small".to_owned(),
        model_id: String::new(),
        effort: Some("low".to_owned()),
        approval: Approval::Plan,
    };
    stage.printed();
    stage.event(1, changed);
    assert_eq!(stage.printed(), ["· model small · mode plan · effort low"]);
    assert!(stage.shows("small · effort low") && stage.shows("· mode plan"), "{:?}", stage.rows());
}
