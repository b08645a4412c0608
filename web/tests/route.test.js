// Addresses inside the page, what is typed in a prompt, and the order of the list of sessions.

import test from "node:test";
import assert from "node:assert/strict";
import { link, parseRoute, reviewLink } from "../route.js";
import { typedWord } from "../typed-word.js";
import { grouped } from "../session-groups.js";

test("addresses are read", () => {
  const cases = [
    ["", { name: "sessions", query: {} }],
    ["#/", { name: "sessions", query: {} }],
    ["#/nonsense/x", { name: "sessions", query: {} }],
    ["#/new?folder=%2Fa", { name: "new", query: { folder: "/a" } }],
    ["#/look/context/S/main", { name: "look", rest: ["context", "S", "main"], query: {} }],
    ["#/s/S", { name: "session", session: "S", agent: null, seq: null, query: {} }],
    ["#/s/S/a/A", { name: "session", session: "S", agent: "A", seq: null, query: {} }],
    ["#/s/S/a/A/e/12", { name: "session", session: "S", agent: "A", seq: 12, query: {} }],
    ["#/s/S/a/A/e/1x", { name: "session", session: "S", agent: "A", seq: null, query: {} }],
    ["#/s/S/review?agent=coder-1&turn=3", { name: "review", session: "S", query: { agent: "coder-1", turn: "3" } }],
    ["#/s/%E0%A4%A", { name: "session", session: "%E0%A4%A", agent: null, seq: null, query: {} }],
  ];
  for (const [hash, want] of cases) assert.deepEqual(parseRoute(hash), want, hash);
});

test("addresses that are written are read back", () => {
  assert.equal(link("S", "a b", 3), "#/s/S/a/a%20b/e/3");
  assert.equal(parseRoute(link("S", "a b/c")).agent, "a b/c");
  assert.equal(reviewLink("S", { agent: "", turn: 2 }), "#/s/S/review?turn=2");
  assert.equal(reviewLink("S"), "#/s/S/review");
});

test("files and commands are completed while they are typed", () => {
  assert.deepEqual(typedWord("/co"), { kind: "command", typed: "co", from: 1 });
  assert.deepEqual(typedWord("look at @src/m"), { kind: "file", typed: "src/m", from: 9 });
  assert.deepEqual(typedWord("@"), { kind: "file", typed: "", from: 1 });
  for (const text of ["", "a/b", "ada@home", "/undo all", "@src done"]) assert.equal(typedWord(text), null, text);
});

test("sessions that need the person come first, and each comes once", () => {
  const rows = [{ id: 1, status: "running" }, { id: 2, status: "completed" }, { id: 3, status: "resting" }, { id: 4, status: "running" }, { id: 1, status: "running" }, { id: 5, status: "interrupted" }];
  const groups = grouped(rows, [{ session: 4 }, { session: 4 }, { session: 9 }]);
  const ids = (name) => groups.get(name).map(({ id }) => id);
  assert.deepEqual(["needs_person", "running", "resting", "rest"].map(ids), [[4], [1], [3], [2, 5]]);
  assert.deepEqual(groups.get("needs_person")[0], { id: 4, status: "needs_person", questions: 2 });
});
