//! What models are told about delegation is little: every request carries it.

use posse_protocol::RoleOrigin;
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::json;

use crate::check::World;
use crate::crew::{REPORT, Stage, start};

/// About so many bytes make a token.
const BYTES_PER_TOKEN: usize = 4;

fn system(request: &serde_json::Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

/// The system prompts of a main agent and of the general agent it started.
async fn prompts() -> (String, String) {
    let started =
        Turn::call("agent", json!({"role": "general", "prompt": "look at a.txt", "background": false}));
    let main = vec![started, Turn::text("It is fine.")];
    let stage = Stage::new([("main", main), ("*", vec![Turn::text(REPORT)])]).await;
    stage.run("is it fine?").await;
    let of = |name: &str| system(&stage.requests_of(name)[0].json()).to_string();
    (of("main"), of("general-1"))
}

#[tokio::test]
async fn what_is_said_about_delegating_is_short() {
    let (main, child) = prompts().await;
    let alone = World::new([Turn::text("done")]).await;
    alone.run("go").await;
    let more = main.len() - system(&alone.model.requests()[0].json()).len();
    assert!((400..=200 * BYTES_PER_TOKEN).contains(&more), "{more} bytes about delegating");

    let roles = Roles::builtin(Team::Without);
    let own = child.len() - roles.find("general").unwrap().prompt.trim().len();
    assert!((300..=110 * BYTES_PER_TOKEN).contains(&own), "{own} bytes beside the role\n{child}");
}

/// Where there are no roles, the whole prompt is small: it is made for models that read slowly.
#[tokio::test]
async fn without_roles_the_prompt_of_a_sub_agent_is_a_few_lines() {
    let task = |more: serde_json::Value| {
        let mut arguments = json!({"task": "look at a.txt"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Turn::call("spawn_task", arguments)
    };
    let words = "Review this diff for bugs and security issues.";
    let main = vec![
        task(json!({"name": "plain"})),
        task(json!({"name": "critic", "system_prompt": words})),
        task(json!({"name": "graded", "role": "review"})),
        Turn::text("It is fine."),
    ];
    let stage = Stage::new([("main", main), ("*", vec![Turn::text(REPORT)])]).await.surface(Surface::Spawn);
    stage.run("is it fine?").await;
    let of = |name: &str| system(&stage.requests_of(name)[0].json()).to_string();
    let (plain, critic, graded) = (of("plain"), of("critic"), of("graded"));
    assert!(plain.starts_with("You are a focused coding assistant. Complete the task"), "{plain}");
    assert!((300..=140 * BYTES_PER_TOKEN).contains(&plain.len()), "{} bytes\n{plain}", plain.len());
    assert!(critic.starts_with(words) && !critic.contains("focused"), "{critic}");
    assert!(graded.starts_with("You judge code") && !graded.contains("focused"), "{graded}");

    // The person's own words stay, whatever a model asks for.
    let main = vec![
        task(json!({"name": "plain"})),
        task(json!({"name": "critic", "system_prompt": words})),
        Turn::text("It is fine."),
    ];
    let mut stage =
        Stage::new([("main", main), ("*", vec![Turn::text(REPORT)])]).await.surface(Surface::Spawn);
    stage.delegation.sub_agents.system_prompt = Some("Be brief.".to_string());
    stage.run("is it fine?").await;
    let of = |name: &str| system(&stage.requests_of(name)[0].json()).to_string();
    assert!(of("plain").starts_with("Be brief.\n\nIf a title"), "{}", of("plain"));
    assert!(of("critic").starts_with(&format!("Be brief.\n\n{words}")), "{}", of("critic"));
}

#[tokio::test]
async fn a_sub_agent_knows_where_it_stands() {
    let (_, child) = prompts().await;
    for part in [
        "general-1",
        "a general sub-agent of main",
        "depth 1/2",
        "50 turns",
        "600 s",
        "You may delegate.",
        "SUMMARY",
    ] {
        assert!(child.contains(part), "{part} is missing in\n{child}");
    }
    let explore = vec![Turn::call("agent", start("explore", "look")), Turn::text("wait"), Turn::text("done")];
    let stage = Stage::new([("main", explore), ("*", vec![Turn::text(REPORT)])]).await;
    stage.run("go").await;
    let request = stage.requests_of("explore-1")[0].json();
    assert!(system(&request).contains("You cannot delegate."));
    assert!(request["tools"].as_array().unwrap().iter().all(|tool| tool["function"]["name"] != "agent"));
}

#[tokio::test]
async fn a_role_that_wants_an_answer_is_not_asked_for_sections() {
    let text = "---\nname: title\ndescription: Writes a title.\nreport: answer\n---\nYou write one title.";
    let role = posse_roles::parse(text, "title.md", RoleOrigin::User("title.md".into())).role.unwrap();
    let main = vec![Turn::call("agent", start("title", "name it")), Turn::text("wait"), Turn::text("done")];
    let mut stage = Stage::new([("main", main), ("*", vec![Turn::text("Add a parser")])]).await;
    stage.delegation.roles.add(role);
    let ran = stage.run("go").await;
    let request = stage.requests_of("title-1")[0].json();
    let system = system(&request);
    assert!(
        system.contains("what was asked for, and nothing else") && !system.contains("EVIDENCE"),
        "{system}"
    );
    assert_eq!(ran.report_of("title-1").ending.to_string(), "completed");
}
