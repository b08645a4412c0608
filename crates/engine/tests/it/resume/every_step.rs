//! A crash behind any event of sessions in which agents delegate: what comes of it is what would have come of it anyway
//! (promise D2).

use posse_engine::Limits;
use posse_engine::RecordDetail;
use posse_protocol::{Event, EventKind};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::{Value, json};

use super::crashing::{Same, Scenario};
use super::play::{Play, turn};
use crate::crew::{REPORT, start};

/// How many crashes the promise asks for on every run.
const CRASHES_MIN: usize = 200;

/// How many crashes each scenario has at least; each asserts its own.
const FAMILY: usize = 50;
const BLOCKING: usize = 65;
const FORKS: usize = 60;
const BRIEFED: usize = 28;
const FOLLOW_UPS: usize = 50;
const QUEUE: usize = 50;
const COMPACTED: usize = 45;
const TEAM: usize = 60;
const RESULTS_ONLY: usize = 22;
const LAST_TURN: usize = 22;
const COORDINATOR: usize = 18;

#[test]
fn there_are_as_many_crashes_as_promised() {
    let all = [
        FAMILY,
        BLOCKING,
        FORKS,
        BRIEFED,
        FOLLOW_UPS,
        QUEUE,
        COMPACTED,
        TEAM,
        RESULTS_ONLY,
        LAST_TURN,
        COORDINATOR,
    ];
    assert!(all.iter().sum::<usize>() >= CRASHES_MIN);
}

pub(super) fn read(path: &str) -> Turn {
    Turn::call("read_file", json!({"path": path}))
}

pub(super) fn write(path: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": "written\n"}))
}

fn todo() -> Turn {
    Turn::call("todo", json!({"items": [{"text": "look", "status": "doing"}]}))
}

/// The start of an agent that is waited for.
pub(super) fn blocks(name: &str, prompt: &str) -> Value {
    json!({"description": "a half", "prompt": prompt, "type": "general", "name": name})
}

/// On a surface that blocks until the child has ended every run is like the other.
pub(super) async fn blocking<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Scenario {
    let mut play = Play::new(scripts).await;
    play.stage.delegation.surface = Surface::Task;
    Scenario::new(play, Same::Everything)
}

