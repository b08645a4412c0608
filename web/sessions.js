// The list of sessions: those that need the person first, then those at work, then those that rest, then the rest.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { Badge, Button, Confirm, Failure, Menu, tried, useAsync, useClock } from "./ui.js";
import { get, of, post } from "./net.js";
import { link } from "./route.js";
import { GROUPS, grouped } from "./session-groups.js";
import { onSessions } from "./stream.js";
import { exportSession } from "./commands.js";
import { toneOf } from "./agent-words.js";
import { totalTokens } from "./figures.js";
import { ago, counted, money, stateMark, stateWord, tokens, visibleLine } from "./words.js";

const PAGE = 50;
/** The last two parts of a path. */
const shortPath = (path) => path.split("/").filter(Boolean).slice(-2).join("/") || path;

export function Sessions({ server }) {
  const [text, setText] = useState("");
  const [sought, setSought] = useState("");
  const [pages, setPages] = useState([null]);
  const [version, setVersion] = useState(0);
  const [dialog, setDialog] = useState(null);
  const nowMs = useClock(30_000);
  const timer = useRef();
  useEffect(() => onSessions(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setVersion((one) => one + 1), 200);
  }), []);
  useEffect(() => {
    const soon = setTimeout(() => (setSought(text.trim()), setPages([null])), 200);
    return () => clearTimeout(soon);
  }, [text]);
  const { value, error, loading, again } = useAsync(async () => {
    const list = (query) => get("/api/sessions", { text: sought, ...query });
    const [{ questions }, open, ...found] = await Promise.all([get("/api/questions"), list({ states: "running,resting", limit: 100 }), ...pages.map((cursor) => list({ cursor, limit: PAGE }))]);
    return { groups: grouped([...open.sessions, ...found.flatMap(({ sessions }) => sessions)], questions), next: found.at(-1).next };
  }, [sought, pages, version]);
  const isEmpty = value && [...value.groups.values()].every((rows) => rows.length === 0);
  return html`<div class="page stack">
    <div class="row wrap"><h1 class="grow">Sessions</h1>
      <input id="search" class="search" type="search" aria-label="Search titles and prompts" placeholder="Search titles and prompts ( / )" value=${text} onInput=${(event) => setText(event.target.value)} />
      ${!server?.read_only && html`<a class="button primary" href="#/new">New session</a>`}</div>
    ${server?.problem && html`<div class="notice"><b>No model is configured.</b> ${visibleLine(server.problem)} You can read sessions, and start none.</div>`}
    <${Failure} error=${error} again=${again} />
    ${!value && loading && html`<p class="muted">Loading…</p>`}
    ${isEmpty && html`<p class="empty">${sought ? "No session has these words in its title or prompts." : "There are no sessions yet. Begin with “New session”, or with `posse` in a terminal."}</p>`}
    ${value && GROUPS.map(([name, heading]) => value.groups.get(name).length > 0 && html`<section key=${name} aria-label=${heading}>
      <h2 class="group">${heading} <span class="muted">${value.groups.get(name).length}</span></h2>
      <ul class="sessions">${value.groups.get(name).map((row) => html`<${Row} key=${row.id} row=${row} nowMs=${nowMs} readOnly=${server?.read_only} open=${setDialog} />`)}</ul></section>`)}
    ${value?.next && html`<div class="row end"><${Button} disabled=${loading} onClick=${() => setPages([...pages, value.next])}>Show more<//></div>`}
    ${dialog && html`<${Confirm} ...${dialog} onClose=${() => setDialog(null)} act=${async (typed) => (await dialog.act(typed), again())} />`}
  </div>`;
}

function Row({ row, nowMs, readOnly, open }) {
  const name = visibleLine(row.title ?? "Without a prompt yet");
  const rename = () => open({ title: "Rename the session", input: "Title; empty for one made of the first prompt", value: row.title ?? "", yes: "Rename", act: (title) => post(of(row.id, "title"), { title }) });
  const drop = () => open({ title: "Delete the session?", text: `“${name}” and everything on record of it is deleted. The files that it changed stay as they are.`, yes: "Delete", danger: true, act: () => post(of(row.id, "delete")) });
  const items = [!readOnly && { text: "Rename", act: rename }, { text: "Export as Markdown", act: () => tried(exportSession(row.id)) }, !readOnly && { text: "Delete…", danger: true, act: drop }].filter(Boolean);
  return html`<li>
    <a class="session-link" data-row href=${link(row.id)}>
      <span class="cut title">${name}</span>
      <span class="cut small muted where" title=${row.workspace}>${visibleLine(shortPath(row.workspace))}</span>
      <span class="state"><${Badge} tone=${toneOf(row.status)}><span aria-hidden="true">${stateMark(row.status)}</span> ${row.questions > 1 ? counted(row.questions, "question") : stateWord(row.status)}<//></span>
      <span class="num small muted when">${ago(row.last_at_ms, nowMs)}</span>
      <span class="num small tokens" title="Tokens">${tokens(totalTokens(row.usage))}</span>
      <span class="num small cost" title="Cost">${row.cost_usd == null ? "" : `${row.cost_unknown ? "≥ " : ""}${money(row.cost_usd)}`}</span>
    </a><${Menu} label=${`More about ${name}`} items=${items} /></li>`;
}
