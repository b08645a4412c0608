// The fold gives what the fixtures say, from every beginning, and tells by identity which agents changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GapError, agentOf, attention, emptyView, fold, note, showInterrupted } from "../fold.js";
import { FIXTURES_MIN, fixtures } from "./fixtures.js";

const folded = (view, events) => {
  for (const event of events) assert.equal(fold(view, event), "folded");
  return view;
};
const copy = (value) => JSON.parse(JSON.stringify(value));

test("all fixtures are there", () => assert.ok(fixtures().length >= FIXTURES_MIN));

for (const { name, events, want } of fixtures()) {
  test(`${name}: the view and what needs attention`, () => {
    const view = folded(emptyView(), events);
    assert.deepStrictEqual(view, want.view);
    assert.deepStrictEqual(attention(view), want.attention);
  });

  test(`${name}: a snapshot and the rest are all`, () => {
    const begun = emptyView();
    for (let split = 0; split <= events.length; split++) {
      assert.deepStrictEqual(folded(copy(begun), events.slice(split)), want.view, `from ${split}`);
      if (split < events.length) fold(begun, events[split]);
    }
  });

  test(`${name}: twice is once, and a gap changes nothing`, () => {
    const view = emptyView();
    for (const [at, event] of events.entries()) {
      const before = copy(view);
      const later = events[at + 1];
      if (later) {
        assert.throws(() => fold(view, later), (error) => error instanceof GapError && error.expected === event.seq);
      }
      if (at > 0) {
        assert.throws(() => fold(view, { ...event, session: "another" }), /another session/);
        assert.equal(fold(view, events[at - 1]), "known");
      }
      assert.deepStrictEqual(view, before);
      fold(view, event);
    }
    assert.deepStrictEqual(view, want.view);
  });

  test(`${name}: agents that change are new objects, others stay`, () => {
    const view = emptyView();
    for (const event of events) {
      const [before, text] = [[...view.agents], view.agents.map((agent) => JSON.stringify(agent))];
      fold(view, event);
      before.forEach((agent, at) => {
        assert.equal(JSON.stringify(agent), text[at], "an object that was handed out changed");
        if (JSON.stringify(view.agents[at]) !== text[at]) assert.notEqual(view.agents[at], agent);
      });
      for (const agent of view.agents) assert.equal(agentOf(view, agent.id), agent);
    }
  });
}

const ID = (n) => `agent-${n}`;
const event = (seq, n, parent, type, more) =>
  ({ seq, session: "s", agent: ID(n), parent: parent === null ? null : ID(parent), at_ms: 1000 + seq, type, ...more });
const usage = { input_tokens: 10, cached_tokens: null, cache_write_tokens: null, output_tokens: 1, reasoning_tokens: null };
const admit = (seq, n, parent, depth) =>
  event(seq, n, parent, "agent_admitted", { name: `a-${n}`, role: "explore", depth, title: "t", context: "fresh" });
const START = { role: "main", depth: 0, model: "m", model_id: "m-1", budget: { turns: null }, grant: { approval: "auto" } };

test("progress changes only what an agent does and when it was heard", () => {
  const cases = [
    [{ text: "x" }, "writing", true], [{ text_so_far: "x" }, "writing", true], [{ reasoning: "x" }, "thinking", true],
    [{ calling: "grep" }, "writing_call", true], ["arriving", "starting", true], ["queued", "waiting_for_turn", false],
    ["served", "waiting_for_model", false], [{ output: { call: "c", text: "x" } }, "starting", false],
    [{ keeping: 7 }, "looking_at_files", false],
  ];
  for (const [kind, doing, isHeard] of cases) {
    const view = folded(emptyView(), [event(1, 1, null, "agent_started", START)]);
    const [before, wanted] = [view.agents[0], copy(view)];
    note(view, { agent: ID(1), kind }, 5000);
    assert.notEqual(view.agents[0], before);
    assert.equal(view.agents[0].doing.kind, doing);
    wanted.agents[0].doing = view.agents[0].doing;
    wanted.agents[0].heard_at_ms = isHeard ? 5000 : null;
    assert.deepStrictEqual(view, wanted);
    note(view, { agent: "nobody", kind }, 5000);
    fold(view, event(2, 1, null, "turn_started", { turn: 1 }));
    assert.equal(view.agents[0].heard_at_ms, null);
  }
});

test("a process that is gone leaves nobody at work", () => {
  const view = folded(emptyView(), [
    event(1, 1, null, "agent_started", START),
    event(2, 1, null, "person_needed", { question: { call: "c", tool: "shell", what: "ls", why: "", pattern: "" } }),
  ]);
  showInterrupted(view);
  assert.deepStrictEqual([view.state, view.questions, view.agents[0].asks], ["interrupted", [], undefined]);
  assert.deepStrictEqual(attention(view), [{ attention: "interrupted", agents: 1 }]);
  assert.equal(view.agents[0].clock.since_ms, null);
});

test("what is about the session leaves its main agent as it was", () => {
  const view = folded(emptyView(), [event(1, 1, null, "agent_started", START)]);
  const before = view.agents[0];
  folded(view, [event(2, 1, null, "reviewed", { hunks: ["a"], reviewed: true }), event(3, 1, null, "session_named", { title: "t" })]);
  assert.equal(view.agents[0], before);
  assert.deepStrictEqual([view.seq, view.title, view.last_at_ms], [3, "t", 1003]);
});

test("circles and long chains of parents come to an end", () => {
  let seq = 0;
  const circle = [admit(++seq, 2, 3, 1), admit(++seq, 3, 2, 1), admit(++seq, 4, 4, 1)];
  for (const [n, parent] of [[2, 3], [3, 2], [4, 4]]) {
    circle.push(event(++seq, n, parent, "turn_started", { turn: 1 }));
    circle.push(event(++seq, n, parent, "replied", { turn: 1, reply: { usage }, cost_usd: 0.5 }));
  }
  const view = folded(emptyView(), circle);
  assert.deepStrictEqual([view.in_all.agents, view.in_all.turns, view.in_all.cost_usd], [3, 3, 1.5]);
  assert.deepStrictEqual(view.agents.map((agent) => agent.own.turns), [1, 1, 1]);
});

test("an event costs the same among a thousand agents, and reaches only those above", () => {
  const agents = 1000;
  const events = [event(1, 1, null, "agent_started", START)];
  for (let n = 2; n <= agents; n++) events.push(admit(n, n, n <= 4 ? n - 1 : 3, n <= 4 ? n - 1 : 3));
  const view = folded(emptyView(), events);
  const [turns, started] = [5000, performance.now()];
  for (let n = 0; n < turns; n++) {
    const before = n === 0 ? [...view.agents] : null;
    fold(view, event(agents + n + 1, agents, 3, "turn_started", { turn: n }));
    if (before) assert.equal(view.agents.filter((agent, at) => agent !== before[at]).length, 4);
  }
  const each = (performance.now() - started) / turns;
  assert.ok(each < 0.5, `${each} ms an event`);
  assert.equal(view.in_all.turns, turns);
});

test("kinds of event that are not known change only when something happened", () => {
  const view = folded(emptyView(), [event(1, 1, null, "agent_started", START)]);
  for (const type of ["of_tomorrow", "constructor", "toString", "__proto__"]) {
    const before = copy(view);
    fold(view, event(view.seq + 1, 1, null, type, {}));
    const now = { seq: view.seq, last_at_ms: view.last_at_ms };
    const agent = { ...before.agents[0], last_seq: view.seq, last_at_ms: view.last_at_ms };
    assert.deepStrictEqual(view, { ...before, ...now, agents: [agent] }, type);
  }
});
