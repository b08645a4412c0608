// The words are those of the fixtures, and those of the page are short and the same every time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyView, fold, workedMs } from "../fold.js";
import * as words from "../words.js";
import { FIXTURES_MIN, fixtures } from "./fixtures.js";

const wordsOf = (agent, nowMs) => ({
  name: agent.name,
  mark: words.stateMark(agent.state, agent.report?.blocked),
  state: words.stateWord(agent.state),
  now: words.now(agent, nowMs),
  turn: words.turn(agent),
  time: workedMs(agent, nowMs) === null ? null : words.duration(workedMs(agent, nowMs)),
  ...(agent.on && { on: words.on(agent) }),
});

test("the words of all fixtures", () => {
  const all = fixtures();
  assert.ok(all.length >= FIXTURES_MIN);
  for (const { name, events, want } of all) {
    const view = emptyView();
    for (const event of events) fold(view, event);
    assert.deepStrictEqual(view.agents.map((agent) => wordsOf(agent, want.now_ms)), want.words.map(({ tokens, cost, facts, ...others }) => others), name);
  }
});

const check = (say, cases) => {
  for (const [given, want] of cases) assert.equal(say(given), want, JSON.stringify(given));
};

test("numbers and times", () => {
  check(words.grouped, [[0, "0"], [999, "999"], [1000, "1,000"], [1_234_567, "1,234,567"]]);
  check((n) => words.counted(n, "turn"), [[0, "0 turns"], [1, "1 turn"], [2000, "2,000 turns"]]);
  check(words.duration, [[0, "0.0 s"], [1234, "1.2 s"], [59_999, "59 s"], [185_000, "3 min 5 s"], [7_800_000, "2 h 10 min"]]);
  check(words.tokens, [[null, "–"], [0, "0"], [999, "999"], [1000, "1.0k"], [12_345, "12.3k"], [99_949, "99.9k"], [99_950, "100k"],
    [999_949, "1000k"], [999_950, "1.0M"], [4_500_000, "4.5M"]]);
  check(words.money, [[undefined, "–"], [0, "$0.00"], [0.0042, "$0.0042"], [1.25, "$1.25"]]);
  const now = Date.UTC(2026, 5, 15);
  check((ms) => words.ago(now - ms, now), [[-5, "now"], [59_999, "now"], [60_000, "1 min ago"], [3_600_000, "1 h ago"],
    [2 * 86_400_000, "2 days ago"], [40 * 86_400_000, "2026-05-06"]]);
});

test("silence and retries are told as time goes on", () => {
  const agent = { heard_at_ms: null, last_at_ms: 1000, doing: { kind: "retrying", attempt: 1, attempts_max: 0, delay_ms: 5000, reason: "busy" } };
  assert.equal(words.now(agent, 2000), "busy · try 2 in 4.0 s");
  assert.equal(words.now({ ...agent, heard_at_ms: 1000 }, 4999), "no answer for 3 s");
  check(words.doing, [[{ kind: "queued", reason: "endpoint", at: null }, "queued: one at a time at its model (max_concurrent)"],
    [{ kind: "queued", reason: "endpoint", at: "box" }, "queued: one at a time on box (max_concurrent)"], [{ kind: "nothing" }, ""]]);
});

test("answers and receipts", () => {
  check(words.placed, [[{ worker: "gpu-1", epoch: 1 }, "Runs on gpu-1"], [{ worker: "gpu-2", epoch: 2 }, "Moved to gpu-2: the worker before was lost"]]);
  check(words.on, [[{}, ""], [{ on: "gpu-1" }, "on gpu-1"]]);
  check(words.answerWord, [[{ answer: "once" }, "yes, once"], [{ answer: "pattern", pattern: "ls *" }, "yes, whenever it is ls *"],
    [{ answer: "no", reason: "" }, "no"], [{ answer: "said", text: "blue" }, "blue"], [{ answer: "nobody" }, null]]);
  const usage = { input_tokens: 1000, cached_tokens: 200, cache_write_tokens: null, output_tokens: 5, reasoning_tokens: null };
  const below = { agents: 2, turns: 3, tool_calls: 0, usage, cost_usd: 0.5 };
  const receipt = { turns: 1, tool_calls: 2, usage, cost_usd: 0.25, duration_ms: 12_000, below };
  assert.deepStrictEqual(words.spent(receipt), ["1 turn", "2 tool calls", "1,005 tokens (200 cached)", "$0.2500",
    "2 sub-agents: 2,010 tokens in all, $0.7500", "12 s"]);
  assert.equal(words.spent({ ...receipt, below: undefined, cost_usd: null }).length, 4);
});

test("icons of roles", () => {
  const icons = ["explore", "coder", "code-reviewer", "Ärztin", "日本", "", "!"].map(words.roleIcon);
  assert.deepStrictEqual(icons.map((icon) => icon.letters), ["Ex", "Co", "Cr", "Är", "日本", "?", "?"]);
  for (const { hue } of icons) assert.ok(Number.isInteger(hue) && hue >= 0 && hue < 360);
  assert.deepStrictEqual(words.roleIcon("coder"), words.roleIcon("coder"));
});
