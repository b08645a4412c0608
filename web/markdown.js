// Markdown as data: blocks with spans, to be drawn by others. Never fails; takes time in proportion to the text, nests to a
// bounded depth. HTML stays text. A reply that is still written is parsed by a `Stream`, which keeps what is finished.

import { parseInline } from "./inline.js";

const DEPTH_MAX = 8;
const COLUMNS_MAX = 64;
const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/s;
const ITEM = /^( *)([-*+]|[0-9]{1,9}[.)])( +|$)/;

/**
 * @typedef {{kind: 'paragraph', spans: object[]} | {kind: 'heading', level: number, spans: object[]}
 *   | {kind: 'list', ordered: boolean, start: number, items: {checked: boolean|null, blocks: Block[]}[]}
 *   | {kind: 'code', language: string, text: string, closed: boolean} | {kind: 'quote', blocks: Block[]}
 *   | {kind: 'table', align: string[], head: object[][], rows: object[][][]} | {kind: 'rule'}} Block
 */

/** @returns {Block[]} */
export function parse(text) {
  return parseLines(linesOf(text), 0).map(({ block }) => block);
}

/** Lines with spaces for the tabs at their beginning. */
function linesOf(text) {
  const spaces = (line) => (/^ *\t/.test(line) ? line.replace(/^[ \t]+/, (tabs) => tabs.replaceAll("\t", "    ")) : line);
  return String(text).replaceAll("\r\n", "\n").split("\n").map(spaces);
}

/** Each block with its first line. */
function parseLines(lines, depth) {
  const found = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    found.push({ block, at });
    at = next;
  }
  return found;
}

const isBlank = (line) => line.trim() === "";

