// The addresses inside the page: what is behind the `#`.

/** What an address means: {name, session, agent, seq, rest, query}. What is not known leads to the list of sessions. */
export function parseRoute(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  const [first, session, ...rest] = path.split("/").slice(1).map(decoded);
  if (first === "new") return { name: "new", query };
  if (first === "look") return { name: "look", rest: [session, ...rest].filter(Boolean), query };
  if (first !== "s" || !session) return { name: "sessions", query };
  if (rest[0] === "review") return { name: "review", session, query };
  const [a, agent, e, seq] = rest;
  const step = a === "a" && e === "e" && /^\d+$/.test(seq) ? Number(seq) : null;
  return { name: "session", session, agent: (a === "a" && agent) || null, seq: step, query };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a session, of one of its agents, of one step. */
export function link(session, agent, seq) {
  const one = (name, value) => (value || value === 0 ? `/${name}/${encodeURIComponent(value)}` : "");
  return `#${one("s", session)}${one("a", agent)}${one("e", seq)}`;
}

/** The address of a review: of an agent and a turn, by its name and number, or of all. */
export function reviewLink(session, query = {}) {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `${link(session)}/review${given && "?" + given}`;
}
