// Looking back: the frame of its views, memory, skills, roles, and what fills a context window.

import { html, useEffect, useState } from "./vendor/preact.js";
import { Badge, Button, Confirm, Facts, Select, Table, useRead } from "./ui.js";
import { Stats } from "./stats.js";
import { Folder } from "./folder.js";
import { Servers } from "./servers.js";
import { of, post } from "./net.js";
import { counted, duration, grouped, joinedLines, visible, visibleLine } from "./text.js";
import { ago, money } from "./words.js";
import { link } from "./route.js";
import { stacked } from "./plots.js";

const TABS = { stats: ["Statistics", Stats], context: ["Context", ContextUse], servers: ["Servers", Servers], memory: ["Memory", Memory], skills: ["Skills", Skills], roles: ["Roles", Roles], folder: ["This folder", Folder] };

export function LookBack({ route }) {
  const [chosen, choose] = useState("");
  const { value: server, failure } = useRead("/api/server");
  const [wanted, session, agent] = route.rest;
  const name = TABS[wanted] ? wanted : "stats";
  const [title, View] = TABS[name];
  useEffect(() => document.querySelector(".look-tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" }), [name]);
  // These are about one folder.
  const single = ["skills", "roles", "folder"].includes(name);
  const folder = chosen || (single ? server?.folder : "");
  const folders = server ? [...new Set([server.folder, ...server.folders])].map((one) => [one]) : [];
  return html`<div class="page look stack">
    <div class="row wrap"><h1 class="hidden-label">Look back: ${title}</h1>
      <nav class="look-tabs grow" aria-label="Look back">${Object.entries(TABS).map(([one, [text]]) =>
        html`<a href=${`#/look/${one}`} aria-current=${one === name ? "page" : undefined}>${text}</a>`)}</nav>
      ${!["context", "servers"].includes(name) && html`<${Select} label=${single ? "Folder" : "Project"} value=${folder} set=${choose} options=${single ? folders : [["", "all projects"], ...folders]} />`}</div>
    ${failure}
    ${server && html`<${View} key=${name + (single ? folder : "")} folder=${folder} session=${session} agent=${agent} readOnly=${server.read_only} />`}
  </div>`;
}

// Notes that outlive sessions, to read, to find and to forget.

/** Notes that are read at once. */
const NOTES_MAX = 1000;

