// The lines of a diff: unified or side by side, drawn when they come near the screen. It must not know what a review is.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { visible, visibleLine } from "./text.js";
import { parseDiff, sideBySide } from "./diff.js";
import { placeOf } from "./review-state.js";

/** Rows that are drawn at once, and the height of one until then. */
const ROWS = 40;
const ROW_PX = 20;
const SIGNS = { add: "+", del: "−" };
const wide = matchMedia("(min-width: 800px)");

/** Whether diffs are shown side by side, a function that changes it, and whether there is room for that. */
export function useSplit() {
  const [wish, setWish] = useState(localStorage.getItem("posse-diff") === "split");
  const [fits, setFits] = useState(wide.matches);
  useEffect(() => {
    const see = () => setFits(wide.matches);
    wide.addEventListener("change", see);
    return () => wide.removeEventListener("change", see);
  }, []);
  const toggle = () => {
    localStorage.setItem("posse-diff", wish ? "unified" : "split");
    setWish(!wish);
  };
  return [wish && fits, toggle, fits];
}

/** How many lines came and went. */
export const Counts = ({ file }) => (file.added + file.removed > 0
  ? html`<span class="num mono"><span class="ok">+${file.added}</span> <span class="bad">−${file.removed}</span></span>` : null);

/** A path whose last part is cut last, and what became of the file. */
export function Path({ file: { path, oldPath, status } }) {
  const end = path.lastIndexOf("/") + 1;
  const word = status === "modified" ? "" : status === "renamed" ? `renamed from ${visibleLine(oldPath)}` : status;
  return html`<span class="path mono"><span class="cut muted">${visibleLine(path.slice(0, end))}</span><span class="cut">${visibleLine(path.slice(end))}</span></span>
    ${word && html`<span class="muted cut">${word}</span>`}`;
}

/** Where a hunk is, and what it is in. */
export const hunkHead = ({ oldStart, newStart, header }) => `@@ −${oldStart} +${newStart} @@ ${visibleLine(header)}`;

/** All of a diff, to be read only. */
export function PlainDiff({ text }) {
  const [split] = useSplit();
  const files = useMemo(() => parseDiff(text), [text]);
  return html`<div class="review">${files.map((file) => html`<section class="file" aria-label=${visibleLine(file.path)}>
    <div class="file-head row"><span class="row grow"><${Path} file=${file} /></span><${Counts} file=${file} /></div>
    ${file.notes.map((note) => html`<p class="said muted">${visible(note)}</p>`)}
    ${file.hunks.map((hunk) => html`<div class="hunk"><div class="hunk-head mono">${hunkHead(hunk)}</div><${Lines} rows=${hunk.rows} split=${split} /></div>`)}
  </section>`)}</div>`;
}

/** The rows of a hunk. `notes`: what is shown below rows, by place. `cursor`: the place that is pointed at. `pick`: a row was chosen. */
export function Lines({ rows, split, ...rest }) {
  const all = useMemo(() => (split ? sideBySide({ rows }) : rows.map((row) => ({ row }))), [rows, split]);
  const pieces = useMemo(() => Array.from({ length: Math.ceil(all.length / ROWS) }, (_, at) => all.slice(at * ROWS, (at + 1) * ROWS)), [all]);
  return pieces.map((piece, at) => html`<${Piece} key=${`${split}${at}`} rows=${piece} ...${rest} />`);
}

/** Rows that are there only while they are near the screen; where somebody types, they stay. */
function Piece({ rows, notes, cursor, pick }) {
  const ref = useRef();
  const [seen, setSeen] = useState(false);
  const height = useRef(rows.length * ROW_PX);
  useLayoutEffect(() => {
    const element = ref.current;
    const see = (entries) => {
      const { isIntersecting: near, boundingClientRect: box } = entries.at(-1);
      if (!near && box.height) height.current = box.height;
      setSeen(near || element.contains(document.activeElement));
    };
    const watch = new IntersectionObserver(see, { root: element.closest(".dialog-body, .review-page, .scroller, main"), rootMargin: "800px" });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const tag = pick ? "button" : "span";
  const drawn = useMemo(() => seen && rows.map(({ row, left, right }) => {
    const below = [...new Set([row, left, right].filter(Boolean).map(placeOf))].map((place) => notes?.get(place));
    const one = (it) => line(it, cursor, tag);
    return [row ? one(row) : html`<div class="pair">${one(left)}${one(right)}</div>`, below];
  }), [seen, rows, notes, cursor, tag]);
  const click = (event) => {
    const place = event.target.closest(".no")?.dataset.place;
    const chosen = place && rows.flatMap((one) => Object.values(one)).find((row) => row && placeOf(row) === place);
    if (chosen) pick?.(chosen);
  };
  return html`<div ref=${ref} class="lines" style=${seen ? {} : { height: `${height.current}px` }} onClick=${click}>${drawn}</div>`;
}

function line(row, cursor, tag) {
  if (!row) return html`<div class="ln none"></div>`;
  const place = placeOf(row);
  return html`<div class=${`ln ${row.kind} ${place && place === cursor ? "at" : ""}`}>
    <${tag} type=${tag} class="no" tabindex="-1" data-place=${place} data-old=${row.old} data-new=${row.new} aria-label=${tag === "button" ? `Comment on line ${row.new ?? row.old}` : undefined} />
    <code><span class="sign">${SIGNS[row.kind] ?? " "}</span>${marked(row)}</code></div>`;
}

/** A line with the words marked that differ. Tabs stay: code is indented by them. */
function marked({ text, marks }) {
  const part = (from, to) => visible(text.slice(from, to));
  if (!marks.length) return part(0);
  return [...marks.map(([from, to], at) => [part(marks[at - 1]?.[1] ?? 0, from), html`<mark>${part(from, to)}</mark>`]), part(marks.at(-1)[1])];
}
