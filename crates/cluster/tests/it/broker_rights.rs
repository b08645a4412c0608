//! The rights of a worker's user at a real nats-server, as our configuration gives them: its own words and its own blobs.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use posse_cluster::{
    HomeCourier as _, HomeNews, NatsAddress, NatsSide, WorkerCourier as _, WorkerName, limits,
    nats_user_config,
};
use posse_testkit::nats::NatsServer;
use tokio::sync::mpsc;

use crate::brokers::{home, one, user, users, worker};
use crate::fixture::{file, home_message, nothing, soon, worker_message};

/// Somebody with the rights of a user and a client of their own.
async fn connected(server: &NatsServer, name: &str, inbox: &str) -> async_nats::Client {
    let options = async_nats::ConnectOptions::with_user_and_password(name.to_owned(), "pass".to_owned());
    let options = options.custom_inbox_prefix(format!("_INBOX.posse.me.{inbox}"));
    let options = options.request_timeout(Some(Duration::from_millis(500)));
    options.connect(server.url()).await.unwrap()
}

/// A worker's user speaks for itself only, and hears only what is for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_workers_rights_end_at_its_own_subjects() {
    let server = NatsServer::start(&users());
    let folder = tempfile::tempdir().unwrap();
    let home = home(&user(&server, "home")).await.unwrap();
    let mut news = home.follow().await.unwrap();
    let two = worker(&user(&server, "two"), folder.path(), "two").await.unwrap();
    let mut at_two = two.follow().await.unwrap();
    let options = async_nats::ConnectOptions::with_user_and_password("one".to_owned(), "pass".to_owned());
    let (errors, mut denied) = mpsc::unbounded_channel();
    let options = options.event_callback(move |event| {
        let _ = errors.send(event.to_string());
        async {}
    });
    let raw = options.connect(server.url()).await.unwrap();
    let mut heard = raw.subscribe("posse.me.down.two").await.unwrap();
    let mut all = raw.subscribe(">").await.unwrap();
    let subjects = [
        "posse.me.down.two",
        "posse.me.down.one",
        "posse.me.up.home.two",
        "posse.me.hello.two",
        "posse.me.task.any.00000000-0000-0000-0000-000000000001",
        "posse.you.up.home.one",
        "$JS.API.STREAM.DELETE.posse-me-tasks",
        "$JS.API.STREAM.PURGE.posse-me-tasks",
        "$JS.API.CONSUMER.MSG.NEXT.posse-me-tasks.w-two",
        "$JS.API.CONSUMER.CREATE.posse-me-tasks.x",
        "$JS.ACK.posse-me-tasks.w-two.1.1.1.1.1",
    ];
    for subject in subjects {
        raw.publish(subject, Bytes::from("forged")).await.unwrap();
    }
    raw.publish("posse.me.up.home.one", Bytes::from("own words")).await.unwrap();
    raw.flush().await.unwrap();
    assert_eq!(home_message(&mut news).await, "own words");
    home.tell(&"two".parse().unwrap(), Bytes::from("for two")).await.unwrap();
    assert_eq!(worker_message(&mut at_two).await, "for two");
    assert!(nothing(heard.next()).await && nothing(all.next()).await);
    let mut violations = 0;
    while let Ok(error) = denied.try_recv() {
        violations += usize::from(error.to_lowercase().contains("permissions violation"));
    }
    assert_eq!(violations, subjects.len() + 2);
    // A worker under another worker's user hears nothing.
    let mixed = worker(&user(&server, "one"), folder.path(), "two").await;
    let mut at_mixed = mixed.unwrap().follow().await.unwrap();
    home.tell(&"two".parse().unwrap(), Bytes::from("for two again")).await.unwrap();
    assert_eq!(worker_message(&mut at_two).await, "for two again");
    let message = async {
        while !matches!(at_mixed.recv().await, Some(posse_cluster::WorkerNews::Message(_)) | None) {}
    };
    assert!(nothing(message).await || at_mixed.is_closed());
    assert!(home_is_refused(&server, "one").await);
    let wrong = NatsAddress { password: Some("wrong".to_owned()), ..user(&server, "one") };
    assert!(worker(&wrong, folder.path(), "one").await.is_err());
}

