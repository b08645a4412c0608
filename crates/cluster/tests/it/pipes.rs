//! Pipes that say anything: hostile frames end their own connection and nothing else, and large blobs delay no message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use posse_cluster::{
    BlobId, BlobShelves, CourierError, HomeCourier, HomeNews, PipeHome, PipeWorker, PostedOffer, WhenFull,
    WorkerCourier, WorkerName,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::fixture::{file, home_message, labels, nothing, offer, shelf, shelves, soon};

const MAGIC: &[u8] = b"\0posse pipe 1\n";

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = (body.len() as u32 + 1).to_be_bytes().to_vec();
    frame.push(kind);
    frame.extend_from_slice(body);
    frame
}

fn home(folder: &tempfile::TempDir) -> PipeHome {
    PipeHome::new(shelves(&folder.path().join("shelves")))
}

/// Says something to home as a worker, and tells how that ended.
async fn say(home: &PipeHome, bytes: &[u8]) -> String {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(ours);
    let mut end = home.add(&"stranger".parse().unwrap(), reader, writer).unwrap();
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let reading = tokio::spawn(async move {
        let mut heard = Vec::new();
        let _ = reader.read_to_end(&mut heard).await;
    });
    // Home may end the pipe before it has heard all of it.
    let _ = writer.write_all(bytes).await;
    let _ = writer.shutdown().await;
    drop(writer);
    let why = soon("the end of a pipe", end.ended()).await;
    reading.abort();
    why
}

#[tokio::test]
async fn hostile_frames_end_their_pipe_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let mut news = home.follow().await.unwrap();
    let greeting = [MAGIC, &frame(1, b"stranger")].concat();
    let greeted = |rest: &[u8]| [greeting.as_slice(), rest].concat();
    let id = [7; 32];
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), "ended too early"),
        ("noise for ever", vec![b'x'; 100_000], "does not speak this protocol"),
        ("no greeting", [MAGIC, &frame(2, b"x")].concat(), "did not say its name"),
        ("another name", [MAGIC, &frame(1, b"other")].concat(), "calls itself other"),
        ("no name", [MAGIC, &frame(1, b"a.b")].concat(), "bad name"),
        ("an end", greeted(&[]), "closed the pipe"),
        ("an empty frame", greeted(&[0; 4]), "bad length"),
        ("a huge frame", greeted(&[0xff; 4]), "bad length"),
        ("a frame that stops", greeted(&[0, 0, 0, 9, 2, 1]), "ended too early"),
        ("a length that stops", greeted(&[0, 0]), "ended too early"),
        ("an unknown kind", greeted(&frame(99, b"")), "unknown kind"),
        ("labels that are none", greeted(&frame(3, b"{}")), "invalid type"),
        ("too many labels", greeted(&frame(3, &many_labels())), "too many labels"),
        ("a short key", greeted(&frame(6, &[0; 31])), "too short"),
        ("a long key", greeted(&frame(6, &[0; 33])), "too long"),
        ("a short blob", greeted(&frame(8, &[0; 31])), "too short"),
        ("a frame of home's", greeted(&frame(5, &[0; 40])), "frame of home's"),
        ("a blob that is another", greeted(&blob_lies(&id)), "closed the pipe"),
        ("parts of no blob", greeted(&frame(11, &[0; 100])), "closed the pipe"),
        (
            "a blob too large",
            greeted(&frame(10, &[[7; 32].as_slice(), &[0xff; 8]].concat())),
            "closed the pipe",
        ),
    ];
    assert_eq!(cases.len(), 20);
    for (what, bytes, says) in cases {
        let why = say(&home, &bytes).await;
        assert!(why.contains(says), "{what}: {why}");
        assert_eq!(soon(what, news.recv()).await, Some(HomeNews::WorkerGone("stranger".parse().unwrap())));
    }
    let taken = home.get_blob(&"stranger".parse().unwrap(), BlobId::from(id), &folder.path().join("x")).await;
    assert!(matches!(taken, Err(CourierError::NoBlob(_))), "{taken:?}");
    // Home works as before.
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let worker = connect(&home, &folder, "good", ours, theirs).await;
    worker.hello(Bytes::from("good")).await.unwrap();
    assert_eq!(home_message(&mut news).await, "good");
}

