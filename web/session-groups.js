// Which sessions come first in the list. Pure.

export const GROUPS = [["needs_person", "Need you"], ["running", "At work"], ["resting", "Resting"], ["rest", "Earlier"]];

/** Sessions by group, each once; `waiting` are open questions. */
export function grouped(sessions, waiting) {
  const asked = new Map();
  for (const { session } of waiting) asked.set(session, (asked.get(session) ?? 0) + 1);
  const groups = new Map(GROUPS.map(([name]) => [name, []]));
  const seen = new Set();
  for (const row of sessions) {
    if (seen.has(row.id)) continue;
    seen.add(row.id);
    const questions = asked.get(row.id) ?? 0;
    const group = questions ? "needs_person" : groups.has(row.status) ? row.status : "rest";
    groups.get(group).push({ ...row, questions, status: questions ? "needs_person" : row.status });
  }
  return groups;
}
