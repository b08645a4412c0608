// A session: the tree of its agents on the left, the conversation of the selected one on the right, questions above both.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Badge, Confirm, Failure, Menu, tried, useChanges } from "./ui.js";
import { of, post } from "./net.js";
import { link, reviewLink } from "./route.js";
import { onConnection } from "./stream.js";
import { exportSession } from "./commands.js";
import { SessionStore } from "./session-store.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Questions } from "./questions.js";
import { Review } from "./review.js";
import { Tree } from "./tree.js";
import { costOf, tokensOf, toneOf } from "./agent-words.js";
import { attention } from "./fold.js";
import { counted, stateMark, stateWord, visibleLine } from "./words.js";

const WIDTH = "posse-tree-width";

export function Session({ route, server }) {
  const store = useMemo(() => new SessionStore(route.session), [route.session]);
  useEffect(() => () => store.close(), [store]);
  useEffect(() => onConnection(({ connected }) => connected && store.error && store.load()), [store]);
  useChanges((changed) => store.subscribe("view", changed), [store]);
  const { view, error, gone } = store;
  if (gone) return html`<div class="page"><${Failure} error=${{ detail: gone }} /></div>`;
  if (!view || view.agents.length === 0) return html`<div class="page">${error ? html`<${Failure} error=${error} again=${() => store.load()} />` : html`<p class="muted">Loading the session…</p>`}</div>`;
  const readOnly = server?.read_only ?? true;
  const body = route.name === "review"
    ? html`<${Review} session=${route.session} view=${view} agent=${route.query.agent} turn=${route.query.turn} readOnly=${readOnly} />`
    : html`<${Panes} store=${store} route=${route} readOnly=${readOnly} />`;
  return html`<div class="session">
    <${Head} store=${store} route=${route} readOnly=${readOnly} />
    <${Failure} error=${error} again=${() => store.load()} />
    <${Questions} store=${store} readOnly=${readOnly} />
    ${body}
  </div>`;
}

function Head({ store, route, readOnly }) {
  const { view, running, session } = store;
  const [renames, setRenames] = useState(false);
  const isReview = route.name === "review";
  const needs = attention(view).filter(({ attention: what }) => what !== "question").length;
  const state = view.questions.length > 0 ? "needs_person" : view.state;
  useEffect(() => {
    document.documentElement.dataset.title = view.title ?? "";
    return () => delete document.documentElement.dataset.title;
  }, [view.title]);
  const items = [
    !readOnly && { text: "Rename", act: () => setRenames(true) },
    { text: "Export as Markdown", act: () => tried(exportSession(session)) },
    { text: "Export the record (JSON lines)", act: () => tried(exportSession(session, "jsonl")) },
    !readOnly && running && { text: "End the session when it rests", act: () => tried(post(of(session, "close")), "It ends as soon as it rests.") },
    !readOnly && running && { text: "Stop and end the session", danger: true, act: () => tried(post(of(session, "cancel")), "The session is stopped.") },
  ].filter(Boolean);
  return html`<div class="session-head row">
    <h1 class="cut">${visibleLine(view.title ?? "New session")}</h1>
    <${Badge} tone=${toneOf(state)}><span aria-hidden="true">${stateMark(state)}</span> ${stateWord(state)}<//>
    <span class="small muted cut grow wide-only">${[visibleLine(view.workspace), counted(view.agents.length, "agent"), `${tokensOf(view.in_all)} tokens`, costOf(view.in_all), needs > 0 && `${counted(needs, "remark")}`].filter(Boolean).join(" · ")}</span>
    <nav class="row" aria-label="Session"><a class="button quiet" aria-current=${isReview ? undefined : "page"} href=${link(session)}>Work</a><a class="button quiet" aria-current=${isReview ? "page" : undefined} href=${reviewLink(session)}>Review</a></nav>
    <${Menu} label="More about this session" items=${items} />
    ${renames && html`<${Confirm} title="Rename the session" input="Title; empty for one made of the first prompt" value=${view.title ?? ""} yes="Rename" onClose=${() => setRenames(false)} act=${(title) => post(of(session, "title"), { title })} />`}
  </div>`;
}

function Panes({ store, route, readOnly }) {
  const selected = store.agent(route.agent) ? route.agent : store.main().id;
  const [side, setSide] = useState("talk");
  const panes = useRef();
  const [width, setWidth] = useState(Number(localStorage.getItem(WIDTH)) || 44);
  const size = (percent) => {
    const next = Math.min(75, Math.max(20, percent));
    setWidth(next);
    localStorage.setItem(WIDTH, next);
  };
  // Whoever walks through the tree by keys does not fill the history.
  const select = (id) => location.replace(link(store.session, id));
  const drag = (event) => {
    event.preventDefault();
    const box = panes.current.getBoundingClientRect();
    const move = ({ clientX }) => size(((clientX - box.left) / box.width) * 100);
    const up = () => (removeEventListener("pointermove", move), removeEventListener("pointerup", up));
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  };
  const key = ({ key: name }) => {
    const by = { ArrowLeft: -3, ArrowRight: 3 }[name];
    if (by) size(width + by);
  };
  return html`<div class="switch narrow-only" role="group" aria-label="What is shown">
      <button type="button" aria-pressed=${side === "tree"} onClick=${() => setSide("tree")}>Agents (${store.view.agents.length})</button>
      <button type="button" aria-pressed=${side === "talk"} onClick=${() => setSide("talk")}>Conversation</button></div>
    <div class=${`panes show-${side}`} ref=${panes} style=${{ "--tree": `${width}%` }}>
      <div class="pane tree-pane"><${Tree} store=${store} selected=${selected} onSelect=${select} /></div>
      <div class="splitter" role="separator" aria-orientation="vertical" aria-label="Width of the tree" aria-valuenow=${Math.round(width)} aria-valuemin="20" aria-valuemax="75" tabindex="0" onPointerDown=${drag} onKeyDown=${key}></div>
      <div class="pane talk-pane"><${Conversation} store=${store} agent=${selected} focus=${route.agent === selected ? route.seq : null} />
        ${readOnly ? html`<p class="composer muted small">This page is read-only.</p>` : html`<${Composer} store=${store} agent=${selected} />`}</div>
    </div>`;
}