fn many_labels() -> Vec<u8> {
    let names: Vec<String> = (0..100).map(|number| format!("\"l{number}\"")).collect();
    format!("[{}]", names.join(",")).into_bytes()
}

fn blob_lies(id: &[u8; 32]) -> Vec<u8> {
    let begin = frame(10, &[id.as_slice(), &5_u64.to_be_bytes()].concat());
    let part = frame(11, &[id.as_slice(), b"hello"].concat());
    [begin, part, frame(12, id)].concat()
}

async fn connect(
    home: &PipeHome,
    folder: &tempfile::TempDir,
    name: &str,
    ours: DuplexStream,
    theirs: DuplexStream,
) -> PipeWorker {
    let cache = shelf(&folder.path().join(format!("cache of {name}")), WhenFull::DropOldest).await;
    let (reader, writer) = tokio::io::split(ours);
    home.add(&name.parse().unwrap(), reader, writer).unwrap();
    let (reader, writer) = tokio::io::split(theirs);
    PipeWorker::start(&name.parse().unwrap(), Arc::new(cache), reader, writer)
}

#[tokio::test]
async fn random_bytes_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let mut news = home.follow().await.unwrap();
    tokio::spawn(async move { while news.recv().await.is_some() {} });
    let greeting = [MAGIC, &frame(1, b"stranger")].concat();
    let mut count = 0;
    for seed in 0..400_u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = if rng.bool() { greeting.clone() } else { Vec::new() };
        for _ in 0..rng.usize(0..8) {
            let mut body = vec![0; rng.usize(0..200)];
            rng.fill(&mut body);
            match rng.u8(0..3) {
                0 => bytes.extend(body),
                _ => bytes.extend(frame(rng.u8(0..18), &body)),
            }
        }
        bytes.truncate(rng.usize(0..=bytes.len()));
        say(&home, &bytes).await;
        count += 1;
    }
    assert_eq!(count, 400);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("shelves/stranger")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A worker is as careful with home.
#[tokio::test]
async fn a_worker_survives_a_hostile_home() {
    let folder = tempfile::tempdir().unwrap();
    for (number, bytes) in [
        b"noise".to_vec(),
        [MAGIC, &[0xff; 4]].concat(),
        [MAGIC, &frame(3, b"[]")].concat(),
        [MAGIC, &frame(10, &[0; 40]), &frame(11, &[0; 64]), &frame(12, &[0; 32])].concat(),
    ]
    .into_iter()
    .enumerate()
    {
        let cache = shelf(&folder.path().join(format!("{number}")), WhenFull::DropOldest).await;
        let (mut ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let worker = PipeWorker::start(&"one".parse().unwrap(), Arc::new(cache), reader, writer);
        ours.write_all(&bytes).await.unwrap();
        ours.shutdown().await.unwrap();
        let claimed = soon("the end", worker.claim(&labels(&[]))).await;
        assert!(matches!(claimed, Err(CourierError::Closed)), "{claimed:?}");
        assert_eq!(std::fs::read_dir(folder.path().join(format!("{number}"))).unwrap().count(), 0);
    }
}

/// What a login prints before the worker speaks is passed over.
#[tokio::test]
async fn words_of_a_login_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let mut news = home.follow().await.unwrap();
    let said = [b"Welcome to host\n\0posse pi\0".as_slice(), MAGIC, &frame(1, b"stranger"), &frame(2, b"hi")];
    assert_eq!(say(&home, &said.concat()).await, "it has closed the pipe");
    assert_eq!(home_message(&mut news).await, "hi");
}

/// The new pipe of a worker replaces its old one, which may not have noticed that it is dead.
#[tokio::test]
async fn a_new_pipe_replaces_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let mut news = home.follow().await.unwrap();
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let old = connect(&home, &folder, "one", ours, theirs).await;
    home.offer(offer(1, &[])).await.unwrap();
    let _held = soon("an offer", old.claim(&labels(&[]))).await.unwrap();
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let new = connect(&home, &folder, "one", ours, theirs).await;
    let again = soon("the offer again", new.claim(&labels(&[]))).await.unwrap();
    assert_eq!(again.bytes, "offer 1");
    new.hello(Bytes::from("new")).await.unwrap();
    assert_eq!(home_message(&mut news).await, "new");
    assert!(matches!(soon("the end", old.claim(&labels(&[]))).await, Err(CourierError::Closed)));
}

