// A sub-agent inside the conversation of its parent: a box with its state and outcome that unfolds into its own conversation.

import { html, useState } from "./vendor/preact.js";
import { Badge, useChanges, useClock } from "./ui.js";
import { link } from "./route.js";
import { Thread } from "./thread.js";
import { Facts, glyph, hue, outcome, RoleIcon, tone, word } from "./agent-words.js";
import { now, visibleLine } from "./words.js";

/** Boxes that are open, so that they stay so when they leave the page for a while. */
const opened = new Set();

export function Delegation({ store, id, focus }) {
  useChanges((changed) => store.subscribe(`a:${id}`, changed), [store, id]);
  const [open, setOpen] = useState(opened.has(id) || focus === id);
  const agent = store.agent(id);
  const isAtWork = store.running && agent && !agent.ended_at_ms;
  const nowMs = useClock(1000, Boolean(isAtWork));
  if (!agent) return null;
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
        <${Badge} tone=${tone(agent)}><span aria-hidden="true">${glyph(agent)}</span> ${word(agent)}<//>
      </button>
      <a class="anchor" href=${link(store.session, id)} aria-label=${`Open ${agent.name} on its own`} title="Open on its own">¶</a>
    </header>
    <div class="delegation-line small muted">${outcome(agent, nowMs)}${isAtWork && now(agent, nowMs) ? html` · ${visibleLine(now(agent, nowMs))}` : ""}</div>
    ${agent.report && html`<${Facts} report=${agent.report} isShort=${open} />`}
    ${agent.error && !agent.report && html`<p class="bad small">${visibleLine(agent.error)}</p>`}
    ${open && html`<${Thread} store=${store} agent=${id} />`}
  </section>`;
}