/// Reads a file and reports.
fn looks() -> Vec<Turn> {
    vec![read("a.txt"), Turn::text(REPORT)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_family_whose_members_work_side_by_side() {
    // Without names the one that is quicker would be the first explorer.
    let explorer = |name: &str, task: &str| {
        let mut start = start("explore", task);
        start["name"] = name.into();
        start
    };
    let main = vec![
        todo(),
        Turn::call("agent", start("general", "Do the first half"))
            .and_call("agent", explorer("second", "Look at the second half")),
        read("a.txt"),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("Both halves are done."),
    ];
    let first = vec![
        write("new-one.txt"),
        Turn::call("agent", explorer("checker", "Check the first half")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text(REPORT),
    ];
    let play = Play::new([("main", main), ("general-1", first), ("*", looks())]).await;
    Scenario::new(play, Same::AtAnyPace).crash_everywhere(FAMILY).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_family_whose_members_are_waited_for() {
    let main = vec![
        todo(),
        Turn::call("agent", blocks("one", "Do the first half"))
            .and_call("agent", blocks("two", "Do the second half")),
        write("new-two.txt")
            .and_call("read_file", json!({"path": "a.txt"}))
            .and_call("read_file", json!({"path": "b.txt"})),
        Turn::call("agent", blocks("four", "Look at it again")),
        Turn::text("The halves are done."),
    ];
    let one = vec![
        write("new-one.txt"),
        Turn::call("agent", blocks("three", "Check the first half")),
        read("missing.txt"),
        Turn::text(REPORT),
    ];
    blocking([("main", main), ("one", one), ("*", looks())]).await.crash_everywhere(BLOCKING).await;
}

fn forked(name: &str, prompt: &str) -> Value {
    let mut fork = blocks(name, prompt);
    fork["context"] = json!("fork");
    fork
}

/// A fork begins with its parent's last request; so does a fork of a fork. Limits of replies are part of the bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_begin_with_the_same_bytes() {
    let main = vec![
        read("a.txt").and_text("Let me read a.txt."),
        todo(),
        Turn::call("agent", forked("twin", "Go on from here")).and_text("Somebody should check it."),
        write("new-main.txt").and_call("agent", blocks("solo", "Begin anew")),
        Turn::text("All is done."),
    ];
    let twin = vec![read("b.txt"), Turn::call("agent", forked("triplet", "You too")), Turn::text(REPORT)];
    let solo = vec![read("b.txt"), Turn::call("agent", forked("shadow", "Go on")), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("twin", twin), ("solo", solo), ("*", looks())]).await;
    scenario.play.stage.delegation.sub_agents.max_output_tokens = Some(2_000);
    scenario.crash_everywhere(FORKS).await;
}

/// What an agent is told of its parent's conversation, with files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn summaries_turns_and_files_are_told_once() {
    let (mut summary, mut turns) = (blocks("one", "Check it"), blocks("two", "Check it as well"));
    summary["context"] = json!("summary");
    summary["context_files"] = json!(["a.txt", "missing.txt"]);
    summary["deliverables"] = json!(["a.txt"]);
    turns["context_turns"] = json!([1]);
    turns["system_prompt"] = json!("Be strict.");
    turns["max_output_tokens"] = json!(500);
    let main = vec![
        read("a.txt").and_text("Let me read a.txt."),
        Turn::call("agent", summary).and_text("Somebody should check it.").and_call("agent", turns),
        Turn::text("It is checked."),
    ];
    blocking([("main", main), ("*", looks())]).await.crash_everywhere(BRIEFED).await;
}

/// Whoever has ended goes on with its conversation, whoever has not is told at its next turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follow_ups_and_messages_arrive_once() {
    let eval = |name: &str, message: Option<&str>, wait: bool| {
        let mut eval = json!({"name": name, "wait": wait});
        if let Some(message) = message {
            eval["message"] = json!(message);
        }
        Turn::call("agent_eval", eval)
    };
    let open = |name: &str| Turn::call("agent_open", json!({"name": name, "prompt": "Look at a.txt."}));
    let main = [
        open("ann"),
        eval("ann", None, true),
        eval("ann", Some("And b.txt?"), true),
        open("bob"),
        eval("bob", Some("Hurry up."), false),
        write("new-go.txt"),
        eval("bob", None, true),
        Turn::text("Both have answered."),
    ];
    let mut play = Play::by_rule(move |request, name| {
        let (turn, told) = (turn(request, name), request.to_string());
        match name {
            "main" => main.get(turn).or(main.last()).cloned().unwrap(),
            "ann" if turn % 2 == 0 => read(if turn == 0 { "a.txt" } else { "b.txt" }),
            "bob" if !told.contains("Hurry up.") && turn < 5 => {
                // Whoever was to make the file may have been stopped while it did.
                let look = "[ -e new-go.txt ] || [ $n -ge 250 ]";
                let wait = format!("n=0; until {look}; do sleep 0.02; n=$((n+1)); done; : {turn}");
                Turn::call("shell", json!({"command": wait}))
            }
            _ => Turn::text(REPORT),
        }
    })
    .await;
    play.stage.delegation.surface = Surface::Sessions;
    Scenario::new(play, Same::AtAnyPace).crash_everywhere(FOLLOW_UPS).await;
}

