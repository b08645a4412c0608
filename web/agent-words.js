// How agents are named, marked and summed up, wherever they are shown.

import { html } from "./vendor/preact.js";
import { Badge } from "./ui.js";
import { inAll, missingModel, workedMs } from "./fold.js";
import { endingText, facts } from "./report.js";
import { totalTokens } from "./figures.js";
import { counted, duration, interrupted, money, roleIcon, spent, stateMark, stateWord, tokens, turn, visible, visibleLine } from "./words.js";

const TONES = { completed: "ok", running: "accent", needs_person: "warn", interrupted: "warn", cancelled: "warn", resting: "", pending: "", queued: "" };

/** The colour of a state. */
const toneOf = (state, blocked) => (blocked ? "warn" : TONES[state] ?? "bad");
export const tone = ({ state, report }) => toneOf(state, report?.blocked);
export const glyph = ({ state, report }) => stateMark(state, report?.blocked);
export const word = ({ state, report }) => (state === "completed" && report?.blocked ? "completed with blockers" : stateWord(state));

/** The colour of a role, for elements of the class `hued`. */
export const hue = (agent) => ({ "--hue": roleIcon(agent.role).hue });

/** The state of an agent, or of a session. */
export const State = ({ agent, state, children }) => html`<${Badge} tone=${agent ? tone(agent) : toneOf(state)}><span aria-hidden="true">${agent ? glyph(agent) : stateMark(state)}</span> ${children ?? (agent ? word(agent) : stateWord(state))}<//>`;

export const RoleIcon = ({ agent }) => html`<span class="role hued" style=${hue(agent)} title=${visibleLine(agent.role)} aria-hidden="true">${roleIcon(agent.role).letters}</span>`;

export const tokensOf = (figures) => tokens(totalTokens(figures.usage));
export const costOf = ({ cost_usd, cost_unknown }) => (cost_usd == null ? "" : `${cost_unknown ? "≥ " : ""}${money(cost_usd)}`);
export const worked = (agent, nowMs) => duration(agent.duration_ms ?? workedMs(agent, nowMs) ?? 0);

/** `completed in 45 s (8 turns) · 3.1k tokens · $0.0100`, or how far it is. */
export function outcome(agent, nowMs) {
  const all = inAll(agent);
  const time = worked(agent, nowMs);
  const how = agent.ended_at_ms ? `${word(agent)} in ${time} (${counted(agent.own.turns, "turn")})` : `${time} · ${turn(agent)}`;
  const used = agent.below.agents > 0 ? `${tokensOf(agent.own)} tokens (${tokensOf(all)} with ${counted(agent.below.agents, "sub-agent")})` : `${tokensOf(agent.own)} tokens`;
  return [how, used, costOf(all)].filter(Boolean).join(" · ");
}

/** What was measured of an agent's work, and what does not hold of its words; only the latter if `isShort`. */
export function Measured({ report, isShort }) {
  const known = isShort ? [] : report.facts.filter(({ any }) => any);
  const remarks = [...(report.warnings ?? []), ...(report.notes ?? [])];
  return html`<div class="measured small">
    ${!isShort && report.summary && html`<p class="summary">${visible(report.summary)}</p>`}
    ${report.denied?.length > 0 && html`<p class="warn">Not allowed: ${visibleLine(report.denied.map(({ tool, what }) => `${tool} ${what}`).join("; "))}</p>`}
    ${known.length > 0 && html`<ul class="muted">${known.map(({ text }) => html`<li>${visibleLine(text)}</li>`)}</ul>`}
    ${remarks.map((text) => html`<p class="warn">! ${visibleLine(text)}</p>`)}
  </div>`;
}

/** That an agent works on another model than was asked for; nothing else. */
export function OtherModel({ agent }) {
  const asked = missingModel(agent);
  return asked && html`<p class="warn small">The model ${visibleLine(asked)} was asked for and is not configured: it runs on ${visibleLine(agent.model)}.</p>`;
}

/** What needs attention, in a few words. */
export const remark = ({ attention, state, count, agents }) => ({
  interrupted: () => interrupted(agents), failed: () => stateWord(state), blocked: () => "something was in its way", warnings: () => counted(count, "warning"),
  denied: () => `${counted(count, "call")} not allowed`, missing_model: () => "on another model than was asked for", branch: () => "work that is not merged",
})[attention]();

/** How an agent ended or came to rest, as its event says. */
export function ReportLine({ report }) {
  const { status } = report.ending;
  return html`<div class="ended">
    <p class="aside muted"><span class=${toneOf(status, report.blocked)}>${stateMark(status, report.blocked)} ${visibleLine(report.blocked && status === "completed" ? "completed with blockers" : endingText(report.ending))}</span> · ${spent(report.receipt).join(" · ")}</p>
    <${Measured} report=${{ facts: facts(report.receipt), warnings: report.warnings, notes: report.notes }} />
  </div>`;
}
