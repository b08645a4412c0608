//! What every courier does, whatever it is made of. Each case gets a place with one home and as many workers as it asks for.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use posse_cluster::{BlobId, CourierError, HomeCourier, HomeName, PostedOffer, Wants, WorkerCourier};

use crate::fixture::{agent, file, home_message, labels, nothing, offer, soon, worker_message};

/// Where a courier is tried.
pub(crate) trait Place: Send + Sync {
    fn home(&self) -> Arc<dyn HomeCourier>;
    fn home_name(&self) -> HomeName;
    fn worker<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Arc<dyn WorkerCourier>>;
    fn folder(&self) -> &Path;
}

/// Tries the whole contract, each case at a place of its own.
pub(crate) async fn keeps_the_contract<P: Place, F: Future<Output = P>>(place: impl Fn() -> F) -> usize {
    offers_reach_workers_that_fit(&place().await).await;
    offers_end_come_back_and_are_replaced(&place().await).await;
    offers_can_be_taken_back(&place().await).await;
    a_claim_that_is_dropped_loses_nothing(&place().await).await;
    messages_go_both_ways(&place().await).await;
    messages_have_a_limit(&place().await).await;
    blobs_go_both_ways(&place().await).await;
    workers_are_seen(&place().await).await;
    8
}

async fn claimed(
    worker: &Arc<dyn WorkerCourier>,
    names: &[&str],
) -> (Bytes, Box<dyn posse_cluster::OfferLease>) {
    let labels = labels(names);
    let claimed = soon("an offer", worker.claim(&labels)).await.unwrap();
    (claimed.bytes, claimed.lease)
}

async fn offers_reach_workers_that_fit(place: &dyn Place) {
    let (home, cpu, gpu) = (place.home(), place.worker("cpu").await, place.worker("gpu").await);
    home.offer(offer(1, &["gpu"])).await.unwrap();
    let named = Wants { name: Some("cpu".parse().unwrap()), ..Wants::default() };
    home.offer(PostedOffer { wants: named, ..offer(2, &[]) }).await.unwrap();
    home.offer(offer(3, &["gpu", "linux"])).await.unwrap();
    let (bytes, lease) = claimed(&gpu, &["gpu"]).await;
    assert_eq!(bytes, "offer 1");
    lease.renew().await.unwrap();
    lease.done().await.unwrap();
    assert!(nothing(gpu.claim(&labels(&["gpu"]))).await, "it lacks a label, and has another name");
    let (bytes, lease) = claimed(&cpu, &[]).await;
    assert_eq!(bytes, "offer 2");
    lease.done().await.unwrap();
    let (bytes, _) = claimed(&gpu, &["gpu", "linux"]).await;
    assert_eq!(bytes, "offer 3");
}

async fn offers_end_come_back_and_are_replaced(place: &dyn Place) {
    let (home, one, two) = (place.home(), place.worker("one").await, place.worker("two").await);
    home.offer(offer(1, &[])).await.unwrap();
    home.offer(offer(1, &[])).await.unwrap();
    let (_, lease) = claimed(&one, &[]).await;
    assert!(nothing(two.claim(&labels(&[]))).await, "the same offer twice is one offer");
    lease.give_back().await.unwrap();
    let (bytes, lease) = claimed(&two, &[]).await;
    assert_eq!(bytes, "offer 1");
    // A newer offer of the same agent is there although the older one is in somebody's hands.
    let newer = PostedOffer { attempt: 2, bytes: Bytes::from("newer"), ..offer(1, &[]) };
    home.offer(newer.clone()).await.unwrap();
    let (bytes, newer_lease) = claimed(&one, &[]).await;
    assert_eq!(bytes, "newer");
    // The end of the older one does not touch it.
    lease.done().await.unwrap();
    newer_lease.done().await.unwrap();
    home.offer(newer).await.unwrap();
    assert!(nothing(two.claim(&labels(&[]))).await, "it was used up");
}

async fn offers_can_be_taken_back(place: &dyn Place) {
    let (home, worker) = (place.home(), place.worker("one").await);
    home.offer(offer(1, &[])).await.unwrap();
    home.offer(offer(2, &[])).await.unwrap();
    home.withdraw(agent(1)).await.unwrap();
    home.withdraw(agent(9)).await.unwrap();
    let (bytes, _lease) = claimed(&worker, &[]).await;
    assert_eq!(bytes, "offer 2");
    assert!(nothing(worker.claim(&labels(&[]))).await);
}

async fn a_claim_that_is_dropped_loses_nothing(place: &dyn Place) {
    let (home, worker) = (place.home(), place.worker("one").await);
    for number in 1..=5 {
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(30), worker.claim(&labels(&[])))
                .await
                .is_err()
        );
        home.offer(offer(number, &[])).await.unwrap();
        let (bytes, lease) = claimed(&worker, &[]).await;
        assert_eq!(bytes, format!("offer {number}"));
        lease.done().await.unwrap();
    }
}

