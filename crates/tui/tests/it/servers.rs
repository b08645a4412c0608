//! Servers in the chat: how they are, and their prompts as commands.

use posse_engine::outside::{OutsideLine, OutsidePrompt, OutsideServer, OutsideState};
use posse_tui::{ChatEffect, ChatFound, ChatOutcome, ChatQuery, SteerCommand};

use super::prompting::words;
use super::support::*;

fn server(state: OutsideState) -> OutsideServer {
    let prompt = OutsidePrompt {
        name: "mcp__github__triage".to_owned(),
        description: "Sorts issues".to_owned(),
        arguments: vec![("label".to_owned(), true), ("count".to_owned(), false)],
    };
    OutsideServer {
        name: "github".to_owned(),
        shown: "npx server".to_owned(),
        state,
        detail: "github 1.2".to_owned(),
        tools: vec![OutsideLine { name: "mcp__github__list".to_owned(), description: "Lists".to_owned() }],
        prompts: vec![prompt],
        resources: 2,
    }
}

fn found(servers: Vec<OutsideServer>, show: bool) -> ChatOutcome {
    ChatOutcome::Found(ChatFound::Servers { servers, show })
}

#[test]
fn servers_are_listed_with_state_tools_and_prompts() {
    let mut chat = ChatStage::at_rest();
    assert_eq!(chat.does("/mcp\r"), [ChatEffect::Query(ChatQuery::Servers { show: true })]);
    chat.printed();
    chat.outcome(found(vec![server(OutsideState::Running), server(OutsideState::Failed)], true));
    let printed = chat.printed().join("\n");
    for part in [
        "github  running · github 1.2 · npx server",
        "github  failed",
        "tools mcp__github__list",
        "prompts /mcp__github__triage",
        "2 resources",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    chat.outcome(found(Vec::new(), true));
    assert!(chat.shows("posse mcp add"));
    // Without a session there is what the files say.
    let listed = ChatEffect::Posse(vec!["mcp".to_owned(), "list".to_owned()]);
    assert_eq!(ChatStage::new().does("/mcp\r"), [listed]);
}

#[test]
fn prompts_of_servers_are_commands() {
    let mut chat = ChatStage::at_rest();
    let asked = chat.keys("/mcp_");
    assert_eq!(asked, [ChatEffect::Query(ChatQuery::Servers { show: false })]);
    assert_eq!(chat.keys("_git"), []);
    chat.outcome(found(vec![server(OutsideState::Waiting)], false));
    assert!(chat.shows("/mcp__github__triage") && chat.shows("label [count] · Sorts issues"));
    assert!(!chat.printed().join("\n").contains("not needed yet"));
    let mut chat = ChatStage::at_rest();
    let effects = chat.does("/mcp__github__triage \"needs work\" 3\r");
    let arguments = vec!["needs work".to_owned(), "3".to_owned()];
    let wanted = ChatEffect::ServerPrompt { name: "mcp__github__triage".to_owned(), arguments };
    assert!(effects.contains(&wanted), "{effects:?}");
    let effects = chat.outcome(ChatOutcome::Expanded("Sort them.".to_owned()));
    assert_eq!(effects, [ChatEffect::Steer(SteerCommand::Prompt(words("Sort them.")))]);
    let mut early = ChatStage::new();
    let effects = early.does("/mcp__github__triage x\r");
    assert!(!effects.iter().any(|effect| matches!(effect, ChatEffect::ServerPrompt { .. })), "{effects:?}");
    assert!(early.shows("servers run in a session"));
}
