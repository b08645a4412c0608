// Looking back: statistics, the context window of an agent, memory, skills and roles, for one project or all.

import { html, useState } from "./vendor/preact.js";
import { Select, useRead } from "./fields.js";
import { Stats } from "./stats.js";
import { ContextUse } from "./context.js";
import { Memory } from "./memory.js";
import { Skills } from "./skills.js";
import { Roles } from "./roles.js";

const TABS = { stats: ["Statistics", Stats], context: ["Context", ContextUse], memory: ["Memory", Memory], skills: ["Skills", Skills], roles: ["Roles", Roles] };

export function LookBack({ route }) {
  const [chosen, choose] = useState("");
  const { value: server, failure } = useRead("/api/server");
  const [wanted, session, agent] = route.rest;
  const name = TABS[wanted] ? wanted : "stats";
  const [title, View] = TABS[name];
  // Skills and roles are those of one folder.
  const single = name === "skills" || name === "roles";
  const folder = chosen || (single ? server?.folder : "");
  const folders = server ? [...new Set([server.folder, ...server.folders])].map((one) => [one]) : [];
  return html`<div class="page look stack">
    <div class="row wrap"><h1 class="hidden-label">Look back: ${title}</h1>
      <nav class="look-tabs grow" aria-label="Look back">${Object.entries(TABS).map(([one, [text]]) =>
        html`<a href=${`#/look/${one}`} aria-current=${one === name ? "page" : undefined}>${text}</a>`)}</nav>
      ${name !== "context" && html`<${Select} label="Project" value=${folder} set=${choose} options=${single ? folders : [["", "all projects"], ...folders]} />`}</div>
    ${failure}
    ${server && html`<${View} key=${name} folder=${folder} session=${session} agent=${agent} readOnly=${server.read_only} />`}
  </div>`;
}
