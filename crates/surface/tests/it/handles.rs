//! handle_read: slice, lines, count, JSONPath.

use posse_protocol::HandleRead;
use posse_surface::{AgentCommand, Surface, limits};
use serde_json::json;

use crate::{check, check_wrong};

#[test]
fn pieces() {
    let read = |read| AgentCommand::Read { handle: "h1".into(), read };
    let slice = |offset, length| read(HandleRead::Slice { offset, length });
    let lines = |from, to| read(HandleRead::Lines { from, to });
    let path = || read(HandleRead::JsonPath("$.a[0]".into()));
    let cases = [
        (json!({"handle": "h1"}), slice(0, limits::SLICE_CHARS)),
        (json!({"handle": "h1", "offset": 10, "length": 20}), slice(10, 20)),
        (json!({"handle": "h1", "offset": "10", "limit": "20"}), slice(10, 20)),
        (json!({"handle": "h1", "slice": {"offset": 10, "length": 20}}), slice(10, 20)),
        (json!({"handle": "h1", "from": 3, "to": 9}), lines(3, 9)),
        (json!({"handle": "h1", "range": {"from": 3, "to": 9}}), lines(3, 9)),
        (json!({"handle": "h1", "start_line": 3}), lines(3, 202)),
        (json!({"handle": "h1", "to": 9}), lines(1, 9)),
        (json!({"handle": "h1", "count": true}), read(HandleRead::Count)),
        (json!({"handle": "h1", "jsonpath": "$.a[0]"}), path()),
        (json!({"id": "h1", "json_path": " $.a[0] "}), path()),
        // As objects, as two numbers, and by the words of others.
        (json!({"handle": "h1", "slice": {"start": 10, "end": 30}}), slice(10, 20)),
        (json!({"handle": "h1", "slice": [10, 30]}), slice(10, 20)),
        (json!({"handle": "h1", "slice": "10:30"}), slice(10, 20)),
        (json!({"handle": "h1", "slice": "{\"offset\": 10, \"length\": 20}"}), slice(10, 20)),
        (json!({"handle": "h1", "start": 10, "end": 30}), slice(10, 20)),
        (json!({"handle": "h1", "range": {"start": 3, "end": 9}}), lines(3, 9)),
        (json!({"handle": "h1", "lines": {"from": 3, "to": 9}}), lines(3, 9)),
        (json!({"handle": "h1", "range": [3, 9]}), lines(3, 9)),
        (json!({"handle": "h1", "range": "3-9"}), lines(3, 9)),
        (json!({"handle": "h1", "projection": {"range": {"start": 3, "end": 9}}}), lines(3, 9)),
        (json!({"handle": "h1", "projection": {"count": true}}), read(HandleRead::Count)),
        (json!({"handle": "h1", "offset": 0}), slice(0, limits::SLICE_CHARS)),
        (json!({"handle": "h1", "offset": 0, "length": 7}), slice(0, 7)),
        // A model that fills in every field.
        (
            json!({"handle": "h1", "offset": 0, "length": 0, "from": 0, "to": 0, "count": false, "jsonpath": "$.a[0]"}),
            path(),
        ),
        (
            json!({"handle": "h1", "offset": 0, "length": 0, "from": 3, "to": 9, "count": false, "jsonpath": ""}),
            lines(3, 9),
        ),
        (
            json!({"handle": "h1", "offset": 0, "length": 0, "from": 0, "to": 0, "count": true, "jsonpath": null}),
            read(HandleRead::Count),
        ),
        (
            json!({"handle": "h1", "offset": 0, "length": 0, "from": 0, "to": 0, "count": false}),
            slice(0, limits::SLICE_CHARS),
        ),
        (
            json!({"handle": "h1", "offset": 5, "length": 0, "from": 0, "to": 0, "count": false, "jsonpath": ""}),
            slice(5, limits::SLICE_CHARS),
        ),
        (json!({"handle": "h1", "offset": 1e300f64 as u64}), slice(usize::MAX, limits::SLICE_CHARS)),
    ];
    assert_eq!(cases.len(), 30);
    for surface in [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate] {
        check(surface, "handle_read", &cases);
    }
}

#[test]
fn wrong_pieces() {
    let cases = [
        (json!({}), "`handle` is missing. handle_read takes: handle (required), offset,"),
        (json!({"handel": "h1"}), "you wrote `handel`"),
        (json!({"handle": "h1", "from": 9, "to": 3}), "`to` (3) is before `from` (9)"),
        (json!({"handle": "h1", "offset": -1}), "`offset` must be a whole number from 0"),
        (json!({"handle": "h1", "length": 0}), "`length` cannot be read: it must be 1 or more."),
        (json!({"handle": "h1", "offset": 3, "length": 0}), "`length` cannot be read"),
        (json!({"handle": "h1", "slice": {"start": 9, "end": 3}}), "it must be greater than offset"),
        (
            json!({"handle": "h1", "slice": {"start": 0, "end": 3, "length": 3}}),
            "give length or end, not both",
        ),
        (json!({"handle": "h1", "slice": {"start": 0, "step": 2}}), "There is no argument `step`"),
        (json!({"handle": "h1", "slice": 7}), "`slice` must be an object such as"),
        (json!({"handle": "h1", "range": "all"}), "`range` must be an object such as"),
        (json!({"handle": "h1", "range": [1, 2, 3]}), "`range` must be an object such as"),
        (json!({"handle": "h1", "range": {"from": 0, "to": 3}}), "lines count from 1"),
        (json!({"handle": "h1", "from": 0, "to": 3}), "lines count from 1"),
        (json!({"handle": "h1", "range": {"from": "a"}}), "`from` must be a whole number"),
        (json!({"handle": "h1", "from": -2}), "`from` must be a whole number from 0"),
        (json!({"handle": "h1", "count": "three"}), "`count` must be true or false"),
        (json!({"handle": "h1", "count": true, "jsonpath": "$"}), "You asked for jsonpath and count."),
        (json!({"handle": "h1", "offset": 1, "from": 1}), "A read is one of these: offset and length"),
        (json!({"handle": "h1", "slice": {"start": 0, "end": 9}, "jsonpath": "$"}), "jsonpath and slice"),
        (json!({"handle": "h1", "grep": "x"}), "There is no argument `grep`. handle_read takes: handle"),
        (json!({"handle": "h1", "ofset": 3}), "did you mean `offset`?"),
        (json!({"handle": "h".repeat(201)}), "`handle` is longer than 200 characters"),
        (json!({"handle": "h1", "jsonpath": "$".repeat(5_000)}), "`jsonpath` is longer than 4096 bytes"),
    ];
    assert_eq!(cases.len(), 24);
    check_wrong(Surface::Agent, "handle_read", &cases);
}