/// How many sub-agents are driven at the same time at most, from some event on.
fn side_by_side(events: &[Event]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for event in events.iter().filter(|event| event.parent.is_some()) {
        match event.kind {
            EventKind::AgentStarted { .. } | EventKind::AgentResumed { .. } => now += 1,
            EventKind::AgentSettled { .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_stays_a_queue() {
    let task = |nth: u32| start("explore", &format!("Look at part {nth}"));
    let main = vec![
        Turn::call("agent", task(1))
            .and_call("agent", task(2))
            .and_call("agent", task(3))
            .and_call("agent", task(4)),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("All four have answered."),
    ];
    let mut play = Play::new([("main", main), ("*", looks())]).await;
    play.stage.delegation.limits = Limits { running_max: 1, ..Limits::default() };
    let mut scenario = Scenario::new(play, Same::AtAnyPace);
    scenario.also = |_, before, all| assert_eq!(side_by_side(&all[before.len()..]).max(1), 1);
    scenario.crash_everywhere(QUEUE).await;
}

/// After notes have taken its place a conversation is what it was made then, whatever would be made of it today.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_was_shortened_stays_as_it_was() {
    const FILES: usize = 8;
    let mut play = Play::by_rule(|request, name| {
        let told = request["messages"].to_string();
        let newest = (1..=FILES).rev().find(|n| told.contains(&format!("long-{n}.txt"))).unwrap_or(0);
        let last = request["messages"].as_array().unwrap().last().unwrap().to_string();
        match newest {
            _ if last.contains("getting too long") => {
                Turn::text(format!("Notes: I have read up to long-{newest}.txt.")).no_usage()
            }
            FILES => Turn::text("All are read.").no_usage(),
            _ if name != "main" => Turn::text(REPORT).no_usage(),
            2 if !told.contains("looker") => {
                Turn::call("agent", blocks("looker", "Look at it")).id("same").no_usage()
            }
            // The call with the same id is not in the conversation any more.
            7 if !told.contains("second") => {
                Turn::call("agent", blocks("second", "Look again")).id("same").no_usage()
            }
            n => Turn::call("read_file", json!({"path": format!("long-{}.txt", n + 1)})).no_usage(),
        }
    })
    .await;
    play.stage.delegation.surface = Surface::Task;
    for n in 1..=FILES {
        let line = format!("{n} {}\n", "0123456789".repeat(90));
        std::fs::write(play.stage.files.path().join(format!("long-{n}.txt")), line.repeat(3)).unwrap();
    }
    play.window = Some(8_000);
    let mut scenario = Scenario::new(play, Same::Everything);
    scenario.also = |_, _, all| {
        assert!(all.iter().any(|event| matches!(event.kind, EventKind::Compacted { .. })), "never too long");
    };
    scenario.crash_everywhere(COMPACTED).await;
}

/// The board is nowhere but in what agents did with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_finds_its_board_as_it_was() {
    let board = |action: &str| Turn::call("board", json!({"action": action}));
    let add = |title: &str| json!({"action": "add", "title": title});
    let main = vec![
        Turn::call("board", add("parser"))
            .and_call("board", add("printer"))
            .and_call("board", json!({"action": "add", "title": "docs", "after": [1]})),
        Turn::call("agent", blocks("ann", "Take what is on the board")),
        board("list"),
        Turn::call("agent", blocks("bob", "Take the rest")),
        board("list"),
        Turn::text("The board is empty."),
    ];
    let done = |id: u32| Turn::call("board", json!({"action": "done", "id": id}));
    let ann = vec![
        board("claim"),
        done(1),
        board("claim"),
        Turn::call("send_message", json!({"to": "main", "message": "One is done."})),
        Turn::text(REPORT),
    ];
    let bob = vec![board("claim"), done(2), board("claim"), done(3), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("ann", ann), ("bob", bob)]).await;
    scenario.play.stage.delegation.team = true;
    scenario.crash_everywhere(TEAM).await;
}

/// Where only beginnings and ends are on record, agents that had not ended begin anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_whose_steps_are_not_kept_come_to_the_same() {
    let main = vec![
        Turn::call("agent", blocks("one", "Do the first half"))
            .and_call("agent", blocks("two", "Do the second half")),
        read("a.txt"),
        Turn::text("The halves are done."),
    ];
    let one = vec![
        write("new-one.txt"),
        Turn::call("agent", blocks("three", "Check the first half")),
        Turn::text(REPORT),
    ];
    let mut scenario = blocking([("main", main), ("one", one), ("*", looks())]).await;
    scenario.same = Same::Ends;
    scenario.play.stage.delegation.sub_agents.record = RecordDetail::Result;
    scenario.crash_everywhere(RESULTS_ONLY).await;
}

/// At its limit an agent has one more turn, in which nothing runs: not then, and not after a crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_turn_stays_the_last() {
    let mut short = blocks("one", "Do as much as you can");
    short["max_turns"] = json!(2);
    let main = vec![Turn::call("agent", short), read("a.txt"), Turn::text("Not all is done.")];
    let one = vec![
        read("a.txt"),
        read("b.txt"),
        Turn::text(REPORT)
            .and_call("write_file", json!({"path": "new-late.txt", "content": "late\n"}))
            .and_call("read_file", json!({"path": "a.txt"})),
    ];
    let mut scenario = blocking([("main", main), ("one", one)]).await;
    scenario.also = |folder, _, _| assert!(!folder.join("new-late.txt").exists(), "run after the end");
    scenario.crash_everywhere(LAST_TURN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_stays_one() {
    let main = vec![
        write("new-main.txt"),
        Turn::call("agent", blocks("one", "Write it")),
        Turn::text("It is written."),
    ];
    let one = vec![write("new-one.txt"), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("one", one)]).await;
    scenario.play.stage.delegation.coordinator = true;
    scenario.also = |folder, _, _| assert!(!folder.join("new-main.txt").exists(), "it has no tools");
    scenario.crash_everywhere(COORDINATOR).await;
}
