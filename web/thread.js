// The conversation of one agent as a list of items, wherever it is shown: on its own, or unfolded inside its parent's.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Button, Failure, useChanges, useClock } from "./ui.js";
import { itemsOf } from "./items.js";
import { link } from "./route.js";
import { Markdown } from "./markdown-view.js";
import { parse, Stream } from "./markdown.js";
import { Call } from "./call.js";
import { Delegation } from "./delegation.js";
import { ReportLine } from "./agent-words.js";
import { answerWord, now, visible, visibleLine } from "./words.js";

const SENDERS = { posse: "Posse", parent: "From its parent", reports: "Reports of its sub-agents", peer: "From another agent" };

/** Items in the page at first, and how many more each time. While more come, up to as many again stay. */
const STEP = 100;

export function Thread({ store, agent, focus, isRoot }) {
  useChanges((changed) => store.subscribe(`a:${agent}`, changed), [store, agent]);
  const [limit, setLimit] = useState(STEP);
  const page = store.page(agent);
  const items = useMemo(() => itemsOf(agent, page.events), [page.events]);
  const start = useRef(null);
  const at = items.findIndex(({ seq }) => seq === start.current);
  const from = at >= 0 && items.length - at >= limit && items.length - at < limit + STEP ? at : Math.max(0, items.length - limit);
  start.current = items[from]?.seq;
  const shown = items.slice(from);
  const target = focus && (items.find(({ seq }) => seq === focus) ?? items.find(({ seq }) => parseInt(seq) === focus));
  useEffect(() => {
    // Earlier pages are fetched until the step that a link leads to is there.
    if (!focus || shown.includes(target)) return;
    if (target) setLimit(items.length + STEP);
    else store.older(agent);
  }, [focus, items]);
  const earlier = () => (shown.length < items.length ? setLimit(shown.length + STEP) : store.older(agent));
  const context = { store, agent, focus };
  return html`<div class="thread">
    ${page.error && html`<${Failure} error=${page.error} again=${() => (store.pages.delete(agent), store.touch(`a:${agent}`))} />`}
    ${(page.more || shown.length < items.length) && html`<div class="earlier"><${Button} class="small" disabled=${page.loading} onClick=${earlier}>${page.loading ? "Loading…" : "Show what was before"}<//></div>`}
    ${page.loading && items.length === 0 && html`<p class="muted small">Loading…</p>`}
    ${shown.map((item) => html`<${Item} key=${item.seq} item=${item} isFocus=${item === target} ...${context} />`)}
    <${Live} store=${store} agent=${agent} isRoot=${isRoot} />
  </div>`;
}

function Item({ item, isFocus, ...context }) {
  const ref = useRef();
  useEffect(() => isFocus && ref.current.scrollIntoView({ block: "center" }), [isFocus]);
  const Kind = KINDS[item.kind];
  const step = parseInt(item.seq);
  return html`<div ref=${ref} class=${`item ${item.kind} ${isFocus ? "focus" : ""}`}>
    ${item.kind !== "agents" && html`<a class="anchor" href=${link(context.store.session, context.agent, step)} aria-label=${`Link to step ${step}`} title=${`Link to step ${step}`}>¶</a>`}
    <${Kind} item=${item} isFocus=${isFocus} ...${context} />
  </div>`;
}

/** Markdown that is parsed again only if its text changes. */
export function Prose({ text }) {
  const blocks = useMemo(() => parse(text), [text]);
  return html`<div class="prose"><${Markdown} blocks=${blocks} /></div>`;
}

const Fold = ({ label, text, open }) => html`<details class="folded" open=${open}><summary>${label}</summary><${Prose} text=${text} /></details>`;
const delegations = ({ children }, context) => children.map((id) => html`<${Delegation} key=${id} id=${id} ...${context} />`);

const KINDS = {
  task: ({ item }) => html`<${Fold} open=${item.text.length < 1200} label=${`Task: ${visibleLine(item.title)}`} text=${[item.text, item.files.length && `Files: ${item.files.join(", ")}`, item.deliverables.length && `Must exist at the end: ${item.deliverables.join(", ")}`].filter(Boolean).join("\n\n")} />`,
  said: ({ item: { from, text, attachments } }) => html`<div class=${`from-${from}`}>
    ${from === "person" ? html`<span class="who">You</span><div class="words">${visible(text)}</div>` : html`<${Fold} label=${SENDERS[from] ?? from} text=${text} open=${from === "parent" && text.length < 1200} />`}
    ${attachments.map((one) => html`<span class="chip">${visibleLine(one.name)}</span>`)}</div>`,
  words: ({ item }) => html`<${Prose} text=${item.text} />`,
  thought: ({ item }) => html`<${Fold} label="Reasoning" text=${item.text} />`,
  note: ({ item }) => html`<p class=${`aside ${item.tone || "muted"}`}>${visible(item.text)}</p>`,
  call: ({ item, isFocus, ...context }) => html`
    ${(item.children.length === 0 || (item.result && !item.result.ok)) && html`<${Call} store=${context.store} agent=${context.agent} item=${item} isOpen=${isFocus} />`}
    ${delegations(item, context)}`,
  agents: ({ item, ...context }) => delegations(item, context),
  asks: Asked,
  report: ({ item }) => html`<${ReportLine} report=${item.report} />`,
};

/** A question, and what was answered; an open one is answered above. */
function Asked({ item: { question, answer, seq }, store }) {
  const toQuestions = (event) => (event.preventDefault(), document.getElementById("questions")?.focus());
  const isOpen = !answer && store.view.questions.some((one) => one.seq === seq);
  const state = answer ? `You: ${visibleLine(answerWord(answer) ?? "no answer")}` : "not answered";
  return html`<div class=${`asked ${isOpen ? "open" : ""}`}>
    <div><b>${question.asks ? "Asked you" : `Asked whether it may use ${visibleLine(question.tool)}`}</b> ${isOpen
      ? html`<a href="#questions" onClick=${toQuestions}>Answer it above</a>` : html`<span class="muted">${state}</span>`}</div>
    <pre class="small">${visible(question.what)}</pre></div>`;
}

/** What the agent does and writes now. */
function Live({ store, agent, isRoot }) {
  useChanges((changed) => {
    const stops = [store.subscribe(`t:${agent}`, changed), store.subscribe(`a:${agent}`, changed)];
    return () => stops.forEach((stop) => stop());
  }, [store, agent]);
  const one = store.agent(agent);
  const writes = store.text(agent);
  const stream = useRef(null);
  const isAtWork = store.running && one && !one.ended_at_ms && one.state !== "resting";
  const nowMs = useClock(1000, Boolean(isAtWork));
  if (!writes?.text) stream.current = null;
  else stream.current ??= new Stream();
  return html`<div class="live" aria-busy=${Boolean(stream.current)}>
    ${writes?.reasoning && html`<details class="folded"><summary>Reasoning</summary><pre class="small muted">${visible(writes.reasoning.slice(-4000))}</pre></details>`}
    ${stream.current && html`<div class="prose"><${Markdown} blocks=${stream.current.set(writes.text)} /></div>`}
    ${isAtWork && html`<p class="aside muted" role=${isRoot ? "status" : undefined} aria-live="off"><span class="dot pulse" aria-hidden="true"></span>${visibleLine(now(one, nowMs)) || "at work"}</p>`}
  </div>`;
}
