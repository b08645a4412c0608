// What a conversation shows of the events of an agent; also of every recorded session that all readers are tested with.

import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import { itemsOf } from "../items.js";

const FIXTURES = new URL("../../crates/view/fixtures/", import.meta.url);
const eventsOf = (name) => fs.readFileSync(new URL(`${name}.jsonl`, FIXTURES), "utf8").trim().split("\n").map((line) => JSON.parse(line));
const viewOf = (name) => JSON.parse(fs.readFileSync(new URL(`${name}.json`, FIXTURES), "utf8")).view;
let seq = 0;
const event = (type, fields, agent = "m") => ({ seq: ++seq, at_ms: seq * 10, agent, type, ...fields });
const kinds = (items) => items.map(({ kind }) => kind).join(" ");

function conversation(name, agent) {
  const { id } = viewOf(name).agents.find((each) => each.name === agent);
  return itemsOf(id, eventsOf(name).filter((each) => each.agent === id || (each.type === "agent_admitted" && each.parent === id)));
}

test("every child is in the conversation of its parent exactly once, in every fixture", () => {
  for (const file of fs.readdirSync(FIXTURES).filter((each) => each.endsWith(".jsonl"))) {
    const name = file.replace(".jsonl", "");
    for (const { id, name: agent } of viewOf(name).agents) {
      const shown = conversation(name, agent).flatMap(({ children = [] }) => children);
      const want = viewOf(name).agents.filter(({ parent }) => parent === id).map((each) => each.id);
      assert.deepEqual(shown, want, `${name} ${agent}`);
    }
  }
});

test("the main agent of the recorded demo", () => {
  const items = conversation("demo", "main");
  assert.deepEqual(items.filter(({ kind }) => kind === "said").map(({ from }) => from), ["person"]);
  assert.equal(items.filter(({ kind, result }) => kind === "call" && result.ok).length, 4);
  assert.equal(items.at(-1).kind, "report");
});

test("a call has its arguments, its result and what it changed", () => {
  const items = itemsOf("m", [
    event("turn_started", { turn: 1 }),
    event("replied", { turn: 1, reply: { text: "I edit.", reasoning: [{ text: " Hm. " }], calls: [{ id: "c", name: "edit_file", arguments: '{"path":"a"}' }], stop: "tool_calls" } }),
    event("tool_started", { call: "c", tool: "edit_file", title: "edit_file a", kind: "edit", paths: ["a"] }),
    event("changed", { turn: 1, changes: [{ path: "a" }, { path: "b" }] }),
    event("tool_finished", { call: "c", tool: "edit_file", ok: false, text: "no", duration_ms: 5, effects: [{ effect: "command", exit_code: 2 }] }),
    event("tool_finished", { call: "d", tool: "shell", ok: false, text: "Not allowed.", duration_ms: 0, effects: [{ effect: "denied" }] }),
  ]);
  assert.equal(kinds(items), "thought words call call");
  assert.deepEqual(items[2].changes.map(({ paths }) => paths), [["a", "b"]]);
  assert.equal(items[2].arguments, '{"path":"a"}');
  assert.equal(items[2].result.exit, 2);
  assert.deepEqual([items[3].title, items[3].result.denied, items[3].changes], ["shell", true, []], "refused before it started");
  assert.equal(items[0].text, "Hm.");
});

test("where an agent runs is told, and that it was moved; what home keeps is not", () => {
  const notes = conversation("placed", "coder-1").filter(({ kind }) => kind === "note");
  assert.deepEqual(notes.map(({ text, tone }) => [text, tone]), [["Runs on gpu-1.", ""], ["Moved to gpu-2: the worker before was lost.", "warn"]]);
});

test("questions have their answers, and retries are one line", () => {
  const items = itemsOf("m", [
    event("person_needed", { question: { call: "c", what: "rm x" } }),
    event("person_answered", { call: "c", answer: { answer: "no", reason: "keep it" } }),
    event("person_needed", { question: { call: "d", what: "ls" } }),
    event("person_answered", { call: "of before", answer: { answer: "once" } }),
    event("retrying", { attempt: 1, attempts_max: 3, reason: "busy" }),
    event("retrying", { attempt: 2, attempts_max: 3, reason: "busy" }),
  ]);
  assert.equal(kinds(items), "asks asks note note");
  assert.equal(items[0].answer.reason, "keep it");
  assert.equal(items[1].answer, null);
  assert.equal(items[2].text, "You answered: yes, once");
  assert.equal(items[3].text, "busy · try 3 of 3");
});

test("a task is shown once, summaries are not part of the conversation, and a rest is not told twice", () => {
  const report = { ending: { status: "completed" }, text: "Done." };
  const items = itemsOf("m", [
    event("agent_admitted", { title: "look", brief: { words: "Look at it.\n" } }),
    event("told", { from: "parent", text: "Look at it." }),
    event("told", { from: "parent", text: "And at that." }),
    event("turn_started", { turn: 1, purpose: "summary" }),
    event("replied", { turn: 1, reply: { text: "Notes", stop: "end_turn" } }),
    event("compacted", { bytes_before: 40960, bytes_after: 4096 }),
    event("turn_started", { turn: 2 }),
    event("cut_short", { turn: 2, text: "Half" }),
    event("agent_rested", { report }),
    event("agent_settled", { report }),
  ]);
  assert.equal(kinds(items), "task said note words note report");
  assert.equal(items[2].text, "Conversation shortened: 40 → 4 KB.");
});

test("a sub-agent stands below the call that started it, else where it was admitted", () => {
  const admitted = (id, call) => ({ ...event("agent_admitted", { title: "t", brief: { call, words: "" } }, id), parent: "m" });
  const started = event("tool_started", { call: "c", tool: "agent", title: "coder: t", kind: "delegate" });
  const items = itemsOf("m", [started, admitted("x", "c"), admitted("y", "c"), event("told", { from: "person", text: "a" }), admitted("z", null)]);
  assert.equal(kinds(items), "call said agents");
  assert.deepEqual(items.map(({ children }) => children), [["x", "y"], undefined, ["z"]]);
});
