// What a review decides: extents, requests, marks, steps and the message that comments become.

import { test } from "node:test";
import assert from "node:assert/strict";
import * as state from "../review-state.js";

const view = {
  agents: [
    { id: "a", parent: null, name: "main", rests: true },
    { id: "b", parent: "a", name: "coder-1", ended_at_ms: 5 },
    { id: "c", parent: "a", name: "coder-1", ended_at_ms: null },
  ],
};
const hunk = (number) => ({ number, rows: [{ kind: "add", old: null, new: number, text: "x" }] });
const files = state.withMarks(
  [{ path: "a.rs", hunks: [hunk(1), hunk(2)] }, { path: "b.rs", hunks: [hunk(1)] }, { path: "image.png", hunks: [] }],
  [{ file: 0, hunk: 1, id: "h1", reviewed: true }, { file: 0, hunk: 2, id: "h2", reviewed: false }, { file: 1, hunk: 1, id: "h3", reviewed: false }],
);

test("an extent is the session, an agent or a turn", () => {
  const cases = [
    [[null, null], { agent: null, turn: null }, "session", "the whole session"],
    [["main", null], { agent: null, turn: null }, "session", "the whole session"],
    [["coder-1", null], { agent: "coder-1", turn: null }, { agent: "coder-1" }, "the work of coder-1 and the agents below it"],
    [["b", "3"], { agent: "coder-1", turn: 3 }, { turn: { agent: "coder-1", turn: 3 } }, "turn 3 of coder-1"],
    [[undefined, 2], { agent: null, turn: 2 }, { turn: { agent: null, turn: 2 } }, "turn 2 of the main agent"],
    [["nobody", "-1"], { agent: null, turn: null }, "session", "the whole session"],
    [[null, "1e3"], { agent: null, turn: null }, "session", "the whole session"],
  ];
  for (const [[agent, turn], want, undo, words] of cases) {
    const extent = state.extentOf(view, agent, turn);
    assert.deepEqual(extent, want);
    assert.deepEqual(state.rejection(extent, "x").undo.extent, undo);
    assert.equal(state.extentWords(extent), words);
  }
  assert.deepEqual(state.agentNames(view), ["main", "coder-1"]);
  assert.equal(state.agentOf(view, "coder-1").id, "c");
  assert.equal(state.agentOf(view, null).id, "a");
});

test("a rejection names a hunk or a file", () => {
  const extent = { agent: "coder-1", turn: null };
  assert.deepEqual(state.rejection(extent, "a.rs", 2), { undo: { extent: { agent: "coder-1" }, paths: [], hunks: [{ path: "a.rs", hunks: [2] }] } });
  assert.deepEqual(state.rejection(extent, "a.rs"), { undo: { extent: { agent: "coder-1" }, paths: ["a.rs"], hunks: [] } });
});

test("a chosen change is what the server takes", () => {
  const undo = (extent) => ({ undo: { extent, paths: [], hunks: [] } });
  const cases = [
    ["last", undo("last")], ["session", undo("session")], ["agent", undo({ agent: "coder-1" })],
    ["turn", undo({ turn: { agent: "coder-1", turn: 4 } })], ["rewind", { rewind: { turn: 4 } }], ["redo", "redo"],
  ];
  for (const [kind, want] of cases) assert.deepEqual(state.changeOf({ kind, agent: "coder-1", turn: "4" }), want);
});

test("marks are joined to hunks, set and counted", () => {
  assert.deepEqual(files.map(file => file.hunks.map(one => [one.key, one.id, one.reviewed])), [
    [["0-1", "h1", true], ["0-2", "h2", false]], [["1-1", "h3", false]], [],
  ]);
  assert.deepEqual(state.progress(files), { done: 1, all: 3 });
  const after = state.marked(files, ["h2"], true);
  assert.deepEqual(state.progress(after), { done: 2, all: 3 });
  assert.deepEqual(after[1], files[1]);
  assert.deepEqual(after.map(state.isDone), [true, false, false]);
});

test("steps go through hunks and files", () => {
  const cases = [
    [null, 1, false, "0-1"], [null, -1, false, "1-1"], ["0-1", 1, false, "0-2"], ["1-1", 1, false, "1-1"],
    ["0-1", -1, false, "0-1"], ["0-2", 1, true, "1-1"], ["1-1", -1, true, "0-1"], ["0-2", -1, true, "0-1"],
  ];
  for (const [from, by, whole, want] of cases) assert.equal(state.stepped(files, from, by, whole), want);
  assert.equal(state.stepped([], null, 1), null);
  assert.equal(state.nextOpen(files, "0-1"), "0-2");
  assert.equal(state.nextOpen(files, "1-1"), "0-2");
  assert.equal(state.nextOpen(state.marked(files, ["h2", "h3"], true), "1-1"), "1-1");
});

test("comments become one message, in the order of the files", () => {
  const drafts = [
    { path: "b.rs", place: "new:10", quote: "let b = 1;", text: " Why? " },
    { path: "a.rs", place: "old:7", quote: "old", text: "Keep it." },
    { path: "b.rs", place: "new:9", quote: "y".repeat(400), text: "Too long." },
  ];
  assert.equal(state.messageOf(drafts, { agent: "coder-1", turn: 2 }), [
    "I reviewed turn 2 of coder-1. Please act on these 3 comments:",
    "a.rs:7 (a removed line, by its old number)\n> old\nKeep it.",
    `b.rs:9\n> ${"y".repeat(300)}…\nToo long.`,
    "b.rs:10\n> let b = 1;\nWhy?",
  ].join("\n\n"));
  assert.match(state.messageOf(drafts.slice(0, 1), { agent: null, turn: null }), /^I reviewed the whole session\. Please act on this comment:/);
  assert.equal(state.placeOf({ kind: "del", old: 4, new: null }), "old:4");
  assert.equal(state.placeOf({ kind: "context", old: 4, new: 5 }), "new:5");
  assert.equal(state.placeOf({ kind: "note", old: null, new: null }), null);
});

test("a message reaches a running sub-agent, a resting or working main agent, or a session that nobody runs", () => {
  const resume = ["resume", { prompt: "t" }];
  const cases = [
    [view.agents[0], ["prompt", { text: "t" }]],
    [{ ...view.agents[0], rests: false }, ["tell", { agent: "main", text: "t", delivery: "next_turn" }]],
    [{ ...view.agents[0], rests: false, ended_at_ms: 9 }, ["prompt", { text: "t" }]],
    [view.agents[1], ["prompt", { text: "t" }]],
    [view.agents[2], ["tell", { agent: "coder-1", text: "t", delivery: "next_turn" }]],
  ];
  for (const [agent, first] of cases) assert.deepEqual(state.deliveries(agent, "t"), [first, resume]);
});
