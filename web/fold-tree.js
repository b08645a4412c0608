// The agents of a view, each found by its id at once. An agent that changes is replaced by a new object, once per event,
// so that who shows it can tell by identity whether it changed.

import { askClock, noFigures, together } from "./figures.js";
import { short } from "./text.js";

// More than any session has; ends circles in damaged records.
const LEVELS_MAX = 100;

const trees = new WeakMap();

/** The tree of a view. It is no part of the JSON. */
export function treeOf(view) {
  let tree = trees.get(view);
  if (!tree) trees.set(view, (tree = new Tree(view)));
  return tree;
}

class Tree {
  constructor(view) {
    this.view = view;
    this.places = new Map(view.agents.map((agent, place) => [agent.id, place]));
    this.changed = new Set();
  }

  get(id) {
    return this.view.agents[this.places.get(id)];
  }

  /** The same agent as an object that may be changed. */
  change(id) {
    const place = this.places.get(id);
    if (place === undefined) return undefined;
    if (!this.changed.has(id)) {
      this.changed.add(id);
      this.view.agents[place] = { ...this.view.agents[place] };
    }
    return this.view.agents[place];
  }

  /** Changes all agents above one, the nearest first. */
  changeAbove(id, change) {
    let next = this.get(id)?.parent;
    for (let level = 0; level < LEVELS_MAX && next != null; level++) {
      const agent = this.change(next);
      if (!agent) return;
      change(agent);
      next = agent.parent;
    }
  }

  /** Adds an agent, and counts it where it belongs. */
  add(agent) {
    this.places.set(agent.id, this.view.agents.length);
    this.changed.add(agent.id);
    this.view.agents.push(agent);
    this.spread(agent.id, noFigures(1));
    this.countOpen(agent.parent, 1);
  }

  /** Adds what an agent has used more to those above it and to the session. */
  spread(id, more) {
    this.changeAbove(id, (above) => { above.below = together(above.below, more); });
    this.view.in_all = together(this.view.in_all, more);
  }

  /** Counts a child of `parent` that is open from now on, or no longer. */
  countOpen(parent, more) {
    if (parent == null) return;
    this.view.open_sub_agents = Math.max(0, this.view.open_sub_agents + more);
    const agent = this.change(parent);
    if (agent) agent.open_children = Math.max(0, agent.open_children + more);
  }

  /** One more question of an agent is open, or one less: it holds the clocks of the agent and of all above it. */
  holdClocks(id, more, atMs) {
    const hold = (agent) => { agent.clock = askClock(agent.clock, more, atMs); };
    const agent = this.change(id);
    if (agent) hold(agent);
    this.changeAbove(id, hold);
  }

  /** Closes a question of an agent. */
  close(id, seq, atMs) {
    const agent = this.change(id);
    setList(agent, "asks", agent.asks.filter((other) => other !== seq));
    this.holdClocks(id, -1, atMs);
    this.view.questions = this.view.questions.filter((open) => open.seq !== seq);
  }

  /** Closes all open questions of an agent: it was stopped, or asks again. */
  withdraw(id, atMs) {
    for (const seq of [...(this.get(id)?.asks ?? [])].reverse()) this.close(id, seq, atMs);
  }
}

/** A list that is absent where it is empty. */
export function setList(object, key, list) {
  if (list.length > 0) object[key] = list;
  else delete object[key];
}

/** An agent at its beginning. */
export function newAgent(event, name, role, depth) {
  return {
    id: event.agent,
    parent: event.parent ?? null,
    name: event.parent == null ? "main" : short(name),
    role: short(role),
    depth,
    title: null,
    state: "pending",
    doing: { kind: "starting" },
    heard_at_ms: null,
    rests: false,
    requested_model: null,
    model: null,
    model_id: null,
    context: null,
    continues: null,
    turn: 0,
    budget: { turns: null, tokens: null, time_ms: null, cost_usd: null },
    clock: { spent_ms: 0, since_ms: null, asked: 0, at_work: false },
    own: noFigures(1),
    below: noFigures(0),
    unpriced_calls: 0,
    retries: 0,
    denied_calls: 0,
    open_children: 0,
    last_seq: event.seq,
    last_at_ms: event.at_ms,
    queued_at_ms: null,
    started_at_ms: null,
    interrupted_at_ms: null,
    ended_at_ms: null,
    duration_ms: null,
    delivered: false,
    error: null,
    branch: null,
    report: null,
  };
}
