// What tasks came to, as plots: success, warnings, cost and time by role and model, tokens by week. Every plot has a table.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { duration, grouped, oneLine, visibleLine } from "./text.js";
import { money, tokens } from "./words.js";
import { Select, Table, useRead } from "./ui.js";
import { barPlot, largest, timeUnit } from "./plots.js";

const HOUR_MS = 3_600_000;
const TIMES = [[0, "all time"], [7, "7 days"], [30, "30 days"], [90, "90 days"], [365, "a year"]];
/** Rows that a plot shows; its table has all. */
const ROWS_MAX = 12;

const percent = (part, all) => Math.round((100 * part) / all);
const outOf = (part, all) => `${percent(part, all)}% (${grouped(part)} of ${grouped(all)})`;
const cost = (row) => (row.cost_usd === null ? "not known" : `${row.cost_unknown ? "at least " : ""}${money(row.cost_usd)}`);
const input = ({ usage }) => usage.input_tokens ?? 0;

/** What is plotted: names of the values of a row, and each value in exact words. */
const OUTCOME = {
  title: "Success and warnings", series: ["completed", "with warnings"], max: 100, format: (value) => `${value}%`,
  values: (row) => [(100 * row.completed) / row.tasks, (100 * row.warned) / row.tasks],
  exact: (row) => [outOf(row.completed, row.tasks), outOf(row.warned, row.tasks)],
};
const COST = { title: "Cost", series: ["cost"], format: (value) => `$${value}`, values: (row) => [row.cost_usd], exact: (row) => [cost(row)] };
const TIME = {
  title: "Working time", series: ["time"], format: (value) => (value ? duration(value).replace(/ 0 (s|min)$/, "") : "0"), timed: true,
  values: (row) => [row.duration_ms_total], exact: (row) => [duration(row.duration_ms_total)],
};
const KIND_TIME = { ...TIME, title: "Time", counts: "times" };
const TOKENS = {
  title: "Tokens", series: ["cached input", "other input", "output"], format: tokens, pile: true,
  values: (row) => [row.usage.cached_tokens ?? 0, input(row) - (row.usage.cached_tokens ?? 0), row.usage.output_tokens ?? 0],
  exact: (row) => TOKENS.values(row).map(grouped),
};

export function Stats({ folder }) {
  const [days, setDays] = useState(0);
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const { value, failure } = useRead("/api/stats", { since_ms: Number(days) && now - days * 24 * HOUR_MS || null, project: folder });
  const { total, roles, models, surfaces, weeks, time = [] } = value?.stats ?? {};
  const kinds = time.map(({ kind, ms, count }) => ({ key: kind.replace(/^tool:/, ""), tasks: count, duration_ms_total: ms }));
  const plots = total && [[OUTCOME, "role", roles], [OUTCOME, "model", models], [COST, "role", roles], [COST, "model", models],
    [TIME, "role", roles], [TIME, "model", models], [TIME, "kind of delegation", surfaces], ...(kinds.length ? [[KIND_TIME, "kind", kinds]] : []), [TOKENS, "week", [...weeks].reverse()]];
  return html`<div><${Select} label="Time" value=${days} options=${TIMES} set=${setDays} /></div>${failure}
    ${total && (total.tasks === 0 ? html`<p class="empty">No task has ended here in this time.</p>`
      : html`<${Total} row=${total} /><div class="plots">${plots.map(([what, by, rows]) => html`<${Plot} what=${what} by=${by} rows=${rows} />`)}</div>`)}`;
}

function Total({ row }) {
  const figures = [["tasks", grouped(row.tasks)], ["completed", `${percent(row.completed, row.tasks)}%`], ["with warnings", `${percent(row.warned, row.tasks)}%`],
    ["taken back", grouped(row.undone)], ["tokens", tokens(input(row) + (row.usage.output_tokens ?? 0))], ["cost", cost(row)], ["working time", duration(row.duration_ms_total)]];
  return html`<dl class="figures">${figures.map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>`;
}

/** A plot with its legend, what is pointed at in words, and its table. */
function Plot({ what, by, rows }) {
  const [at, point] = useState(null);
  const ref = useRef();
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  const { title, series } = what;
  const words = (row) => `${visibleLine(row.key)}: ${what.exact(row).map((text, index) => `${series[index]} ${text}`).join(", ")}`;
  const shown = rows.slice(0, ROWS_MAX).map((row) => ({ label: row.key, values: what.values(row), words: words(row) }));
  const more = rows.length > shown.length ? ` of all ${grouped(rows.length)}` : "";
  return html`<section class="plot" aria-label=${`${title} by ${by}`}>
    <div class="row wrap"><h2 class="grow">${title} by ${by}</h2>
      ${series.length > 1 && series.map((name, index) => html`<span class="legend"><i class=${`s${index}`}></i>${name}</span>`)}</div>
    <p class="pointed" aria-hidden="true">${shown[at]?.words ?? "\u00a0"}</p>
    <div ref=${ref}>${shown.every((row) => row.values[0] === null) ? html`<p class="muted">not known</p>` : width > 0 && html`<${Bars} what=${what} rows=${shown} width=${width} point=${point} />`}</div>
    <details><summary>Table${more}</summary><${Table} head=${[by, what.counts ?? "tasks", ...series]} rows=${rows.map((row) => [row.key, grouped(row.tasks), ...what.exact(row)])} /></details>
  </section>`;
}

function Bars({ what, rows, width, point }) {
  const label = Math.min(150, Math.round(width * 0.34));
  const max = what.max ?? largest(rows, what.pile);
  const { base, step, ticks, rows: bars } = barPlot(rows, { width, label, max, unit: what.timed ? timeUnit(max) : 1, pile: what.pile });
  const row = ({ words, label: name }, index) => html`<g tabindex="0" role="img" aria-label=${words}
      onMouseEnter=${() => point(index)} onFocus=${() => point(index)} onMouseLeave=${() => point(null)} onBlur=${() => point(null)}>
    <rect class="hit" x="1" y=${index * step + 1} width=${width - 2} height=${step - 2} />
    <text class="name" x=${label - 8} y=${index * step + step / 2 + 4} text-anchor="end">${oneLine(name, Math.floor(label / 7) - 1)}</text>
    ${bars[index].map((bar, at) => html`<rect class=${`s${at}`} ...${bar} />`)}</g>`;
  return html`<svg width=${width} height=${base + 24}>
    ${ticks.map(({ value, x }, index) => html`<line x1=${x} x2=${x} y1="0" y2=${base} />
      <text x=${x} y=${base + 18} text-anchor=${index === ticks.length - 1 ? "end" : "middle"}>${what.format(value)}</text>`)}
    ${rows.map(row)}</svg>`;
}
