//! Tools from outside: what agents are offered of them, who may use them, and what servers ask the person.

use std::path::PathBuf;

use posse_engine::roles::load_roles;
use posse_mcp::{EntryOrigin, ServerEntry, ServerReach};
use posse_protocol::{Answer, Approval, EventKind};
use posse_roles::Team;
use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use crate::approvals::{answered, in_mode, last_question, yes};
use crate::crew::{REPORT, Stage, start};
use crate::follow::{Followed, holds, offered};

/// The server of the tests of `mcp`, behaving like this.
fn server(name: &str, how: &str) -> ServerEntry {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/it/server.py");
    let script = std::fs::read_to_string(script).unwrap();
    let arguments = vec!["-c".to_owned(), script, how.to_owned()];
    let reach = ServerReach::Program { command: "python3".to_owned(), arguments, env: Vec::new() };
    ServerEntry::new(name, reach, EntryOrigin::Person("config.toml".into()))
}

fn call(name: &str, arguments: Value) -> Turn {
    Turn::call("tool_call", json!({"name": name, "arguments": arguments}))
}

async fn stage(turns: Vec<Turn>, approval: Approval, how: &str) -> Stage {
    let turns = turns.into_iter().chain([Turn::text("Done.")]).collect();
    let mut stage = in_mode(Stage::new([("main", turns)]).await, approval);
    stage.servers = vec![server("test", how)];
    stage
}

/// A hundred tools cost a few words, and each request begins with the bytes of the one before, whatever becomes known of
/// servers meanwhile.
#[tokio::test]
async fn a_hundred_tools_cost_few_bytes_and_the_list_never_changes() {
    let find = Turn::call("tools_find", json!({"query": "number 7"}));
    let plain = stage(vec![], Approval::Auto, "many").await;
    let mut without = stage(vec![], Approval::Auto, "many").await;
    without.servers.clear();
    without.run("go").await;
    let bare = without.model.requests()[0].body.len();
    plain.run("go").await;
    let first = plain.model.requests()[0].body.len();
    let again = stage(vec![find, call("mcp__big__tool_7", json!({"x": "1"}))], Approval::Auto, "many").await;
    // A second session of the same record knows how many there are.
    let mut again = again;
    again.servers = vec![server("big", "many")];
    let ran = again.run("go").await;
    let results = ran.results_of("main");
    holds(&results[0].1, &["mcp__big__tool_7: Does thing number 7", "\"required\":[\"x\"]"]);
    holds(&results[1].1, &["called tool_7"]);
    assert!(first - bare < 600, "{} bytes more", first - bare);
    let requests = again.model.requests();
    let tools = |n: usize| requests[n].json()["tools"].to_string();
    assert_eq!((tools(0), tools(1)), (tools(1), tools(2)));
    let grown = requests[0].body.len() - bare;
    assert!(grown < 600, "{grown} bytes more");
}

/// Few tools that are known from before are offered by themselves, and called by their names.
#[tokio::test]
async fn few_tools_are_offered_by_themselves() {
    let mut stage =
        stage(vec![Turn::call("tools_find", json!({"query": "echo"}))], Approval::Auto, "plain").await;
    stage.servers[0].tools = vec!["echo".to_owned()];
    stage.run("go").await;
    assert!(offered(&stage.model.requests()[0].json()).contains(&"tools_find".to_string()));
    let ran = stage.run("again").await;
    assert_eq!(ran.results_of("main"), []);
    let last = stage.model.requests().last().unwrap().json();
    let names = offered(&last);
    assert!(
        names.contains(&"mcp__test__echo".to_string()) && !names.contains(&"tools_find".to_string()),
        "{names:?}"
    );
}

#[tokio::test]
async fn rules_and_modes_are_about_the_real_tool() {
    let echo = || call("mcp__test__echo", json!({"text": "hello"}));
    // In mode ask it asks, by its own name, although the server says that it only reads.
    let asking = stage(vec![echo()], Approval::Ask, "plain").await;
    let ran = answered(asking.start("go"), yes).await;
    let asked = ran.questions_of("main");
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].tool.as_str(), asked[0].pattern.as_str()), ("mcp__test__echo", "mcp__test__echo"));
    holds(&ran.results_of("main")[0].1, &["hello"]);
    // A rule denies it, whatever the mode, and by whichever name it is called.
    let by_name = Turn::call("mcp__test__echo", json!({"text": "hello"}));
    let mut denied = stage(vec![echo(), by_name], Approval::Full, "plain").await;
    denied.approvals.rules = serde_json::from_value(json!({"deny": ["mcp__test__e*"]})).unwrap();
    let ran = answered(denied.start("go"), yes).await;
    for (ok, text) in ran.results_of("main") {
        assert!(!ok, "{text}");
        holds(&text, &["the rule \"deny mcp__test__e*\" forbids this"]);
    }
    assert_eq!(ran.results_of("main").len(), 2);
    // What a server calls destructive asks in mode auto, and a rule spares that.
    let remove =
        || vec![Turn::call("tools_find", json!({"query": "remove"})), call("mcp__test__remove", json!({}))];
    let auto = stage(remove(), Approval::Auto, "plain").await;
    let ran = answered(auto.start("go"), yes).await;
    holds(
        &ran.questions_of("main")[0].why,
        &["in mode auto, a tool whose server says that it destroys something asks first"],
    );
    let mut spared = stage(remove(), Approval::Auto, "plain").await;
    spared.approvals.rules = serde_json::from_value(json!({"allow": ["mcp__test__remove"]})).unwrap();
    let ran = answered(spared.start("go"), yes).await;
    assert_eq!(ran.questions_of("main"), []);
    holds(&ran.results_of("main")[1].1, &["called remove"]);
    // In plan mode there is nothing of it.
    let plan = stage(vec![echo()], Approval::Plan, "plain").await;
    let ran = answered(plan.start("go"), yes).await;
    holds(&ran.results_of("main")[0].1, &["in plan mode nothing outside is reached"]);
}

