//! The courier over a real nats-server: the contract, killing it, robbing it of its data, and encryption.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use posse_cluster::{
    BrokerSync, CourierError, HomeCourier, HomeName, HomeNews, LeaseTimes, NatsAddress, NatsHome, NatsSide,
    NatsWorker, OwnerName, PostedOffer, WhenFull, WorkerCourier, WorkerName, examine_nats, nats_user_config,
};
use posse_testkit::nats::{NatsCertificates, NatsServer};
use tokio::sync::mpsc;

use crate::contract::{Place, keeps_the_contract};
use crate::fixture::{file, labels, nothing, offer, shelf, soon};

pub(crate) fn owner() -> OwnerName {
    "me".parse().unwrap()
}

pub(crate) fn home_name() -> HomeName {
    "home".parse().unwrap()
}

pub(crate) fn one() -> WorkerName {
    "one".parse().unwrap()
}

pub(crate) fn address(server: &NatsServer) -> NatsAddress {
    NatsAddress { url: server.url(), ..NatsAddress::default() }
}

pub(crate) fn user(server: &NatsServer, name: &str) -> NatsAddress {
    NatsAddress { user: Some(name.to_owned()), password: Some("pass".to_owned()), ..address(server) }
}

pub(crate) async fn home(address: &NatsAddress) -> Result<NatsHome, CourierError> {
    let home = NatsHome::connect(address, &owner(), LeaseTimes::for_lease(2_000)).await?;
    home.answer_to(&home_name()).await?;
    Ok(home)
}

pub(crate) async fn worker(
    address: &NatsAddress,
    folder: &Path,
    name: &str,
) -> Result<NatsWorker, CourierError> {
    let cache = Arc::new(shelf(&folder.join(format!("cache of {name}")), WhenFull::DropOldest).await);
    NatsWorker::connect(address, &owner(), &name.parse().unwrap(), cache).await
}

/// One server, and one owner with rights of their own for each case.
struct NatsPlace {
    server: NatsServer,
    home: Arc<NatsHome>,
}

/// The users of a server where each side has only its own rights.
pub(crate) fn users() -> String {
    let side =
        |name: &str| NatsSide::Worker { name: name.parse().unwrap(), labels: labels(&["gpu", "linux"]) };
    let workers = ["cpu", "gpu", "one", "two"];
    let workers = workers.map(|name| nats_user_config(&owner(), &side(name), name, "pass")).concat();
    let home = nats_user_config(&owner(), &NatsSide::Home, "home", "pass");
    format!("authorization {{ users: [\n{home}{workers}] }}\n")
}

impl NatsPlace {
    async fn new() -> Self {
        let server = NatsServer::start(&users());
        let home = home(&user(&server, "home")).await.unwrap();
        Self { server, home: Arc::new(home) }
    }
}

impl Place for NatsPlace {
    fn home(&self) -> Arc<dyn HomeCourier> {
        self.home.clone()
    }

    fn home_name(&self) -> HomeName {
        home_name()
    }

    fn worker<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Arc<dyn WorkerCourier>> {
        Box::pin(async move {
            let worker = worker(&user(&self.server, name), self.folder(), name).await.unwrap();
            Arc::new(worker) as Arc<dyn WorkerCourier>
        })
    }

    fn folder(&self) -> &Path {
        self.server.folder()
    }
}

/// With users that have no more rights than the configuration gives that we write.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_keeps_the_contract() {
    assert_eq!(keeps_the_contract(NatsPlace::new).await, 8);
}

/// What a worker holds and does not renew goes to another one; what it renews does not.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_is_not_renewed_goes_to_another() {
    let server = NatsServer::start("");
    let (home, folder) = (home(&address(&server)).await.unwrap(), server.folder());
    let one = worker(&address(&server), folder, "one").await.unwrap();
    let two = worker(&address(&server), folder, "two").await.unwrap();
    home.offer(offer(1, &[])).await.unwrap();
    let held = soon("an offer", one.claim(&labels(&[]))).await.unwrap();
    let none = labels(&[]);
    let mut claim = Box::pin(two.claim(&none));
    for _ in 0..6 {
        assert!(
            tokio::time::timeout(Duration::from_millis(600), &mut claim).await.is_err(),
            "it was renewed"
        );
        held.lease.renew().await.unwrap();
    }
    let again = soon("the offer again", claim).await.unwrap();
    assert_eq!(again.bytes, held.bytes);
}

