// Rows of the tree, the part of them on the screen, bars of time, keys.

import test from "node:test";
import assert from "node:assert/strict";
import { bars, timeSpan, treeKey, treeRows, visibleRows } from "../tree-rows.js";

const AGENTS = [["main", null], ["a", "main"], ["b", "main"], ["a1", "a"], ["a2", "a"], ["a11", "a1"]].map(([id, parent]) => ({ id, parent }));
const shown = (rows) => rows.map(({ agent, depth, kids, open }) => `${"-".repeat(depth)}${agent.id}${kids ? (open ? "▾" : "▸") : ""}`).join(" ");

test("the tree is in the order of creation below each parent", () => {
  assert.equal(shown(treeRows(AGENTS, new Set())), "main▾ -a▾ --a1▾ ---a11 --a2 -b");
  assert.equal(shown(treeRows(AGENTS, new Set(["a"]))), "main▾ -a▸ -b");
  assert.equal(shown(treeRows(AGENTS, new Set(["main", "b"]))), "main▸");
  assert.equal(shown(treeRows([{ id: "x", parent: "gone" }], new Set())), "x", "one whose parent is not known is shown all the same");
});

test("as many rows are in the page wherever the reader is", () => {
  assert.deepEqual(visibleRows(1000, 44, 0, 440), [0, 23]);
  assert.deepEqual(visibleRows(1000, 44, 4400, 440), [94, 117]);
  assert.deepEqual(visibleRows(1000, 44, 4421, 440), [94, 117]);
  assert.deepEqual(visibleRows(1000, 44, 1e9, 440), [977, 1000]);
  assert.deepEqual(visibleRows(5, 44, 0, 440), [0, 5]);
  assert.deepEqual(visibleRows(0, 44, 0, 440), [0, 0]);
});

test("bars are parts of the whole time", () => {
  const span = timeSpan({ started_at_ms: 1000, last_at_ms: 1500 }, true, 2000);
  assert.deepEqual(span, { from: 1000, to: 2000 });
  assert.deepEqual(timeSpan({ started_at_ms: 1000, last_at_ms: 1500 }, false, 9000), { from: 1000, to: 1500 });
  assert.deepEqual(timeSpan({ started_at_ms: 1000, last_at_ms: 1000 }, false, 0), { from: 1000, to: 1001 });
  const agent = { queued_at_ms: 1100, started_at_ms: 1300, ended_at_ms: null, interrupted_at_ms: null };
  assert.deepEqual(bars(agent, span), [{ kind: "queued", left: 10, width: 20 }, { kind: "work", left: 30, width: 70 }]);
  assert.deepEqual(bars({ ...agent, queued_at_ms: null, ended_at_ms: 1800 }, span), [{ kind: "work", left: 30, width: 50 }]);
  assert.deepEqual(bars({ ...agent, queued_at_ms: null }, span, [1700, 1600]).at(-1), { kind: "asks", left: 60, width: 40 });
  assert.deepEqual(bars({ ...agent, started_at_ms: null, interrupted_at_ms: 1400 }, span), [{ kind: "queued", left: 10, width: 30 }]);
  assert.deepEqual(bars({ queued_at_ms: null, started_at_ms: null, ended_at_ms: null }, span), []);
});

test("keys walk through the tree", () => {
  const rows = treeRows(AGENTS, new Set(["a1"]));
  const cases = [
    ["main", "ArrowDown", { to: "a" }], ["main", "ArrowUp", { to: "main" }], ["b", "ArrowDown", { to: "b" }],
    ["a1", "ArrowRight", { open: "a1" }], ["a", "ArrowRight", { to: "a1" }], ["b", "ArrowRight", {}],
    ["a", "ArrowLeft", { close: "a" }], ["a2", "ArrowLeft", { to: "a" }], ["a1", "End", { to: "b" }], ["b", "Home", { to: "main" }],
    ["gone", "ArrowDown", { to: "a" }], ["a", "x", null],
  ];
  for (const [current, key, want] of cases) assert.deepEqual(treeKey(rows, current, key), want, `${current} ${key}`);
});
