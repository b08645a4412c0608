//! The shelf of blobs: what it keeps, drops and refuses.

use std::sync::Arc;

use posse_cluster::{BlobId, BlobShelf, CourierError, WhenFull};

use crate::fixture::file;

#[tokio::test]
async fn a_cache_drops_what_was_not_used_for_longest() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = BlobShelf::open(&folder.path().join("shelf"), 1_000, WhenFull::DropOldest).await.unwrap();
    let mut ids = Vec::new();
    for number in 0..3 {
        let from = file(folder.path(), "from", 300, number);
        ids.push(shelf.put(&from).await.unwrap());
    }
    shelf.take_out(ids[0], &folder.path().join("used")).await.unwrap();
    ids.push(shelf.put(&file(folder.path(), "from", 300, 9)).await.unwrap());
    let there: Vec<bool> = ids.iter().map(|id| shelf.has(*id)).collect();
    assert_eq!((there, shelf.bytes()), (vec![true, false, true, true], 900));
    let large = shelf.put(&file(folder.path(), "from", 1_001, 10)).await;
    assert!(matches!(large, Err(CourierError::BlobTooLarge { .. })), "{large:?}");
    assert_eq!(shelf.bytes(), 900);
    // What is there is found again, and what was half-written is not.
    std::fs::write(folder.path().join("shelf/1-2.part"), "half").unwrap();
    let again = BlobShelf::open(&folder.path().join("shelf"), 1_000, WhenFull::DropOldest).await.unwrap();
    assert_eq!(again.bytes(), 900);
    assert_eq!(std::fs::read_dir(folder.path().join("shelf")).unwrap().count(), 3);
}

#[tokio::test]
async fn what_others_need_does_not_go_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = BlobShelf::open(&folder.path().join("shelf"), 1_000, WhenFull::Refuse).await.unwrap();
    let first = shelf.put(&file(folder.path(), "from", 600, 1)).await.unwrap();
    let second = shelf.put(&file(folder.path(), "from", 600, 2)).await;
    assert!(matches!(second, Err(CourierError::BlobTooLarge { bytes: 600, max: 400 })), "{second:?}");
    // The same again needs no room.
    assert_eq!(shelf.put(&file(folder.path(), "from", 600, 1)).await.unwrap(), first);
    shelf.remove(first).await.unwrap();
    shelf.remove(first).await.unwrap();
    shelf.put(&file(folder.path(), "from", 600, 2)).await.unwrap();
    assert_eq!(shelf.bytes(), 600);
}

/// Of many that are put at the same time, together no more than there is room for is on the disk at any moment.
#[tokio::test(flavor = "multi_thread")]
async fn parts_take_room_while_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shelf");
    let shelf = Arc::new(BlobShelf::open(&place, 1_000_000, WhenFull::Refuse).await.unwrap());
    let mut puts = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (shelf, from) = (Arc::clone(&shelf), file(folder.path(), &format!("{number}"), 400_000, number));
        puts.spawn(async move { shelf.put(&from).await.is_ok() });
    }
    let taken = |place: &std::path::Path| {
        let files = std::fs::read_dir(place).unwrap().flatten();
        files.map(|entry| entry.metadata().map_or(0, |about| about.len())).sum::<u64>()
    };
    let (mut most, mut stored) = (0, 0_u64);
    loop {
        most = most.max(taken(&place));
        match tokio::time::timeout(std::time::Duration::from_millis(1), puts.join_next()).await {
            Ok(Some(put)) => stored += u64::from(put.unwrap()),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    assert!(most <= 1_000_000 && stored <= 2, "{most} bytes, {stored} blobs");
    assert_eq!((shelf.bytes(), taken(&place)), (stored * 400_000, stored * 400_000));
    // What was refused takes no room any more.
    if stored < 2 {
        shelf.put(&file(folder.path(), "last", 600_000, 99)).await.unwrap();
    }
}

#[tokio::test]
async fn a_damaged_blob_is_as_good_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = BlobShelf::open(&folder.path().join("shelf"), 1_000, WhenFull::DropOldest).await.unwrap();
    let id = shelf.put(&file(folder.path(), "from", 100, 1)).await.unwrap();
    std::fs::write(folder.path().join("shelf").join(id.to_string()), "other").unwrap();
    let to = folder.path().join("to");
    assert!(matches!(shelf.take_out(id, &to).await, Err(CourierError::BadBlob(bad)) if bad == id));
    assert!(matches!(shelf.take_out(id, &to).await, Err(CourierError::NoBlob(_))));
    assert!(!to.exists() && !shelf.has(id));
    assert_eq!(BlobId::of(b"").unwrap().to_string().parse::<BlobId>().unwrap(), BlobId::of(b"").unwrap());
}
