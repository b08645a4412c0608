// The page: the frame around all views, the address, the keys that work everywhere, and who waits for the person.

import { html, render, useEffect, useState } from "./vendor/preact.js";
import { findToken, get, hasToken, onToken, takeToken } from "./net.js";
import { Button, Failure, KeyHelp, Later, Toasts, useAsync } from "./ui.js";
import { onConnection, onSessions, startStream } from "./stream.js";
import { parseRoute } from "./route.js";
import { NewSession, Sessions } from "./sessions.js";
import { Session } from "./session.js";
import { ago } from "./words.js";

const THEMES = { "": ["◐", "Theme: as the system"], light: ["☀", "Theme: light"], dark: ["☾", "Theme: dark"] };
const THEME = "posse-theme";
const KEYS = [
  ["Everywhere", [["?", "these keys"], ["g s", "sessions"], ["g l", "look back"], ["n", "a new session"], ["/", "search"], ["Esc", "leave a field, close a list or a dialog"]]],
  ["In lists", [["j", "the next row"], ["k", "the row before"], ["Enter", "open it"]]],
  ["In a session", [["a", "to the agents"], ["c", "to where you write"], ["q", "to the question that waits for you"], ["r", "review the changes"]]],
  ["In the tree of agents", [["↑ ↓", "select"], ["→ ←", "unfold, fold, or go to the parent"], ["Home End", "the first, the last"]]],
  ["Where you write", [["Enter", "send"], ["Shift+Enter", "a new line"], ["@", "name a file"], ["/", "a command"], ["!", "run a command in the sandbox; its output goes with the prompt"]]],
];

function useRoute() {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const changed = () => set(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parseRoute(hash);
}

/** Keys that work wherever nothing is typed. */
function useKeys(route, setHelp) {
  useEffect(() => {
    let before = "";
    const rows = (by) => {
      const all = [...document.querySelectorAll("[data-row]")];
      all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + by))]?.focus();
    };
    const focus = (selector) => document.querySelector(selector)?.focus();
    const act = {
      "?": () => setHelp(true), n: () => (location.hash = "#/new"), j: () => rows(1), k: () => rows(-1),
      "/": () => (document.querySelector("#search") ? focus("#search") : (location.hash = "#/")),
      a: () => focus(".tree"), c: () => focus(".composer textarea"), q: () => focus("#questions"),
      r: () => route.session && (location.hash = `#/s/${route.session}/review`),
      "g s": () => (location.hash = "#/"), "g l": () => (location.hash = "#/look/stats"),
    };
    const key = (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (event.key === "Escape" && typing && !document.querySelector("dialog[open]")) typing.blur();
      if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const name = before ? `${before} ${event.key}` : event.key;
      before = name === "g" ? "g" : "";
      // Other views have keys of their own, and more of them.
      if (!Object.hasOwn(act, name) || (route.name === "review" && /^[jkacr]$/.test(name))) return;
      event.preventDefault();
      act[name]();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [route.name, route.session]);
}

/** Title and icon of the tab say how many questions wait. */
async function showWaiting(waiting) {
  const title = document.documentElement.dataset.title;
  document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}Posse`;
  const icon = document.querySelector("link[rel=icon]");
  if (waiting === 0) return void (icon.href = "icon.svg");
  const svg = await (await fetch("icon.svg")).text();
  icon.href = `data:image/svg+xml,${encodeURIComponent(svg.replace("</svg>", '<circle cx="24" cy="8" r="8" fill="#d23b2f"/></svg>'))}`;
}

function Theme() {
  const [theme, set] = useState(localStorage.getItem(THEME) ?? "");
  const names = Object.keys(THEMES);
  const next = () => {
    const chosen = names[(names.indexOf(theme) + 1) % names.length];
    localStorage.setItem(THEME, chosen);
    document.documentElement.dataset.theme = chosen;
    set(chosen);
  };
  return html`<${Button} kind="quiet" label=${THEMES[theme][1]} onClick=${next}>${THEMES[theme][0]}<//>`;
}

function Lost({ state }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    setShown(false);
    const timer = state.connected === false && setTimeout(() => setShown(true), 1500);
    return () => clearTimeout(timer);
  }, [state.connected]);
  return shown && html`<div class="lost" role="alert">The connection to the server is lost (${ago(state.sinceMs, Date.now())}). What you see may be old. Trying again…</div>`;
}

/** Asks for the link where no tab knows the token. */
function Locked() {
  const [wrong, setWrong] = useState(false);
  const submit = (event) => {
    event.preventDefault();
    setWrong(!takeToken(event.target.elements.token.value));
  };
  return html`<main class="page narrow"><form class="stack" onSubmit=${submit}><h1>Posse</h1>
    <p>This page needs the link that <code>posse serve</code> printed when it started. Open that link, or paste it here.</p>
    <label>Link or token<input name="token" type="password" autocomplete="off" required /></label>
    ${wrong && html`<${Failure} error=${{ message: "This does not look like a link or a token of Posse." }} />`}
    <div class="row end"><button class="button primary">Open</button></div></form></main>`;
}

function App() {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const [known, setKnown] = useState(hasToken());
  const [state, setState] = useState({ connected: null });
  const [waiting, setWaiting] = useState(0);
  useKeys(route, setHelp);
  useEffect(() => onToken(() => setKnown(hasToken())), []);
  useEffect(() => onConnection(setState), []);
  useEffect(() => onSessions((counts) => setWaiting(counts.waiting)), []);
  useEffect(() => void showWaiting(waiting), [waiting]);
  useEffect(() => {
    const observer = new MutationObserver(() => showWaiting(waiting));
    observer.observe(document.documentElement, { attributeFilter: ["data-title"] });
    return () => observer.disconnect();
  }, [waiting]);
  const { value: server, error, again } = useAsync(() => (known ? get("/api/server") : Promise.resolve(null)), [known, state.connected]);
  if (!known) return html`<${Locked} />`;
  const at = (name) => (route.name === name ? "page" : undefined);
  const view = {
    sessions: () => html`<${Sessions} server=${server} />`,
    new: () => html`<${NewSession} server=${server} />`,
    look: () => html`<${Later} key="look" load=${() => import("./look.js")} name="LookBack" route=${route} />`,
  }[route.name] ?? (() => html`<${Session} key=${route.session} route=${route} server=${server} />`);
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.querySelector("main").focus())}>To the content</a>
    <header class="bar"><a class="brand" href="#/"><img src="icon.svg" alt="" /><span>Posse</span></a>
      <nav aria-label="Main"><a href="#/" aria-current=${at("sessions")}>Sessions${waiting > 0 && html`<span class="count" title="Questions that wait for you">${waiting}</span>`}</a>
        ${server && !server.read_only && html`<a href="#/new" aria-current=${at("new")}>New</a>`}<a href="#/look/stats" aria-current=${at("look")}>Look back</a></nav>
      ${server?.read_only && html`<span class="badge">read-only</span>`}
      <${Theme} /><${Button} kind="quiet" label="Keys" onClick=${() => setHelp(true)}>?<//></header>
    <${Lost} state=${state} />
    ${state.connected !== false && error && html`<${Failure} error=${error} again=${again} />`}
    <main id="main" tabindex="-1">${view()}</main>
    ${help && html`<${KeyHelp} groups=${KEYS} onClose=${() => setHelp(false)} />`}
    <${Toasts} />
  </div>`;
}

document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? "";
await findToken();
startStream();
render(html`<${App} />`, document.getElementById("app"));
