//! Following a session: the record first, then live; alike here and elsewhere, for any number of readers, also slow ones.

use std::time::Duration;

use posse_api::calls::record::ListEvents;
use posse_api::{CallErrorKind, Following, Handle};
use posse_engine::Delivery;
use posse_protocol::{Attachment, Event, EventKind, ProgressKind, Seq, Update, Words};
use posse_testkit::{Turn, pictures};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::stage::{Stage, get};

/// What a reader was told: events, and the text that was streamed.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    text: String,
}

impl Heard {
    fn take(&mut self, update: Update) {
        match update {
            Update::Event(event) => self.events.push((*event).clone()),
            Update::Progress(progress) => match progress.kind {
                ProgressKind::Text(more) => self.text.push_str(&more),
                ProgressKind::TextSoFar(text) => self.text = text,
                _ => {}
            },
        }
    }

    /// Takes what comes until nothing does for a while: the reader has caught up with the record, and waits.
    async fn until_quiet(&mut self, following: &mut Following) {
        while let Ok(update) = tokio::time::timeout(Duration::from_secs(1), following.next()).await {
            self.take(update.unwrap().unwrap());
        }
    }
}

/// All events until the session is over, and the text that was streamed.
async fn all(following: &mut Following) -> (Vec<Event>, String) {
    let mut heard = Heard::default();
    while let Some(update) = following.next().await.unwrap() {
        heard.take(update);
    }
    (heard.events, heard.text)
}

