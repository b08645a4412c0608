//! What workers send that is not on record yet: however much that is, it takes little memory, and nothing of it is lost.

use std::time::Duration;

use posse_cluster::{BlobId, LeaseTimes, RawBody, RunUp, WorkerCourier as _, limits};
use posse_engine::remote::{Seat, SeatCommand, SeatEvent};
use posse_protocol::{EventKind, Sender};
use serde_json::json;

use crate::fixture::{agent, memory_mb, soon};
use crate::hostile::foe::raw;
use crate::seats::HeldSeats;

/// Long items of each agent.
const ITEMS: u64 = 2;
/// A quarter of what one can have.
const ITEM_BYTES: u64 = limits::ITEM_BLOB_BYTES_MAX / 4;
/// One item is in memory as it came, and its contents, and little else.
const GROWTH_MB_MAX: u64 = 130;

/// A long item: an event, and the contents of one file.
async fn long_item(held: &HeldSeats) -> RawBody {
    let item = json!({"kind": EventKind::told(Sender::Parent, "do it")});
    let head = format!("{{\"item\":{item},\"contents\":{{\"{}\":\"", "a".repeat(64));
    let room = usize::try_from(ITEM_BYTES).unwrap() - head.len() - 3;
    let path = held.folder.path().join("long item");
    std::fs::write(&path, format!("{head}{}\"}}}}", "A".repeat(room / 4 * 4))).unwrap();
    let blob: BlobId = held.workers[0].put_blob(&path).await.unwrap();
    raw(&json!({ "blob": blob }))
}

fn waiting(seats: &[Seat; 2]) -> usize {
    seats.iter().map(|seat| seat.events.len()).sum()
}

/// Each letter has a hundred bytes and names the same long blob. Two agents of one worker tell such things, and nobody takes them.
#[tokio::test(flavor = "multi_thread")]
async fn long_items_that_nobody_records_take_the_memory_of_one() {
    let held = HeldSeats::new(1, LeaseTimes::for_lease(600_000));
    let agents = [agent(1), agent(2)];
    let mut seats = agents.map(|agent| held.seat(agent, "anywhere"));
    let item = long_item(&held).await;
    let before = memory_mb();
    let say_all = async || {
        for agent in agents {
            for first in 1..=ITEMS {
                held.say(0, agent, RunUp::Items { epoch: 1, first, items: vec![item.clone()] }).await;
            }
        }
    };
    soon("the first item", async {
        while waiting(&seats) == 0 {
            say_all().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    })
    .await;
    // Long enough for the others, if they were read.
    for _ in 0..10 {
        say_all().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let grown = memory_mb().saturating_sub(before);
    assert_eq!(waiting(&seats), 1, "the others wait for it");
    assert!(grown <= GROWTH_MB_MAX, "{grown} MB more");
    let mut recorded = [0, 0];
    soon("all of them", async {
        while recorded != [ITEMS; 2] {
            for (seat, recorded) in seats.iter_mut().zip(&mut recorded) {
                while let Ok(event) = seat.events.try_recv() {
                    let SeatEvent::Items { items, contents } = event else { panic!("{event:?}") };
                    assert_eq!((items.len(), contents.len()), (1, 1));
                    *recorded += 1;
                    seat.commands.send(SeatCommand::Recorded(*recorded)).unwrap();
                }
            }
            say_all().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    })
    .await;
}
