// What the one shared stream is asked for.

import test from "node:test";
import assert from "node:assert/strict";
import { Wishes } from "../wishes.js";

test("tabs share one stream, which begins where the first of them needs it", () => {
  const wishes = new Wishes();
  assert.equal(wishes.set("a", { S: 10 }, 0), true);
  assert.equal(wishes.query(), "S:10");
  wishes.saw("S", 15);
  assert.equal(wishes.set("a", { S: 15 }, 1), false, "the same wish, further on");
  assert.equal(wishes.set("b", { S: 12, T: 0 }, 2), true);
  assert.equal(wishes.query(), "S:12,T:0");
  wishes.saw("S", 20);
  wishes.saw("U", 1);
  assert.equal(wishes.query(), "S:20,T:0", "what nobody follows is not asked for");
});

test("closed and silent tabs are forgotten", () => {
  const wishes = new Wishes();
  wishes.set("a", { S: 1 }, 0);
  wishes.set("b", { S: 1, T: 1 }, 0);
  assert.equal(wishes.drop("b", 1), true);
  assert.equal(wishes.query(), "S:1");
  assert.equal(wishes.set("c", {}, 200_000), true, "a has said nothing for long");
  assert.equal(wishes.query(), "");
  wishes.set("c", { S: 5 }, 200_001);
  assert.equal(wishes.set("c", {}, 200_002), true);
  assert.equal(wishes.set("c", { S: 9 }, 200_003), true, "it follows again, from a newer view");
  assert.equal(wishes.query(), "S:9");
});
