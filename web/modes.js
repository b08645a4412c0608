// The modes: what runs without asking.

import { html } from "./vendor/preact.js";

export const MODES = [
  ["plan", "Plan", "Agents read and plan. Nothing is changed, and nobody is asked."],
  ["ask", "Ask", "Agents ask before they change a file, run a command or use the network."],
  ["edit", "Edit", "Agents change files without asking. Commands and the network ask."],
  ["auto", "Auto", "Everything inside the sandbox runs without asking. Leaving it asks."],
  ["full", "Full", "Nothing asks, also not outside the sandbox."],
];

export const ModeSelect = ({ value, onChange, ...rest }) => html`<select value=${value} title=${MODES.find(([mode]) => mode === value)?.[2]} onChange=${(event) => onChange(event.target.value)} ...${rest}>
  ${MODES.map(([mode, name, words]) => html`<option value=${mode} title=${words}>${name}</option>`)}</select>`;

export const ModelSelect = ({ models, value, onChange, ...rest }) => html`<select value=${value} onChange=${(event) => onChange(event.target.value)} ...${rest}>
  ${!models.some(({ name }) => name === value) && html`<option value=${value}>${value || "default model"}</option>`}
  ${models.map(({ name, model }) => html`<option value=${name}>${name}${model && model !== name ? ` (${model})` : ""}</option>`)}</select>`;
