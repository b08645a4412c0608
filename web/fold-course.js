// How a session and its agents come and go, what becomes of work on branches, and what an agent does in between.

import { newAgent, setList } from "./fold-tree.js";
import { endClock, resumeClock, startClock, stopClock, usedInAll, usedReply, usedTool, usedTurn } from "./figures.js";
import { errorMessage, filesInAll, reportView } from "./report.js";
import { lines, message, short, trim } from "./text.js";
import { titleOf } from "./title.js";

export function begin(view, event) {
  view.workspace = event.workspace;
  // Older records that only know the workspace mean it.
  view.project = event.project || event.workspace;
  view.surface = event.surface ?? "";
  view.coordinator = event.coordinator ?? false;
  view.team = event.team ?? false;
  view.sandboxed = event.sandboxed ?? false;
}

/** These agents had not ended. Nobody works for them now; what they asked is asked again when they go on. */
export function interrupt(view, tree, { agents, at_ms: atMs }) {
  view.state = "interrupted";
  for (const id of agents) {
    tree.withdraw(id, atMs);
    const agent = tree.change(id);
    if (!agent || agent.ended_at_ms !== null) continue;
    agent.interrupted_at_ms = atMs;
    stand(agent, "interrupted", atMs);
  }
}

/** It does nothing from now on. */
export function stand(agent, state, atMs) {
  agent.state = state;
  agent.doing = { kind: "nothing" };
  agent.clock = stopClock(agent.clock, atMs);
}

/** One that is known already stays as it is. */
export function admit(tree, event) {
  if (tree.get(event.agent)) return;
  tree.add({
    ...newAgent(event, event.name, event.role, event.depth),
    title: short(event.title),
    requested_model: event.requested_model == null ? null : short(event.requested_model),
    context: event.context,
    continues: event.continues ?? null,
  });
}

/** An agent begins, or is taken up again: then its figures go on. */
export function start(view, tree, event) {
  if (!tree.get(event.agent)) tree.add(newAgent(event, event.role, event.role, event.depth));
  reopen(tree, event);
  const agent = tree.change(event.agent);
  agent.role = short(event.role);
  agent.depth = event.depth;
  agent.state = "running";
  agent.doing = { kind: "starting" };
  agent.model = short(event.model);
  agent.model_id = short(event.model_id);
  agent.budget = event.budget;
  agent.started_at_ms ??= event.at_ms;
  agent.interrupted_at_ms = null;
  agent.error = null;
  agent.clock = startClock(agent.clock, event.at_ms);
  if (event.parent == null) {
    view.state = "running";
    view.model = short(event.model) || view.model;
    view.approval ??= event.grant.approval ?? "full";
  }
}

/** An agent goes on; what it has used so far still counts. One that had not begun has still to begin. */
export function resume(view, tree, event) {
  tree.withdraw(event.agent, event.at_ms);
  reopen(tree, event);
  const agent = tree.change(event.agent);
  if (!agent) return;
  agent.interrupted_at_ms = null;
  agent.duration_ms = null;
  agent.error = null;
  agent.budget = event.budget;
  agent.doing = { kind: "going_on" };
  // An older event may not say with which model.
  if (event.model) agent.model = short(event.model);
  if (event.model_id) agent.model_id = short(event.model_id);
  if (agent.started_at_ms !== null) {
    agent.state = "running";
    agent.clock = resumeClock(agent.clock, event.elapsed_ms, event.at_ms);
  } else {
    agent.state = "pending";
  }
  if (event.parent == null) {
    view.state = "running";
    view.model = short(event.model ?? "") || view.model;
  }
}

/** Words for an agent. One that had ended works again; the first words to the main agent are the session's title. */
export function tell(view, tree, event) {
  const agent = tree.change(event.agent);
  const isWoken = agent !== undefined && agent.ended_at_ms !== null;
  if (isWoken) {
    reopen(tree, event);
    agent.state = "running";
    agent.doing = { kind: "going_on" };
    agent.clock = startClock(agent.clock, event.at_ms);
  }
  if (event.parent == null && (isWoken || event.from === "person" || event.from === "parent")) {
    view.state = "running";
    view.automatic_title ??= titleOf(event.text) || null;
    view.title ??= view.automatic_title;
  }
}

/** An agent that had ended, if it had, has not. */
function reopen(tree, event) {
  const agent = tree.change(event.agent);
  if (!agent || agent.ended_at_ms === null) return;
  agent.ended_at_ms = null;
  if (event.type === "agent_resumed") agent.delivered = false;
  tree.countOpen(agent.parent, 1);
}

/** The main agent has answered and waits for the next prompt. */
export function rest(view, tree, event) {
  tree.withdraw(event.agent, event.at_ms);
  const agent = tree.change(event.agent);
  if (!agent) return;
  stand(agent, "resting", event.at_ms);
  if (event.report) report(agent, event.report);
  if (event.parent == null) view.state = "resting";
}

