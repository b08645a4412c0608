//! Looking again and again shows something only when a state has changed.

use posse_delegate::StatusLook;
use posse_protocol::Spent;

use crate::scene::{MAIN, admit, id, ids, settle, tree_of};

fn changed<const N: usize>(numbers: [u64; N]) -> StatusLook {
    StatusLook::Changed(ids(numbers))
}

#[test]
fn polling_is_answered_with_unchanged() {
    let mut tree = tree_of(2);
    assert_eq!(tree.look(id(MAIN), None), changed([]));
    assert_eq!(tree.look(id(MAIN), None), StatusLook::Unchanged);
    admit(&mut tree, MAIN, [1, 2, 3]);
    assert_eq!(tree.look(id(MAIN), None), changed([1, 2, 3]));
    assert_eq!(tree.look(id(MAIN), None), StatusLook::Unchanged);
    tree.spent(id(1), &Spent { turns: 3, ..Spent::default() }, 900);
    assert_eq!(tree.look(id(MAIN), None), StatusLook::Unchanged, "turns do not count");
    settle(&mut tree, 1);
    assert_eq!(tree.look(id(MAIN), None), changed([1, 2, 3]));
    assert_eq!(tree.look(id(MAIN), None), StatusLook::Unchanged);
}

#[test]
fn each_thing_and_each_looker_is_remembered_apart() {
    let mut tree = tree_of(4);
    admit(&mut tree, MAIN, [1, 2]);
    admit(&mut tree, 1, [3]);
    assert_eq!(tree.look(id(MAIN), Some(id(3))), changed([3]));
    assert_eq!(tree.look(id(1), Some(id(3))), changed([3]));
    assert_eq!(tree.look(id(MAIN), None), changed([1, 2]));
    for (by, of) in [(MAIN, Some(id(3))), (1, Some(id(3))), (MAIN, None)] {
        assert_eq!(tree.look(id(by), of), StatusLook::Unchanged);
    }
    tree.person_needed(id(3));
    assert_eq!(tree.look(id(MAIN), Some(id(3))), changed([3]));
    assert_eq!(tree.look(id(MAIN), None), StatusLook::Unchanged, "a grandchild is not a child");
    assert_eq!(tree.look(id(MAIN), Some(id(2))), changed([2]));
    tree.cancel(id(2));
    assert_eq!(tree.look(id(MAIN), Some(id(2))), changed([2]), "being stopped shows");
}

#[test]
fn what_is_not_below_is_never_remembered() {
    let mut tree = tree_of(4);
    admit(&mut tree, MAIN, [1, 2]);
    for _ in 0..2 {
        assert_eq!(tree.look(id(1), Some(id(2))), changed([2]));
        assert_eq!(tree.look(id(1), Some(id(9))), changed([]));
        assert_eq!(tree.look(id(9), None), changed([]));
    }
}

#[test]
fn waiting_for_a_slot_looks_like_waiting() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2]);
    tree.park(id(1));
    tree.look(id(MAIN), Some(id(1)));
    tree.unpark(id(1));
    assert_eq!(tree.look(id(MAIN), Some(id(1))), StatusLook::Unchanged);
}
