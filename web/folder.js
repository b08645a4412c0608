// One folder: whether all that Posse needs is there, files that want to be trusted, rules, the model of each role, and the
// configuration in effect.

import { html, useState } from "./vendor/preact.js";
import { post } from "./net.js";
import { Badge, Button, Select, tried, useRead } from "./ui.js";
import { counted, visible, visibleLine } from "./text.js";

const FOUND = { good: ["ok", "✓", "good"], absent: ["muted", "–", "missing, and not needed"], bad: ["bad", "✗", "to be fixed"] };
const KINDS = { allow: "allow", ask: "always ask", deny: "never" };

export const Folder = ({ folder, readOnly }) => html`<${Trust} folder=${folder} readOnly=${readOnly} /><${Doctor} folder=${folder} />
  <${Rules} folder=${folder} readOnly=${readOnly} /><${RoleModels} folder=${folder} readOnly=${readOnly} /><${Configuration} folder=${folder} />`;

function Doctor({ folder }) {
  const { value, failure, again } = useRead("/api/doctor", { folder });
  const { findings = [], ready = [] } = value?.report ?? {};
  const isNeeded = ({ state }) => state !== "absent";
  // What begins with spaces belongs to what is above it.
  const rows = (list) => html`<ul class="plain findings">${list.map(({ state, what, text, advice }) => html`<li class=${what.startsWith(" ") ? "muted small" : ""}><span class=${FOUND[state][0]}><span aria-hidden="true">${FOUND[state][1]}</span><span class="hidden-label">${FOUND[state][2]}</span></span>
    <span class="muted">${what.startsWith(" ") ? "" : visibleLine(what)}</span><span>${visible(text)}${advice && html`<br /><span class="warn">${visible(advice)}</span>`}</span></li>`)}</ul>`;
  const absent = findings.filter((one) => !isNeeded(one));
  return html`<section class="card stack"><div class="row"><h2 class="grow">Is everything there?</h2><${Button} class="small" onClick=${again}>Check again<//></div>
    ${failure}${!value && html`<p class="muted">Looking at models, sandbox, git and record…</p>`}
    ${ready.length > 0 && html`<p><b>${visible(ready.join(" · "))}</b></p>`}
    ${rows(findings.filter(isNeeded))}
    ${absent.length > 0 && html`<details><summary>${counted(absent.length, "thing")} missing, and not needed</summary>${rows(absent)}</details>`}</section>`;
}

/** Files that want to act: exactly their content and what they want. Only what is shown is trusted. */
function Trust({ folder, readOnly }) {
  const { value, failure, again } = useRead("/api/trust", { folder });
  const items = value?.items ?? [];
  const trust = async (id) => (await tried(post("/api/trust", { folder, ids: [id] }), "This content of the file is trusted.")) && again();
  if (!items.length) return failure;
  return html`<section class="card stack"><h2>Files of this folder that want to be allowed something</h2>${failure}
    ${items.map((item) => html`<details key=${item.id} open=${!item.trusted}><summary><code>${visibleLine(item.path)}</code> <${Badge} tone=${item.trusted ? "ok" : "warn"}>${item.trusted ? "trusted" : "not trusted"}<//></summary>
      <div class="stack"><ul class="wants">${item.wants.map((text) => html`<li>${visible(text)}</li>`)}</ul><pre class="said" tabindex="0">${visible(item.text)}</pre>
        ${!item.trusted && !readOnly && html`<div class="row end"><span class="muted grow">If the file changes, you are asked again.</span><${Button} kind="danger" onClick=${() => trust(item.id)}>Trust this content<//></div>`}</div></details>`)}</section>`;
}

function Rules({ folder, readOnly }) {
  const { value, failure, again } = useRead("/api/rules", { folder });
  const [kind, setKind] = useState("allow");
  const rules = value?.rules ?? [];
  const save = async (event) => {
    event.preventDefault();
    const { rule } = event.target.elements;
    if (!(await tried(post("/api/rules/save", { kind, rule: rule.value.trim() }), "The rule is saved."))) return;
    rule.value = "";
    again();
  };
  const remove = async ({ kind: what, rule }) => (await tried(post("/api/rules/remove", { kind: what, rule }), "The rule is removed.")) && again();
  return html`<section class="card stack"><h2>Rules</h2>${failure}
    ${value && rules.length === 0 && html`<p class="muted">There are no rules: the mode of a session decides what asks.</p>`}
    ${rules.length > 0 && html`<ul class="plain rules">${rules.map((one) => html`<li class="row"><${Badge} tone=${{ allow: "ok", ask: "warn", deny: "bad" }[one.kind]}>${KINDS[one.kind]}<//><code class="cut grow">${visibleLine(one.rule)}</code>
      ${!one.counts && html`<span class="warn small">counts once you trust its file</span>`}<span class="muted small cut">${visibleLine(one.file)}:${one.line}</span>
      ${one.own && !readOnly && html`<${Button} class="small" label=${`Remove ${one.rule}`} onClick=${() => remove(one)}>Remove<//>`}</li>`)}</ul>`}
    ${!readOnly && html`<form class="row wrap" onSubmit=${save}><${Select} label="" name="Kind of rule" value=${kind} options=${Object.entries(KINDS)} set=${setKind} />
      <input name="rule" class="grow mono" required aria-label="Rule" placeholder="edit_file(docs/*) or shell(cargo test)" /><button class="button">Save for all folders</button></form>`}</section>`;
}

function RoleModels({ folder, readOnly }) {
  const roles = useRead("/api/roles", { folder });
  const models = useRead("/api/models", { folder });
  const list = roles.value?.roles ?? [];
  const names = (models.value?.models ?? []).map(({ name, model }) => [name, model && model !== name ? `${name} (${model})` : name]);
  const save = async (role, model) => (await tried(post("/api/roles/model", { role, model }), `${role} works on ${model} in new sessions.`)) && roles.again();
  return html`<section class="card stack"><h2>Models by role</h2>${roles.failure}${models.failure}
    <div class="role-models">${list.map(({ name, model }) => {
      const own = !model || model === "inherit" ? "" : model;
      const options = [["", "its parent's"], ...(own && !names.some(([one]) => one === own) ? [[own]] : []), ...names];
      return readOnly ? html`<span>${visibleLine(name)}: <span class="muted">${visibleLine(own || "its parent's")}</span></span>`
        : html`<${Select} key=${name} label=${visibleLine(name)} value=${own} options=${own ? options.slice(1) : options} set=${(chosen) => chosen && save(name, chosen)} />`;
    })}</div></section>`;
}

function Configuration({ folder }) {
  const { value, failure } = useRead("/api/config", { folder });
  return html`<section class="card stack"><details><summary><h2>Configuration in effect</h2></summary>${failure}<pre class="said" tabindex="0">${visible(value?.text ?? "")}</pre></details></section>`;
}
