// One open session: its view, the text that agents write now, and the pages of conversations that are shown. Whoever shows a
// part of it is told once a frame, and only if that part has changed.

import { agentOf, fold, note, showInterrupted } from "./fold.js";
import { get, of } from "./net.js";
import { follow } from "./stream.js";

const PAGE_EVENTS = 200;
/** Events of one conversation that are kept; older ones are fetched again when they are wanted. */
const EVENTS_MAX = 3000;
/** Conversations that are kept while nobody shows them. */
const IDLE_PAGES_MAX = 20;
const TEXT_MAX = 400_000;
const OUTPUT_MAX = 20_000;
const RELOAD_MS = 150;
/** What an agent does once its reply is complete. */
const AFTER_REPLY = ["calling", "asking_person", "asking_question"];

export class SessionStore {
  constructor(session) {
    Object.assign(this, { session, view: null, running: false, error: null, gone: null, version: 0 });
    this.pages = new Map();
    this.texts = new Map();
    this.watchers = new Map();
    this.dirty = new Set();
    this.stop = () => {};
    this.load();
  }

  close() {
    this.closed = true;
    this.stop();
  }

  /** Fetches the view (again) and follows what comes after it. */
  async load() {
    this.stop();
    const round = (this.round = (this.round || 0) + 1);
    try {
      const { view, running } = await get(of(this.session, "view"));
      if (this.closed || round !== this.round) return;
      if (!running) showInterrupted(view);
      Object.assign(this, { view, running, error: null });
      this.texts.clear();
      this.stop = follow(this.session, view.seq, (kind, data) => this.message(kind, data));
      for (const [id, page] of [...this.pages]) {
        if (this.watchers.has(`a:${id}`)) this.fetch(id, page, 0);
        else this.pages.delete(id);
      }
      this.touch(...this.watchers.keys());
    } catch (error) {
      this.error = error;
      this.touch("view");
    }
  }

  agent(id) {
    return this.view ? agentOf(this.view, id) : undefined;
  }

  main() {
    return this.view?.agents[0];
  }

  /** Keys: "view" (anything in the tree), "a:ID" (one agent and its conversation), "t:ID" (what it writes now). */
  subscribe(key, callback) {
    if (!this.watchers.has(key)) this.watchers.set(key, new Set());
    const all = this.watchers.get(key).add(callback);
    return () => {
      all.delete(callback);
      if (all.size === 0 && this.watchers.get(key) === all) this.watchers.delete(key);
    };
  }

  touch(...keys) {
    if (this.dirty.size === 0) requestAnimationFrame(() => this.flush());
    for (const key of keys) this.dirty.add(key);
    if (keys.includes("view")) this.version++;
  }

  flush() {
    const keys = [...this.dirty];
    this.dirty.clear();
    for (const key of keys) for (const callback of [...(this.watchers.get(key) || [])]) callback();
  }

  message(kind, data) {
    if (kind === "event") this.event(data);
    else if (kind === "progress") this.progress(data);
    else if (kind === "again") this.load();
    else if (kind === "gone") this.gone = data.detail ?? "There is no such session any more.";
    // What is shown of agents that have not ended depends on whether anybody runs them.
    else if (kind === "running" && data.running !== this.running) setTimeout(() => this.load(), RELOAD_MS);
    if (kind === "gone") this.touch("view");
  }

  event(event) {
    if (event.seq <= this.view.seq) return;
    if (event.seq !== this.view.seq + 1) return void this.load();
    fold(this.view, event);
    const { type, agent, parent } = event;
    if (["replied", "cut_short", "model_failed", "turn_started", "retrying"].includes(type)) this.texts.delete(agent);
    if (type === "tool_finished") delete this.texts.get(agent)?.output[event.call];
    this.append(agent, event);
    if (type === "agent_admitted" && parent) this.append(parent, event);
    this.touch("view", `t:${agent}`);
    for (let one = this.agent(agent); one; one = this.agent(one.parent)) this.touch(`a:${one.id}`);
  }

