// Which sessions the tabs of this browser want to follow, and from where: what the one shared stream asks for. Pure.

/** How long wishes count without news of their tab: background tabs may speak only once a minute. */
const FORGOTTEN_MS = 150_000;

export class Wishes {
  constructor() {
    this.tabs = new Map();
    this.at = new Map();
  }

  /** A tab says what it follows ({session: after}). Answers whether the stream must be asked for again. */
  set(tab, follows, nowMs) {
    const before = this.tabs.get(tab)?.follows ?? {};
    this.tabs.set(tab, { follows, nowMs });
    const fresh = Object.entries(follows).filter(([session, after]) => !(after >= before[session]));
    for (const [session, after] of fresh) this.at.set(session, Math.min(after, this.at.get(session) ?? after));
    return this.prune(nowMs) || fresh.length > 0;
  }

  /** A tab is closed. */
  drop(tab, nowMs) {
    this.tabs.delete(tab);
    return this.prune(nowMs);
  }

  /** An event of a session has come. */
  saw(session, seq) {
    if (this.at.has(session)) this.at.set(session, seq);
  }

  prune(nowMs) {
    for (const [tab, said] of this.tabs) if (nowMs - said.nowMs > FORGOTTEN_MS) this.tabs.delete(tab);
    const wanted = new Set([...this.tabs.values()].flatMap(({ follows }) => Object.keys(follows)));
    const unwanted = [...this.at.keys()].filter((session) => !wanted.has(session));
    for (const session of unwanted) this.at.delete(session);
    return unwanted.length > 0;
  }

  /** `SESSION:AFTER,…`, as the stream is asked for. */
  query() {
    return [...this.at].map(([session, after]) => `${session}:${after}`).join(",");
  }
}
