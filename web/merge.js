// Work that is only on the branches of agents: what merging it would change, what does not go together, and what remains.

import { html, useState } from "./vendor/preact.js";
import { Badge, Button, Dialog, toast } from "./ui.js";
import { counted } from "./text.js";
import { visibleLine } from "./visible.js";
import { ChangePreview, Left } from "./undo.js";

const STATES = { working: "at work", unmerged: "not merged", conflicts: "merged in part" };

/** The agents whose work is not merged. One that continues counts once, as it is now. */
export function unmerged(view) {
  const newest = new Map(view.agents.filter((agent) => agent.branch).map((agent) => [agent.name, agent]));
  return [...newest.values()].filter((agent) => agent.branch.state !== "merged");
}

export function Merge({ session, view, readOnly, changed, onClose }) {
  const [agent, choose] = useState(null);
  const [left, setLeft] = useState(null);
  const done = (merged) => {
    toast(`Merged ${counted(merged.changes.length, "file")} of ${visibleLine(merged.branch)}.`);
    setLeft(merged);
    choose(null);
    changed();
  };
  const list = unmerged(view);
  return html`<${Dialog} title=${agent ? `Merge the work of ${visibleLine(agent)}` : "Branches"} wide onClose=${onClose}><div class="stack">
    ${left && html`<${Left} list=${left.conflicts} words=${`These places stayed as they were. The agent's version is still on ${visibleLine(left.branch)}:`} />`}
    ${agent ? html`<div><${Button} class="small" onClick=${() => choose(null)}>All branches<//></div><${ChangePreview} session=${session} change=${{ merge: { agent } }} yes="Merge" done=${done} />`
      : list.map((one) => html`<${OneBranch} agent=${one} merge=${!readOnly && (() => choose(one.name))} />`)}
    ${!list.length && html`<p class="muted">All work of agents is merged.</p>`}</div><//>`;
}

function OneBranch({ agent, merge }) {
  const { name, state, paths = [] } = agent.branch;
  return html`<section class="notice"><div class="row wrap"><b>${visibleLine(agent.name)}</b><span class="grow">${visibleLine(agent.title ?? "")}</span>
      <${Badge} tone=${state === "conflicts" ? "warn" : ""}>${STATES[state]}<//>${merge && state !== "working" && html`<${Button} class="small" onClick=${merge}>Preview and merge<//>`}</div>
    <p class="muted">Only on <code>${visibleLine(name)}</code>: ${paths.map(visibleLine).join(", ") || (state === "working" ? "known when the agent ends" : "places that did not go together")}</p></section>`;
}