/// Offers of a home that was killed go by themselves, also where the queue was made by a posse that kept them for ever. Home's user has
/// the rights for that.
#[tokio::test(flavor = "multi_thread")]
async fn offers_that_nobody_repeats_go() {
    let server = NatsServer::start(&users());
    let options = async_nats::ConnectOptions::with_user_and_password("home".to_owned(), "pass".to_owned());
    let options = options.custom_inbox_prefix("_INBOX.posse.me.home");
    let jetstream = async_nats::jetstream::new(options.connect(server.url()).await.unwrap());
    let kept = async || {
        let stream = jetstream.get_stream("posse-me-tasks").await.unwrap();
        stream.cached_info().config.max_age
    };
    let old = async_nats::jetstream::stream::Config {
        name: "posse-me-tasks".to_owned(),
        subjects: vec!["posse.me.task.*.*".to_owned()],
        retention: async_nats::jetstream::stream::RetentionPolicy::WorkQueue,
        ..Default::default()
    };
    jetstream.create_stream(old).await.unwrap();
    assert!(kept().await.is_zero());
    let opened = async |times: LeaseTimes| {
        drop(NatsHome::connect(&user(&server, "home"), &owner(), times).await.unwrap());
        kept().await
    };
    let (usual, long) = (LeaseTimes::default(), LeaseTimes::for_lease(600_000));
    assert_eq!(opened(usual).await, Duration::from_secs(300));
    let longest = opened(long).await;
    assert!(longest >= Duration::from_millis(long.patience_ms(long.lease_ms) + 60_000), "{longest:?}");
    assert_eq!(opened(usual).await, longest, "a home with shorter leases leaves it as it is");
    // The broker forgets all, and the queue is made anew.
    jetstream.delete_stream("posse-me-tasks").await.unwrap();
    assert_eq!(opened(usual).await, Duration::from_secs(300));
}

/// A process that resumes a session counts its offers from 1 again, and the broker must not take them for those of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_a_process_that_was_started_again_is_no_repetition() {
    let server = NatsServer::start("");
    let first = home(&address(&server)).await.unwrap();
    first.offer(offer(1, &[])).await.unwrap();
    first.withdraw(offer(1, &[]).agent).await.unwrap();
    drop(first);
    let second = home(&address(&server)).await.unwrap();
    second.offer(offer(1, &[])).await.unwrap();
    let one = worker(&address(&server), server.folder(), "one").await.unwrap();
    let held = soon("the offer", one.claim(&labels(&[]))).await.unwrap();
    assert_eq!(held.bytes, offer(1, &[]).bytes);
}

async fn until(news: &mut mpsc::Receiver<HomeNews>, what: &HomeNews) {
    let found = async {
        loop {
            match news.recv().await {
                Some(heard) if heard == *what => return,
                Some(_) => {}
                None => panic!("home hears nothing any more"),
            }
        }
    };
    soon("news", found).await;
}

