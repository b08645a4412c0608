// How a session and its agents come and go: begin, are interrupted, go on, rest, end.

import { settleBranch } from './fold-branches.js';
import { newAgent } from './fold-tree.js';
import { endClock, resumeClock, startClock, stopClock, usedInAll } from './figures.js';
import { errorMessage, reportView } from './report.js';
import { message, short } from './text.js';
import { titleOf } from './title.js';

export function begin(view, event) {
  view.workspace = event.workspace;
  // Older records that only know the workspace mean it.
  view.project = event.project || event.workspace;
  view.surface = event.surface ?? '';
  view.coordinator = event.coordinator ?? false;
  view.team = event.team ?? false;
  view.sandboxed = event.sandboxed ?? false;
}

/** These agents had not ended. Nobody works for them now; what they asked is asked again when they go on. */
export function interrupt(view, tree, { agents, at_ms: atMs }) {
  view.state = 'interrupted';
  for (const id of agents) {
    tree.withdraw(id, atMs);
    const agent = tree.change(id);
    if (!agent || agent.ended_at_ms !== null) continue;
    agent.interrupted_at_ms = atMs;
    stand(agent, 'interrupted', atMs);
  }
}

/** It does nothing from now on. */
export function stand(agent, state, atMs) {
  agent.state = state;
  agent.doing = { kind: 'nothing' };
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
  agent.state = 'running';
  agent.doing = { kind: 'starting' };
  agent.model = short(event.model);
  agent.model_id = short(event.model_id);
  agent.budget = event.budget;
  agent.started_at_ms ??= event.at_ms;
  agent.interrupted_at_ms = null;
  agent.error = null;
  agent.clock = startClock(agent.clock, event.at_ms);
  if (event.parent == null) {
    view.state = 'running';
    view.model = short(event.model) || view.model;
    view.approval ??= event.grant.approval ?? 'full';
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
  agent.doing = { kind: 'going_on' };
  // An older event may not say with which model.
  if (event.model) agent.model = short(event.model);
  if (event.model_id) agent.model_id = short(event.model_id);
  if (agent.started_at_ms !== null) {
    agent.state = 'running';
    agent.clock = resumeClock(agent.clock, event.elapsed_ms, event.at_ms);
  } else {
    agent.state = 'pending';
  }
  if (event.parent == null) {
    view.state = 'running';
    view.model = short(event.model ?? '') || view.model;
  }
}

/** Words for an agent. One that had ended works again; the first words to the main agent are the session's title. */
export function tell(view, tree, event) {
  const agent = tree.change(event.agent);
  const isWoken = agent !== undefined && agent.ended_at_ms !== null;
  if (isWoken) {
    reopen(tree, event);
    agent.state = 'running';
    agent.doing = { kind: 'going_on' };
    agent.clock = startClock(agent.clock, event.at_ms);
  }
  if (event.parent == null && (isWoken || event.from === 'person' || event.from === 'parent')) {
    view.state = 'running';
    view.automatic_title ??= titleOf(event.text) || null;
    view.title ??= view.automatic_title;
  }
}

/** An agent that had ended, if it had, has not. */
function reopen(tree, event) {
  const agent = tree.change(event.agent);
  if (!agent || agent.ended_at_ms === null) return;
  agent.ended_at_ms = null;
  if (event.type === 'agent_resumed') agent.delivered = false;
  tree.countOpen(agent.parent, 1);
}

/** The main agent has answered and waits for the next prompt. */
export function rest(view, tree, event) {
  tree.withdraw(event.agent, event.at_ms);
  const agent = tree.change(event.agent);
  if (!agent) return;
  stand(agent, 'resting', event.at_ms);
  if (event.report) report(agent, event.report);
  if (event.parent == null) view.state = 'resting';
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
  agent.state = 'running';
  agent.doing = { kind: 'going_on' };
  agent.error = null;
  agent.budget = event.budget;
  agent.clock = resumeClock(agent.clock, event.elapsed_ms, event.at_ms);
  if (event.parent == null) view.state = 'running';
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
  agent.doing = { kind: 'nothing' };
  agent.ended_at_ms = event.at_ms;
  agent.duration_ms = receipt.duration_ms;
  agent.clock = endClock(agent.clock, receipt.duration_ms, event.at_ms);
  report(agent, event.report);
  if (agent.parent !== null) settleBranch(view, agent, receipt);
  else view.state = agent.state;
  if (wasOpen) tree.countOpen(agent.parent, -1);
  tree.spread(event.agent, more);
}
