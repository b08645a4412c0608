//! The board that a team shares.

use posse_delegate::{Board, BoardError, Item, ItemId, ItemState};

use crate::scene::id;

/// 1; 2 after 1; 3; 4 after 2 and 3.
fn board() -> Board {
    let mut board = Board::default();
    for (title, after) in [("parse", &[][..]), ("check", &[1]), ("draw", &[]), ("ship", &[3, 2, 3])] {
        let after: Vec<ItemId> = after.iter().copied().map(ItemId).collect();
        board.add(title, &after, id(0)).unwrap();
    }
    board
}

fn claimed(board: &mut Board, by: u64, number: Option<u32>) -> Result<u32, BoardError> {
    board.claim(id(by), number.map(ItemId)).map(|item| item.id.0)
}

#[test]
fn items_are_claimed_when_ready_by_one_agent() {
    let mut board = board();
    assert_eq!(claimed(&mut board, 1, None), Ok(1));
    assert_eq!(claimed(&mut board, 2, None), Ok(3), "2 waits for 1");
    assert_eq!(claimed(&mut board, 3, None), Err(BoardError::NothingReady { claimed: 2, waiting: 2 }));
    assert_eq!(claimed(&mut board, 2, Some(1)), Err(BoardError::Claimed { id: ItemId(1), by: id(1) }));
    assert_eq!(claimed(&mut board, 1, Some(1)), Ok(1), "again is fine");
    let waits_for = vec![ItemId(2), ItemId(3)];
    assert_eq!(claimed(&mut board, 3, Some(4)), Err(BoardError::NotReady { id: ItemId(4), waits_for }));
    assert_eq!(board.done(id(1), ItemId(1)), Ok(vec![ItemId(2)]));
    assert_eq!(claimed(&mut board, 1, Some(1)), Err(BoardError::Done { id: ItemId(1) }));
    assert_eq!(claimed(&mut board, 3, None), Ok(2));
    assert_eq!(board.done(id(2), ItemId(3)), Ok(vec![]));
    assert_eq!(board.done(id(3), ItemId(2)), Ok(vec![ItemId(4)]));
}

#[test]
fn only_the_owner_finishes_or_releases() {
    let mut board = board();
    claimed(&mut board, 1, Some(1)).unwrap();
    let not_yours = |number| Err(BoardError::NotYours { id: ItemId(number) });
    assert_eq!(board.release(id(2), ItemId(1)), not_yours(1));
    assert_eq!(board.done(id(2), ItemId(1)).map(drop), not_yours(1));
    assert_eq!(board.done(id(2), ItemId(3)).map(drop), not_yours(3), "claim first");
    assert_eq!(board.release(id(1), ItemId(1)), Ok(()));
    assert_eq!(claimed(&mut board, 2, None), Ok(1));
    board.done(id(2), ItemId(1)).unwrap();
    assert_eq!(board.release(id(2), ItemId(1)), Err(BoardError::Done { id: ItemId(1) }));
}

#[test]
fn what_an_ended_agent_had_comes_back() {
    let mut board = board();
    for number in [1, 3] {
        claimed(&mut board, 1, Some(number)).unwrap();
    }
    board.done(id(1), ItemId(1)).unwrap();
    claimed(&mut board, 1, Some(2)).unwrap();
    assert_eq!(board.release_all(id(1)), [ItemId(2), ItemId(3)]);
    assert_eq!(board.release_all(id(1)), []);
    let states: Vec<ItemState> = board.list().iter().map(|item| item.state).collect();
    assert_eq!(states, [ItemState::Done(id(1)), ItemState::Open, ItemState::Open, ItemState::Open]);
}

#[test]
fn unknown_items_are_refused_so_there_are_no_circles() {
    let mut board = board();
    for number in [0, 5, 6, u32::MAX] {
        let unknown = BoardError::Unknown { id: ItemId(number) };
        // The new item would be 5 itself.
        assert_eq!(board.add("x", &[ItemId(number)], id(1)), Err(unknown.clone()));
        assert_eq!(claimed(&mut board, 1, Some(number)), Err(unknown.clone()));
        assert_eq!(board.done(id(1), ItemId(number)), Err(unknown.clone()));
        assert_eq!(board.release(id(1), ItemId(number)), Err(unknown));
    }
    assert_eq!(board.list().len(), 4);
}

#[test]
fn titles_are_one_line_and_bounded() {
    let mut board = Board::default();
    for bad in ["", " \n ", "\u{7}", &"t".repeat(201)] {
        assert_eq!(board.add(bad, &[], id(1)), Err(BoardError::BadTitle));
    }
    board.add("fix\n#9 [done]\tit \u{1b}all", &[], id(1)).unwrap();
    board.add(&"ü".repeat(200), &[], id(1)).unwrap();
    let item = Item {
        id: ItemId(1),
        title: "fix #9 [done] it all".to_owned(),
        after: vec![],
        added_by: id(1),
        state: ItemState::Open,
    };
    assert_eq!(board.list()[0], item);
}

#[test]
fn the_board_is_bounded() {
    let mut board = Board::default();
    for number in 1..=500 {
        assert_eq!(board.add("work", &[], id(1)), Ok(ItemId(number)));
    }
    assert_eq!(board.add("more", &[], id(1)), Err(BoardError::Full));
}

#[test]
fn the_board_reads_well() {
    assert_eq!(Board::default().to_string(), "the board is empty");
    let mut board = board();
    claimed(&mut board, 1, None).unwrap();
    board.done(id(1), ItemId(1)).unwrap();
    claimed(&mut board, 2, Some(3)).unwrap();
    let name = |agent| if agent == id(1) { "scout".to_owned() } else { "painter".to_owned() };
    let want =
        "#1 [done by scout] parse\n#2 [ready] check\n#3 [claimed by painter] draw\n#4 [after #2, #3] ship";
    assert_eq!(board.text(name), want);
    assert!(board.to_string().contains(&format!("claimed by {}", id(2))));
    let error = BoardError::NotReady { id: ItemId(4), waits_for: vec![ItemId(2), ItemId(3)] };
    assert_eq!(error.to_string(), "#4 comes after #2, #3, not done yet: claim one of those or another item");
}

/// Many agents grab at once, end at random and start again: every item is done once, by one owner, in a good order.
#[test]
fn every_item_is_done_once_in_a_good_order() {
    let mut runs = 0;
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut board = Board::default();
        for number in 1..=30u32 {
            let after: Vec<ItemId> = (1..number).filter(|_| rng.u8(0..6) == 0).map(ItemId).collect();
            board.add("work", &after, id(0)).unwrap();
        }
        let mut done: Vec<ItemId> = Vec::new();
        for _ in 0..10_000 {
            let agent = rng.u64(1..6);
            if let Ok(item) = board.claim(id(agent), None) {
                assert!(item.after.iter().all(|before| done.contains(before)), "seed {seed}");
            }
            let mine = |item: &&Item| item.state == ItemState::Claimed(id(agent));
            match (rng.u8(0..4), board.list().iter().find(mine).map(|item| item.id)) {
                (0, _) => drop(board.release_all(id(agent))),
                (1..=2, Some(item)) => {
                    board.done(id(agent), item).unwrap();
                    done.push(item);
                }
                _ => {}
            }
            if rng.u8(0..50) == 0 {
                board = serde_json::from_str(&serde_json::to_string(&board).unwrap()).unwrap();
            }
            if done.len() == 30 {
                break;
            }
        }
        done.sort();
        done.dedup();
        assert_eq!(done.len(), 30, "seed {seed}");
        runs += 1;
    }
    assert_eq!(runs, 200);
}