async fn disconnected(home: &NatsHome) {
    soon("the broker is gone", async {
        while home.tell(&"one".parse().unwrap(), Bytes::from("x")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Sends until it arrives: a courier may lose what is sent while it reconnects.
async fn exchange(home: &NatsHome, news: &mut mpsc::Receiver<HomeNews>, worker: &NatsWorker, word: &str) {
    let mut at_worker = Vec::new();
    soon("a message after a reconnection", async {
        loop {
            let _ = worker.append(&home_name(), Bytes::from(word.to_owned())).await;
            match tokio::time::timeout(Duration::from_millis(200), news.recv()).await {
                Ok(Some(HomeNews::Message { letter, .. })) if letter == word => return,
                Ok(Some(other)) => at_worker.push(other),
                Ok(None) => panic!("home hears nothing any more"),
                Err(_) => {}
            }
        }
    })
    .await;
    assert!(home.workers().iter().any(|seen| seen.name.as_str() == "one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_comes_back_with_its_offers_and_blobs() {
    let mut server = NatsServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let home = home(&address(&server)).await.unwrap();
    let mut news = home.follow().await.unwrap();
    let worker = worker(&address(&server), folder.path(), "one").await.unwrap();
    home.offer(offer(1, &[])).await.unwrap();
    let blob = file(folder.path(), "blob", 500_000, 1);
    let id = home.put_blob(&one(), &blob).await.unwrap();
    server.kill();
    disconnected(&home).await;
    let offered = home.offer(offer(2, &[])).await;
    assert!(matches!(offered, Err(CourierError::Down(_))), "{offered:?}");
    server.restart();
    until(&mut news, &HomeNews::Connected).await;
    exchange(&home, &mut news, &worker, "back").await;
    let claimed = soon("the offer", worker.claim(&labels(&[]))).await.unwrap();
    assert_eq!(claimed.bytes, "offer 1");
    claimed.lease.done().await.unwrap();
    let copy = folder.path().join("copy");
    soon("the blob", worker.get_blob(id, &copy)).await.unwrap();
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(blob).unwrap());
    // It was not taken for one that has lost its data.
    home.offer(offer(2, &[])).await.unwrap();
    let claimed = soon("the next offer", worker.claim(&labels(&[]))).await.unwrap();
    assert_eq!(claimed.bytes, "offer 2");
    assert!(std::iter::from_fn(|| news.try_recv().ok()).all(|heard| heard != HomeNews::DataLost));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_has_lost_its_data_is_noticed_and_filled_again() {
    let mut server = NatsServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let home = home(&address(&server)).await.unwrap();
    let mut news = home.follow().await.unwrap();
    let worker = worker(&address(&server), folder.path(), "one").await.unwrap();
    home.offer(offer(1, &[])).await.unwrap();
    home.offer(offer(2, &["gpu"])).await.unwrap();
    let blob = file(folder.path(), "blob", 300_000, 2);
    let id = home.put_blob(&one(), &blob).await.unwrap();
    server.kill();
    server.wipe();
    server.restart();
    until(&mut news, &HomeNews::DataLost).await;
    assert!(nothing(worker.claim(&labels(&["gpu"]))).await);
    let missing = soon("no blob", worker.get_blob(id, &folder.path().join("x"))).await;
    assert!(matches!(missing, Err(CourierError::NoBlob(_))), "{missing:?}");
    // The same offers and blobs again.
    home.offer(offer(1, &[])).await.unwrap();
    home.offer(offer(2, &["gpu"])).await.unwrap();
    assert_eq!(home.put_blob(&one(), &blob).await.unwrap(), id);
    let mut got = Vec::new();
    for _ in 0..2 {
        let claimed = soon("an offer", worker.claim(&labels(&["gpu"]))).await.unwrap();
        claimed.lease.done().await.unwrap();
        got.push(claimed.bytes);
    }
    got.sort();
    assert_eq!(got, ["offer 1", "offer 2"]);
    soon("the blob", worker.get_blob(id, &folder.path().join("copy"))).await.unwrap();
}

/// The queue vanishes under a running server, and the next offer does not wait for the watch.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_makes_a_queue_that_is_gone_again() {
    let server = NatsServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let home = home(&address(&server)).await.unwrap();
    let worker = worker(&address(&server), folder.path(), "one").await.unwrap();
    home.offer(offer(1, &[])).await.unwrap();
    let other = async_nats::connect(server.url()).await.unwrap();
    let deleted = async_nats::jetstream::new(other).delete_stream("posse-me-tasks").await.unwrap();
    assert!(deleted.success);
    home.offer(offer(2, &[])).await.unwrap();
    let claimed = soon("an offer", worker.claim(&labels(&[]))).await.unwrap();
    assert_eq!(claimed.bytes, "offer 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_says_what_is_missing() {
    let server = NatsServer::start(&users());
    let side = |name: &str, names: &[&str]| {
        let name: WorkerName = name.parse().unwrap();
        NatsSide::Worker { name, labels: labels(names) }
    };
    let found = examine_nats(&user(&server, "home"), &owner(), &NatsSide::Home).await.unwrap();
    assert_eq!((found.version.as_str(), found.tls, found.rights_known), ("2.15.1", false, true));
    assert_eq!((&found.jetstream, found.sync), (&Ok(()), BrokerSync::Unknown));
    assert_eq!((found.missing_publish, found.missing_subscribe), (vec![], vec![]));
    let found = examine_nats(&user(&server, "one"), &owner(), &side("one", &["gpu"])).await.unwrap();
    assert_eq!((found.missing_publish, found.missing_subscribe), (vec![], vec![]));
    let found = examine_nats(&user(&server, "one"), &owner(), &side("one", &["gpu", "new"])).await.unwrap();
    assert_eq!(
        found.missing_publish,
        [
            "$JS.API.CONSUMER.INFO.posse-me-tasks.l-new",
            "$JS.API.CONSUMER.MSG.NEXT.posse-me-tasks.l-new",
            "$JS.ACK.posse-me-tasks.l-new.>"
        ]
    );
    let other = examine_nats(&user(&server, "one"), &owner(), &side("two", &[])).await;
    // It cannot even hear the answers to its questions there.
    assert!(other.is_ok_and(|found| !found.rights_known));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_sees_how_the_disk_is_synced_where_it_may() {
    let server =
        NatsServer::start("accounts { $SYS { users: [ { user: \"sys\", password: \"pass\" } ] } }\n");
    let found = examine_nats(&user(&server, "sys"), &owner(), &NatsSide::Home).await.unwrap();
    assert_eq!(found.sync, BrokerSync::Always);
    assert!(found.jetstream.is_err(), "the system account has no queues");
}

#[tokio::test(flavor = "multi_thread")]
async fn encryption_is_asked_for_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let files = NatsCertificates::make(folder.path());
    let server = NatsServer::start(&files.configuration());
    let with = |ca_file: Option<PathBuf>| NatsAddress { ca_file, ..address(&server) };
    let home_side = home(&with(Some(files.authority.clone()))).await.unwrap();
    let worker_side = worker(&with(Some(files.authority.clone())), folder.path(), "one").await.unwrap();
    home_side.offer(offer(1, &[])).await.unwrap();
    let claimed = soon("an offer", worker_side.claim(&labels(&[]))).await.unwrap();
    assert_eq!(claimed.bytes, "offer 1");
    let found = examine_nats(&with(Some(files.authority.clone())), &owner(), &NatsSide::Home).await.unwrap();
    assert!(found.tls);
    // The system's authorities do not vouch for it, and neither does another one.
    assert!(home(&with(None)).await.is_err());
    let other = tempfile::tempdir().unwrap();
    let stranger = NatsCertificates::make(other.path());
    assert!(home(&with(Some(stranger.authority))).await.is_err());
    // A server that does not encrypt is not spoken with where encryption is needed.
    let plain = NatsServer::start("");
    let asked = NatsAddress { ca_file: Some(files.authority), ..address(&plain) };
    assert!(home(&asked).await.is_err());
    let asked = NatsAddress { url: format!("tls://127.0.0.1:{}", plain.port()), ..NatsAddress::default() };
    assert!(home(&asked).await.is_err());
}

/// Off this machine nothing is sent in the clear: a plain server that is reached by another of this machine's names is refused.
#[tokio::test(flavor = "multi_thread")]
async fn plain_connections_stay_on_this_machine() {
    let cases = [
        ("http://127.0.0.1", "is none"),
        ("ws://127.0.0.1", "neither nats:// nor tls://"),
        ("nats://me:secret@127.0.0.1", "has a user or password in it"),
        ("nats://", "has no host"),
    ];
    for (url, says) in cases {
        let wrong = home(&NatsAddress { url: url.to_owned(), ..NatsAddress::default() }).await;
        let wrong = wrong.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(wrong.contains(says) && !wrong.contains("secret"), "{url}: {wrong}");
    }
    // 0.0.0.0 leads to this machine, but is not known to: the server has no TLS, so nothing is said to it.
    let server = NatsServer::start("");
    let elsewhere =
        NatsAddress { url: format!("nats://0.0.0.0:{}", server.port()), ..NatsAddress::default() };
    let refused = home(&elsewhere).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("has to be encrypted"), "{refused}");
    let shown = format!("{:?}", user(&server, "me"));
    assert!(!shown.contains("pass\"") && shown.contains("me"), "{shown}");
}

/// A repeated offer costs nothing, and one that a newer one has replaced is not given out.
#[tokio::test(flavor = "multi_thread")]
async fn many_offers_go_to_many_workers_each_once() {
    let server = NatsServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let home = home(&address(&server)).await.unwrap();
    for number in 0..60 {
        home.offer(offer(number, &[])).await.unwrap();
        home.offer(PostedOffer { attempt: 2, ..offer(number, &[]) }).await.unwrap();
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..6 {
        let worker = worker(&address(&server), folder.path(), &format!("w{number}")).await.unwrap();
        tasks.spawn(async move {
            let mut got = Vec::new();
            let none = labels(&[]);
            while let Ok(Ok(claimed)) =
                tokio::time::timeout(Duration::from_secs(1), worker.claim(&none)).await
            {
                claimed.lease.done().await.unwrap();
                got.push(claimed.bytes);
            }
            got
        });
    }
    let mut got: Vec<Bytes> = soon("all offers", tasks.join_all()).await.into_iter().flatten().collect();
    got.sort();
    let mut expected: Vec<Bytes> = (0..60).map(|number| Bytes::from(format!("offer {number}"))).collect();
    expected.sort();
    assert_eq!(got, expected);
}
