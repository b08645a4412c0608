// The right side of a session: who is selected, its conversation, and where the reader is in it.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { Badge, Button, useChanges, useClock } from "./ui.js";
import { link, reviewLink } from "./route.js";
import { Thread } from "./thread.js";
import { glyph, hue, outcome, RoleIcon, tone, word } from "./agent-words.js";
import { visibleLine } from "./words.js";

const NEAR = 60;

export function Conversation({ store, agent, focus }) {
  useChanges((changed) => store.subscribe(`a:${agent}`, changed), [store, agent]);
  const box = useRef();
  const inner = useRef();
  const place = useRef({ atEnd: !focus, height: 0 });
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
    // What grows below moves nobody; only a scroll of the reader counts.
    if (scrollHeight === place.current.height || atEnd) place.current.atEnd = atEnd;
    place.current.height = scrollHeight;
    setAway(!atEnd);
    if (scrollTop < 200) inner.current.querySelector(":scope > .thread > .earlier button:enabled")?.click();
  };
  return html`<div class="conversation">
    <${Head} store=${store} id=${agent} />
    <div class="scroller" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off">
      <div class="measure" ref=${inner}><${Thread} key=${agent} store=${store} agent=${agent} focus=${focus} isRoot=${true} /></div>
    </div>
    ${isAway && html`<${Button} class="small to-end" onClick=${toEnd}>Newest ↓<//>`}
  </div>`;
}

function Head({ store, id }) {
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
      <${Badge} tone=${tone(agent)}><span aria-hidden="true">${glyph(agent)}</span> ${word(agent)}<//>
    </div>
    <div class="row small muted wrap"><span class="grow">${[agent.role !== agent.name && agent.role, agent.model, outcome(agent, nowMs)].filter(Boolean).join(" · ")}</span>
      <a href=${reviewLink(store.session, { agent: parent ? agent.name : "" })}>Changes</a>
      <a href=${`#/look/context/${store.session}/${encodeURIComponent(agent.name)}`}>Context</a></div>
    ${agent.todo?.length > 0 && html`<details class="folded todo"><summary>To do: ${agent.todo.filter(({ state }) => state === "done").length} of ${agent.todo.length} done</summary>
      <ul>${agent.todo.map(({ text, state }) => html`<li class=${state}><span aria-hidden="true">${state === "done" ? "✓" : state === "doing" ? "●" : "○"}</span> ${visibleLine(text)}<span class="hidden-label">${state}</span></li>`)}</ul></details>`}
  </div>`;
}