fn turns() -> Vec<Turn> {
    let list = || Turn::call("list_files", json!({}));
    vec![list().and_text("I look around."), list(), list(), Turn::text("Done.")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_the_same_here_and_elsewhere_from_any_event_on() {
    let stage = Stage::new().await;
    let session = stage.start(turns()).await;
    let id = session.id;
    let handles = stage.handles(id).await;
    let mut readers = Vec::new();
    for handle in &handles {
        for after in [0, 1] {
            readers.push((after, handle.follow(id, Seq(after)).await.unwrap()));
        }
    }
    let waiting = readers.into_iter().map(|(after, mut following)| {
        tokio::spawn(async move {
            let mut heard = Heard::default();
            heard.until_quiet(&mut following).await;
            (after, following, heard.events)
        })
    });
    let mut reading = Vec::new();
    for reader in waiting.collect::<Vec<_>>() {
        let (after, mut following, mut before) = reader.await.unwrap();
        reading.push(tokio::spawn(async move {
            let (events, text) = all(&mut following).await;
            before.extend(events);
            (after, (before, text))
        }));
    }
    stage.let_go();
    session.report().await.unwrap();
    let record = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    assert!(matches!(record.last().unwrap().kind, EventKind::AgentSettled { .. }), "it is all there");
    for reader in reading {
        let (after, (events, text)) = reader.await.unwrap();
        assert_eq!(events, record[after as usize..]);
        assert!(text.starts_with("I look around."), "progress: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_readers_miss_nothing() {
    const READERS: usize = 50;
    let stage = Stage::new().await;
    let session = stage.start(turns()).await;
    let id = session.id;
    let [_, elsewhere] = stage.handles(id).await;
    let mut reading = Vec::new();
    for _ in 0..READERS {
        let mut following = elsewhere.follow(id, Seq(0)).await.unwrap();
        reading.push(tokio::spawn(async move { all(&mut following).await.0 }));
    }
    stage.let_go();
    session.report().await.unwrap();
    let record = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    for reader in reading {
        assert_eq!(reader.await.unwrap(), record);
    }
}

/// What another process records, such as a title, is not missed by those who follow live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_records_is_not_missed() {
    let stage = Stage::new().await;
    let session = stage.start(turns()).await;
    let id = session.id;
    let mut reading = Vec::new();
    for handle in stage.handles(id).await {
        let mut following = handle.follow(id, Seq(0)).await.unwrap();
        // It has caught up with the record, and is live.
        assert!(following.next().await.unwrap().is_some());
        reading.push(tokio::spawn(async move { all(&mut following).await.0 }));
    }
    stage.other().rename(id, "Another title").await.unwrap();
    stage.let_go();
    session.report().await.unwrap();
    let record = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    assert!(record.iter().any(|event| matches!(event.kind, EventKind::SessionNamed { .. })));
    for reader in reading {
        assert_eq!(reader.await.unwrap(), record[1..]);
    }
}

/// The stream as a browser sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_has_ids_and_goes_on_after_the_last_of_them() {
    let stage = Stage::new().await;
    let session = stage.start(turns()).await;
    let id = session.id;
    stage.let_go();
    session.report().await.unwrap();
    let record = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    let last = record.len() as u64;
    let path = format!("/api/sessions/{id}/events");
    let stream = stage.raw(&get(&path)).await;
    assert!(stream.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"), "{stream}");
    let ids = |stream: &str| -> Vec<u64> {
        stream.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    };
    assert_eq!(ids(&stream), (1..=last).collect::<Vec<_>>());
    let data: Vec<Event> =
        stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    assert_eq!(data, record);
    assert_eq!(stream.matches("event: end\ndata: null\n\n").count(), 1);
    let after = stage.raw(&get(&format!("{path}?after={}", last - 2))).await;
    assert_eq!(ids(&after), [last - 1, last]);
    let head = format!(
        "GET {path}?after=0 HTTP/1.1\r\nhost: posse\r\nconnection: close\r\nLast-Event-ID: {}\r\n\r\n",
        last - 1
    );
    assert_eq!(ids(&stage.raw(head.as_bytes()).await), [last]);
}

/// Reads nothing for a while: the session goes on, and the reader misses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_read_holds_nobody_up_and_misses_nothing() {
    let stage = Stage::new().await;
    // More than sockets and buffers hold.
    let long = "x".repeat(200 << 10);
    std::fs::write(stage.root.path().join("project/long.txt"), &long).unwrap();
    let look = |nth: usize| {
        Turn::call("grep", json!({"pattern": format!("x{{{}}}", nth + 1)})).and_text(long.clone())
    };
    let session = stage.start((0..8).map(look).chain([Turn::text("Done.")])).await;
    let id = session.id;
    let mut stream = UnixStream::connect(&stage.socket).await.unwrap();
    stream.write_all(&get(&format!("/api/sessions/{id}/events"))).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stage.let_go();
    session.report().await.unwrap();
    let record = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    let rest = crate::stage::rest(&mut stream).await;
    assert!(rest.len() > 8 * long.len(), "only {} bytes", rest.len());
    let events =
        rest.lines().filter_map(|line| serde_json::from_str::<Event>(line.strip_prefix("data: ")?).ok());
    // Frames and chunks do not share their borders, so those are counted that are whole lines.
    assert!(events.count() > record.len() / 2);
    assert_eq!(rest.matches("event: end").count(), 1);
    let ids = rest.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok());
    assert_eq!(ids.collect::<Vec<_>>(), record.iter().map(|event| event.seq.0).collect::<Vec<_>>());
}

/// What is shown in a session is megabytes: other processes get its name and size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contents_of_images_stay_on_record() {
    let stage = Stage::new().await;
    let session = stage.start(turns()).await;
    let id = session.id;
    let [_, elsewhere] = stage.handles(id).await;
    let mut following = elsewhere.follow(id, Seq(0)).await.unwrap();
    let image = Attachment::new("shot.png", &pictures::png(40, 30)).unwrap();
    // Whatever is said about it, its bytes count.
    let forged = Attachment { width: 9_999, ..image.clone() };
    let said = Words { text: "Look.".into(), attachments: vec![forged] };
    stage.engine.tell(id, None, said, Delivery::NextTurn).await.unwrap();
    let broken = Attachment { data: "no base64".into(), ..image.clone() };
    let said = Words { text: "Look.".into(), attachments: vec![broken] };
    let refused = stage.engine.tell(id, None, said, Delivery::NextTurn).await.unwrap_err().to_string();
    assert!(refused.contains("shot.png cannot be shown"), "{refused}");
    stage.let_go();
    session.report().await.unwrap();
    let shown = |events: &[Event]| {
        let shown: Vec<Attachment> =
            events.iter().flat_map(|event| event.kind.attachments()).cloned().collect();
        shown
    };
    let (whole, named) = (vec![image.clone(); 2], vec![image.without_data(); 2]);
    assert_eq!(shown(&stage.engine.events_after(id, Seq(0), 1000).unwrap()), whole, "mailed and told");
    assert_eq!(shown(&all(&mut following).await.0), named);
    let page = elsewhere.call(id, ListEvents { after: 0, limit: 1000 }).await.unwrap();
    assert_eq!(shown(&page.events), named);
}

