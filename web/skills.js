// Skills that agents find in a folder, to read and to forget.

import { html, useState } from "./vendor/preact.js";
import { post } from "./net.js";
import { Badge, Button, Confirm } from "./ui.js";
import { visible, visibleLine } from "./visible.js";
import { Facts, useRead } from "./fields.js";

export function Skills({ folder, readOnly }) {
  const [doomed, doom] = useState(null);
  const { value, failure, again } = useRead("/api/skills", { folder });
  return html`${failure}${value?.skills.length === 0 && html`<p class="empty">Agents find no skills in this folder.</p>`}
    <div class="cards">${value?.skills.map((skill) => html`<${Skill} key=${folder + skill.key} skill=${skill} folder=${folder} forget=${!readOnly && (() => doom(skill))} />`)}</div>
    ${doomed && html`<${Confirm} title=${`Forget the skill ${visibleLine(doomed.name)}?`} text=${`Its folder is deleted: ${visibleLine(doomed.path)}. This cannot be undone.`}
      yes="Forget" danger act=${() => post("/api/skills/forget", { folder, name: doomed.key }).then(again)} onClose=${() => doom(null)} />`}`;
}

function Skill({ skill, folder, forget }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary><b>${visibleLine(skill.name)}</b> <${Badge}>${skill.from === "you" ? "yours" : "project"}<//>
      ${!skill.listed && html` <${Badge}>models are not told of it<//>`}<span class="about">${visible(skill.description)}</span></summary>
    ${open && html`<div class="stack"><${Facts} rows=${[["folder", skill.path], ["hides", skill.hides.join(", ")], ["needs", skill.allowed_tools.join(", ")], ["warnings", skill.warnings.join("; ")]]} />
      <${SkillText} folder=${folder} name=${skill.key} />
      ${forget && html`<div class="row end"><${Button} class="small" onClick=${forget}>Forget<//></div>`}</div>`}</details>`;
}

function SkillText({ folder, name }) {
  const { value, failure } = useRead("/api/skill", { folder, name });
  return html`${failure}${value && html`<pre class="said" tabindex="0">${visible(value.text)}</pre>`}`;
}
