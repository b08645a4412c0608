// One set of words for what is shown of a session. What agents and models wrote stands in these texts as they wrote it:
// show it through `visible`.

import { silentMs } from "./fold.js";
import { together, totalTokens } from "./figures.js";
import { counted, duration, grouped } from "./text.js";

export { counted, duration, grouped, plural } from "./text.js";
export { visible, visibleLine } from "./text.js";

const STATES = { needs_person: "needs you", cancelled: "stopped", timed_out: "out of time" };
const MARKS = {
  completed: "✓", cancelled: "■", running: "●", resting: "○", interrupted: "‖", needs_person: "?", pending: "…", queued: "…",
};
const QUEUED = {
  running_cap: "queued: as many agents run as may (max_running)",
  process_cap: "queued: as many agents run in this process as may (max_running_in_process)",
};
const DOING = {
  starting: () => "starting",
  queued: ({ reason, at }) => QUEUED[reason] ?? `queued: one at a time ${at === null ? "at its model" : `on ${at}`} (max_concurrent)`,
  going_on: () => "going on",
  waiting_for_turn: () => "waiting for its turn at the model",
  waiting_for_model: () => "waiting for the model",
  retrying: ({ attempt, attempts_max: max, delay_ms: delay, reason }) =>
    `${reason} · try ${attempt + 1}${max > 0 ? ` of ${max}` : ""} in ${duration(delay)}`,
  thinking: () => "thinking",
  writing: () => "writing",
  writing_call: ({ tool }) => `writing a ${tool} call`,
  looking_at_files: ({ files }) => `looking at the workspace before the first command: ${counted(files, "file")}`,
  calling: ({ title }) => title,
  asking_person: ({ tool, what }) => `needs you: ${tool} ${what}`,
  asking_question: ({ question }) => `asks you: ${question}`,
  waiting_for_sub_agents: () => "waiting for sub-agents",
};

/** How an agent or a session does. */
export const stateWord = (state) => STATES[state] ?? state.replaceAll("_", " ");

/** The same in one character. `blocked`: it says that something was in its way, so it is no plain success. */
export const stateMark = (state, blocked = false) => (state === "completed" && blocked ? "!" : MARKS[state] ?? "✗");

/** What an agent does right now; empty if nothing. */
export const doing = (activity) => DOING[activity.kind]?.(activity) ?? "";

/** What an agent does now, or for how long its reply has stood still, once that is worth telling. */
export function now(agent, nowMs) {
  const silent = silentMs(agent, nowMs);
  if (silent !== null) return `no answer for ${Math.floor(silent / 1000)} s`;
  if (agent.doing.kind !== "retrying") return doing(agent.doing);
  const later = Math.max(0, nowMs - agent.last_at_ms);
  return doing({ ...agent.doing, delay_ms: Math.max(0, agent.doing.delay_ms - later) });
}

/** Where an agent runs; nothing if at home. */
export const on = (agent) => (agent.on === undefined ? "" : `on ${agent.on}`);

/** That a worker runs an agent from now on. It was moved if another had it before. */
export const placed = ({ worker, epoch }) => (epoch > 1 ? `Moved to ${worker}: the worker before was lost` : `Runs on ${worker}`);

/** `turn 3`, or `turn 3/50` where turns are limited. */
export const turn = ({ turn: number, budget }) => `turn ${number}${budget.turns === null ? "" : `/${budget.turns}`}`;

/** The tokens of a usage, as far as reported. */
function usage(used) {
  const total = totalTokens(used);
  if (total === null) return "tokens not reported";
  return counted(total, "token") + (used.cached_tokens > 0 ? ` (${grouped(used.cached_tokens)} cached)` : "");
}

/** What something cost; at least, where not all of it is known. */
const cost = (usd, more = false) => `${more ? "≥ " : ""}$${usd.toFixed(4)}`;

/** What an agent took, part by part: turns, calls, tokens, cost, sub-agents, time. */
export function spent(receipt) {
  const { below = { agents: 0 }, cost_usd: usd } = receipt;
  const parts = [counted(receipt.turns, "turn"), counted(receipt.tool_calls, "tool call"), usage(receipt.usage)];
  if (usd != null) parts.push(cost(usd));
  if (below.agents > 0) {
    const all = together({ ...receipt, agents: 0, cost_unknown: 0 }, { ...below, cost_unknown: 0 });
    const total = totalTokens(all.usage);
    parts.push(counted(below.agents, "sub-agent") + (total === null ? "" : `: ${counted(total, "token")} in all`)
      + (below.cost_usd == null ? "" : `, ${cost(all.cost_usd)}`));
  }
  return [...parts, duration(receipt.duration_ms)];
}

/** That agents do not run, because their session was interrupted. */
export const interrupted = (agents) => `interrupted: ${counted(agents, "agent")} ${agents === 1 ? "does" : "do"} not run now`;

/** That a session was interrupted, or left by the person, at some time. */
export const wasInterrupted = (agents, detached) =>
  `the session was ${detached ? "left" : "interrupted"} with ${counted(agents, "agent")} that had not ended`;

const HOOK_DID = {
  __proto__: null,
  nothing: "says",
  context: "told the model something",
  rewrite: "changed the call or its result",
  allow: "allowed it",
  ask: "wants you to be asked",
  deny: "said no",
  stop: "stopped everything",
  failed: "failed",
};

/** What a hook came to; null if it has nothing to say. */
export function hookRan({ hook, hook_event, decision, message = "" }) {
  if (decision === "nothing" && !message) return null;
  return `hook ${hook} (${hook_event}) ${HOOK_DID[decision] ?? decision}${message ? `: ${message}` : ""}`;
}

/** How a command ended that ran beside the agents. */
export const commandEnded = (exitCode) => (exitCode == null ? "stopped" : `exit code ${exitCode}`);

/** What a person answered; null where nobody did. */
export function answerWord({ answer, pattern, reason = "", text }) {
  const words = {
    once: "yes, once", session: "yes, in this session", pattern: `yes, whenever it is ${pattern}`,
    no: `no ${reason}`.trimEnd(), said: text,
  };
  return words[answer] ?? null;
}

/** `950`, `12.3k`, `4.5M`; `–` where it is not known. */
export function tokens(number) {
  if (number == null) return "–";
  if (number < 1000) return String(number);
  const [value, unit] = number < 999_950 ? [number / 1000, "k"] : [number / 1_000_000, "M"];
  return `${value.toFixed(value < 99.95 ? 1 : 0)}${unit}`;
}

/** `$0.0042`, `$1.25`; `–` where it is not known. */
export const money = (usd) => (usd == null ? "–" : `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 0.995 ? 4 : 2)}`);

/** How long ago something was: `now`, `5 min ago`, `3 h ago`, `2 days ago`, then the day. */
export function ago(atMs, nowMs) {
  const minutes = Math.floor((nowMs - atMs) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  if (minutes < 30 * 24 * 60) return `${Math.floor(minutes / 1440)} days ago`;
  return new Date(atMs).toISOString().slice(0, 10);
}

/** Two letters for a role, and a hue from 0 to 359 that its name always has. */
export function roleIcon(role) {
  const words = role.match(/[\p{L}\p{N}]+/gu) ?? ["?"];
  const letters = words.length > 1 ? [...words[0]][0] + [...words[1]][0] : [...words[0]].slice(0, 2).join("");
  let hash = 0;
  for (const c of role) hash = (hash * 31 + c.codePointAt(0)) % 360_007;
  return { letters: letters[0].toUpperCase() + letters.slice(1).toLowerCase(), hue: (hash * 137) % 360 };
}