function report(agent, given) {
  const error = errorMessage(given.ending);
  agent.error = error === null ? null : message(error);
  agent.report = reportView(given);
}

/** The person changed how an agent works. */
export function changeSettings(view, tree, event) {
  const agent = tree.change(event.agent);
  if (!agent) return;
  agent.model = short(event.model);
  agent.model_id = short(event.model_id);
  if (event.parent == null) [view.model, view.approval] = [short(event.model), event.approval];
}

/** An agent that rested continues with another prompt. */
export function wake(view, tree, event) {
  const agent = tree.change(event.agent);
  if (!agent) return;
  agent.state = "running";
  agent.doing = { kind: "going_on" };
  agent.error = null;
  agent.budget = event.budget;
  agent.clock = resumeClock(agent.clock, event.elapsed_ms, event.at_ms);
  if (event.parent == null) view.state = "running";
}

/** An agent ended. */
export function settle(view, tree, event) {
  tree.withdraw(event.agent, event.at_ms);
  const agent = tree.change(event.agent);
  if (!agent) return;
  const { ending, receipt } = event.report;
  const wasOpen = agent.ended_at_ms === null;
  const more = usedInAll(agent, receipt);
  agent.state = ending.status;
  agent.doing = { kind: "nothing" };
  agent.ended_at_ms = event.at_ms;
  agent.duration_ms = receipt.duration_ms;
  agent.clock = endClock(agent.clock, receipt.duration_ms, event.at_ms);
  report(agent, event.report);
  if (agent.parent !== null) settleBranch(view, agent, receipt);
  else view.state = agent.state;
  if (wasOpen) tree.countOpen(agent.parent, -1);
  tree.spread(event.agent, more);
}

// Work of sub-agents that is on branches and not in the folder.

const PATHS_MAX = 10_000;

/** The agent was given a checkout. */
export function checkOut(agent, name) {
  if (agent.branch === null || agent.branch.state === "unmerged") {
    agent.branch = { name: short(name), state: "working" };
  }
}

/** A sub-agent ended: what it changed is on its branch, or in the folder. */
export function settleBranch(view, agent, receipt) {
  const paths = filesInAll(receipt).map((file) => file.path);
  const isMerged = agent.branch !== null && ["merged", "conflicts"].includes(agent.branch.state);
  if (receipt.branch && !isMerged) {
    // Those below it worked where it did.
    const below = new Set((receipt.files_below ?? []).map((file) => file.path));
    if (below.size > 0) setList(view, "changed_here", (view.changed_here ?? []).filter((path) => !below.has(path)));
    agent.branch = { name: short(receipt.branch.name), state: "unmerged" };
    setList(agent.branch, "paths", paths);
    return;
  }
  if (!isMerged) agent.branch = null;
  addHere(view, paths);
}

/** The work of an agent was brought into the folder, as far as it fits. */
export function merge(view, agent, { branch, conflicts }) {
  const { paths = [], name = short(branch) } = agent.branch ?? {};
  agent.branch = { name, state: conflicts.length > 0 ? "conflicts" : "merged" };
  addHere(view, paths);
}

function addHere(view, paths) {
  const here = [...(view.changed_here ?? [])];
  for (const path of paths.slice(0, Math.max(0, PATHS_MAX - here.length))) {
    let [from, to] = [0, here.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(here[middle], path)) from = middle + 1;
      else to = middle;
    }
    if (here[from] !== path) here.splice(from, 0, path);
  }
  setList(view, "changed_here", here);
}

/** Whether a path comes before another in the order of their characters, which is not that of UTF-16. */
function isBefore(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const place = (text) => {
    const unit = text.charCodeAt(at);
    return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
  };
  return at >= a.length ? at < b.length : place(a) < place(b);
}

// What an agent does between its start and its end: turns, calls, questions, messages.

const CALL_PATHS_MAX = 8;
const TODO_ITEMS_MAX = 100;
const QUEUED_MAIL_MAX = 256;
const TODO_STATES = { "[>] ": "doing", "[x] ": "done", "[ ] ": "pending" };

const KINDS = {
  agent_queued: (tree, agent, event) => queue(agent, event),
  agent_placed: (tree, agent, event) => place(agent, event),
  checked_out: (tree, agent, event) => checkOut(agent, event.branch),
  turn_started(tree, agent, event) {
    agent.turn = event.turn;
    agent.doing = { kind: "waiting_for_model" };
    tree.spread(agent.id, usedTurn(agent));
  },
  retrying(tree, agent, { attempt, attempts_max = 0, delay_ms, reason }) {
    agent.retries += 1;
    agent.doing = { kind: "retrying", attempt, attempts_max, delay_ms, reason: short(reason) };
  },
  replied(tree, agent, { reply, cost_usd: costUsd }) {
    agent.rests = !reply.calls?.length;
    if (agent.rests && agent.open_children > 0) agent.doing = { kind: "waiting_for_sub_agents" };
    tree.spread(agent.id, usedReply(agent, reply.usage, costUsd));
  },
  model_failed: (tree, agent, event) => { agent.error = message(event.error.message); },
  tool_started: (tree, agent, event) => startCall(agent, event),
  tool_finished(tree, agent, event) {
    finishCall(agent, event);
    tree.spread(agent.id, usedTool(agent));
  },
  person_needed: (tree, agent, event) => ask(tree, agent, event),
  person_answered: (tree, agent, event) => answer(tree, agent, event.call, event.at_ms),
};

