//! `meet` is a meet: it only ever narrows, and the order of meeting does not matter. Promise X6.

use posse_policy::meet;
use posse_protocol::Grant;

use crate::random::{for_each_seed, pool, rights};

#[test]
fn never_widens() {
    let pool = pool();
    for_each_seed(100_000, |rng| {
        let ((a, rights_a), (b, rights_b)) = (&pool[rng.usize(..pool.len())], &pool[rng.usize(..pool.len())]);
        assert_eq!(rights(&meet(a, b)), rights_a & rights_b, "{a:?} and {b:?}");
    });
}

#[test]
fn is_a_meet() {
    let pool = pool();
    for_each_seed(50_000, |rng| {
        let [a, b, c] = [0; 3].map(|_| &pool[rng.usize(..pool.len())].0);
        let both = meet(a, b);
        assert_eq!(both, meet(b, a));
        assert_eq!(meet(&both, c), meet(a, &meet(b, c)));
    });
    assert!(pool.iter().all(|(a, _)| meet(a, a) == *a && meet(a, &Grant::full()) == *a));
}
