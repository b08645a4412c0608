//! What is configured otherwise when a session goes on: rights only narrow, and what is not there any more does not keep
//! the others from going on.

use std::collections::HashMap;

use posse_engine::Limits;
use posse_engine::roles::{RolePlace, load_roles};
use posse_policy::meet;
use posse_protocol::{
    AgentId, Approval, Event, EventKind, Files, Grant, NameRules, Network, PathRules, Shell,
};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::{Fixture, Turn};

use super::Crashed;
use super::crashing::{Same, Scenario, crash_points};
use super::every_step::{blocks, read, write};
use super::play::Play;
use crate::check::finish;
use crate::crew::{REPORT, start};

/// A main agent, its child and its grandchild, which writes a file.
async fn family() -> Scenario {
    let mut play = Play::new([
        ("main", vec![Turn::call("agent", blocks("child", "Have it written")), Turn::text("Done.")]),
        ("child", vec![Turn::call("agent", blocks("grandchild", "Write it")), Turn::text(REPORT)]),
        ("*", vec![read("a.txt"), write("new-file.txt"), Turn::text(REPORT)]),
    ])
    .await;
    play.stage.delegation.surface = Surface::Task;
    Scenario::new(play, Same::Everything)
}

/// The rights of agents from some event on, with those of their parents.
fn grants(events: &[Event]) -> HashMap<AgentId, (Option<AgentId>, Grant)> {
    let mut found = HashMap::new();
    for event in events {
        match &event.kind {
            EventKind::AgentStarted { grant, .. } | EventKind::AgentResumed { grant, .. } => {
                found.insert(event.agent, (event.parent, grant.clone()));
            }
            _ => {}
        }
    }
    found
}

/// What a person may have configured since.
fn narrower() -> Vec<Grant> {
    let full = Grant { network: Network::None, ..Grant::full() };
    let deny = NameRules { deny: ["write_file".to_string()].into(), ..NameRules::default() };
    let only = PathRules { roots: [["docs".to_string()].into()].into(), ..PathRules::default() };
    vec![
        Grant { files: Files::Read, ..full.clone() },
        Grant { files: Files::None, shell: Shell::None, ..full.clone() },
        Grant { approval: Approval::Plan, ..full.clone() },
        Grant { tools: deny, ..full.clone() },
        Grant { writes: only, ..full },
    ]
}

/// Child rights are never more than parent rights, and nobody's are more than they were or than is configured now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_only_narrow() {
    let mut scenario = family().await;
    let whole = scenario.whole().await;
    let before = grants(&whole);
    let mut cases = 0;
    for grant in narrower() {
        scenario.play.stage.grant = grant.clone();
        for at in crash_points(&whole).into_iter().step_by(3) {
            (scenario.files)(scenario.play.stage.files.path(), &[]);
            let crashed = Crashed::after(&whole[..at]);
            finish(crashed.resume(&scenario.play, "").await).await;
            let after = grants(&crashed.events()[at..]);
            let place = format!("after {at} with {grant:?}");
            for (id, (parent, now)) in &after {
                assert_eq!(meet(&grant, now), *now, "more than is configured {place}");
                if let Some((_, was)) = before.get(id) {
                    assert_eq!(meet(was, now), *now, "more than before {place}");
                }
                if let Some((_, above)) = parent.and_then(|parent| after.get(&parent)) {
                    assert_eq!(meet(above, now), *now, "more than its parent has {place}");
                }
                cases += 1;
            }
            let written = scenario.play.stage.files.path().join("new-file.txt").exists();
            assert!(!written, "written {place}");
        }
    }
    assert!(cases >= 80, "{cases} agents");
}

/// What is configured to be more is for the main agent; those it had started before have what they had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wider_rights_are_not_given_to_sub_agents_that_had_less() {
    let mut scenario = family().await;
    let full = scenario.play.stage.grant.clone();
    scenario.play.stage.grant = Grant { files: Files::Read, ..full.clone() };
    let whole = scenario.whole().await;
    let before = grants(&whole);
    let admitted = whole.iter().position(|e| matches!(e.kind, EventKind::AgentAdmitted { .. })).unwrap();
    scenario.play.stage.grant = full;
    let mut cases = 0;
    for at in crash_points(&whole).into_iter().filter(|at| *at > admitted) {
        let crashed = Crashed::after(&whole[..at]);
        finish(crashed.resume(&scenario.play, "").await).await;
        for (id, (parent, now)) in grants(&crashed.events()[at..]) {
            if let (Some(_), Some((_, was))) = (parent, before.get(&id)) {
                assert_eq!(meet(was, &now), now, "after {at}");
                cases += 1;
            }
        }
        assert!(!scenario.play.stage.files.path().join("new-file.txt").exists(), "after {at}");
    }
    assert!(cases >= 20, "{cases} agents");
}

