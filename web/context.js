// What fills the context window of an agent: a bar of all parts, and a list of them, largest first.

import { html } from "./vendor/preact.js";
import { of } from "./net.js";
import { counted, grouped } from "./text.js";
import { visibleLine } from "./visible.js";
import { link } from "./route.js";
import { Facts, Select, Table, useRead } from "./fields.js";
import { stacked } from "./plots.js";

const KINDS = {
  system: "system prompt", tool_descriptions: "descriptions of tools", person: "your words", parent: "task from its parent",
  peer: "messages of other agents", reports: "reports of sub-agents", posse: "reminders of Posse",
  summary: "summary of what was before", model_text: "replies", reasoning: "reasoning", tool_calls: "calls", tool_results: "results",
};
const ORDER = Object.keys(KINDS);
const address = (session, agent) => `#/look/context/${encodeURIComponent(session)}/${encodeURIComponent(agent)}`;
const name = ({ kind, tool }) => (KINDS[kind] ?? kind) + (tool ? ` · ${tool}` : "");
const hue = ({ kind }) => `s${(ORDER.indexOf(kind) + 1) % 6}`;

export const ContextUse = ({ session, agent = "main" }) => (session ? html`<${OfAgent} key=${session} session=${session} agent=${agent} />` : html`<${Choose} />`);

function Choose() {
  const { value, failure } = useRead("/api/sessions", { limit: 50 });
  return html`${failure}<p class="muted">Whose context window? Choose a session.</p>
    <ul class="plain">${value?.sessions.map((row) => html`<li class="cut"><a href=${address(row.id, "main")}>${visibleLine(row.title || "no title yet")}</a>
      <span class="muted"> ${visibleLine(row.workspace)}</span></li>`)}</ul>`;
}

function OfAgent({ session, agent }) {
  const agents = useRead(of(session, "agents")).value?.agents ?? [];
  const { value, failure } = useRead(of(session, "context"), { agent });
  const names = [...new Set([agent, ...agents.map((row) => row.name)])];
  return html`<div class="row wrap"><${Select} label="Agent" value=${agent} options=${names.map((one) => [one])} set=${(one) => (location.hash = address(session, one))} />
      <a href=${link(session)}>to the session</a><a href="#/look/context">another session</a></div>
    ${failure}${value?.context.agent_name === agent && html`<${Use} used=${value.context} />`}`;
}

function Use({ used: { parts, window_tokens: room, counted_tokens: known, ...used } }) {
  const all = parts.reduce((sum, part) => sum + part.tokens, 0) || 1;
  const share = (tokens) => (room ? `${grouped(tokens)} of ${grouped(room)} tokens (${Math.floor((100 * tokens) / room)}%)` : counted(tokens, "token"));
  const pieces = stacked(parts.map((part) => (1000 * part.tokens) / Math.max(all, room)));
  return html`<${Facts} rows=${[["model", used.model], ["counted by the provider", known === null ? "not yet" : share(known)],
      ["estimated from the texts", share(used.estimated_tokens)], ["shortened", counted(used.compactions, "time")]]} />
    <svg class="window" viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label=${`${share(all)}; the table has the parts`}>
      ${pieces.map(({ from, to }, index) => html`<rect class=${hue(parts[index])} x=${from} width=${Math.max(0, to - from - 1)} height="28"><title>${visibleLine(name(parts[index]))}: ${grouped(parts[index].tokens)}</title></rect>`)}</svg>
    <${Table} head=${["what", "share", "tokens", "texts"]} rows=${parts.map((part) => [name(part), `${Math.round((100 * part.tokens) / all)}%`, grouped(part.tokens), grouped(part.texts)])}
      mark=${(index) => html`<i class=${hue(parts[index])}></i>`} />`;
}
