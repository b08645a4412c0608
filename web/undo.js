// Changes of files by a person: undo, redo and rewind. Each is shown before it is made; a rewind can fork the conversation, too.

import { html, useState } from "./vendor/preact.js";
import { of, post } from "./net.js";
import { Button, Dialog, Failure, toast, tried, useAsync } from "./ui.js";
import { counted } from "./text.js";
import { visible, visibleLine } from "./visible.js";
import { link } from "./route.js";
import { Select } from "./fields.js";
import { PlainDiff } from "./diff-view.js";
import { agentNames, agentOf, changeOf } from "./review-state.js";

const KINDS = [["last", "the last change"], ["agent", "the work of an agent and those below it"], ["turn", "one turn of an agent"],
  ["session", "everything in this session"], ["rewind", "everything since a turn began"], ["redo", "the last undo"]];

/** Paths that stay as they are; conflicts have a text with both sides. */
export const Left = ({ words, list }) => list.length > 0 && html`<div class="notice warn"><p>${words}</p>
  ${list.map((one) => (one.text ? html`<details><summary class="mono">${visibleLine(one.path)}</summary><pre class="said">${visible(one.text)}</pre></details>`
    : html`<p class="mono">${visibleLine(one.path ?? one)}</p>`))}</div>`;

/** What a change would do, and a button that does it. `done(outcome)` follows. */
export function ChangePreview({ session, change, yes, done }) {
  const { value, error, again } = useAsync(() => post(of(session, "changes/preview"), { change }), [JSON.stringify(change)]);
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    const answer = await tried(post(of(session, "changes"), { change }));
    setBusy(false);
    if (answer) done(answer.undone ?? answer.merged);
  };
  if (error || !value) return error ? html`<${Failure} error=${error} again=${again} />` : html`<p class="muted">Looking what that would change …</p>`;
  const { what, changes, diff, conflicts, not_certain: uncertain, not_covered: uncovered } = value.preview;
  return html`<div class="stack"><div class="row wrap"><p class="grow"><b>${visibleLine(what)}</b>: ${counted(changes.length, "file")} would change. Nothing is written yet.</p>
      <${Button} kind="primary" disabled=${busy || !changes.length} onClick=${act}>${yes}<//></div>
    <${Left} list=${conflicts} words="These would stay as they are, because the same places have changed since:" />
    <${Left} list=${uncertain} words="These would stay as they are. They changed while a command ran, and it is not certain that the command did it:" />
    <${Left} list=${uncovered} words="Undo does not cover:" />
    <${PlainDiff} text=${diff} /></div>`;
}

/** Says what was undone, with a way back. */
export function sayUndone(session, { what, conflicts, not_certain: uncertain }, changed) {
  const redo = async () => (await tried(post(of(session, "changes"), { change: "redo" }), "It is back.")) && changed();
  const left = conflicts.length + uncertain.length;
  toast(html`Taken back: ${visibleLine(what)}${left > 0 && `, except ${counted(left, "file")}`} <${Button} class="small" onClick=${redo}>Undo<//>`);
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
    made?.notes.forEach((note) => toast(visible(note)));
    if (made) location.hash = link(made.session);
  };
  return html`<form class="notice stack" onSubmit=${fork}>
    <label>Or fork: a new session that knows the conversation before turn ${turn}<textarea name="prompt" rows="2" required placeholder="What should it do next?"></textarea></label>
    <div class="row wrap"><label class="row grow"><input name="files" type="checkbox" defaultChecked /> with the files as they were then</label><button class="button">Fork</button></div></form>`;
}
