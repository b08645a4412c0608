// The geometry of plots: round ticks, scales that stay inside, pieces without gaps.

import { test } from "node:test";
import assert from "node:assert/strict";
import { barPlot, largest, scale, stacked, ticks, timeUnit } from "../plots.js";

test("ticks are round and reach the largest value", () => {
  const cases = [
    [100, 4, 1, [0, 25, 50, 75, 100]],
    [7, 4, 1, [0, 2, 4, 6, 8]],
    [0.03, 3, 1, [0, 0.01, 0.02, 0.03]],
    [7_200_000, 4, 3_600_000, [0, 1_800_000, 3_600_000, 5_400_000, 7_200_000]],
    [0, 4, 1, [0, 1]],
    [NaN, 4, 1, [0, 1]],
    [Infinity, 4, 5, [0, 5]],
  ];
  for (const [max, wanted, unit, want] of cases) assert.deepEqual(ticks(max, wanted, unit), want);
  for (const max of [1e-9, 3, 123_456, 9.99e12]) {
    const values = ticks(max);
    assert.ok(values.at(-1) >= max && values.length <= 6, `${max}: ${values}`);
  }
});

test("times have units in which they are round", () => {
  assert.deepEqual([500, 5000, 300_000, 9_000_000, 200_000_000].map(timeUnit), [1, 1000, 60_000, 3_600_000, 86_400_000]);
});

test("a scale stays inside its pixels", () => {
  const along = scale(10, 200);
  assert.deepEqual([0, 5, 10, 20, -1, null].map(along), [0, 100, 200, 200, 0, 0]);
  assert.equal(scale(0, 200)(5), 0);
});

test("pieces follow each other, and the largest row is found", () => {
  assert.deepEqual(stacked([2, null, 3]), [{ from: 0, to: 2 }, { from: 2, to: 2 }, { from: 2, to: 5 }]);
  const rows = [{ values: [2, 3] }, { values: [4, null] }];
  assert.equal(largest(rows, true), 5);
  assert.equal(largest(rows, false), 4);
  assert.equal(largest([], true), 0);
});

test("bars begin at the label, end within the width and do not overlap", () => {
  const rows = [{ values: [100, 0] }, { values: [50, 0.001] }];
  const plot = barPlot(rows, { width: 400, label: 100, max: 100, unit: 1 });
  const bars = plot.rows.flat();
  assert.ok(bars.every((bar) => bar.x === 100 && bar.x + bar.width <= 400));
  assert.deepEqual(bars.map((bar) => Math.round(bar.width)), [286, 0, 143, 1]);
  bars.slice(1).forEach((bar, index) => assert.ok(bar.y >= bars[index].y + bars[index].height));
  assert.ok(bars.at(-1).y + bars.at(-1).height <= plot.base);
  assert.deepEqual(barPlot([], { width: 400, label: 100, max: 0, unit: 1 }).rows, []);
});

test("the pieces of a pile follow each other on one line", () => {
  const plot = barPlot([{ values: [30, null, 70] }], { width: 500, label: 100, max: 100, unit: 1, pile: true });
  const [first, none, last] = plot.rows[0];
  assert.equal(first.x, 100);
  assert.equal(none.width, 0);
  assert.ok(Math.abs(first.x + first.width - last.x) < 1e-9);
  assert.ok(first.y === last.y && last.x + last.width <= 500);
});
