//! What a server gives: sessions that another process runs, their text as it streams, pages of what they said, and folders
//! that it may be asked about.

use posse_api::limits::{FOLLOWED_MAX, WEB_CONNECTIONS_MAX};
use posse_protocol::SessionId;
use posse_setup::Wishes;
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::served::{Frame, Options, Served, answer, status};
use crate::stage::Stage;

async fn served(stage: &Stage) -> Served {
    let folders = vec![stage.root.path().join("project")];
    Served::start(stage.root.path(), stage.data(), Options { folders, ..Options::default() }).await
}

fn staying() -> Wishes {
    Wishes { stay: true, person: true, ..Wishes::default() }
}

fn is(frame: &Frame, event: &str, kind: &str) -> bool {
    frame.event == event && (kind.is_empty() || frame.data["type"] == kind)
}

/// Numbers of events, in the order in which they came.
fn numbers(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter(|frame| frame.event == "event").filter_map(|frame| frame.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_another_process_is_followed_with_its_text_and_steered() {
    let stage = Stage::new().await;
    let session = stage.start_with(staying(), [Turn::text("Hello there."), Turn::text("More.")]).await;
    let (id, served) = (session.id, served(&stage).await);
    let mut stream = served.stream(&format!("/api/events?follow={id}:0")).await;
    let first = stream.until(|frame| frame.event == "running").await;
    assert_eq!(first.last().unwrap().data, json!({"session": id, "running": true}));
    stage.let_go();
    let frames = stream.until(|frame| is(frame, "event", "agent_rested")).await;
    let text = frames.iter().find(|frame| is(frame, "progress", "")).map(|frame| frame.data["kind"].clone());
    assert!(
        text.as_ref().is_some_and(|kind| kind["text"].is_string() || kind["text_so_far"].is_string()),
        "{text:?}"
    );
    let all = [numbers(&first), numbers(&frames)].concat();
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "every event once, in order");
    // The process that runs it does what the server was asked.
    let (status, posted) =
        served.post(&format!("/api/sessions/{id}/prompt"), &json!({"text": "Go on."})).await;
    assert_eq!(status, 200, "{posted}");
    let told = stream.until(|frame| is(frame, "event", "told")).await;
    assert_eq!(told.last().unwrap().data["text"], "Go on.", "web words are on record");
    stream.until(|frame| is(frame, "event", "agent_rested")).await;
    // What somebody else puts on record is told, too, though nothing happens in the session.
    served.post(&format!("/api/sessions/{id}/title"), &json!({"title": "Named"})).await;
    stream.until(|frame| is(frame, "event", "session_named")).await;
    let (_, view) = served.get(&format!("/api/sessions/{id}/view")).await;
    assert_eq!((&view["view"]["title"], &view["running"]), (&json!("Named"), &json!(true)));
    assert_eq!(view["view"]["agents"][0]["state"], "resting", "nobody was interrupted");
    served.post(&format!("/api/sessions/{id}/close"), &json!({})).await;
    stream.until(|frame| frame.event == "running" && frame.data["running"] == false).await;
    session.report().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_late_or_comes_back_gets_all_and_nothing_twice() {
    let stage = Stage::new().await;
    let session = stage.start_with(staying(), [Turn::text("One two three.")]).await;
    let (id, served) = (session.id, served(&stage).await);
    stage.let_go();
    let mut first = served.stream(&format!("/api/sessions/{id}/events?after=0")).await;
    let seen = numbers(&first.until(|frame| is(frame, "event", "agent_rested")).await);
    drop(first);
    for cut in [1, seen.len() as u64 / 2, seen.len() as u64 - 1] {
        let mut again = served.stream(&format!("/api/sessions/{id}/events?after={cut}")).await;
        let rest = numbers(&again.until(|frame| is(frame, "event", "agent_rested")).await);
        assert_eq!(rest, (cut + 1..=seen.len() as u64).collect::<Vec<_>>());
    }
    let beyond = served.get(&format!("/api/sessions/{id}/events?after=9999")).await;
    assert_eq!((beyond.0, &beyond.1["kind"]), (422, &json!("refused")));
    let mut last = served.stream(&format!("/api/sessions/{id}/events?after=0")).await;
    served.post(&format!("/api/sessions/{id}/cancel"), &json!({})).await;
    last.until(|frame| frame.event == "end").await;
    session.report().await;
    // From the record, where the process is gone.
    let mut recorded = served.stream(&format!("/api/sessions/{id}/events?after=0")).await;
    let frames = recorded.until(|frame| frame.event == "end").await;
    assert!(numbers(&frames).len() > seen.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_followers_of_many_sessions_share_what_is_sent() {
    let stage = Stage::new().await;
    let session = stage.start_with(staying(), [Turn::text("Done.")]).await;
    let (id, served) = (session.id, served(&stage).await);
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(served.stream(&format!("/api/events?follow={id}:0")).await);
    }
    stage.let_go();
    for stream in &mut streams {
        let frames = stream.until(|frame| is(frame, "event", "agent_rested")).await;
        let all = numbers(&frames);
        assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
    }
    drop(streams);
    let unknown: SessionId = "01890000-0000-7000-8000-000000000000".parse().unwrap();
    let mut gone = served.stream(&format!("/api/events?follow={unknown}:0")).await;
    gone.until(|frame| frame.event == "gone" && frame.data["session"] == json!(unknown)).await;
    let too_many = vec![format!("{id}:0"); 1].into_iter();
    let others = (0..=FOLLOWED_MAX).map(|n| format!("01890000-0000-7000-8000-{n:012}:0"));
    let follow = too_many.chain(others).collect::<Vec<_>>().join(",");
    assert_eq!(served.get(&format!("/api/events?follow={follow}")).await.0, 503);
    for bad in ["x", "x:1", &format!("{id}"), &format!("{id}:-1")] {
        assert_eq!(served.get(&format!("/api/events?follow={bad}")).await.0, 400, "{bad}");
    }
    session.cancel();
    session.report().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_said_comes_page_by_page_from_the_end() {
    let stage = Stage::new().await;
    let turns = (1..=6).map(|n| Turn::call("glob", json!({"pattern": format!("*{n}")})));
    let session = stage.start(turns.chain([Turn::text("Done.")])).await;
    let (id, served) = (session.id, served(&stage).await);
    stage.let_go();
    session.report().await.unwrap();
    let (_, view) = served.get(&format!("/api/sessions/{id}/view")).await;
    let main = view["view"]["agents"][0]["id"].as_str().unwrap().to_owned();
    let (_, whole) = served.get(&format!("/api/sessions/{id}/transcript?agent={main}&limit=1000")).await;
    let whole: Vec<Value> = whole["events"].as_array().unwrap().clone();
    let (mut before, mut back, mut pages) = (0, Vec::new(), 0);
    loop {
        let path = format!("/api/sessions/{id}/transcript?agent={main}&before={before}&limit=5");
        let (_, page) = served.get(&path).await;
        let events = page["events"].as_array().unwrap().clone();
        assert!(events.len() <= 5);
        before = events[0]["seq"].as_u64().unwrap();
        back = [events, back].concat();
        pages += 1;
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(back, whole);
    assert!(pages > 3, "{pages}");
    let (_, event) = served.get(&format!("/api/sessions/{id}/event?seq={before}")).await;
    assert_eq!(event["event"], whole[0]);
    assert_eq!(served.get(&format!("/api/sessions/{id}/event?seq=100000")).await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_folders_that_it_may_work_in_are_read() {
    let stage = Stage::new().await;
    let served = served(&stage).await;
    let root = stage.root.path().canonicalize().unwrap();
    let project = root.join("project");
    std::fs::create_dir_all(project.join("inner")).unwrap();
    std::fs::create_dir_all(root.join("secret")).unwrap();
    std::os::unix::fs::symlink(root.join("secret"), project.join("link")).unwrap();
    let asked = |folder: &std::path::Path| format!("/api/models?folder={}", folder.display());
    for (folder, want) in [
        (project.clone(), 200),
        (project.join("inner"), 200),
        (root.clone(), 422),
        (root.join("secret"), 422),
        (project.join("link"), 422),
        (project.join("inner/../../secret"), 422),
        (project.join("missing"), 422),
        ("/".into(), 422),
        ("project".into(), 422),
    ] {
        assert_eq!(served.get(&asked(&folder)).await.0, want, "{}", folder.display());
    }
    for path in ["roles", "skills", "config", "rules", "trust", "commands", "files", "doctor"] {
        let (status, said) =
            served.get(&format!("/api/{path}?folder={}", root.join("secret").display())).await;
        assert_eq!(status, 422, "{path} {said}");
        let (status, said) = served.get(&format!("/api/{path}?folder={}", project.display())).await;
        assert_eq!(status, 200, "{path} {said}");
    }
    let start = json!({"folder": root.join("secret"), "prompt": "x"});
    assert_eq!(served.post("/api/sessions", &start).await.0, 422);
    let run = json!({"folder": root.join("secret"), "command": "true"});
    assert_eq!(served.post("/api/run", &run).await.0, 422);
    for bad in [
        json!({"folder": project, "prompt": " "}),
        json!({"folder": project, "prompt": "x", "model": "--no-sandbox"}),
    ] {
        assert_eq!(served.post("/api/sessions", &bad).await.0, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trust_is_about_what_was_shown() {
    let stage = Stage::new().await;
    let served = served(&stage).await;
    let project = stage.root.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(project.join(".posse")).unwrap();
    let config = project.join(".posse/config.toml");
    std::fs::write(&config, "[approval]\nmode = \"auto\"\n").unwrap();
    let path = format!("/api/trust?folder={}", project.display());
    let (_, shown) = served.get(&path).await;
    let item = &shown["items"][0];
    assert_eq!(
        (item["trusted"].clone(), item["text"].as_str().unwrap().contains("auto")),
        (json!(false), true),
        "{shown}"
    );
    std::fs::write(&config, "[approval]\nmode = \"full\"\n").unwrap();
    let trust = json!({"folder": project, "ids": [item["id"]]});
    let (status, said) = served.post("/api/trust", &trust).await;
    assert_eq!((status, said["kind"].as_str()), (422, Some("refused")), "it has changed since");
    let (_, shown) = served.get(&path).await;
    let trust = json!({"folder": project, "ids": [shown["items"][0]["id"]]});
    assert_eq!(served.post("/api/trust", &trust).await.0, 200);
    assert_eq!(served.get(&path).await.1["items"][0]["trusted"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_gets_a_problem_and_limits_hold() {
    let stage = Stage::new().await;
    let served = served(&stage).await;
    let session = "01890000-0000-7000-8000-000000000000";
    let cases = [
        (served.request("GET", "/api/sessions?limit=x", "", &[]), 400),
        (served.request("GET", "/api/sessions?nothing=1", "", &[]), 400),
        (served.request("GET", "/api/sessions/not-an-id", "", &[]), 400),
        (served.request("GET", &format!("/api/sessions/{session}"), "", &[]), 404),
        (served.request("POST", &format!("/api/sessions/{session}/prompt"), "{", &[]), 400),
        (served.request("POST", &format!("/api/sessions/{session}/prompt"), "[]", &[]), 400),
        (served.request("POST", &format!("/api/sessions/{session}/prompt"), "{\"text\":\"x\"}", &[]), 404),
        (served.request("POST", "/api/sessions/x/prompt", &"x".repeat(300), &[]), 400),
        (served.request("DELETE", "/api/sessions", "", &[("content-type", "application/json")]), 405),
        (served.request("GET", &format!("/api/search?query={}", "x".repeat(5_000)), "", &[]), 413),
        (
            served.request(
                "POST",
                "/api/rules/save",
                &format!("{{\"kind\":\"allow\",\"rule\":\"{}\"}}", "x".repeat(300_000)),
                &[],
            ),
            413,
        ),
    ];
    for (request, want) in cases {
        let response = served.raw(&request).await;
        let (status, said) = answer(&response);
        assert_eq!(status, want, "{} {said}", request.lines().next().unwrap());
        assert!(response.contains("application/problem+json"), "{response}");
        assert_eq!(said["status"], want);
    }
    let long = served.raw(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000))).await;
    assert!([400, 414, 431].contains(&status(&long)), "{long}");
    let mut kept = Vec::new();
    let turned_away = loop {
        let stream = tokio::net::TcpStream::connect(served.host()).await.unwrap();
        kept.push(stream);
        assert!(kept.len() <= WEB_CONNECTIONS_MAX + 8, "there is no limit");
        if kept.len() > WEB_CONNECTIONS_MAX {
            break served.raw("").await;
        }
    };
    assert_eq!(status(&turned_away), 503, "{turned_away}");
    drop(kept);
    while served.get("/api/sessions").await.0 != 200 {
        tokio::task::yield_now().await;
    }
}
