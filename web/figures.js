// What agents have used (turns, calls, tokens, money) and the time they have spent. Unknown stays unknown, which is not
// zero. Every function gives a new value and changes none.

const TOKENS = ["input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"];
// Sums of the same costs in another order differ by less.
const ROUNDING_USD = 1e-9;

const each = (value) => Object.fromEntries(TOKENS.map((key) => [key, value(key)]));

const NO_USAGE = Object.freeze(each(() => null));

export const noFigures = (agents) =>
  ({ agents, turns: 0, tool_calls: 0, usage: NO_USAGE, cost_usd: null, cost_unknown: 0 });

const plus = (a, b) => (a == null ? b ?? null : a + (b ?? 0));

/** Request and reply together; null if neither is known. */
export const totalTokens = ({ input_tokens: input, output_tokens: output }) => plus(input, output);

/** Figures and others together. */
export function together(figures, others) {
  return {
    agents: figures.agents + others.agents,
    turns: figures.turns + others.turns,
    tool_calls: figures.tool_calls + others.tool_calls,
    usage: each((key) => plus(figures.usage[key], others.usage[key])),
    cost_usd: plus(figures.cost_usd, others.cost_usd),
    cost_unknown: Math.max(0, figures.cost_unknown + others.cost_unknown),
  };
}

const newly = (some) => ({ ...noFigures(0), ...some });

/** Each of these changes the figures of an agent and says what is new, for those above it. */
export const usedTurn = (agent) => addOwn(agent, newly({ turns: 1 }));

export const usedTool = (agent) => addOwn(agent, newly({ tool_calls: 1 }));

export function usedReply(agent, usage, costUsd) {
  const isKnown = Number.isFinite(costUsd) && costUsd >= 0;
  if (!isKnown) agent.unpriced_calls += 1;
  return addOwn(agent, newly({ usage, cost_usd: isKnown ? costUsd : null }));
}

/** The agent ended. Its receipt covers its whole life and may know more than its events. */
export function usedInAll(agent, receipt) {
  const told = agent.own;
  agent.unpriced_calls = unpricedAfter(agent, receipt);
  const more = addOwn(agent, newly({
    turns: Math.max(0, receipt.turns - told.turns),
    tool_calls: Math.max(0, receipt.tool_calls - told.tool_calls),
    usage: each((key) => beyond(receipt.usage[key], told.usage[key])),
    cost_usd: receipt.cost_usd == null ? null : receipt.cost_usd - (told.cost_usd ?? 0),
  }));
  // The sum of both differs from it by rounding.
  agent.own.cost_usd = receipt.cost_usd ?? agent.own.cost_usd;
  if (told.cost_usd === agent.own.cost_usd) more.cost_usd = null;
  return more;
}

function unpricedAfter(agent, receipt) {
  const [all, told] = [receipt.cost_usd ?? null, agent.own.cost_usd];
  // It has priced what the replies do not.
  if (all !== null && (told === null || all > told + ROUNDING_USD)) return 0;
  if (all === null && told === null) return Math.max(agent.unpriced_calls, agent.own.turns, receipt.turns);
  return agent.unpriced_calls;
}

function addOwn(agent, more) {
  const before = agent.own.cost_unknown;
  agent.own = together(agent.own, more);
  // A call that never came back has no reply, and nobody knows what it cost.
  const isUnknown = agent.unpriced_calls > 0 || (agent.own.cost_usd === null && agent.own.turns > 0);
  agent.own.cost_unknown = isUnknown ? 1 : 0;
  return { ...more, cost_unknown: agent.own.cost_unknown - before };
}

function beyond(all, known) {
  if (all == null || known == null) return all ?? null;
  return all > known ? all - known : null;
}

/** A clock with other fields, which goes or stands still as it should from then on. */
function setClock(clock, atMs, change = {}) {
  const next = { ...clock, ...change };
  const goes = next.at_work && next.asked === 0;
  if (goes) next.since_ms ??= atMs;
  else [next.spent_ms, next.since_ms] = [spentMs(next, atMs), null];
  return next;
}

/** What a clock shows at a time. */
export const spentMs = (clock, nowMs) =>
  clock.spent_ms + (clock.since_ms === null ? 0 : Math.max(0, nowMs - clock.since_ms));

export const startClock = (clock, atMs) => setClock(clock, atMs, { at_work: true });

export const stopClock = (clock, atMs) => setClock(clock, atMs, { at_work: false });

/** Stops at what was measured. */
export const endClock = (clock, spent, atMs) => ({ ...stopClock(clock, atMs), spent_ms: spent });

/** Goes on with what had been spent by then. */
export const resumeClock = (clock, spent, atMs) => startClock(endClock(clock, spent, atMs), atMs);

/** One more question is open, or one less. */
export const askClock = (clock, more, atMs) => setClock(clock, atMs, { asked: Math.max(0, clock.asked + more) });
