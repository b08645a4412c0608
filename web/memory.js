// Notes that outlive sessions, to read, to find and to forget.

import { html, useState } from "./vendor/preact.js";
import { post } from "./net.js";
import { Badge, Button, Confirm } from "./ui.js";
import { counted } from "./text.js";
import { joinedLines, visible, visibleLine } from "./visible.js";
import { ago } from "./words.js";
import { link } from "./route.js";
import { useRead } from "./fields.js";

/** Notes that are read at once. */
const NOTES_MAX = 1000;

export function Memory({ folder, readOnly }) {
  const [text, setText] = useState("");
  const [doomed, doom] = useState(null);
  const { value, failure, again } = useRead("/api/notes", { project: folder, limit: NOTES_MAX });
  const fits = (note) => [note.text, note.kind, note.agent].some((one) => one.toLowerCase().includes(text.toLowerCase()));
  const notes = (value?.notes ?? []).filter(fits);
  return html`<input type="search" aria-label="Find notes" placeholder="Find notes" value=${text} onInput=${(event) => setText(event.target.value)} />
    ${failure}${value && html`<p class="muted">${counted(notes.length, "note")}${value.notes.length === NOTES_MAX ? ", the newest" : ""}</p>`}
    <ul class="plain cards">${notes.map((note) => html`<li key=${note.id}><p class="said">${visible(note.text)}</p>
      <div class="row wrap muted"><${Badge}>${visibleLine(note.kind)}<//><span>${note.scope === "user" ? "for all projects" : `for ${visibleLine(note.project)}`}</span>
        <a href=${link(note.session)}>${visibleLine(note.agent)}</a><span class="grow">${ago(note.at_ms, Date.now())}</span>
        ${!readOnly && html`<${Button} class="small" onClick=${() => doom(note)}>Forget<//>`}</div></li>`)}</ul>
    ${doomed && html`<${Confirm} title="Forget this note?" text=${`“${joinedLines(doomed.text, 200)}” Agents will not find it any more. This cannot be undone.`}
      yes="Forget" danger act=${() => post("/api/notes/forget", { id: doomed.id }).then(again)} onClose=${() => doom(null)} />`}`;
}