/// A worker that says labels of others gets nothing that is for those.
#[tokio::test]
async fn a_worker_gets_offers_only_for_labels_that_home_knows_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    home.know("foe".parse().unwrap(), labels(&["linux"]));
    let ((ours, theirs), said) = (tokio::io::duplex(1 << 10), labels(&["gpu", "linux"]));
    let foe = connect(&home, &folder, "foe", ours, theirs).await;
    let mut claim = Box::pin(foe.claim(&said));
    home.offer(offer(1, &["gpu"])).await.unwrap();
    assert!(nothing(&mut claim).await, "it is not for it");
    home.offer(offer(2, &["linux"])).await.unwrap();
    assert_eq!(soon("the other offer", claim).await.unwrap().bytes, "offer 2");
}

/// A worker that takes each offer of an agent and never claims it leaves some to others.
#[tokio::test]
async fn who_takes_offers_and_does_not_claim_leaves_them_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let (none, (ours, theirs)) = (labels(&[]), tokio::io::duplex(1 << 10));
    let foe = connect(&home, &folder, "foe", ours, theirs).await;
    home.offer(offer(1, &[])).await.unwrap();
    let taken = soon("an offer", foe.claim(&none)).await.unwrap();
    let again = |attempt| PostedOffer { attempt, ..offer(1, &[]) };
    // Once its claim may just be late.
    home.offer(again(2)).await.unwrap();
    soon("the offer again", foe.claim(&none)).await.unwrap();
    let mut claim = Box::pin(foe.claim(&none));
    assert!(nothing(&mut claim).await);
    home.offer(again(3)).await.unwrap();
    assert!(nothing(&mut claim).await, "it had two");
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let other = connect(&home, &folder, "other", ours, theirs).await;
    assert_eq!(soon("the offer", other.claim(&none)).await.unwrap().bytes, taken.bytes);
    // It has rested, and nobody else wants one now.
    home.offer(again(4)).await.unwrap();
    soon("the offer once more", claim).await.unwrap();
    // Whoever had the agent and lost it is no such worker.
    home.offer(PostedOffer { epoch: 1, ..again(5) }).await.unwrap();
    soon("the next epoch", foe.claim(&none)).await.unwrap();
}

