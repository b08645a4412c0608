// The conversation of one agent as a list of items, with its calls and its sub-agents in boxes, wherever it is shown: on its
// own, or unfolded inside its parent's.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Button, Failure, useAsync, useChanges, useClock } from "./ui.js";
import { itemsOf } from "./items.js";
import { link } from "./route.js";
import { Markdown } from "./markdown-view.js";
import { parse, Stream } from "./markdown.js";
import { hue, Measured, OtherModel, outcome, ReportLine, RoleIcon, State } from "./agent-words.js";
import { answerWord, duration, now, on, visible, visibleLine } from "./words.js";
import { get, of } from "./net.js";
import { PlainDiff } from "./diff-view.js";

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
    ${!item.children?.length && html`<a class="anchor" href=${link(context.store.session, context.agent, step)} aria-label=${`Link to step ${step}`} title=${`Link to step ${step}`}>¶</a>`}
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
  const head = html`<b>${question.asks ? "Asked you" : `Asked whether it may use ${visibleLine(question.tool)}`}</b>`;
  if (isOpen) return html`<div class="asked open">${head} <a href="#questions" onClick=${toQuestions}>Answer it above</a></div>`;
  return html`<details class="asked" open=${Boolean(question.asks)}><summary>${head} <span class="muted">${answer ? `You: ${visibleLine(answerWord(answer) ?? "no answer")}` : "not answered"}</span></summary>
    ${question.asks ? html`<p class="said">${visible(question.what)}</p>` : html`<pre class="small">${visible(question.what)}</pre>`}</details>`;
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
  // What came late of a reply that is complete is not written any more.
  if (!writes?.text || !isAtWork) stream.current = null;
  else stream.current ??= new Stream();
  return html`<div class="live" aria-busy=${Boolean(stream.current)}>
    ${isAtWork && writes?.reasoning && html`<details class="folded"><summary>Reasoning</summary><pre class="small muted">${visible(writes.reasoning.slice(-4000))}</pre></details>`}
    ${stream.current && html`<div class="prose"><${Markdown} blocks=${stream.current.set(writes.text)} /></div>`}
    ${isAtWork && one.state !== "needs_person" && html`<p class="aside muted" role=${isRoot ? "status" : undefined} aria-live="off"><span class="dot pulse" aria-hidden="true"></span>${visibleLine(now(one, nowMs)) || "at work"}</p>`}
  </div>`;
}

// A sub-agent inside the conversation of its parent: a box with its state and outcome that unfolds into its own conversation.

/** Boxes that are open, so that they stay so when they leave the page for a while. */
const opened = new Set();

function Delegation({ store, id, focus }) {
  useChanges((changed) => store.subscribe(`a:${id}`, changed), [store, id]);
  const [open, setOpen] = useState(opened.has(id) || focus === id);
  const agent = store.agent(id);
  const isAtWork = store.running && agent && !agent.ended_at_ms;
  const nowMs = useClock(1000, Boolean(isAtWork));
  if (!agent) return null;
  const does = isAtWork && now(agent, nowMs);
  const toggle = () => {
    if (open) opened.delete(id);
    else opened.add(id);
    setOpen(!open);
  };
  return html`<section class="delegation" style=${hue(agent)} aria-label=${`Sub-agent ${agent.name}`}>
    <header class="row">
      <button type="button" class="delegation-head" aria-expanded=${open} onClick=${toggle}>
        <span class="muted" aria-hidden="true">${open ? "▾" : "▸"}</span>
        <${RoleIcon} agent=${agent} />
        <b class="hued" style=${hue(agent)}>${visibleLine(agent.name)}</b>
        <span class="cut grow">${visibleLine(agent.title ?? "")}</span>
        <${State} agent=${agent} />
      </button>
      <a class="anchor" href=${link(store.session, id)} aria-label=${`Open ${agent.name} on its own`} title="Open on its own">↗</a>
    </header>
    <div class="delegation-line small muted">${outcome(agent, nowMs)}${agent.on && html` · ${visibleLine(on(agent))}`}${does && html` · ${visibleLine(does)}`}</div>
    <${OtherModel} agent=${agent} />
    ${agent.report && html`<${Measured} report=${agent.report} isShort=${open} />`}
    ${agent.error && !agent.report && html`<p class="bad small">${visibleLine(agent.error)}</p>`}
    ${open && html`<${Thread} store=${store} agent=${id} />`}
  </section>`;
}