async fn messages_go_both_ways(place: &dyn Place) {
    let (home, one, two) = (place.home(), place.worker("one").await, place.worker("two").await);
    let mut at_home = home.follow().await.unwrap();
    let (mut at_one, mut at_two) = (one.follow().await.unwrap(), two.follow().await.unwrap());
    assert!(matches!(home.follow().await, Err(CourierError::Followed)));
    assert!(matches!(one.follow().await, Err(CourierError::Followed)));
    one.hello(Bytes::from("hello of one")).await.unwrap();
    assert_eq!(home_message(&mut at_home).await, "hello of one");
    two.hello(Bytes::from("hello of two")).await.unwrap();
    assert_eq!(home_message(&mut at_home).await, "hello of two");
    for number in 0..50 {
        one.append(&place.home_name(), Bytes::from(format!("up {number}"))).await.unwrap();
        assert_eq!(home_message(&mut at_home).await, format!("up {number}"));
        home.tell(&"two".parse().unwrap(), Bytes::from(format!("down {number}"))).await.unwrap();
        assert_eq!(worker_message(&mut at_two).await, format!("down {number}"));
    }
    let is_message = async {
        loop {
            if let Some(posse_cluster::WorkerNews::Message(_)) | None = at_one.recv().await {
                return;
            }
        }
    };
    assert!(nothing(is_message).await, "what is for another worker does not reach this one");
}

async fn messages_have_a_limit(place: &dyn Place) {
    let (home, one) = (place.home(), place.worker("one").await);
    let (mut at_home, mut at_one) = (home.follow().await.unwrap(), one.follow().await.unwrap());
    let longest = Bytes::from(vec![b'x'; home.message_bytes_max()]);
    let too_long = Bytes::from(vec![b'x'; home.message_bytes_max() + 1]);
    assert_eq!(home.message_bytes_max(), one.message_bytes_max());
    one.append(&place.home_name(), longest.clone()).await.unwrap();
    assert_eq!(home_message(&mut at_home).await.len(), longest.len());
    home.tell(&"one".parse().unwrap(), longest.clone()).await.unwrap();
    assert_eq!(worker_message(&mut at_one).await.len(), longest.len());
    let refused = [
        one.append(&place.home_name(), too_long.clone()).await,
        home.tell(&"one".parse().unwrap(), too_long.clone()).await,
        home.offer(PostedOffer { bytes: too_long, ..offer(1, &[]) }).await,
    ];
    for outcome in refused {
        assert!(matches!(outcome, Err(CourierError::TooLong { .. })), "{outcome:?}");
    }
}

async fn blobs_go_both_ways(place: &dyn Place) {
    let (home, one, two) = (place.home(), place.worker("one").await, place.worker("two").await);
    let folder = place.folder();
    let same = |a: &Path, b: &Path| std::fs::read(a).unwrap() == std::fs::read(b).unwrap();
    for (number, bytes) in [0, 1, 300_000, 3_000_000].into_iter().enumerate() {
        let down = file(folder, &format!("down {number}"), bytes, number as u64);
        for (worker, name) in [(&one, "one"), (&two, "two")] {
            let name = name.parse().unwrap();
            let id = soon("a blob of home", home.put_blob(&name, &down)).await.unwrap();
            assert_eq!(soon("the same again", home.put_blob(&name, &down)).await.unwrap(), id);
            for time in 0..2 {
                let copy = folder.join(format!("{name} {number} {time}"));
                soon("a blob at a worker", worker.get_blob(id, &copy)).await.unwrap();
                assert!(same(&down, &copy));
            }
        }
        let name = "one".parse().unwrap();
        let secret = file(folder, &format!("secret {number}"), bytes + 2, 200 + number as u64);
        let id = home.put_blob(&name, &secret).await.unwrap();
        let taken = soon("no blob for two", two.get_blob(id, &folder.join("taken"))).await;
        assert!(matches!(taken, Err(CourierError::NoBlob(of)) if of == id), "it is for another: {taken:?}");
        let up = file(folder, &format!("up {number}"), bytes + 1, 100 + number as u64);
        let id = soon("a blob of a worker", one.put_blob(&up)).await.unwrap();
        let copy = folder.join(format!("home {number}"));
        soon("a blob at home", home.get_blob(&name, id, &copy)).await.unwrap();
        assert!(same(&up, &copy));
        assert!(matches!(home.get_blob(&name, id, &copy).await, Err(CourierError::File(_))), "it exists");
        home.drop_blob(&name, id).await.unwrap();
        home.drop_blob(&name, id).await.unwrap();
        let gone = home.get_blob(&name, id, &folder.join("gone")).await;
        assert!(matches!(gone, Err(CourierError::NoBlob(missing)) if missing == id), "{gone:?}");
    }
    let missing = BlobId::of(b"nobody has this").unwrap();
    let gone = soon("no blob", two.get_blob(missing, &folder.join("never"))).await;
    assert!(matches!(gone, Err(CourierError::NoBlob(id)) if id == missing), "{gone:?}");
    assert!(!folder.join("never").exists());
}

async fn workers_are_seen(place: &dyn Place) {
    let (home, one, two) = (place.home(), place.worker("one").await, place.worker("two").await);
    let mut news = home.follow().await.unwrap();
    one.hello(Bytes::from("a")).await.unwrap();
    home_message(&mut news).await;
    two.append(&place.home_name(), Bytes::from("b")).await.unwrap();
    home_message(&mut news).await;
    let names: Vec<String> = home.workers().iter().map(|worker| worker.name.to_string()).collect();
    assert_eq!(names, ["one", "two"]);
    assert!(home.workers().iter().all(|worker| worker.silent_ms < 20_000));
}
