// Changes of files by a person: undo, redo, rewind and merge. Each is shown before it is made; a rewind can fork the
// conversation, too.

import { html, useState } from "./vendor/preact.js";
import { of, post } from "./net.js";
import { Badge, Button, Dialog, Failure, offer, Select, toast, tried, useAction, useAsync } from "./ui.js";
import { counted, visible, visibleLine } from "./text.js";
import { openBegun } from "./commands.js";
import { PlainDiff } from "./diff-view.js";
import { agentNames, agentOf, changeOf } from "./review-state.js";

const KINDS = [["last", "the last change"], ["agent", "the work of an agent and those below it"], ["turn", "one turn of an agent"],
  ["session", "everything in this session"], ["rewind", "everything since a turn began"], ["redo", "the last undo"]];

/** Paths that stay as they are; conflicts have a text with both sides. */
const Left = ({ words, list }) => list.length > 0 && html`<div class="notice warn"><p>${words}</p>
  ${list.map((one) => (one.text ? html`<details><summary class="mono">${visibleLine(one.path)}</summary><pre class="said">${visible(one.text)}</pre></details>`
    : html`<p class="mono">${visibleLine(one.path ?? one)}</p>`))}</div>`;

/** What a change would do, and a button that does it. `done(outcome)` follows. */
export function ChangePreview({ session, change, yes, done }) {
  const { value, error, again } = useAsync(() => post(of(session, "changes/preview"), { change }), [JSON.stringify(change)]);
  const { begin, busy } = useAction(async () => {
    const answer = await tried(post(of(session, "changes"), { change }));
    if (answer) done(answer.undone ?? answer.merged);
  });
  if (error || !value) return error ? html`<${Failure} error=${error} again=${again} />` : html`<p class="muted">Looking what that would change …</p>`;
  const { what, changes, diff, conflicts, not_certain: uncertain, not_covered: uncovered } = value.preview;
  return html`<div class="stack"><div class="row wrap"><p class="grow"><b>${visibleLine(what)}</b>: ${counted(changes.length, "file")} would change. Nothing is written yet.</p>
      <${Button} kind="primary" disabled=${busy || !changes.length} onClick=${begin}>${yes}<//></div>
    <${Left} list=${conflicts} words="These would stay as they are, because the same places have changed since:" />
    <${Left} list=${uncertain} words="These would stay as they are. They changed while a command ran, and it is not certain that the command did it:" />
    <${Left} list=${uncovered} words="Undo does not cover:" />
    <${PlainDiff} text=${diff} /></div>`;
}

/** Says what was undone, with a way back. */
export function sayUndone(session, { what, conflicts, not_certain: uncertain }, changed) {
  const redo = async () => (await tried(post(of(session, "changes"), { change: "redo" }), "It is back.")) && changed();
  const left = conflicts.length + uncertain.length;
  offer(`Taken back: ${visibleLine(what)}${left > 0 ? `, except ${counted(left, "file")}` : ""}`, "Undo", redo);
}

/** The dialog for all of this. `changed` is called after files have changed. */
export function Undo({ session, view, changed, onClose }) {
  const [wish, setWish] = useState({ kind: "last", agent: "main", turn: agentOf(view)?.turn || 1 });
  const [change, setChange] = useState(null);
  const set = (name) => (value) => (setChange(null), setWish({ ...wish, [name]: value }));
  const has = (...kinds) => kinds.includes(wish.kind);
  const done = (outcome) => {
    if (has("redo")) toast(`Done: ${visibleLine(outcome.what)}`);
    else sayUndone(session, outcome, changed);
    changed();
    onClose();
  };
  return html`<${Dialog} title="Take changes back" wide onClose=${onClose}><div class="stack">
    <form class="row wrap" onSubmit=${(event) => (event.preventDefault(), setChange(changeOf(wish)))}>
      <${Select} label="Take back" value=${wish.kind} options=${KINDS} set=${set("kind")} />
      ${has("agent", "turn") && html`<${Select} label="Agent" value=${wish.agent} options=${agentNames(view).map((name) => [name])} set=${set("agent")} />`}
      ${has("turn", "rewind") && html`<label class="row">Turn <input class="short" type="number" min="1" required value=${wish.turn} onInput=${(event) => set("turn")(event.target.value)} /></label>`}
      <button class="button">Preview</button></form>
    ${has("rewind") && wish.turn > 1 && html`<${Fork} session=${session} turn=${wish.turn} />`}
    ${change && html`<${ChangePreview} session=${session} change=${change} yes=${has("redo") ? "Bring it back" : "Take it back"} done=${done} />`}
  </div><//>`;
}

/** A new session that continues from before a turn. */
function Fork({ session, turn }) {
  const fork = async (event) => {
    event.preventDefault();
    const { prompt, files } = event.target.elements;
    const made = await tried(post(of(session, "fork"), { prompt: prompt.value, turn: turn - 1, files: files.checked }));
    if (made) openBegun(made);
  };
  return html`<form class="notice stack" onSubmit=${fork}>
    <label>Or fork: a new session that knows the conversation before turn ${turn}<textarea name="prompt" rows="2" required placeholder="What should it do next?"></textarea></label>
    <div class="row wrap"><label class="row grow"><input name="files" type="checkbox" defaultChecked /> with the files as they were then</label><button class="button">Fork</button></div></form>`;
}

// Work that is only on the branches of agents: what merging it would change, what does not go together, and what remains.

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
