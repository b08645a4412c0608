// The roles of a folder: what each may do, its model, its limits and whom it may delegate to, in words.

import { html } from "./vendor/preact.js";
import { Badge } from "./ui.js";
import { counted, duration } from "./text.js";
import { visible, visibleLine } from "./visible.js";
import { money } from "./words.js";
import { Facts, useRead } from "./fields.js";

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

export function Roles({ folder }) {
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
