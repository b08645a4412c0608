// What the views of review and looking back share: answers with their failures, choices, facts and tables.

import { html } from "./vendor/preact.js";
import { get } from "./net.js";
import { Failure, useAsync } from "./ui.js";
import { visibleLine } from "./visible.js";

/** What the server answers: `value`, `again`, and `failure` to be shown. */
export function useRead(path, query = {}) {
  const { value, error, again } = useAsync(() => get(path, query), [path, JSON.stringify(query)]);
  return { value, again, failure: html`<${Failure} error=${error} again=${again} />` };
}

/** A choice. `options`: [value, text?]. */
export const Select = ({ label, value, options, set }) => html`<label class="row">${label}<select value=${value} onChange=${(event) => set(event.target.value)}>
  ${options.map(([one, text = one]) => html`<option value=${one}>${visibleLine(text)}</option>`)}</select></label>`;

/** Names and texts; those without text are left out. */
export const Facts = ({ rows }) => html`<dl class="facts">${rows.filter(([, text]) => text).map(([name, text]) => html`<dt>${name}</dt><dd>${visibleLine(text)}</dd>`)}</dl>`;

/** Rows with a name and numbers. A row may have a mark before its name. */
export const Table = ({ head, rows, mark = () => null }) => html`<div class="scroll"><table>
  <thead><tr>${head.map((name, index) => html`<th scope="col" class=${index ? "num" : ""}>${name}</th>`)}</tr></thead>
  <tbody>${rows.map(([name, ...cells], index) => html`<tr><th scope="row">${mark(index)}${visibleLine(name)}</th>${cells.map((text) => html`<td class="num">${text}</td>`)}</tr>`)}</tbody></table></div>`;