function Memory({ folder, readOnly }) {
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

// Skills that agents find in a folder, to read and to forget.

function Skills({ folder, readOnly }) {
  const [doomed, doom] = useState(null);
  const { value, failure, again } = useRead("/api/skills", { folder });
  return html`${failure}${value?.skills.length === 0 && html`<p class="empty">Agents find no skills in this folder.</p>`}
    <div class="cards">${value?.skills.map((skill) => html`<${Skill} key=${skill.key} skill=${skill} folder=${folder} forget=${!readOnly && (() => doom(skill))} />`)}</div>
    ${doomed && html`<${Confirm} title=${`Forget the skill ${visibleLine(doomed.name)}?`} text=${`Agents will not find it any more. Its folder, ${visibleLine(doomed.path)}, is moved aside into the data directory of Posse.`}
      yes="Forget" danger act=${() => post("/api/skills/forget", { folder, key: doomed.key }).then(again)} onClose=${() => doom(null)} />`}`;
}

function Skill({ skill, folder, forget }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary><b>${visibleLine(skill.name)}</b> <${Badge}>${skill.from === "you" ? "yours" : "project"}<//>
      ${!skill.listed && html` <${Badge}>models are not told of it<//>`}<span class="about">${visible(skill.description)}</span></summary>
    ${open && html`<div class="stack"><${Facts} rows=${[["folder", skill.path], ["hides", skill.hides.join(", ")], ["needs", skill.allowed_tools.join(", ")], ["warnings", skill.warnings.join("; ")]]} />
      <${SkillText} folder=${folder} id=${skill.key} />
      ${forget && html`<div class="row end"><${Button} class="small" onClick=${forget}>Forget<//></div>`}</div>`}</details>`;
}

function SkillText({ folder, id }) {
  const { value, failure } = useRead("/api/skill", { folder, key: id });
  return html`${failure}${value && html`<pre class="said" tabindex="0">${visible(value.text)}</pre>`}`;
}

// The roles of a folder: what each may do, its model, its limits and whom it may delegate to, in words.

const FILES = { none: "no files", read: "read files", write: "read and write files" };
const SHELL = { none: "no commands", inspect: "commands that only read", verify: "commands whose writes are thrown away", full: "all commands, in the sandbox" };
const ISOLATION = { worktree: "in a checkout and on a branch of its own", shared: "in the same files as its parent" };

/** Which names pass, in words. */
function names({ allow = [], deny = [] }, all) {
  const allowed = allow.length ? allow.map((layer) => layer.join(", ") || "none").join("; of these only ") : all;
  return deny.length ? `${allowed}, but not ${deny.join(", ")}` : allowed;
}

/** What a role may do, in words. */
function rights({ files, shell, network, writes = {} }) {
  const where = names({ allow: writes.roots, deny: writes.except }, "");
  const web = { none: "no network", full: "fetch from the network" }[network] ?? `fetch from ${network.hosts.join(", ")}`;
  return [FILES[files] + (files === "write" && where ? ` in ${where}` : ""), SHELL[shell], web].join(", ");
}

/** What a role may spend, in words. */
function limits({ budget: { turns, time_ms: time, tokens, cost_usd: usd }, max_output_tokens: reply }) {
  const parts = [turns && counted(turns, "turn"), time && duration(time), tokens && counted(tokens, "token"), usd && money(usd), reply && `${counted(reply, "token")} in a reply`];
  return parts.filter(Boolean).join(", ") || "the general ones";
}

function Roles({ folder }) {
  const { value, failure } = useRead("/api/roles", { folder });
  return html`${failure}${value?.problems?.map((text) => html`<p class="warn">${visible(text)}</p>`)}
    <div class="cards">${value?.roles.map((role) => html`<${OneRole} key=${role.name} role=${role} />`)}</div>`;
}

function OneRole({ role }) {
  const { grant, origin, model } = role;
  const file = origin.user ?? origin.project;
  const tools = names(grant.tools, "all");
  return html`<details><summary><b>${visibleLine(role.display_name ?? role.name)}</b> ${file && html`<${Badge}>${origin.user ? "yours" : "project"}<//>`}
      <span class="about">${visible(role.description)}</span></summary>
    <${Facts} rows=${[["may", rights(grant)], ["tools", role.tools_listed_by_task ? `those that the task lists, of ${tools}` : tools], ["delegates to", names(grant.delegates, "every role")],
      ["model", model && model !== "inherit" ? model : "its parent's"], ["limits", limits(role)], ["works", ISOLATION[role.isolation]],
      ["single", role.single && "one in a session, which is asked again"], ["aliases", role.aliases.join(", ")], ["file", file]]} /></details>`;
}

// What fills the context window of an agent: a bar of all parts, and a list of them, largest first.

const KINDS = {
  system: "system prompt", tool_descriptions: "descriptions of tools", person: "your words", parent: "task from its parent",
  peer: "messages of other agents", reports: "reports of sub-agents", posse: "reminders of Posse",
  summary: "summary of what was before", model_text: "replies", reasoning: "reasoning", tool_calls: "calls", tool_results: "results",
};
const ORDER = Object.keys(KINDS);
const address = (session, agent) => `#/look/context/${encodeURIComponent(session)}/${encodeURIComponent(agent)}`;
const name = ({ kind, tool }) => (KINDS[kind] ?? kind) + (tool ? ` · ${tool}` : "");
const hue = ({ kind }) => `s${(ORDER.indexOf(kind) + 1) % 6}`;

function ContextUse({ session, agent = "main" }) {
  return session ? html`<${OfAgent} key=${session} session=${session} agent=${agent} />` : html`<${Choose} />`;
}

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
