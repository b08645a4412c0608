// The fold: how each event changes the view of a session. The JSON of a view, and what is promised of it, is described in
// crates/view/README.md; a view that the server made can be continued here.

import { changeMail, merge, work } from "./fold-course.js";
import { treeOf } from "./fold-tree.js";
import { noFigures, spentMs, together } from "./figures.js";
import { short } from "./text.js";
import * as course from "./fold-course.js";

const SILENCE_TOLD_AFTER_MS = 3000;
const OF_SESSION = ["session_started", "session_interrupted", "session_resumed", "agent_admitted"];
const FAILURES = ["failed", "timed_out", "out_of_turns", "out_of_tokens", "out_of_money", "refused"];

/** Events are missing before this one; the view is as it was. `expected` is the sequence number that comes next. */
export class GapError extends Error {
  constructor(expected, found) {
    super(`event ${found} comes where event ${expected} was expected: events are missing between them`);
    this.expected = expected;
  }
}

export function emptyView() {
  return {
    seq: 0,
    session: null,
    state: "pending",
    title: null,
    automatic_title: null,
    workspace: "",
    project: "",
    surface: "",
    coordinator: false,
    team: false,
    sandboxed: false,
    approval: null,
    model: null,
    started_at_ms: 0,
    last_at_ms: 0,
    in_all: noFigures(0),
    open_sub_agents: 0,
    agents: [],
    questions: [],
  };
}

/**
 * Takes in the next event: 'folded', or 'known' if it is in the view already. The view is changed in place; every agent
 * that changes is a new object.
 */
export function fold(view, event) {
  if (view.session !== null && view.session !== event.session) throw new Error("an event of another session");
  if (event.seq <= view.seq) return "known";
  if (event.seq !== view.seq + 1) throw new GapError(view.seq + 1, event.seq);
  if (view.session === null) {
    view.session = event.session;
    view.started_at_ms = event.at_ms;
    view.state = "running";
  }
  view.seq = event.seq;
  view.last_at_ms = Math.max(view.last_at_ms, event.at_ms);
  const tree = treeOf(view);
  tree.changed.clear();
  // What is about the session, and what home keeps of its work: the agent does what it did.
  if (!["session_named", "reviewed", "work_kept"].includes(event.type)) touch(tree.change(event.agent), event);
  (KINDS[event.type] ?? other)(view, tree, event);
  return "folded";
}

const other = (view, tree, event) => work(tree, event);

function mail(view, tree, event) {
  const agent = tree.change(event.agent);
  if (agent) changeMail(agent, event);
}

const KINDS = {
  __proto__: null,
  session_started: (view, tree, event) => course.begin(view, event),
  session_interrupted: course.interrupt,
  session_resumed(view, tree, event) {
    view.state = "running";
    view.sandboxed = event.sandboxed;
  },
  session_named: (view, tree, event) => { view.title = short(event.title) || view.automatic_title; },
  reviewed() {},
  session_forked: (view, tree, event) => { view.forked_from = { session: event.from, turn: event.turn }; },
  agent_admitted: (view, tree, event) => course.admit(tree, event),
  agent_started: course.start,
  agent_resumed: course.resume,
  told(view, tree, event) {
    mail(view, tree, event);
    course.tell(view, tree, event);
  },
  mailed: mail,
  mail_edited: mail,
  mail_withdrawn: mail,
  reports_delivered(view, tree, event) {
    for (const id of event.agents) if (tree.get(id)) tree.change(id).delivered = true;
  },
  merged(view, tree, event) {
    const agent = tree.change(event.from);
    if (agent) merge(view, agent, event);
  },
  agent_settled: course.settle,
  agent_rested: course.rest,
  settings_changed: course.changeSettings,
  budget_raised(view, tree, event) {
    const agent = tree.change(event.agent);
    if (agent) agent.budget = event.budget;
  },
  agent_woken: course.wake,
};