/// A page is bounded in bytes as well; the pages together are the record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_events_come_in_several_pages() {
    let stage = Stage::new().await;
    let long = "x".repeat(400 << 10);
    let look =
        |nth: usize| Turn::call("list_files", json!({"path": format!("./{nth}")})).and_text(long.clone());
    let session = stage.start((0..3).map(look).chain([Turn::text("Done.")])).await;
    let id = session.id;
    let [here, elsewhere] = stage.handles(id).await;
    stage.let_go();
    session.report().await.unwrap();
    let (mut pages, mut events) = (0, Vec::new());
    loop {
        let after = events.last().map_or(0, |event: &Event| event.seq.0);
        let page = ListEvents { after, limit: 1000 };
        let found = elsewhere.call(id, page).await.unwrap();
        assert_eq!(found, here.call(id, page).await.unwrap());
        if found.events.is_empty() {
            break;
        }
        pages += 1;
        events.extend(found.events);
    }
    assert_eq!(events, stage.engine.events_after(id, Seq(0), 1000).unwrap());
    assert!(pages > 1, "{pages} pages of {} events", events.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_of_a_session_are_limited_and_leave() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let id = session.id;
    let [_, elsewhere] = stage.handles(id).await;
    let mut readers = Vec::new();
    for _ in 0..posse_api::limits::FOLLOWERS_MAX {
        readers.push(elsewhere.follow(id, Seq(0)).await.unwrap());
    }
    let refused = elsewhere.follow(id, Seq(0)).await.err().unwrap();
    assert_eq!(refused.kind, CallErrorKind::TooMany);
    readers.pop();
    let place = async {
        while elsewhere.follow(id, Seq(0)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), place).await.expect("a place is free again");
    stage.let_go();
    session.report().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_places_are_refused_alike_and_a_process_that_closes_is_told_from_an_end() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let id = session.id;
    let handles = stage.handles(id).await;
    let mut errors = Vec::new();
    for handle in &handles {
        let far = handle.follow(id, Seq(u64::MAX)).await.err().unwrap();
        let none = handle.follow("01890000-0000-7000-8000-000000000000".parse().unwrap(), Seq(0)).await;
        errors.push((far, none.err().unwrap()));
    }
    assert_eq!(errors[0], errors[1]);
    let kinds = (errors[0].0.kind, errors[0].1.kind);
    assert_eq!(kinds, (CallErrorKind::Refused, CallErrorKind::NotFound));
    let [_, Handle::Elsewhere(client)] = handles else { panic!("one of each") };
    let mut updates = client.follow(id, Seq(0)).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    stage.listening.close().await;
    let gone = loop {
        match updates.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the session is not over"),
            Err(error) => break error,
        }
    };
    assert_eq!(gone.kind, CallErrorKind::Unreachable);
    stage.go.store(true, std::sync::atomic::Ordering::Release);
    session.report().await.unwrap();
}
