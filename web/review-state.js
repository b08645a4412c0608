// The decisions of a review: what is reviewed, which request rejects a part of it, and the message that comments become.
// Pure: it must not know the page or the server.

/** Characters of a line that a comment quotes. */
const QUOTE_MAX = 300;

/** The names of a session's agents: one that continues has the same name. */
export const agentNames = (view) => [...new Set(view.agents.map((agent) => agent.name))];

/** The newest agent of a name or an id; the main agent without one. */
export const agentOf = (view, wanted) => view.agents.findLast((one) => (wanted ? one.name === wanted || one.id === wanted : !one.parent)) ?? null;

/** What is reviewed: `{agent, turn}`, both null for the session. The main agent with all below it is the session. */
export function extentOf(view, agent, turn) {
  const found = agent ? agentOf(view, agent) : null;
  return { agent: found?.parent ? found.name : null, turn: /^[1-9]\d*$/.test(turn) ? Number(turn) : null };
}

/** An extent in words. */
export function extentWords({ agent, turn }) {
  if (turn) return `turn ${turn} of ${agent ?? "the main agent"}`;
  return agent ? `the work of ${agent} and the agents below it` : "the whole session";
}

/** The change that takes back one hunk of a file, or without a hunk all of the file. */
export function rejection({ agent, turn }, path, hunk) {
  const extent = turn ? { turn: { agent, turn } } : agent ? { agent } : "session";
  return { undo: { extent, ...(hunk ? { paths: [], hunks: [{ path, hunks: [hunk] }] } : { paths: [path], hunks: [] }) } };
}

/** The change that a person chose: its kind, and what belongs to that. */
export function changeOf({ kind, agent, turn }) {
  if (kind === "redo") return "redo";
  if (kind === "rewind") return { rewind: { turn: Number(turn) } };
  const extent = { agent: { agent }, turn: { turn: { agent, turn: Number(turn) } } }[kind] ?? kind;
  return { undo: { extent, paths: [], hunks: [] } };
}

/** Files of a diff with the server's ids and marks of hunks. A hunk that it does not know has no id. */
export function withMarks(files, marks) {
  const known = new Map(marks.map((mark) => [`${mark.file}-${mark.hunk}`, mark]));
  const hunk = (one, path, key) => ({ ...one, path, key, id: known.get(key)?.id ?? null, reviewed: known.get(key)?.reviewed ?? false });
  return files.map((file, at) => ({ ...file, at, hunks: file.hunks.map((one) => hunk(one, file.path, `${at}-${one.number}`)) }));
}

/** The same files, with hunks of these ids marked. */
export const marked = (files, ids, reviewed) =>
  files.map((file) => ({ ...file, hunks: file.hunks.map((hunk) => (ids.includes(hunk.id) ? { ...hunk, reviewed } : hunk)) }));

/** How many hunks of some files are reviewed. */
export function progress(files) {
  const hunks = files.flatMap((file) => file.hunks);
  return { done: hunks.filter((hunk) => hunk.reviewed).length, all: hunks.length };
}

/** Whether all of a file is reviewed. */
export const isDone = ({ hunks }) => hunks.length > 0 && hunks.every((hunk) => hunk.reviewed);

/** The key of the hunk `by` steps from one; of the first or last without one. `whole` steps by files. */
export function stepped(files, key, by, whole) {
  const all = files.flatMap((file) => file.hunks);
  const here = all.find((hunk) => hunk.key === key);
  const ends = whole ? all.filter((hunk) => hunk.number === 1) : all;
  const at = ends.findIndex((hunk) => (whole ? hunk.path === here?.path : hunk === here));
  return ends.at(here ? Math.max(0, Math.min(ends.length - 1, at + by)) : by > 0 ? 0 : -1)?.key ?? null;
}

/** The key of the next hunk after one that is not reviewed; of that one where there is none. */
export function nextOpen(files, key) {
  const all = files.flatMap((file) => file.hunks);
  const at = all.findIndex((hunk) => hunk.key === key);
  return [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))].find((hunk) => !hunk.reviewed)?.key ?? key;
}

/** The side that a row of a diff is on and its number there, `new:12`; null where it has none. */
export function placeOf({ old, new: now }) {
  if (now === null) return old === null ? null : `old:${old}`;
  return `new:${now}`;
}

/** The message that comments become. A comment: {path, place, quote, text}. */
export function messageOf(drafts, extent) {
  const number = ({ place }) => Number(place.slice(4));
  const order = (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : number(a) - number(b));
  const one = ({ path, place, quote, text }) => {
    const removed = place.startsWith("old") ? " (a removed line, by its old number)" : "";
    return `${path}:${place.slice(4)}${removed}\n> ${quote.length > QUOTE_MAX ? `${quote.slice(0, QUOTE_MAX)}…` : quote}\n${text.trim()}`;
  };
  const what = drafts.length === 1 ? "this comment" : `these ${drafts.length} comments`;
  return [`I reviewed ${extentWords(extent)}. Please act on ${what}:`, ...[...drafts].sort(order).map(one)].join("\n\n");
}

/** The request that delivers a message to an agent, and the one for where nobody runs the session. */
export function deliveries(agent, text) {
  const works = !agent.ended_at_ms && (agent.parent || !agent.rests);
  const direct = works ? ["tell", { agent: agent.name, text, delivery: "next_turn" }] : ["prompt", { text }];
  return [direct, ["resume", { prompt: text }]];
}