/// What is for one worker, or of it, is out of reach of another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_reaches_no_other_workers_blobs() {
    let server = NatsServer::start(&users());
    let folder = tempfile::tempdir().unwrap();
    let home = home(&user(&server, "home")).await.unwrap();
    let victim: WorkerName = "two".parse().unwrap();
    let two = worker(&user(&server, "two"), folder.path(), "two").await.unwrap();
    let (down, up) = (file(folder.path(), "down", 300_000, 1), file(folder.path(), "up", 1_000, 2));
    let task = home.put_blob(&victim, &down).await.unwrap();
    let work = two.put_blob(&up).await.unwrap();
    home.put_blob(&one(), &up).await.unwrap();
    let raw = connected(&server, "one", "worker.one").await;
    let own = format!("$JS.API.DIRECT.GET.posse_down-me-one.posse.me.blob.down.one.{work}.0");
    let read = raw.request(own, Bytes::new()).await.unwrap();
    assert_eq!(read.payload.len(), 1_001, "its own rights work");
    let mut questions = vec![
        (format!("posse.me.blob.down.two.{task}.0"), "x"),
        (format!("posse.me.blob.up.two.{work}.0"), "x"),
        // Nor what it has sent itself: nothing that it wrote is sent for it.
        (format!("$JS.API.DIRECT.GET.posse_up-me-one.posse.me.blob.up.one.{work}.0"), ""),
        ("$JS.API.STREAM.CREATE.posse_up-me-new".to_owned(), r#"{"name":"posse_up-me-new"}"#),
    ];
    for stream in ["posse_down-me-two", "posse_up-me-two", "posse_down-me-one"] {
        let consumer = r#"{"stream_name":"posse_down-me-two","config":{"ack_policy":"none"}}"#;
        questions.extend([
            (format!("$JS.API.STREAM.INFO.{stream}"), ""),
            (format!("$JS.API.STREAM.MSG.GET.{stream}"), r#"{"seq":1}"#),
            (format!("$JS.API.STREAM.PURGE.{stream}"), ""),
            (format!("$JS.API.STREAM.DELETE.{stream}"), ""),
            (format!("$JS.API.STREAM.MSG.DELETE.{stream}"), r#"{"seq":1}"#),
            (format!("$JS.API.CONSUMER.CREATE.{stream}"), consumer),
            (format!("$JS.API.DIRECT.GET.{stream}"), r#"{"seq":1}"#),
        ]);
    }
    for (stream, way, id) in [("posse_down-me-two", "down", task), ("posse_up-me-two", "up", work)] {
        questions.push((format!("$JS.API.DIRECT.GET.{stream}.posse.me.blob.{way}.two.{id}.0"), ""));
    }
    assert_eq!(questions.len(), 27);
    for (subject, body) in questions {
        let answer = raw.request(subject.clone(), Bytes::from(body)).await;
        assert!(answer.is_err(), "{subject}: {answer:?}");
    }
    let home_side = async_nats::jetstream::new(connected(&server, "home", "home").await);
    for stream in ["posse_down-me-two", "posse_up-me-two"] {
        let most = home_side.get_stream(stream).await.unwrap().cached_info().config.max_bytes;
        assert!((1..=limits::BROKER_BUCKET_BYTES_MAX).contains(&most), "it has a limit: {most}");
    }
    // All is there as it was, for those that it is for.
    soon("the task", two.get_blob(task, &folder.path().join("at two"))).await.unwrap();
    soon("the work", home.get_blob(&victim, work, &folder.path().join("at home"))).await.unwrap();
    assert_eq!(std::fs::read(folder.path().join("at two")).unwrap(), std::fs::read(down).unwrap());
}

/// No two workers share a right to blobs, however they and their owners are called.
#[test]
fn no_two_workers_share_a_bucket() {
    let names = ["x", "x-", "x-blobs", "x-blobs-y", "x--blobs", "y", "y-blobs-z", "blobs-y", "z", "blobs"];
    let rights = |owner: &str, worker: &str| -> BTreeSet<String> {
        let side = NatsSide::Worker { name: worker.parse().unwrap(), labels: BTreeSet::new() };
        let lines = nats_user_config(&owner.parse().unwrap(), &side, "user", "pass");
        let of_blobs = |line: &&str| line.contains(".blob.") || line.contains("DIRECT.GET");
        lines.lines().filter(of_blobs).map(|line| line.trim().to_owned()).collect()
    };
    let mut known: Vec<(BTreeSet<String>, &str, &str)> = Vec::new();
    for owner in names {
        for worker in names {
            let own = rights(owner, worker);
            assert_eq!(own.len(), 2);
            for (others, other_owner, other) in &known {
                let shared: Vec<&String> = own.intersection(others).collect();
                assert!(shared.is_empty(), "{owner}/{worker} and {other_owner}/{other}: {shared:?}");
            }
            known.push((own, owner, worker));
        }
    }
    assert_eq!(known.len(), 100);
}

/// A file that home passes on is a question to the broker, and a letter: whatever subject it is sent to, it is neither.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_sends_for_a_worker_is_no_letter_and_no_question() {
    let server = NatsServer::start(&users());
    let folder = tempfile::tempdir().unwrap();
    let home = home(&user(&server, "home")).await.unwrap();
    let mut news = home.follow().await.unwrap();
    let two = worker(&user(&server, "two"), folder.path(), "two").await.unwrap();
    let mut at_two = two.follow().await.unwrap();
    let inbox = "_INBOX.posse.me.worker.one.stolen";
    let question = format!(
        r#"{{"stream_name":"posse_down-me-two","config":{{"ack_policy":"none","deliver_policy":"all","deliver_subject":"{inbox}"}}}}"#
    );
    let path = folder.path().join("question");
    std::fs::write(&path, question).unwrap();
    let secret = home.put_blob(&"two".parse().unwrap(), &path).await.unwrap();
    let id = home.put_blob(&one(), &path).await.unwrap();
    let raw = connected(&server, "one", "worker.one").await;
    let mut stolen = raw.subscribe(inbox).await.unwrap();
    let watching = connected(&server, "home", "home").await;
    let mut heard = watching.subscribe("posse.me.up.*.*").await.unwrap();
    watching.flush().await.unwrap();
    let kept = format!("$JS.API.DIRECT.GET.posse_down-me-one.posse.me.blob.down.one.{id}.0");
    let to = [
        "posse.me.up.home.two",
        "posse.me.hello.two",
        "posse.me.down.two",
        "$JS.API.CONSUMER.CREATE.posse_down-me-two",
    ];
    for to in to {
        raw.publish_with_reply(kept.clone(), to, Bytes::new()).await.unwrap();
    }
    raw.flush().await.unwrap();
    let first = soon("what the broker sends", heard.next()).await.unwrap();
    assert!(first.headers.is_some(), "it is sent there, and can be told: {first:?}");
    raw.publish("posse.me.up.home.one", Bytes::from("own words")).await.unwrap();
    raw.flush().await.unwrap();
    assert_eq!(home_message(&mut news).await, "own words");
    home.tell(&"two".parse().unwrap(), Bytes::from("for two")).await.unwrap();
    assert_eq!(worker_message(&mut at_two).await, "for two");
    assert!(nothing(stolen.next()).await, "it reads nothing of another");
    two.get_blob(secret, &folder.path().join("still there")).await.unwrap();
    while let Ok(left) = news.try_recv() {
        assert!(!matches!(left, HomeNews::Message { .. }), "{left:?}");
    }
}

/// A worker's user cannot be a home.
async fn home_is_refused(server: &NatsServer, name: &str) -> bool {
    let connected = tokio::time::timeout(Duration::from_secs(15), home(&user(server, name))).await;
    !matches!(connected, Ok(Ok(_)))
}
