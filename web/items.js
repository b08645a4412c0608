// Turns the events of one agent into what its conversation shows, in order. Pure: no page, no requests.

import { answerWord, commandEnded, counted, hookRan, placed, wasInterrupted } from "./words.js";
import { sentences } from "./report.js";

/** Turns whose replies are not part of the conversation. */
const ASIDE = new Set(["summary", "sum_up"]);

/**
 * The items of an agent: its events, and among them the admissions of its sub-agents. Every item has `kind`, `seq` (its key and
 * its link) and `at`. Calls have `children`, the sub-agents that they started; `agents` are sub-agents of no known call.
 */
export function itemsOf(agent, events) {
  const state = { items: [], calls: new Map(), args: new Map(), asks: new Map(), changed: [], turn: 0 };
  for (const event of events) {
    if (event.agent === agent) add(state, event);
    else if (event.type === "agent_admitted") addChild(state, event);
  }
  return state.items;
}

/** A sub-agent stands below the call that started it. */
function addChild({ items, calls }, { seq, at_ms: at, agent, brief }) {
  const call = calls.get(brief?.call);
  if (call) call.children.push(agent);
  else items.push({ kind: "agents", seq, at, children: [agent] });
}

function add(state, event) {
  const { seq, at_ms: at } = event;
  const push = (kind, fields) => state.items.push({ kind, seq, at, turn: state.turn, ...fields });
  const line = quietLine(event, state);
  if (line) push("note", line);
  else ADDERS[event.type]?.(event, push, state);
}

const ADDERS = {
  agent_admitted({ title, brief }, push, state) {
    state.task = brief?.words.trim();
    push("task", { title, text: brief?.words ?? "", files: brief?.context_files ?? [], deliverables: brief?.deliverables ?? [] });
  },
  told({ from, text, attachments = [] }, push, state) {
    // The first message of a sub-agent is its task, which is shown already.
    if (from === "parent" && state.task && state.task === text.trim()) return void (state.task = null);
    push("said", { from, text, attachments });
  },
  turn_started({ turn, purpose = "work" }, push, state) {
    Object.assign(state, { turn, purpose });
  },
  replied({ reply, seq }, push, state) {
    for (const { id, arguments: text, name } of reply.calls ?? []) state.args.set(id, { text, name });
    if (ASIDE.has(state.purpose)) return;
    const thought = (reply.reasoning ?? []).map(({ text }) => text.trim()).filter(Boolean).join("\n\n");
    if (thought) push("thought", { text: thought, seq: `${seq}r` });
    if (reply.text?.trim()) push("words", { text: reply.text });
    if (reply.stop === "max_tokens") push("note", { text: "The reply reached the output limit and was cut.", tone: "warn", seq: `${seq}c` });
  },
  cut_short({ text, seq }, push, state) {
    if (text.trim() && !ASIDE.has(state.purpose)) push("words", { text });
    push("note", { text: "Stopped here.", seq: `${seq}c` });
  },
  tool_started({ call, tool, title, kind = "other", paths = [] }, push, state) {
    push("call", { call, tool, title, callKind: kind, paths, arguments: state.args.get(call)?.text ?? "", result: null, changes: [], children: [] });
    state.calls.set(call, state.items.at(-1));
  },
  tool_finished({ call, tool, ok, text, duration_ms, effects = [], attachments = [] }, push, state) {
    // One that was refused never started.
    if (!state.calls.has(call)) ADDERS.tool_started({ call, tool, title: tool }, push, state);
    const item = state.calls.get(call);
    const denied = effects.some(({ effect }) => effect === "denied");
    const run = effects.find(({ effect }) => effect === "command");
    item.result = { ok, text, duration_ms, attachments, denied, exit: run ? run.exit_code : undefined };
    item.changes = state.changed;
    state.changed = [];
  },
  changed({ seq, changes }, push, state) {
    state.changed = [...state.changed, { seq, paths: changes.map(({ path }) => path) }];
  },
  person_needed({ question }, push, state) {
    push("asks", { question, answer: null });
    state.asks.set(question.call, state.items.at(-1));
  },
  agent_rested({ report }, push) {
    if (report) push("report", { report });
  },
  agent_settled({ report }, push, state) {
    const last = state.items.at(-1);
    // It was told when it rested, and nothing has happened since.
    if (last?.kind === "report" && report.ending.status === "completed") return;
    push("report", { report });
  },
};

/** What is told in one quiet line: {text, tone?}; null for the rest. */
function quietLine(event, state) {
  const say = (text, tone) => ({ text, tone });
  switch (event.type) {
    case "agent_queued":
      return say(event.at ? `Queued: waits for ${event.at}.` : "Queued: waits until another agent has ended.");
    case "retrying":
      if (state.items.at(-1)?.retry) state.items.pop();
      return { retry: true, text: `${event.reason} · try ${event.attempt + 1}${event.attempts_max ? ` of ${event.attempts_max}` : ""}` };
    case "model_failed":
      return say(sentences(event.error), "bad");
    case "compacted":
      return say(`Conversation shortened: ${kb(event.bytes_before)} → ${kb(event.bytes_after)} KB.`);
    case "settings_changed":
      return say(`Model ${event.model} · mode ${event.approval}${event.effort ? ` · effort ${event.effort}` : ""}`);
    case "budget_raised":
      return say("You let it spend more.");
    case "merged":
      return say(`Merged ${event.branch}: ${counted(event.changes.length, "file")} changed${conflicts(event)}.`, event.conflicts.length ? "warn" : "");
    case "undone":
      return say(`Undone: ${event.what} (${counted(event.changes.length, "file")}${conflicts(event)}).`);
    case "background_started":
      return say(`${event.name} runs in the background: ${event.command}`);
    case "background_ended":
      return say(`${event.name} ended: ${commandEnded(event.exit_code)}.`);
    case "hook_ran":
      return hookRan(event) && say(hookRan(event), ["deny", "stop", "failed"].includes(event.decision) ? "warn" : "");
    case "session_interrupted":
      return say(wasInterrupted(event.agents.length, event.detached));
    case "session_resumed":
      return say("The session goes on.");
    case "session_forked":
      return say(`Continues another session after its turn ${event.turn}.`);
    case "not_covered":
      return event.what.length ? say(`Undo does not cover ${event.what.join(", ")}.`, "warn") : null;
    case "changed_meanwhile":
      return say(`Changed while a command ran, perhaps by somebody else: ${event.changes.map(({ path }) => path).join(", ")}`, "warn");
    case "closing":
      return say(`${event.ending.status.replaceAll("_", " ")}: asked for a last report.`, "warn");
    case "agent_placed":
      return say(`${placed(event)}.`, event.epoch > 1 ? "warn" : "");
    case "checked_out":
      return say(`Works in a checkout of its own, on ${event.branch}.`);
    case "person_answered":
      return answered(event, state);
    default:
      return null;
  }
}

const kb = (bytes) => Math.round(bytes / 1024);
const conflicts = (event) => (event.conflicts.length ? `, ${counted(event.conflicts.length, "conflict")} left` : "");

/** An answer is shown in its question; in a line of its own only where the question is not loaded. */
function answered({ call, answer }, state) {
  const asked = state.asks.get(call);
  if (!asked) return { text: `You answered: ${answerWord(answer) ?? "nothing"}` };
  asked.answer = answer;
  return null;
}