  append(agent, event) {
    const page = this.pages.get(agent);
    if (!page) return;
    // A page may be newer than what is followed. Admissions of sub-agents may not be in it.
    const isNew = !(event.seq <= page.events.at(-1)?.seq);
    if (!isNew && (event.agent === agent || page.events.some(({ seq }) => seq === event.seq))) return;
    page.events = [...page.events, event];
    if (!isNew) page.events.sort((one, other) => one.seq - other.seq);
    if (page.events.length > EVENTS_MAX) {
      page.events = page.events.slice(-EVENTS_MAX + PAGE_EVENTS);
      page.more = true;
    }
  }

  progress({ agent, kind }) {
    const one = this.agent(agent);
    // What is left of a reply may come after the calls that it asks for.
    const isReply = kind === "arriving" || ["text", "text_so_far", "reasoning", "calling"].some((name) => Object.hasOwn(kind, name));
    if (!one || (isReply && AFTER_REPLY.includes(one.doing.kind))) return;
    const before = one.doing.kind;
    note(this.view, { agent, kind }, Date.now());
    if (this.agent(agent).doing.kind !== before) this.touch("view", `a:${agent}`);
    if (typeof kind === "string") return;
    const now = this.texts.get(agent) || { text: "", reasoning: "", output: {} };
    if ("text" in kind) now.text += kind.text;
    else if ("text_so_far" in kind) now.text = kind.text_so_far;
    else if ("reasoning" in kind) now.reasoning = (now.reasoning + kind.reasoning).slice(-TEXT_MAX);
    else if (kind.output) now.output[kind.output.call] = ((now.output[kind.output.call] || "") + kind.output.text).slice(-OUTPUT_MAX);
    else return;
    this.texts.set(agent, now);
    this.touch(`t:${agent}`);
  }

  /** What an agent writes now: {text, reasoning, output: {CALL: text}}; undefined if nothing. */
  text(agent) {
    return this.texts.get(agent);
  }

  /** The loaded part of a conversation: {events, more, loading, error}. The first call fetches its newest page. */
  page(agent) {
    return this.pages.get(agent) || this.open(agent);
  }

  open(agent) {
    const page = { events: [], more: false, loading: true, error: null };
    for (const id of [...this.pages.keys()].slice(0, -IDLE_PAGES_MAX)) {
      if (!this.watchers.has(`a:${id}`)) this.pages.delete(id);
    }
    this.pages.set(agent, page);
    this.fetch(agent, page, 0);
    return page;
  }

  /** Fetches the page before what is loaded. */
  older(agent) {
    const page = this.pages.get(agent);
    if (page && page.more && !page.loading) this.fetch(agent, page, page.events[0]?.seq || 0);
  }

  /** All of a message that waits, however long it is: as it was sent, or edited last. */
  async mailText(agent, id) {
    const isIt = (event) => event.id === id && ["mailed", "mail_edited"].includes(event.type);
    let [events, more] = [this.pages.get(agent)?.events ?? [], true];
    while (!events.some(isIt) && more) {
      ({ events, more } = await get(of(this.session, "transcript"), { agent, before: events[0]?.seq, limit: PAGE_EVENTS }));
    }
    return events.findLast(isIt)?.text ?? "";
  }

  async fetch(agent, page, before) {
    page.loading = true;
    this.touch(`a:${agent}`);
    try {
      const found = await get(of(this.session, "transcript"), { agent, before, limit: PAGE_EVENTS });
      const [first, last] = [found.events[0]?.seq || 0, found.events.at(-1)?.seq || 0];
      const earlier = page.events.filter(({ seq }) => seq < first);
      // What is known of before is kept unless something may be missing between the two.
      const isWhole = earlier.length > 0 && earlier.length < page.events.length;
      page.events = [...(isWhole ? earlier : []), ...found.events, ...page.events.filter(({ seq }) => seq > last)];
      Object.assign(page, { more: isWhole ? page.more : found.more, error: null });
    } catch (error) {
      page.error = error;
    }
    page.loading = false;
    this.touch(`a:${agent}`);
  }
}