/// A rule about a server is about its resources too, however the handle is written.
#[tokio::test]
async fn rules_are_about_resources_too() {
    let handles = ["test:note://one", " test:note://one", "\ttest:note://one\n", "\u{a0}test:note://one"];
    for handle in handles {
        let read = || json!({"handle": handle});
        let turns = || vec![call("mcp_read", read()), Turn::call("mcp_read", read())];
        let mut denied = stage(turns(), Approval::Full, "plain").await;
        denied.approvals.rules = serde_json::from_value(json!({"deny": ["mcp__test__*"]})).unwrap();
        let results = answered(denied.start("go"), yes).await.results_of("main");
        assert_eq!(results.len(), 2);
        for (ok, text) in results {
            assert!(!ok, "{handle:?}: {text}");
            holds(&text, &["the rule \"deny mcp__test__*\" forbids this"]);
        }
        let allowed = stage(turns(), Approval::Full, "plain").await;
        for (_, text) in answered(allowed.start("go"), yes).await.results_of("main") {
            holds(&text, &["content of note://one"]);
        }
    }
}

/// A role that may only read has none of it, unless its file names it.
#[tokio::test]
async fn who_may_only_read_uses_what_its_role_names() {
    let files = Fixture::new().file(
        ".posse/agents/tracker.md",
        "---\nname: tracker\ndescription: Looks at issues\ntools: Read, mcp__test__echo\n---\nLook.",
    );
    let tries = || {
        vec![
            call("mcp__test__echo", json!({"text": "hello"})),
            call("mcp__test__env", json!({})),
            Turn::text(REPORT),
        ]
    };
    let starts = vec![
        Turn::call("agent", start("explore", "Look.")),
        Turn::call("agent", start("tracker", "Look.")),
        Turn::text("Done."),
    ];
    let mut stage = in_mode(Stage::new([("main", starts), ("*", tries())]).await, Approval::Full);
    stage.servers = vec![server("test", "plain")];
    stage.delegation.roles =
        load_roles(Team::Without, &posse_engine::roles::project_role_places(files.path())).roles;
    let ran = answered(stage.start("go"), yes).await;
    for (_, text) in ran.results_of("explore-1") {
        holds(&text, &["this agent may use no tools of servers"]);
    }
    let results = ran.results_of("tracker-1");
    holds(&results[0].1, &["hello"]);
    holds(&results[1].1, &["this agent may not use mcp__test__env"]);
}

#[tokio::test]
async fn a_servers_question_reaches_the_person_with_its_name() {
    let stage = stage(vec![call("mcp__test__who", json!({}))], Approval::Auto, "plain").await;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, question) = last_question(&mut followed, 1).await;
    assert_eq!(question.what, "The server test asks: Who are you?\nname");
    let said = Answer::Said { text: "Ann".to_string() };
    assert_eq!(followed.session.answer(agent, &question.call, said), posse_engine::AnswerOutcome::Accepted);
    let ran = followed.finish().await;
    holds(&ran.results_of("main")[0].1, &["\"content\": {\"name\": \"Ann\"}"]);
    let answers = ran.events().filter(|event| matches!(event.kind, EventKind::PersonAnswered { .. }));
    assert_eq!(answers.count(), 1);
}

/// Where nobody is there, the server is told so, and the session goes on.
#[tokio::test]
async fn nobody_is_there_to_answer_a_server() {
    let mut stage = stage(vec![call("mcp__test__who", json!({}))], Approval::Full, "plain").await;
    stage.approvals.person = false;
    let ran = stage.run("go").await;
    holds(&ran.results_of("main")[0].1, &["\"action\": \"cancel\""]);
}

/// Neither the first request nor the end waits for a server that does not start.
#[tokio::test]
async fn a_server_that_hangs_delays_nothing() {
    let mut stage = stage(vec![], Approval::Auto, "plain").await;
    stage.servers = vec![server("hangs", "hangs"), server("dies", "dies")];
    let ran = stage.run("go").await;
    assert_eq!(ran.report.text, "Done.");
    assert!(ran.events().all(|event| !matches!(event.kind, EventKind::ModelFailed { .. })));
}
