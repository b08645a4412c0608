// The list of sessions, those that need the person first; and the form that starts one.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { Button, Confirm, Failure, Menu, tried, useAction, useAsync, useClock } from "./ui.js";
import { get, of, post } from "./net.js";
import { link } from "./route.js";
import { grouped, GROUPS } from "./session-groups.js";
import { onSessions } from "./stream.js";
import { exportSession, openBegun } from "./commands.js";
import { costOf, State, tokensOf } from "./agent-words.js";
import { ago, counted, visible, visibleLine } from "./words.js";
import { Attach, ModelSelect, MODES, PromptField } from "./prompt-field.js";

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
    ${server?.problem && html`<div class="notice said"><b>No model is configured: you can read sessions, and start none.</b> ${visible(server.problem)}</div>`}
    <${Failure} error=${error} again=${again} />
    ${!value && loading && html`<p class="muted">Loading…</p>`}
    ${isEmpty && html`<p class="empty">${sought ? "No session has these words in its title or prompts." : html`There are no sessions yet. Begin with <a href="#/new">a new one</a>, or with <code>posse</code> in a terminal.`}</p>`}
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
      <span class="state"><${State} state=${row.status}>${row.questions > 1 ? counted(row.questions, "question") : undefined}<//></span>
      <span class="num small muted when">${ago(row.last_at_ms, nowMs)}</span>
      <span class="num small tokens" title="Tokens">${tokensOf(row)}</span>
      <span class="num small cost" title="Cost">${costOf(row)}</span>
    </a><${Menu} label=${`More about ${name}`} items=${items} /></li>`;
}

// Starts a session: where, with which model, what may run without asking, and what to do.

const DRAFT = "draft:new";

export function NewSession({ server }) {
  const [wish, setWish] = useState(() => ({ approval: "auto", ...JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}") }));
  const [files, setFiles] = useState([]);
  const folder = wish.folder ?? server?.folder ?? "";
  // Models are those of a folder; it is looked at when it is typed.
  const [seen, look] = useState(folder);
  const where = seen || folder;
  const models = useAsync(() => (where ? get("/api/models", { folder: where }) : Promise.resolve(null)), [where]);
  useEffect(() => document.querySelector(".prompt-field textarea")?.focus(), [Boolean(server)]);
  const set = (change) => {
    const next = { ...wish, ...change };
    setWish(next);
    sessionStorage.setItem(DRAFT, JSON.stringify(next));
  };
  const prompt = wish.prompt ?? "";
  const { begin, busy, error } = useAction(async () => {
    const begun = await post("/api/sessions", { folder, prompt: prompt.trim(), attachments: files, approval: wish.approval, ...(wish.model && { model: wish.model }) });
    sessionStorage.removeItem(DRAFT);
    openBegun(begun);
  });
  const start = () => !busy && prompt.trim() && begin();
  if (!server) return html`<div class="page"><p class="muted">Loading…</p></div>`;
  if (server.read_only) return html`<div class="page"><p>This page is read-only: it starts no sessions.</p></div>`;
  const folders = [...new Set([server.folder, ...server.folders])];
  return html`<div class="page narrow stack">
    <h1>New session</h1>
    ${server.problem && html`<div class="notice said"><b>No model is configured, so no session can begin.</b> ${visible(server.problem)}</div>`}
    <div><div class="label">What should be done?</div>
      <${PromptField} label="Prompt" value=${prompt} folder=${folder} onInput=${(text) => set({ prompt: text })} onSubmit=${start} files=${files} setFiles=${setFiles} placeholder="Enter starts it, Shift+Enter begins a new line, @ names a file" /></div>
    <div class="pair-of-fields"><label>Folder<input list="folders" value=${folder} spellcheck=${false} onInput=${(event) => set({ folder: event.target.value })} onChange=${(event) => look(event.target.value)} /></label>
      <datalist id="folders">${folders.map((one) => html`<option value=${one} />`)}</datalist>
      <label>Model<${ModelSelect} models=${models.value?.models ?? []} value=${wish.model ?? server.model?.name ?? ""} onChange=${(model) => set({ model })} /></label></div>
    <${Failure} error=${models.error} />
    <fieldset class="modes"><legend>What runs without asking</legend>${MODES.map(([mode, name, words]) => html`<label class="row"><input type="radio" name="mode" checked=${wish.approval === mode} onChange=${() => set({ approval: mode })} /><b>${name}</b><span class="muted">${words}</span></label>`)}</fieldset>
    <${Failure} error=${error} />
    <div class="row end"><${Attach} files=${files} setFiles=${setFiles} /><${Button} kind="primary" disabled=${busy || !prompt.trim()} onClick=${start}>${busy ? "Starting…" : "Start"}<//></div>
  </div>`;
}
