// The event stream, once for all tabs of the browser: the tab that holds a lock reads it and passes it on to the others.

import { authorized, hasToken, onToken } from "./net.js";
import { SseParser } from "./sse.js";
import { Wishes } from "./wishes.js";

const SILENCE_MS = 40_000;
const PAUSES_MS = [300, 1000, 2000, 4000, 8000, 15_000];

const tab = crypto.randomUUID();
const channel = new BroadcastChannel("posse-stream");
const followers = new Map();
const watchers = new Set();
const stateWatchers = new Set();
const wishes = new Wishes();
let leads = false;
let connection = null;
let timer = null;
let failures = 0;
let counts = null;
let state = { connected: null, sinceMs: Date.now() };

/** Follows a session from an event on. `onMessage(kind, data)`; kinds as in the stream. Returns a function that ends it. */
export function follow(session, after, onMessage) {
  const one = { session, after, onMessage };
  followers.set(one, one);
  wish();
  return () => {
    followers.delete(one);
    wish();
  };
}

/** Calls back with {waiting, working, version} whenever the list of sessions changes. */
export function onSessions(callback) {
  watchers.add(callback);
  if (counts) callback(counts);
  return () => watchers.delete(callback);
}

/** Calls back with {connected, sinceMs}: true, false, or null before the first try. */
export function onConnection(callback) {
  stateWatchers.add(callback);
  callback(state);
  return () => stateWatchers.delete(callback);
}

/** Begins; called once. */
export function startStream() {
  const lead = () => {
    leads = true;
    channel.postMessage({ hello: true });
    wish();
    soon(0);
    return new Promise(() => {});
  };
  if (navigator.locks) navigator.locks.request("posse-stream", lead);
  else lead();
  setInterval(wish, 20_000);
  addEventListener("pagehide", () => channel.postMessage({ gone: tab }));
  addEventListener("pageshow", wish);
  addEventListener("online", () => leads && soon(0));
  onToken(() => leads && soon(0));
  wish();
}

/** Tells the leading tab what this one follows. */
function wish() {
  const follows = {};
  for (const { session, after } of followers.values()) {
    follows[session] = Math.min(after, follows[session] ?? after);
  }
  if (leads) heard({ tab, follows });
  else channel.postMessage({ tab, follows });
}

channel.onmessage = ({ data }) => {
  if (data.message) deliver(...data.message);
  else if (data.state) setState(data.state);
  else if (data.hello) wish();
  else if (leads) heard(data);
};

function heard({ tab: from, follows, gone }) {
  const changed = gone ? wishes.drop(gone, Date.now()) : wishes.set(from, follows, Date.now());
  if (changed) soon(20);
}

function deliver(kind, data) {
  if (kind === "sessions") {
    counts = data;
    for (const watcher of watchers) watcher(data);
    return;
  }
  for (const one of [...followers.values()]) {
    if (data.session && data.session !== one.session) continue;
    if (kind === "event") one.after = Math.max(one.after, data.seq);
    one.onMessage(kind, data);
  }
}

function setState(next) {
  if (next.connected === state.connected) return;
  state = next;
  if (leads) channel.postMessage({ state });
  for (const watcher of stateWatchers) watcher(state);
}

/** Asks for the stream (again) after a moment. */
function soon(ms) {
  clearTimeout(timer);
  timer = setTimeout(connect, ms);
}

async function connect() {
  connection?.abort();
  if (!hasToken()) return;
  const mine = (connection = new AbortController());
  let silence;
  const alive = () => {
    clearTimeout(silence);
    silence = setTimeout(() => mine.abort(), SILENCE_MS);
  };
  alive();
  try {
    const path = `/api/events?follow=${encodeURIComponent(wishes.query())}`;
    const { body } = await authorized(path, { signal: mine.signal });
    failures = 0;
    setState({ connected: true, sinceMs: Date.now() });
    await read(body.getReader(), mine, alive);
  } catch {
    // Whatever it was: the stream has ended, and is asked for again.
  }
  clearTimeout(silence);
  if (connection !== mine) return;
  setState({ connected: false, sinceMs: Date.now() });
  soon(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]);
}

async function read(reader, mine, alive) {
  const decoder = new TextDecoder();
  const parser = new SseParser(({ event, data }) => {
    if (connection !== mine) return;
    const content = JSON.parse(data);
    if (event === "event") wishes.saw(content.session, content.seq);
    channel.postMessage({ message: [event, content] });
    deliver(event, content);
  });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    parser.push(decoder.decode(value, { stream: true }));
  }
}