/** Something happened to an agent. */
function touch(agent, event) {
  if (!agent) return;
  agent.heard_at_ms = null;
  agent.rests = false;
  agent.last_seq = event.seq;
  if (!OF_SESSION.includes(event.type)) agent.last_at_ms = Math.max(agent.last_at_ms, event.at_ms);
}

/** Takes in passing news of an agent, which came now. It is never on record and may be lost. */
export function note(view, progress, nowMs) {
  const tree = treeOf(view);
  tree.changed.clear();
  const agent = tree.change(progress.agent);
  if (!agent) return;
  const { kind } = progress;
  const [name, value] = typeof kind === "string" ? [kind] : Object.entries(kind)[0];
  agent.heard_at_ms = ["text", "text_so_far", "reasoning", "calling", "arriving"].includes(name) ? nowMs : null;
  const doing = {
    text: { kind: "writing" },
    text_so_far: { kind: "writing" },
    reasoning: { kind: "thinking" },
    calling: { kind: "writing_call", tool: short(String(value)) },
    queued: { kind: "waiting_for_turn" },
    served: { kind: "waiting_for_model" },
    keeping: { kind: "looking_at_files", files: value },
  };
  if (Object.hasOwn(doing, name)) agent.doing = doing[name];
}

/**
 * Shows as interrupted what had not ended: for a session whose process is gone and could not put that on record. No part
 * of the fold; the events of going on can be folded after it.
 */
export function showInterrupted(view) {
  const tree = treeOf(view);
  tree.changed.clear();
  if (view.state === "running") view.state = "interrupted";
  for (const { agent } of [...view.questions]) tree.withdraw(agent, view.last_at_ms);
  for (const { id, ended_at_ms: endedAtMs } of [...view.agents]) {
    if (endedAtMs === null) course.stand(tree.change(id), "interrupted", view.last_at_ms);
  }
}

/** All that needs attention: open questions first, then an interruption, then agent by agent. */
export function attention(view) {
  const found = view.questions.map(({ agent, seq }) => ({ attention: "question", agent, seq }));
  const agents = view.agents.filter((agent) => agent.state === "interrupted").length;
  if (view.state === "interrupted" || agents > 0) found.push({ attention: "interrupted", agents });
  for (const agent of view.agents) {
    const add = (what, more) => found.push({ attention: what, agent: agent.id, ...more });
    const { state, report, branch, denied_calls: count } = agent;
    if (FAILURES.includes(state)) add("failed", { state });
    if (report?.blocked) add("blocked");
    if (report?.warnings?.length) add("warnings", { count: report.warnings.length });
    if (count > 0) add("denied", { count });
    const model = missingModel(agent);
    if (model !== null) add("missing_model", { model });
    if (branch && ["unmerged", "conflicts"].includes(branch.state)) {
      add("branch", { name: branch.name, state: branch.state });
    }
  }
  return found;
}

/** An agent by its id. */
export const agentOf = (view, id) => treeOf(view).get(id);

/** What an agent and all below it have used. */
export const inAll = (agent) => together(agent.own, agent.below);

/** How long an agent has worked until now; null if it never began. */
export const workedMs = (agent, nowMs) =>
  (agent.started_at_ms === null ? null : spentMs(agent.clock, Math.max(nowMs, agent.last_at_ms)));

/** How long the reply of an agent has stood still, once that is worth telling; else null. */
export function silentMs(agent, nowMs) {
  const silent = agent.heard_at_ms === null ? 0 : nowMs - agent.heard_at_ms;
  return silent >= SILENCE_TOLD_AFTER_MS ? silent : null;
}

/** The model that was asked for, where an agent works on another; else null. */
export function missingModel(agent) {
  const asked = agent.requested_model;
  if (asked === null || agent.model === null) return null;
  const plain = (name) => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return [agent.model, agent.model_id ?? ""].some((name) => plain(name) === plain(asked)) ? null : asked;
}
