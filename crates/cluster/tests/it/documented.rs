//! The broker that the documentation tells people to copy: its users have the rights that Posse writes and no others, and a worker works
//! with them. `POSSE_WRITE_DOCS=1 cargo nextest run -p posse-cluster -E 'test(documented)'` writes the users again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use posse_cluster::{
    BrokerSync, HomeCourier as _, LeaseTimes, NatsAddress, NatsHome, NatsSide, NatsWorker, OwnerName,
    WhenFull, WorkerCourier as _, WorkerName, examine_nats, limits, look_for_room, nats_user_config,
};
use posse_testkit::nats::{NatsCertificates, NatsServer};

use crate::fixture::{file, home_message, labels, offer, shelf, soon, worker_message};

/// What stands in the file where a password goes.
const HASH: &str = "$2a$11$REPLACE.THIS.HASH";

fn owner() -> OwnerName {
    "default".parse().unwrap()
}

fn gpu() -> (WorkerName, NatsSide) {
    let name: WorkerName = "gpu-1".parse().unwrap();
    (name.clone(), NatsSide::Worker { name, labels: labels(&["gpu"]) })
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers/nats-server.conf")
}

/// The entries of home and of one worker, as they stand in the list of the example.
fn users() -> String {
    let entry = |comment: &str, side: &NatsSide, user: &str| {
        let text = format!("# {comment}\n{}", nats_user_config(&owner(), side, user, HASH));
        text.lines().map(|line| format!("      {line}\n")).collect::<String>()
    };
    let home = entry("Home: everything of its owner.", &NatsSide::Home, "home");
    let worker = "A worker takes tasks for its name, for its labels and for anybody. It speaks in its own name, and hears what is \
                  said to it.";
    home + &entry(worker, &gpu().1, "gpu-1")
}

#[test]
fn the_documented_users_have_the_rights_that_are_written_for_them() {
    let text = std::fs::read_to_string(example()).unwrap();
    let (before, rest) = text.split_once("    users: [\n").unwrap();
    let (_, after) = rest.split_once("      # end of users\n").unwrap();
    let want = format!("{before}    users: [\n{}      # end of users\n{after}", users());
    if std::env::var_os("POSSE_WRITE_DOCS").is_some() {
        std::fs::write(example(), &want).unwrap();
    }
    let found = std::fs::read_to_string(example()).unwrap();
    assert!(found == want, "the users are not those that Posse writes; POSSE_WRITE_DOCS=1 writes them again");
}

/// The example as it is, but for the port, the places of files and the passwords.
fn start(files: &NatsCertificates) -> NatsServer {
    let text = std::fs::read_to_string(example()).unwrap();
    NatsServer::start_with(|port, folder| {
        let quoted = |path: &Path| format!("{path:?}");
        let changes = [
            ("\"0.0.0.0:4222\"", format!("\"127.0.0.1:{port}\"")),
            ("\"/etc/nats/broker.pem\"", quoted(&files.certificate)),
            ("\"/etc/nats/broker.key\"", quoted(&files.key)),
            ("\"/var/lib/nats\"", quoted(&folder.join("store"))),
            (HASH, "pass".to_owned()),
        ];
        changes.iter().fold(text, |text, (old, new)| {
            assert!(text.contains(old), "{old} is not in the example");
            text.replace(old, new)
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_takes_and_returns_work_at_the_documented_broker() {
    let folder = tempfile::tempdir().unwrap();
    let files = NatsCertificates::make(folder.path());
    let server = start(&files);
    let user = |name: &str| NatsAddress {
        url: format!("tls://127.0.0.1:{}", server.port()),
        user: Some(name.to_owned()),
        password: Some("pass".to_owned()),
        ca_file: Some(files.authority.clone()),
    };
    let ((name, side), home_name) = (gpu(), "home".parse().unwrap());
    let home = NatsHome::connect(&user("home"), &owner(), LeaseTimes::for_lease(2_000)).await.unwrap();
    home.answer_to(&home_name).await.unwrap();
    let mut at_home = home.follow().await.unwrap();
    let cache = Arc::new(shelf(&folder.path().join("cache"), WhenFull::DropOldest).await);
    let worker = NatsWorker::connect(&user("gpu-1"), &owner(), &name, cache).await.unwrap();
    let mut at_worker = worker.follow().await.unwrap();

    // For its label, for anybody, and for its name.
    let mut named = offer(3, &[]);
    named.wants.name = Some(name.clone());
    for offered in [offer(1, &["gpu"]), offer(2, &[]), named] {
        let bytes = offered.bytes.clone();
        home.offer(offered).await.unwrap();
        let claimed = soon("an offer", worker.claim(&labels(&["gpu"]))).await.unwrap();
        assert_eq!(claimed.bytes, bytes);
        claimed.lease.renew().await.unwrap();
        claimed.lease.done().await.unwrap();
    }
    worker.append(&home_name, Bytes::from("from the worker")).await.unwrap();
    assert_eq!(home_message(&mut at_home).await, "from the worker");
    home.tell(&name, Bytes::from("from home")).await.unwrap();
    assert_eq!(worker_message(&mut at_worker).await, "from home");
    let (there, back) = (file(folder.path(), "there", 300_000, 1), file(folder.path(), "back", 300_000, 2));
    let copy = folder.path().join("copy");
    let id = home.put_blob(&name, &there).await.unwrap();
    soon("a blob", worker.get_blob(id, &copy)).await.unwrap();
    assert!(std::fs::read(&copy).unwrap() == std::fs::read(&there).unwrap());
    let id = soon("a blob is put", worker.put_blob(&back)).await.unwrap();
    soon("its blob", home.get_blob(&name, id, &folder.path().join("copy at home"))).await.unwrap();

    // And the doctor sees all of it.
    let found = examine_nats(&user("home"), &owner(), &NatsSide::Home).await.unwrap();
    assert_eq!((&found.jetstream, found.sync, found.tls), (&Ok(()), BrokerSync::Always, true));
    assert_eq!(found.payload_bytes_max, limits::MESSAGE_BYTES_MAX);
    assert_eq!((found.missing_publish, found.missing_subscribe, found.rights_known), (vec![], vec![], true));
    let workers = [name, "gpu-2".parse().unwrap()];
    let room = look_for_room(&user("home"), &owner(), &workers).await.unwrap();
    let left_gb = room.left_bytes.unwrap() >> 30;
    assert!((40..50).contains(&left_gb), "two buckets are set aside: {left_gb}");
    assert_eq!(room.buckets_missing, 2, "those of the other worker");
    let found = examine_nats(&user("gpu-1"), &owner(), &side).await.unwrap();
    assert_eq!((found.missing_publish, found.missing_subscribe), (vec![], vec![]));
    // It tells a worker nothing of itself.
    assert_eq!(found.sync, BrokerSync::Unknown);
}