function blockAt(lines, at, depth) {
  const line = lines[at];
  const fence = fenceOf(line);
  if (fence) return code(lines, at, fence);
  if (/^ {0,3}#{1,6}([ \t]|$)/.test(line)) return [heading(line), at + 1];
  if (isRule(line)) return [{ kind: "rule" }, at + 1];
  if (depth < DEPTH_MAX && isQuote(line)) return quote(lines, at, depth);
  if (depth < DEPTH_MAX && ITEM.test(line)) return list(lines, at, depth);
  return isTable(lines, at) ? table(lines, at) : paragraph(lines, at, depth);
}

function fenceOf(line) {
  const [, indent, mark, info] = FENCE.exec(line) ?? [];
  if (!mark || (mark[0] === "`" && info.includes("`"))) return undefined;
  return { indent: indent.length, mark, language: info.trim().split(/\s/, 1)[0] };
}

const closesFence = (line, { mark }) => line.trimStart().startsWith(mark) && /^ {0,3}(`+|~+)\s*$/.test(line);

/** A line of code without the indent of its fence. */
function codeLine(line, { indent }) {
  let from = 0;
  while (from < indent && line[from] === " ") from++;
  return line.slice(from);
}

function code(lines, at, fence) {
  let end = at + 1;
  while (end < lines.length && !closesFence(lines[end], fence)) end++;
  const text = lines.slice(at + 1, end).map((line) => codeLine(line, fence)).join("\n");
  const closed = end < lines.length;
  return [{ kind: "code", language: fence.language, text, closed }, closed ? end + 1 : end];
}

function heading(line) {
  const text = line.trim();
  const level = /^#+/.exec(text)[0].length;
  let end = text.length;
  while (end > level && text[end - 1] === "#") end--;
  const isClosed = end === level || /[ \t]/.test(text[end - 1]);
  return { kind: "heading", level, spans: parseInline(text.slice(level, isClosed ? end : undefined).trim()) };
}

function isRule(line) {
  const first = line.trimStart()[0];
  if (first === undefined || !"-_*".includes(first)) return false;
  const marks = line.replace(/[ \t]/g, "");
  return marks.length >= 3 && /^(-+|_+|\*+)$/.test(marks);
}

const isQuote = (line) => /^ {0,3}>/.test(line);

function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && isQuote(lines[end])) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [{ kind: "quote", blocks: parseLines(inner, depth + 1).map(({ block }) => block) }, end];
}

const indentOf = (line) => /^ */.exec(line)[0].length;

function itemOf(line) {
  const [whole, indent, mark, gap] = ITEM.exec(line) ?? [];
  if (whole === undefined || isRule(line)) return undefined;
  const width = indent.length + mark.length;
  const ordered = mark.length > 1;
  return { indent: indent.length, ordered, sign: mark.at(-1), start: ordered ? Number.parseInt(mark, 10) : 1,
    offset: gap.length > 0 && gap.length <= 4 ? width + gap.length : width + 1 };
}

function list(lines, at, depth) {
  const first = itemOf(lines[at]);
  const items = [];
  let [offset, blank, end] = [first.offset, false, at];
  for (; end < lines.length; end++) {
    const line = lines[end];
    if (isBlank(line)) {
      items.at(-1).push("");
      blank = true;
      continue;
    }
    const [indent, item] = [indentOf(line), itemOf(line)];
    if (item && indent < first.indent + 2) {
      if (item.ordered !== first.ordered || item.sign !== first.sign || indent + 2 <= first.indent) break;
      offset = item.offset;
      items.push([line.slice(offset)]);
    } else if (indent >= offset || (item && indent >= first.indent + 2)) {
      items.at(-1).push(line.slice(Math.min(indent, offset)));
    } else if (!blank && !startsBlock(lines, end, depth)) {
      items.at(-1).push(line.trimStart());
    } else {
      break;
    }
    blank = false;
  }
  const { ordered, start } = first;
  return [{ kind: "list", ordered, start, items: items.map((inner) => listItem(inner, depth)) }, end];
}

function listItem(lines, depth) {
  const task = /^\[([ xX])\] /.exec(lines[0]);
  if (task) lines[0] = lines[0].slice(4);
  const blocks = parseLines(lines, depth + 1).map(({ block }) => block);
  return { checked: task ? task[1] !== " " : null, blocks };
}

/** The cells of a row; `\|` is no end of one. */
function cells(line) {
  const text = line.trim();
  const found = [];
  let from = 0;
  const end = (at) => {
    found.push(text.slice(from, at).trim().replaceAll("\\|", "|"));
    from = at + 1;
  };
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "|") end(at);
  }
  end(text.length);
  if (found[0] === "") found.shift();
  if (found.at(-1) === "") found.pop();
  return found;
}

function isTable(lines, at) {
  const below = lines[at + 1];
  if (below === undefined || !lines[at].includes("|") || !/^[\s|:-]*$/.test(below) || !below.includes("-")) return false;
  const marks = cells(below);
  return marks.length <= COLUMNS_MAX && marks.every((mark) => /^:?-+:?$/.test(mark)) && marks.length === cells(lines[at]).length;
}

function table(lines, at) {
  const row = (line) => cells(line).map(parseInline);
  const align = cells(lines[at + 1]).map((mark) => {
    if (mark.endsWith(":")) return mark.startsWith(":") ? "center" : "right";
    return mark.startsWith(":") ? "left" : "";
  });
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && !isQuote(lines[end]) && !fenceOf(lines[end])) end++;
  const rows = lines.slice(at + 2, end).map((line) => row(line).slice(0, align.length));
  return [{ kind: "table", align, head: row(lines[at]), rows }, end];
}

/** Whether a line ends the paragraph before it. */
function startsBlock(lines, at, depth) {
  const line = lines[at];
  if (fenceOf(line) || /^ {0,3}#{1,6}([ \t]|$)/.test(line) || isRule(line) || isTable(lines, at)) return true;
  if (depth >= DEPTH_MAX) return false;
  const item = itemOf(line);
  return isQuote(line) || (item !== undefined && item.start === 1 && line.length > item.offset - 1);
}

function paragraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !startsBlock(lines, end, depth)) end++;
  // Line ends stay, so a backslash that asks for one is not needed.
  const text = (line, n) => (n < end - at - 1 && line.endsWith("\\") ? line.trim().slice(0, -1) : line.trim());
  return [{ kind: "paragraph", spans: parseInline(lines.slice(at, end).map(text).join("\n")) }, end];
}

/** Markdown that arrives in pieces. Blocks that are finished stay the same objects; only what is open is parsed again. */
export class Stream {
  #text = "";
  #done = [];
  #tail = "";
  #open = [];
  #fence = null;
  #blocks = [];

  /** All blocks so far. */
  get blocks() {
    return this.#blocks;
  }

  /** More of the text; gives all blocks so far. */
  add(text) {
    this.#text += text;
    this.#tail += text;
    if (this.#fence) this.#goOnWithCode();
    if (!this.#fence) this.#parseTail();
    this.#blocks = [...this.#done, ...this.#open];
    return this.#blocks;
  }

  /** All of the text so far, in place of what was added. */
  set(text) {
    if (text.startsWith(this.#text)) return this.add(text.slice(this.#text.length));
    [this.#text, this.#done, this.#tail, this.#open, this.#fence] = ["", [], "", [], null];
    return this.add(text);
  }

  #parseTail() {
    const lines = this.#tail.split("\n");
    const found = parseLines(linesOf(this.#tail), 0);
    // What comes next may still turn out otherwise while its first two lines are not complete.
    let kept = 0;
    while (kept + 1 < found.length && found[kept + 1].at + 2 < lines.length) kept++;
    this.#done.push(...found.slice(0, kept).map(({ block }) => block));
    this.#open = found.slice(kept).map(({ block }) => block);
    if (kept > 0) this.#tail = lines.slice(found[kept].at).join("\n");
    if (this.#open.length !== 1 || this.#open[0].kind !== "code" || this.#open[0].closed) return;
    const { at } = found[kept];
    if (at >= lines.length - 1) return;
    // An open block of code only grows: its lines are looked at once.
    this.#fence = { ...fenceOf(linesOf(lines[at])[0]), lines: null };
    this.#tail = lines.slice(at + 1).join("\n");
    this.#goOnWithCode();
  }

  #goOnWithCode() {
    const fence = this.#fence;
    const lines = linesOf(this.#tail);
    const end = lines.findIndex((line) => closesFence(line, fence));
    const joined = (some) => {
      const text = some.map((line) => codeLine(line, fence)).join("\n");
      if (some.length === 0) return fence.lines ?? "";
      return fence.lines === null ? text : `${fence.lines}\n${text}`;
    };
    const { language } = fence;
    if (end >= 0 && end < lines.length - 1) {
      this.#done.push({ kind: "code", language, text: joined(lines.slice(0, end)), closed: true });
      this.#tail = lines.slice(end + 1).join("\n");
      this.#fence = null;
      return;
    }
    const shown = end < 0 ? lines : lines.slice(0, end);
    this.#open = [{ kind: "code", language, text: joined(shown), closed: end >= 0 }];
    if (lines.length > 1) fence.lines = joined(lines.slice(0, -1));
    this.#tail = this.#tail.slice(this.#tail.lastIndexOf("\n") + 1);
  }
}
