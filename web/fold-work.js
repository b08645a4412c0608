// What an agent does between its start and its end: turns, calls, questions, messages.

import { checkOut } from './fold-branches.js';
import { setList } from './fold-tree.js';
import { usedReply, usedTool, usedTurn } from './figures.js';
import { lines, message, short, trim } from './text.js';

const CALL_PATHS_MAX = 8;
const TODO_ITEMS_MAX = 100;
const QUEUED_MAIL_MAX = 256;
const TODO_STATES = { '[>] ': 'doing', '[x] ': 'done', '[ ] ': 'pending' };

const KINDS = {
  agent_queued: (tree, agent, event) => queue(agent, event),
  checked_out: (tree, agent, event) => checkOut(agent, event.branch),
  turn_started(tree, agent, event) {
    agent.turn = event.turn;
    agent.doing = { kind: 'waiting_for_model' };
    tree.spread(agent.id, usedTurn(agent));
  },
  retrying(tree, agent, { attempt, attempts_max = 0, delay_ms, reason }) {
    agent.retries += 1;
    agent.doing = { kind: 'retrying', attempt, attempts_max, delay_ms, reason: short(reason) };
  },
  replied(tree, agent, { reply, cost_usd: costUsd }) {
    agent.rests = !reply.calls?.length;
    if (agent.rests && agent.open_children > 0) agent.doing = { kind: 'waiting_for_sub_agents' };
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
  if (agent.ended_at_ms !== null || !['pending', 'interrupted'].includes(agent.state)) return;
  agent.state = 'queued';
  agent.doing = { kind: 'queued', reason, at: at == null ? null : short(at) };
  agent.interrupted_at_ms = null;
  if (agent.started_at_ms === null) agent.queued_at_ms = atMs;
}

function startCall(agent, { call, tool, title, kind = 'other', paths = [], at_ms: atMs }) {
  agent.doing = { kind: 'calling', title: short(title) };
  const open = { call, tool: short(tool), title: short(title), kind, started_at_ms: atMs };
  setList(open, 'paths', paths.slice(0, CALL_PATHS_MAX).map(short));
  agent.calls = [...(agent.calls ?? []).filter((other) => other.call !== call), open];
}

/** A call has its result. One that was refused never began. */
function finishCall(agent, { call, effects = [] }) {
  for (const effect of effects) {
    if (effect.effect === 'todo') setList(agent, 'todo', todoItems(effect.text));
    else if (effect.effect === 'denied') agent.denied_calls += 1;
  }
  if (agent.calls) setList(agent, 'calls', agent.calls.filter((open) => open.call !== call));
}

/** The items of a list as agents keep it: one a line, behind `[ ]`, `[>]` or `[x]`. */
function todoItems(text) {
  const all = lines(text).filter((line) => trim(line) !== '').slice(0, TODO_ITEMS_MAX);
  return all.map((line) => {
    const state = TODO_STATES[line.slice(0, 4)];
    return { text: short(state ? line.slice(4) : line), state: state ?? 'pending' };
  });
}

/** A call waits until a person answers; the clocks of the agent and of all above it stand still. */
function ask(tree, agent, event) {
  const { question, seq, at_ms: atMs } = event;
  // The same call can be asked about again after an interruption.
  answer(tree, agent, question.call, atMs);
  if (agent.state === 'running') agent.state = 'needs_person';
  agent.doing = question.asks
    ? { kind: 'asking_question', question: short(question.what) }
    : { kind: 'asking_person', tool: short(question.tool), what: short(question.what) };
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
  if (!agent.asks && agent.state === 'needs_person') {
    agent.state = 'running';
    agent.doing = { kind: 'going_on' };
  }
}

/** Messages come, change and are taken back. Those without a number cannot be told apart, so they are left out. */
export function changeMail(agent, event) {
  const mail = agent.mail ?? [];
  const text = event.text === undefined ? '' : message(event.text);
  if (event.type === 'mailed') {
    const { id = 0, from, is_prompt = false } = event;
    if (id !== 0 && mail.length < QUEUED_MAIL_MAX) agent.mail = [...mail, { id, from, text, is_prompt }];
  } else if (event.type === 'mail_edited') {
    setList(agent, 'mail', mail.map((one) => (one.id === event.id ? { ...one, text } : one)));
  } else {
    const gone = event.type === 'told' ? event.mail ?? 0 : event.id;
    if (mail.length > 0) setList(agent, 'mail', mail.filter((one) => one.id !== gone));
  }
}
