// The rows of the tree of agents, and where their bars of time are. Pure.

/** The agents that are shown, in the order of the tree: {agent, depth, kids, open, last}. `closed` is a set of ids. */
export function treeRows(agents, closed) {
  const below = new Map();
  const known = new Set(agents.map(({ id }) => id));
  for (const agent of agents) {
    const parent = known.has(agent.parent) ? agent.parent : null;
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push(agent);
  }
  const rows = [];
  const visit = (agent, depth) => {
    const kids = below.get(agent.id)?.length ?? 0;
    const open = kids > 0 && !closed.has(agent.id);
    rows.push({ agent, depth, kids, open });
    if (open) for (const child of below.get(agent.id)) visit(child, depth + 1);
  };
  for (const agent of below.get(null) ?? []) visit(agent, 0);
  return rows;
}

/** Which rows are on the screen: [first, behind the last], with some more around them. Their number stays the same. */
export function visibleRows(total, height, top, screen, around = 6) {
  const count = Math.min(total, Math.ceil(screen / height) + 2 * around + 1);
  const first = Math.max(0, Math.min(Math.floor(top / height) - around, total - count));
  return [first, first + count];
}

/** The time that the bars show. It never ends before it begins. */
export function timeSpan({ started_at_ms, last_at_ms }, running, nowMs) {
  const from = started_at_ms ?? nowMs;
  return { from, to: Math.max(running ? nowMs : last_at_ms, last_at_ms, from + 1) };
}

/** The bars of an agent, in percent of a span: {kind: "queued" | "work" | "asks", left, width}. */
export function bars(agent, { from, to }, asked = []) {
  const at = (ms) => Math.min(100, Math.max(0, ((ms - from) / (to - from)) * 100));
  const bar = (kind, begin, end) => ({ kind, left: at(begin), width: Math.max(0, at(end) - at(begin)) });
  const end = agent.ended_at_ms ?? agent.interrupted_at_ms ?? (agent.state === "resting" ? agent.last_at_ms : to);
  const list = [];
  if (agent.queued_at_ms != null) list.push(bar("queued", agent.queued_at_ms, agent.started_at_ms ?? end));
  if (agent.started_at_ms != null) list.push(bar("work", agent.started_at_ms, end));
  if (asked.length > 0) list.push(bar("asks", Math.min(...asked), end));
  return list;
}

/** Which row a key leads to, and what it opens or closes: {to?, open?, close?}. */
export function treeKey(rows, current, key, page = 10) {
  const at = Math.max(0, rows.findIndex(({ agent }) => agent.id === current));
  const row = rows[at];
  const go = (place) => ({ to: rows[Math.min(rows.length - 1, Math.max(0, place))]?.agent.id });
  switch (key) {
    case "ArrowDown": case "j": return go(at + 1);
    case "ArrowUp": case "k": return go(at - 1);
    case "PageDown": return go(at + page);
    case "PageUp": return go(at - page);
    case "Home": return go(0);
    case "End": return go(rows.length - 1);
    case "ArrowRight": return row.kids > 0 && !row.open ? { open: current } : row.kids > 0 ? go(at + 1) : {};
    case "ArrowLeft": return row.open ? { close: current } : row.agent.parent ? { to: row.agent.parent } : {};
    default: return null;
  }
}
