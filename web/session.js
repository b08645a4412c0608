// A session: the tree of its agents on the left, the conversation of the selected one on the right, questions above both.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Button, Confirm, Failure, Later, Menu, tried, useChanges, useClock } from "./ui.js";
import { of, post } from "./net.js";
import { link, reviewLink } from "./route.js";
import { onConnection } from "./stream.js";
import { exportSession } from "./commands.js";
import { SessionStore } from "./session-store.js";
import { Composer } from "./composer.js";
import { Questions } from "./questions.js";
import { Tree } from "./tree.js";
import { costOf, hue, OtherModel, outcome, remark, RoleIcon, State, tokensOf } from "./agent-words.js";
import { attention } from "./fold.js";
import { counted, on, visibleLine } from "./words.js";
import { Thread } from "./thread.js";

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
    ? html`<${Later} load=${() => import("./review.js")} name="Review" session=${route.session} view=${view} agent=${route.query.agent} turn=${route.query.turn} readOnly=${readOnly} />`
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
  const remarks = attention(view).filter(({ attention: what }) => what !== "question")
    .map((one) => ({ text: `${one.agent ? `${visibleLine(store.agent(one.agent).name)}: ` : ""}${remark(one)}`, act: () => one.agent && (location.hash = link(session, one.agent)) }));
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
    <${State} state=${state} />
    <span class="small muted cut grow wide-only">${[visibleLine(view.workspace), counted(view.agents.length, "agent"), `${tokensOf(view.in_all)} tokens`, costOf(view.in_all)].filter(Boolean).join(" · ")}</span>
    ${remarks.length > 0 && html`<${Menu} label="What needs attention" items=${remarks}><span class="warn">! ${remarks.length}</span><//>`}
    <nav class=${`row ${isReview ? "" : "wide-only"}`} aria-label="Session"><a class="button quiet" aria-current=${isReview ? undefined : "page"} href=${link(session)}>Work</a><a class="button quiet" aria-current=${isReview ? "page" : undefined} href=${reviewLink(session)}>Review</a></nav>
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
      <button type="button" aria-pressed=${side === "talk"} onClick=${() => setSide("talk")}>Conversation</button>
      <a href=${reviewLink(store.session)}>Review</a></div>
    <div class=${`panes show-${side}`} ref=${panes} style=${{ "--tree": `${width}%` }}>
      <div class="pane tree-pane"><${Tree} store=${store} selected=${selected} onSelect=${select} /></div>
      <div class="splitter" role="separator" aria-orientation="vertical" aria-label="Width of the tree" aria-valuenow=${Math.round(width)} aria-valuemin="20" aria-valuemax="75" tabindex="0" onPointerDown=${drag} onKeyDown=${key}></div>
      <div class="pane talk-pane"><${Conversation} store=${store} agent=${selected} focus=${route.agent === selected ? route.seq : null} />
        ${readOnly ? html`<p class="composer muted small">This page is read-only.</p>` : html`<${Composer} store=${store} agent=${selected} />`}</div>
    </div>`;
}

// The right side of a session: who is selected, its conversation, and where the reader is in it.

const NEAR = 60;

function Conversation({ store, agent, focus }) {
  useChanges((changed) => store.subscribe(`a:${agent}`, changed), [store, agent]);
  const box = useRef();
  const inner = useRef();
  const place = useRef({ atEnd: !focus, top: 0 });
  const [isAway, setAway] = useState(false);
  const toEnd = () => (box.current.scrollTop = box.current.scrollHeight);
  useEffect(() => {
    const observer = new ResizeObserver(() => place.current.atEnd && toEnd());
    observer.observe(inner.current);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    place.current.atEnd = !focus;
    if (!focus) toEnd();
  }, [agent, focus]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    const atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    // What grows below moves nobody up; the reader does.
    if (atEnd || scrollTop < place.current.top) place.current.atEnd = atEnd;
    place.current.top = scrollTop;
    setAway(!atEnd);
    if (scrollTop < 200) inner.current.querySelector(":scope > .thread > .earlier button:enabled")?.click();
  };
  return html`<div class="conversation">
    <${AgentHead} store=${store} id=${agent} />
    <div class="scroller" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off">
      <div class="measure" ref=${inner}><${Thread} key=${agent} store=${store} agent=${agent} focus=${focus} isRoot=${true} /></div>
    </div>
    ${isAway && html`<${Button} class="small to-end" onClick=${toEnd}>Newest ↓<//>`}
  </div>`;
}

function AgentHead({ store, id }) {
  const agent = store.agent(id);
  const nowMs = useClock(1000, store.running);
  if (!agent) return html`<div class="agent-head muted">There is no such agent in this session.</div>`;
  const parent = store.agent(agent.parent);
  return html`<div class="agent-head">
    <div class="row">
      <${RoleIcon} agent=${agent} />
      ${parent && html`<a class="muted small cut" href=${link(store.session, parent.id)}>${visibleLine(parent.name)} ›</a>`}
      <h2 class="hued" style=${hue(agent)}>${visibleLine(agent.name)}</h2>
      <span class="cut grow">${visibleLine(agent.title ?? "")}</span>
      <${State} agent=${agent} />
    </div>
    <${OtherModel} agent=${agent} />
    <div class="row small muted"><span class="grow figures-line">${[agent.role !== agent.name && agent.role, agent.model, visibleLine(on(agent)), outcome(agent, nowMs)].filter(Boolean).join(" · ")}</span>
      <a href=${reviewLink(store.session, { agent: parent ? agent.name : "" })}>Changes</a>
      <a href=${`#/look/context/${store.session}/${encodeURIComponent(agent.name)}`}>Context</a></div>
    ${agent.todo?.length > 0 && html`<details class="folded todo"><summary>To do: ${agent.todo.filter(({ state }) => state === "done").length} of ${agent.todo.length} done</summary>
      <ul>${agent.todo.map(({ text, state }) => html`<li class=${state}><span aria-hidden="true">${state === "done" ? "✓" : state === "doing" ? "●" : "○"}</span> ${visibleLine(text)}<span class="hidden-label">${state}</span></li>`)}</ul></details>`}
  </div>`;
}
