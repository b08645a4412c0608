//! A process that is about to end leaves the log to the next one, unless it is long.

use posse_protocol::*;
use posse_store::limits::LOG_LEFT_BYTES_MAX;

use crate::fixture::*;

#[test]
fn a_short_log_is_left_and_a_long_one_is_moved() {
    const TEXT_BYTES: usize = 7_900;
    let enough = usize::try_from(LOG_LEFT_BYTES_MAX).unwrap() / TEXT_BYTES + 1;
    let cases = [(1, true), (enough, false)];
    for (events, left) in cases {
        let Record { store, path, dir, .. } = record();
        wait(store.append(start(1))).unwrap();
        let finished = EventKind::ToolFinished {
            call: CallId("c1".into()),
            tool: "read".into(),
            ok: true,
            text: "x".repeat(TEXT_BYTES),
            attachments: Vec::new(),
            effects: vec![],
            duration_ms: 1,
        };
        // Nobody waits for these.
        drop(store.append(vec![event(1, finished); events]));
        store.leave().unwrap();
        assert_eq!(path.with_extension("db-wal").exists(), left, "{events} events");
        let next = quiet(&path).unwrap();
        assert_eq!(next.find_session("last").unwrap().last_seq, Seq(2 + events as u64));
        drop((next, dir));
    }
}