export function work(tree, event) {
  const agent = tree.change(event.agent);
  if (agent && Object.hasOwn(KINDS, event.type)) KINDS[event.type](tree, agent, event);
}

/** It has to wait: before it begins, or before it goes on where it was interrupted. Nothing that has ended waits. */
function queue(agent, { reason, at, at_ms: atMs }) {
  if (agent.ended_at_ms !== null || !["pending", "interrupted"].includes(agent.state)) return;
  agent.state = "queued";
  agent.doing = { kind: "queued", reason, at: at == null ? null : short(at) };
  agent.interrupted_at_ms = null;
  if (agent.started_at_ms === null) agent.queued_at_ms = atMs;
}

/** A worker runs it from now on. What it did on one that was lost is over. */
function place(agent, { worker, epoch }) {
  agent.on = short(worker);
  if (epoch > 1 && agent.state === "running") agent.doing = { kind: "going_on" };
}

function startCall(agent, { call, tool, title, kind = "other", paths = [], at_ms: atMs }) {
  agent.doing = { kind: "calling", title: short(title) };
  const open = { call, tool: short(tool), title: short(title), kind, started_at_ms: atMs };
  setList(open, "paths", paths.slice(0, CALL_PATHS_MAX).map(short));
  agent.calls = [...(agent.calls ?? []).filter((other) => other.call !== call), open];
}

/** A call has its result. One that was refused never began. */
function finishCall(agent, { call, effects = [] }) {
  for (const effect of effects) {
    if (effect.effect === "todo") setList(agent, "todo", todoItems(effect.text));
    else if (effect.effect === "denied") agent.denied_calls += 1;
  }
  if (agent.calls) setList(agent, "calls", agent.calls.filter((open) => open.call !== call));
}

/** The items of a list as agents keep it: one a line, behind `[ ]`, `[>]` or `[x]`. */
function todoItems(text) {
  const all = lines(text).filter((line) => trim(line) !== "").slice(0, TODO_ITEMS_MAX);
  return all.map((line) => {
    const state = TODO_STATES[line.slice(0, 4)];
    return { text: short(state ? line.slice(4) : line), state: state ?? "pending" };
  });
}

/** A call waits until a person answers; the clocks of the agent and of all above it stand still. */
function ask(tree, agent, event) {
  const { question, seq, at_ms: atMs } = event;
  // The same call can be asked about again after an interruption.
  answer(tree, agent, question.call, atMs);
  if (agent.state === "running") agent.state = "needs_person";
  agent.doing = question.asks
    ? { kind: "asking_question", question: short(question.what) }
    : { kind: "asking_person", tool: short(question.tool), what: short(question.what) };
  agent.asks = [...(agent.asks ?? []), seq];
  tree.holdClocks(agent.id, 1, atMs);
  tree.view.questions = [...tree.view.questions, { seq, agent: agent.id, asked_at_ms: atMs, question }];
}

/** Closes the question about a call, if there is one. */
function answer(tree, agent, call, atMs) {
  const isAbout = (open) => open.agent === agent.id && open.question.call === call && agent.asks?.includes(open.seq);
  const open = tree.view.questions.find(isAbout);
  if (!open) return;
  tree.close(agent.id, open.seq, atMs);
  if (!agent.asks && agent.state === "needs_person") {
    agent.state = "running";
    agent.doing = { kind: "going_on" };
  }
}

/** Messages come, change and are taken back. Those without a number cannot be told apart, so they are left out. */
export function changeMail(agent, event) {
  const mail = agent.mail ?? [];
  const text = event.text === undefined ? "" : message(event.text);
  if (event.type === "mailed") {
    const { id = 0, from, is_prompt = false } = event;
    if (id !== 0 && mail.length < QUEUED_MAIL_MAX) agent.mail = [...mail, { id, from, text, is_prompt }];
  } else if (event.type === "mail_edited") {
    setList(agent, "mail", mail.map((one) => (one.id === event.id ? { ...one, text } : one)));
  } else {
    const gone = event.type === "told" ? event.mail ?? 0 : event.id;
    if (mail.length > 0) setList(agent, "mail", mail.filter((one) => one.id !== gone));
  }
}
