// One call of a tool: a line that always names the path and the outcome, and all of it on demand.

import { html, useState } from "./vendor/preact.js";
import { Failure, useAsync, useChanges } from "./ui.js";
import { get, of } from "./net.js";
import { PlainDiff } from "./diff-view.js";
import { duration, visible, visibleLine } from "./words.js";

const GLYPHS = { read: "≡", edit: "✎", search: "⌕", run: "$", delegate: "⑂", fetch: "↓", ask: "?", remember: "⚑", think: "∴" };
/** Lines of a long text that are shown at first. */
const LINES_MAX = 200;

export function Call({ store, agent, item, isOpen }) {
  const [open, setOpen] = useState(isOpen);
  const { result, paths, title, tool } = item;
  // The title of a call names its path nearly always.
  const unnamed = paths.filter((path) => !title.includes(path));
  const outcome = !result ? "running" : result.denied ? "not allowed" : !result.ok ? (result.exit != null ? `exit ${result.exit}` : "failed") : "";
  const changed = [...new Set(item.changes.flatMap((one) => one.paths))].filter((path) => !title.includes(path));
  return html`<div class=${`call ${result && !result.ok ? "failed" : ""}`}>
    <button type="button" class="call-line" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class=${`glyph ${result ? (result.ok ? "" : "bad") : "pulse"}`} aria-hidden="true">${result && !result.ok ? "✗" : GLYPHS[item.callKind] || "•"}</span>
      <span class="call-title mono">${title.startsWith(tool) ? "" : html`<span class="muted">${visibleLine(tool)} </span>`}${visibleLine(title)}${unnamed.length > 0 ? html` <span class="muted">${visibleLine(unnamed.join(", "))}</span>` : ""}${changed.length > 0 ? html` <span class="warn">changed ${visibleLine(changed.slice(0, 4).join(", "))}</span>` : ""}</span>
      ${outcome && html`<span class=${`small ${result ? "bad" : "muted"}`}>${outcome}</span>`}
      ${result && result.duration_ms >= 1000 && html`<span class="small muted num">${duration(result.duration_ms)}</span>`}
    </button>
    ${!result && html`<${Output} store=${store} agent=${agent} call=${item.call} />`}
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
export function Text({ label, text }) {
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
