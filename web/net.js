// The token, and requests to the server. The token stays out of addresses, logs and the history of the browser.

const KEY = "posse-token";
const channel = new BroadcastChannel("posse-token");
const listeners = new Set();
let token = null;

/** What the server refused, in words for people (`detail`) and for programs (`kind`). */
class ApiError extends Error {
  constructor(status, kind, detail) {
    super(detail);
    Object.assign(this, { status, kind, detail });
  }
}

/** Calls back whenever the token is found or refused. Returns a function that ends this. */
export function onToken(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const hasToken = () => token !== null;

/** Takes a token, or a link that ends with one. Says whether it looks like one. */
export function takeToken(text) {
  const found = /(?:#token=)?([\w-]{16,})\s*$/.exec(text.trim());
  if (found) use(found[1], true);
  return Boolean(found);
}

function use(value, told) {
  if (value === token) return;
  token = value;
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
  if (told) channel.postMessage({ token: value });
  for (const listener of listeners) listener();
}

channel.onmessage = ({ data }) => {
  if (data.ask && token) channel.postMessage({ token });
  else if (data.token) use(data.token, false);
};

/** Looks for the token: in the link that opened this tab, from before a reload, in other tabs. */
export async function findToken() {
  const linked = /^#token=([\w-]+)/.exec(location.hash);
  if (linked) {
    history.replaceState(null, "", location.pathname + "#/");
    use(linked[1], true);
  } else {
    use(sessionStorage.getItem(KEY), false);
  }
  if (token) return true;
  channel.postMessage({ ask: true });
  await new Promise((done) => {
    const stop = onToken(() => done(stop()));
    setTimeout(done, 300);
  });
  return token !== null;
}

/** Asks the server; `query` has no entry for what is undefined, null or empty. */
export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return request(search ? `${path}?${search}` : path, {});
}

/** Has the server do something. It is sent once: what came of a lost request is not known. */
export function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request(path, options) {
  const response = await authorized(path, options);
  return response.status === 204 ? {} : response.json();
}

/** A response that is not an error; the stream of events reads its body piece by piece. */
export async function authorized(path, { headers, ...options }) {
  const sent = token;
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...headers, authorization: `Bearer ${sent}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is `posse serve` still running?");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && sent === token) use(null, false);
  const detail = problem.detail || problem.title || `The server answered with status ${response.status}.`;
  throw new ApiError(response.status, problem.kind || "internal", detail);
}

/** The path of something of a session. */
export const of = (session, what = "") => `/api/sessions/${encodeURIComponent(session)}${what && "/" + what}`;
