//! How tools are offered and found.

use posse_tools::{OutsideOffer, OutsideTools};
use serde_json::json;

use crate::{World, call, server};

#[tokio::test]
async fn few_tools_that_are_known_are_offered_by_themselves() {
    let world = World::new();
    let first = world.begun(vec![server("test", "clash"), server("other", "clash")]);
    assert_eq!(
        *first.offer(),
        OutsideOffer::Looked(vec!["test".to_owned(), "other".to_owned()]),
        "nothing is known yet"
    );
    first.find("", &|_| true).await;
    assert_eq!(
        *first.offer(),
        OutsideOffer::Looked(vec!["test".to_owned(), "other".to_owned()]),
        "it never changes"
    );
    first.end().await;
    let one = |tools: &[&str]| {
        let mut entry = server("test", "clash");
        entry.tools = tools.iter().map(|&tool| tool.to_owned()).collect();
        world.begun(vec![entry])
    };
    let second = one(&["c"]);
    let OutsideOffer::Each(tools) = second.offer() else { panic!("{:?}", second.offer()) };
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["mcp__test__c"]);
    assert!(
        call(&second, "mcp__test__a_b", json!({})).await.text.contains("has no tool"),
        "it is not offered"
    );
    second.end().await;
}

#[tokio::test]
async fn two_tools_of_one_name_are_an_error_that_names_both() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "clash")]);
    let clash = call(&servers, "mcp__test__a_b", json!({})).await;
    assert!(!clash.ok && clash.text.contains(r#""a.b" of "test" and "a_b" of "test""#), "{clash:?}");
    assert!(call(&servers, "mcp__test__c", json!({})).await.ok);
    servers.end().await;
    let again = world.begun(vec![server("test", "clash")]);
    assert!(matches!(again.offer(), OutsideOffer::Looked(_)));
    again.end().await;
}

#[tokio::test]
async fn many_tools_are_found_by_words_and_rights_count() {
    let world = World::new();
    let servers = world.begun(vec![server("big", "many"), server("test", "plain")]);
    let found = servers.find("thing number 42", &|_| true).await;
    let first = found.lines().nth(1).unwrap();
    assert!(first.starts_with("mcp__big__tool_42: Does thing number 42"), "{found}");
    assert!(found.contains("more tools fit; use other words"), "{found}");
    let only = servers.find("echo thing", &|name| name.starts_with("mcp__test__")).await;
    assert!(only.contains("mcp__test__echo") && !only.contains("mcp__big__"), "{only}");
    let forged = servers.find("ignore", &|_| true).await;
    assert_eq!(forged.matches("</server_tools>").count(), 1, "{forged}");
    assert!(!forged.contains(['\u{1b}', '\u{202e}']), "{forged:?}");
    let nothing = servers.find("zebra", &|_| true).await;
    assert_eq!(nothing, "No tool fits these words.");
    servers.end().await;
    let again = world.begun(vec![server("big", "many")]);
    assert_eq!(*again.offer(), OutsideOffer::Looked(vec!["big (100 tools)".to_owned()]));
    again.end().await;
}