// One call of a tool: a line that always names the path and the outcome, and all of it on demand.

const GLYPHS = { read: "≡", edit: "✎", search: "⌕", run: "$", delegate: "⑂", fetch: "↓", ask: "?", remember: "⚑", think: "∴" };
/** Lines of a long text that are shown at first. */
const LINES_MAX = 200;

function Call({ store, agent, item, isOpen }) {
  const [open, setOpen] = useState(isOpen);
  useEffect(() => isOpen && setOpen(true), [isOpen]);
  const { result, paths, title, tool } = item;
  const isOver = !store.running || Boolean(store.agent(agent)?.ended_at_ms);
  // The title of a call names its path nearly always.
  const unnamed = paths.filter((path) => !title.includes(path));
  const outcome = !result ? (isOver ? "no result" : "running") : result.denied ? "not allowed" : !result.ok ? (result.exit != null ? `exit ${result.exit}` : "failed") : "";
  const changed = [...new Set(item.changes.flatMap((one) => one.paths))].filter((path) => !title.includes(path));
  return html`<div class=${`call ${result && !result.ok ? "failed" : ""}`}>
    <button type="button" class="call-line" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class=${`glyph ${result ? (result.ok ? "" : "bad") : isOver ? "" : "pulse"}`} aria-hidden="true">${result && !result.ok ? "✗" : GLYPHS[item.callKind] || "•"}</span>
      <span class="call-title mono">${title.startsWith(tool) ? "" : html`<span class="muted">${visibleLine(tool)} </span>`}${visibleLine(title)}${unnamed.length > 0 ? html` <span class="muted">${visibleLine(unnamed.join(", "))}</span>` : ""}${changed.length > 0 ? html` <span class="warn">changed ${visibleLine(changed.slice(0, 4).join(", "))}</span>` : ""}</span>
      ${outcome && html`<span class=${`small ${result ? "bad" : "muted"}`}>${outcome}</span>`}
      ${result && result.duration_ms >= 1000 && html`<span class="small muted num">${duration(result.duration_ms)}</span>`}
    </button>
    ${!result && !isOver && html`<${Output} store=${store} agent=${agent} call=${item.call} />`}
    ${open && html`<div class="call-all">
      ${item.arguments && html`<${Text} label="Arguments" text=${pretty(item.arguments)} />`}
      ${item.changes.map(({ seq }) => html`<${Changes} key=${seq} store=${store} seq=${seq} />`)}
      ${result && html`<${Text} label=${result.ok ? "Result" : "Error"} text=${result.text} />`}
      ${result?.attachments.map((one) => html`<p class="small muted">${visibleLine(one.name)} (${one.media_type})</p>`)}
    </div>`}
  </div>`;
}

/** What a running command has written so far. */
function Output({ store, agent, call }) {
  useChanges((changed) => store.subscribe(`t:${agent}`, changed), [store, agent]);
  const text = store.text(agent)?.output[call];
  return text ? html`<pre class="output" aria-live="off">${visible(text.split("\n").slice(-12).join("\n"))}</pre>` : null;
}

function pretty(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`).join("\n");
  } catch {
    return text;
  }
}

/** A text as it is, its first lines if it is long. */
function Text({ label, text }) {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const shown = all ? text : lines.slice(0, LINES_MAX).join("\n").slice(0, 60_000);
  return html`<div class="text-block"><div class="small muted">${label}</div><pre>${visible(shown)}</pre>
    ${shown.length < text.length && html`<button type="button" class="button small" onClick=${() => setAll(true)}>Show all ${lines.length} lines</button>`}</div>`;
}

/** What an event changed. */
function Changes({ store, seq }) {
  const { value, error, again } = useAsync(() => get(of(store.session, "event-diff"), { seq }), [seq]);
  if (!value) return error ? html`<${Failure} error=${error} again=${again} />` : html`<p class="small muted">Loading the changes…</p>`;
  return html`<${PlainDiff} text=${value.diff} />`;
}
