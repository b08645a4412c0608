// The servers whose tools the agents of a session call: how they are, their tools and their prompts.

import { html } from "./vendor/preact.js";
import { Badge, Button, useRead } from "./ui.js";
import { of } from "./net.js";
import { counted, visible, visibleLine } from "./text.js";
import { link } from "./route.js";
import { promptCommands, stateWords } from "./server-prompts.js";

/** Those of one session; a session is chosen if there is none. */
export function Servers({ session }) {
  return session ? html`<${OfSession} key=${session} session=${session} />` : html`<${Choose} />`;
}

function Choose() {
  const { value, failure } = useRead("/api/sessions", { states: "running,needs_person,resting", limit: 50 });
  return html`${failure}<p class="muted">Servers run with a session. Whose? ${value?.sessions.length === 0 && "No session runs now."}</p>
    <ul class="plain">${value?.sessions.map((row) => html`<li class="cut"><a href=${`#/look/servers/${row.id}`}>${visibleLine(row.title || "no title yet")}</a>
      <span class="muted"> ${visibleLine(row.workspace)}</span></li>`)}</ul>`;
}

function OfSession({ session }) {
  const { value, failure, again } = useRead(of(session, "servers"));
  return html`<div class="row wrap"><a href=${link(session)}>to the session</a><a class="grow" href="#/look/servers">another session</a>
      <${Button} class="small" onClick=${again}>Look again<//></div>
    ${failure}${value?.servers.length === 0 && html`<p class="empty">This session has no servers. posse mcp add adds one for the next session.</p>`}
    <div class="cards">${value?.servers.map((server) => html`<${OneServer} key=${server.name} server=${server} />`)}</div>`;
}

function OneServer({ server }) {
  const prompts = promptCommands([server]);
  const item = (name, about) => html`<li><code>${visibleLine(name)}</code> <span class="muted">${visibleLine(about)}</span></li>`;
  return html`<details><summary><b>${visibleLine(server.name)}</b> <${Badge}>${stateWords(server.state)}<//>
      <span class="about">${visible(server.detail)}</span></summary>
    <div class="stack"><p><code>${visibleLine(server.shown)}</code></p>
      <p class="muted">${[counted(server.tools.length, "tool"), counted(prompts.length, "prompt"), counted(server.resources, "resource")].join(", ")}</p>
      <ul class="plain">${server.tools.map((tool) => item(tool.name, tool.description))}</ul>
      ${prompts.length > 0 && html`<p class="muted">Prompts, to be typed in the session:</p>
        <ul class="plain">${prompts.map(({ name, help }) => item(`/${name}`, help))}</ul>`}</div></details>`;
}