/// Every sub-agent ends, and the main agent gets to its own end.
async fn goes_on(play: &Play, whole: &[Event]) -> usize {
    let mut crashes = 0;
    for at in crash_points(whole) {
        let crashed = Crashed::after(&whole[..at]);
        let ran = finish(crashed.resume(play, "").await).await;
        assert_eq!(ran.report.ending.word(), "completed", "after {at}");
        let agents = crashed.engine.agents(crashed.session).unwrap();
        assert!(agents.iter().all(|agent| agent.ended_at_ms.is_some()), "after {at}: {agents:?}");
        crashes += 1;
    }
    crashes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_whose_model_is_gone_go_on_with_the_main_agents() {
    let mut start = blocks("child", "Look");
    start["model"] = serde_json::json!("other");
    let mut play = Play::new([
        ("main", vec![Turn::call("agent", start), Turn::text("Done.")]),
        ("*", vec![read("a.txt"), Turn::text(REPORT)]),
    ])
    .await;
    play.stage.delegation.surface = Surface::Task;
    play.stage.others = vec![play.stage.config("other")];
    let mut scenario = Scenario::new(play, Same::Ends);
    let whole = scenario.whole().await;
    scenario.play.stage.others = Vec::new();
    assert!(goes_on(&scenario.play, &whole).await >= 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_whose_role_is_gone_go_on() {
    let role = "---\nname: mine\ndescription: looks\ntools: read_file\n---\nLook.\n";
    let roles = Fixture::new().file("mine.md", role);
    let mut child = blocks("child", "Look");
    child["type"] = serde_json::json!("mine");
    let mut play = Play::new([
        ("main", vec![Turn::call("agent", child), Turn::text("Done.")]),
        ("*", vec![read("a.txt"), Turn::text(REPORT)]),
    ])
    .await;
    play.stage.delegation.surface = Surface::Task;
    let place = RolePlace::User(roles.path().to_path_buf());
    play.stage.delegation.roles = load_roles(Team::Without, &[place]).roles;
    let mut scenario = Scenario::new(play, Same::Ends);
    let whole = scenario.whole().await;
    let begun = |event: &Event| matches!(&event.kind, EventKind::AgentStarted { role, .. } if role == "mine");
    let begun = whole.iter().position(begun).unwrap();
    scenario.play.stage.delegation.roles = Roles::builtin(Team::Without);
    let mut crashes = 0;
    for at in crash_points(&whole).into_iter().filter(|at| *at > begun) {
        let crashed = Crashed::after(&whole[..at]);
        let ran = finish(crashed.resume(&scenario.play, "").await).await;
        assert_eq!(ran.report.ending.word(), "completed", "after {at}");
        let rows = crashed.engine.agents(crashed.session).unwrap();
        assert_eq!((rows[1].role.as_str(), rows[1].status.word()), ("mine", "completed"), "after {at}");
        crashes += 1;
    }
    assert!(crashes >= 8, "{crashes} crashes");
}

/// Where nobody delegates any more, or not as deep, those that cannot go on are said to be interrupted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_may_not_be_there_any_more_are_interrupted_and_nobody_waits_for_them() {
    let mut play = Play::new([
        ("main", vec![Turn::call("agent", start("general", "Have it done")), Turn::text("Done.")]),
        ("general-1", vec![Turn::call("agent", start("explore", "Look")), Turn::text(REPORT)]),
        ("*", vec![read("a.txt"), Turn::text(REPORT)]),
    ])
    .await;
    play.stage.delegation.limits = Limits { depth_max: 2, ..Limits::default() };
    let mut scenario = Scenario::new(play, Same::Ends);
    let whole = scenario.whole().await;
    scenario.play.stage.delegation.limits = Limits { depth_max: 1, ..Limits::default() };
    assert!(goes_on(&scenario.play, &whole).await >= 20);
    let mut crashes = 0;
    for at in crash_points(&whole) {
        let crashed = Crashed::after(&whole[..at]);
        let mut request = scenario.play.request("");
        request.delegation = None;
        let ran = finish(crashed.engine.resume(crashed.session, request).await.unwrap()).await;
        assert_eq!(ran.report.ending.word(), "completed", "after {at}");
        for agent in crashed.engine.agents(crashed.session).unwrap() {
            assert!(["completed", "interrupted"].contains(&agent.status.word()), "after {at}: {agent:?}");
            assert!(agent.ended_at_ms.is_some(), "after {at}: {agent:?}");
        }
        crashes += 1;
    }
    assert!(crashes >= 20, "{crashes} crashes");
}