/// How much the files below a folder have.
fn bytes_below(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        _ => entry.metadata().map_or(0, |about| about.len()),
    };
    entries.map(bytes).sum()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    soon(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A worker fills all the room that it has, with blobs and with parts of some that it never ends: others do not notice, and it is gone
/// some time after the worker is.
#[tokio::test]
async fn a_worker_fills_its_own_room_and_no_other() {
    const ROOM_BYTES: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shelves");
    let shelves = BlobShelves::new(place.clone(), ROOM_BYTES).with_uploads_kept_ms(3_000);
    let home = PipeHome::new(shelves);
    let mut news = home.follow().await.unwrap();
    let (good, foe): (WorkerName, WorkerName) = ("good".parse().unwrap(), "foe".parse().unwrap());
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let worker = connect(&home, &folder, "good", ours, theirs).await;
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(ours);
    let _end = home.add(&foe, reader, writer).unwrap();
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let answers = tokio::spawn(async move {
        let mut heard = Vec::new();
        let _ = reader.read_to_end(&mut heard).await;
        heard
    });
    writer.write_all(&[MAGIC, &frame(1, b"foe")].concat()).await.unwrap();
    // Two that are whole, and eight that are not: each of them alone would fit.
    let whole = |seed: u8| vec![seed; 200_000];
    for seed in [1, 2] {
        writer.write_all(&sent(&whole(seed), true)).await.unwrap();
    }
    for seed in 10..18 {
        writer.write_all(&sent(&vec![seed; 500_000], false)).await.unwrap();
    }
    writer.write_all(&frame(2, b"all is said")).await.unwrap();
    assert_eq!(home_message(&mut news).await, "all is said");
    let taken = bytes_below(&place.join("foe"));
    assert!((900_000..=ROOM_BYTES).contains(&taken), "{taken} bytes");
    // Home's room for others is all there, in both directions.
    let task = file(folder.path(), "task", 1_000_000, 7);
    let id = home.put_blob(&good, &task).await.unwrap();
    soon("the task", worker.get_blob(id, &folder.path().join("at good"))).await.unwrap();
    home.drop_blob(&good, id).await.unwrap();
    let id = soon("the work", worker.put_blob(&task)).await.unwrap();
    home.get_blob(&good, id, &folder.path().join("work")).await.unwrap();
    let full = home.put_blob(&foe, &task).await;
    assert!(matches!(full, Err(CourierError::BlobTooLarge { .. })), "{full:?}");
    // With the pipe its parts go, and later what it has sent. What home has put for it stays until home drops it.
    let kept = home.put_blob(&foe, &file(folder.path(), "kept", 10_000, 8)).await;
    writer.shutdown().await.unwrap();
    until("the parts are gone", || bytes_below(&place.join("foe")) <= 410_000).await;
    let kept = match kept {
        Ok(kept) => kept,
        Err(_) => home.put_blob(&foe, &file(folder.path(), "kept", 10_000, 8)).await.unwrap(),
    };
    let first = BlobId::of(&whole(1)).unwrap();
    home.get_blob(&foe, first, &folder.path().join("still there")).await.unwrap();
    let second = BlobId::of(&whole(2)).unwrap();
    until("the second is gone", || !place.join("foe").join(second.to_string()).exists()).await;
    // Home has used the first since, and says itself when it needs it no more.
    home.drop_blob(&foe, first).await.unwrap();
    assert_eq!(bytes_below(&place.join("foe")), 10_000);
    home.get_blob(&foe, kept, &folder.path().join("kept again")).await.unwrap();
    assert!(answers.await.unwrap().len() > MAGIC.len(), "it was told what is not taken");
    assert!(home.workers().iter().any(|seen| seen.name == good));
}

/// The frames of a blob, the last one or not.
fn sent(bytes: &[u8], is_whole: bool) -> Vec<u8> {
    let id = *BlobId::of(bytes).unwrap().bytes();
    let mut frames = frame(10, &[id.as_slice(), &(bytes.len() as u64).to_be_bytes()].concat());
    for piece in bytes.chunks(64 << 10) {
        frames.extend(frame(11, &[id.as_slice(), piece].concat()));
    }
    if is_whole {
        frames.extend(frame(12, &id));
    }
    frames
}

/// While a large blob is on its way over a slow pipe, messages arrive.
#[tokio::test]
async fn a_large_blob_delays_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let mut news = home.follow().await.unwrap();
    let (ours, near) = tokio::io::duplex(64 << 10);
    let (far, theirs) = tokio::io::duplex(64 << 10);
    let (mut near_reader, mut near_writer) = tokio::io::split(near);
    let (mut far_reader, mut far_writer) = tokio::io::split(far);
    // From worker to home: 64 KiB every 10 ms.
    tokio::spawn(async move {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count @ 1..) = far_reader.read(&mut piece).await {
            near_writer.write_all(&piece[..count]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    tokio::spawn(async move { tokio::io::copy(&mut near_reader, &mut far_writer).await });
    let worker = Arc::new(connect(&home, &folder, "one", ours, theirs).await);
    let large = file(folder.path(), "large", 12 << 20, 1);
    let begun = Instant::now();
    let sending = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.put_blob(&large).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut worst = Duration::ZERO;
    let mut beats = 0;
    while !sending.is_finished() {
        let sent = Instant::now();
        worker.hello(Bytes::from("beat")).await.unwrap();
        home_message(&mut news).await;
        worst = worst.max(sent.elapsed());
        beats += 1;
    }
    let id = sending.await.unwrap();
    let whole = begun.elapsed();
    home.get_blob(&"one".parse().unwrap(), id, &folder.path().join("copy")).await.unwrap();
    assert!(beats > 5 && worst * 4 < whole, "{beats} beats, the slowest in {worst:?} of {whole:?}");
    assert!(nothing(news.recv()).await);
}
