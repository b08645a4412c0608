// The text of a Markdown block as spans: text, strong, em, strike, code, link. Takes time in proportion to its length, whatever
// the text is, and nests to a bounded depth. HTML, images and links to anything but http(s) stay text.

import { visible } from "./text.js";

const OPEN_MAX = 12;
const SPECIAL = /[\\`*_~[\]!]|https?:\/\//g;
const LETTER = /[\p{L}\p{N}]/u;
const ENDS_ADDRESS = /[\s<>"'`|\\^{}[\]\u3000-\u303f\uff00-\uffef]/;

/** @typedef {{kind: 'text'|'code', text: string} | {kind: 'strong'|'em'|'strike', spans: Span[]} | {kind: 'link', href: string, text: string}} Span */

/** @returns {Span[]} */
export const parseInline = (text) => new Inline(text).run();

class Inline {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.spans = [];
    // What may be closed later: `{mark, length, place}`, the place being that of its text in `spans`.
    this.open = [];
    this.ticks = null;
  }

  run() {
    const { text } = this;
    while (this.at < text.length) {
      SPECIAL.lastIndex = this.at;
      const found = SPECIAL.exec(text);
      this.say(text.slice(this.at, found?.index));
      if (!found) break;
      this.at = found.index;
      this.special(found[0]);
    }
    return merged(this.spans);
  }

  special(mark) {
    if (mark === "\\") return this.escape();
    if (mark === "`") return this.code();
    if (mark === "[") return this.opens("[", 1);
    if (mark === "!") return this.text[this.at + 1] === "[" ? this.opens("!", 2) : this.take(1);
    if (mark === "]") return this.bracket();
    return mark.length > 1 ? this.address() : this.emphasis(mark);
  }

  say(text) {
    if (text === "") return;
    const last = this.spans.at(-1);
    if (last?.kind === "text" && !last.isMark) last.text += text;
    else this.spans.push({ kind: "text", text });
  }

  /** The next characters are text. */
  take(length) {
    this.say(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  escape() {
    const isMark = /[!-/:-@[-`{-~]/.test(this.text[this.at + 1] ?? "");
    if (isMark) this.at += 1;
    this.take(1);
  }

  code() {
    const length = this.runLength("`");
    const end = this.nextTicks(length, this.at + length);
    if (end === undefined) return this.take(length);
    let text = this.text.slice(this.at + length, end);
    if (text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "") text = text.slice(1, -1);
    this.spans.push({ kind: "code", text });
    this.at = end + length;
  }

  runLength(mark) {
    let end = this.at;
    while (this.text[end] === mark) end++;
    return end - this.at;
  }

  /** Where the next run of exactly so many backticks is. Places are looked up once, and each is passed once. */
  nextTicks(length, from) {
    if (!this.ticks) {
      this.ticks = new Map();
      for (const { 0: run, index } of this.text.matchAll(/`+/g)) {
        if (!this.ticks.has(run.length)) this.ticks.set(run.length, { places: [], next: 0 });
        this.ticks.get(run.length).places.push(index);
      }
    }
    const runs = this.ticks.get(length);
    while (runs?.places[runs.next] < from) runs.next++;
    return runs?.places[runs.next];
  }

  opens(mark, length) {
    this.open.push({ mark, length, place: this.spans.length });
    if (this.open.length > OPEN_MAX) this.open.shift();
    this.spans.push({ kind: "text", text: this.text.slice(this.at, this.at + length), isMark: true });
    this.at += length;
  }

  lastOpen(marks) {
    for (let n = this.open.length - 1; n >= 0; n--) if (marks.includes(this.open[n].mark)) return n;
    return -1;
  }

  emphasis(mark) {
    const length = this.runLength(mark);
    const [before, after] = [this.text[this.at - 1] ?? " ", this.text[this.at + length] ?? " "];
    const isInside = mark === "_" && LETTER.test(before) && LETTER.test(after);
    if (length > 3 || (mark === "~" && length !== 2) || isInside) return this.take(length);
    const rest = /\s/.test(before) ? length : this.closes(mark, length);
    if (rest > 0 && !/\s/.test(after)) this.opens(mark, rest);
    else this.take(rest);
  }

  /** Closes what is open with this mark; how much of the mark is left. */
  closes(mark, length) {
    let rest = length;
    this.at += length;
    while (rest > 0) {
      const n = this.lastOpen(mark);
      if (n < 0 || this.open[n].place === this.spans.length - 1) break;
      const opener = this.open[n];
      const used = mark === "~" ? 2 : Math.min(2, opener.length, rest);
      const kind = mark === "~" ? "strike" : used === 2 ? "strong" : "em";
      const spans = this.spans.splice(opener.place + 1);
      this.open.length = n;
      opener.length -= used;
      rest -= used;
      if (opener.length > 0) {
        this.spans[opener.place].text = mark.repeat(opener.length);
        this.open.push(opener);
      } else {
        this.spans.pop();
      }
      this.spans.push({ kind, spans: merged(spans) });
    }
    this.at -= rest;
    return rest;
  }

  bracket() {
    const n = this.lastOpen("[!");
    if (n < 0) return this.take(1);
    const { mark, place } = this.open[n];
    const target = this.target();
    this.open.length = n;
    if (!target) return this.take(1);
    if (mark === "!") return this.take(target.end - this.at);
    const text = isSafe(target.href) ? textOf(this.spans.slice(place + 1)) : "";
    if (text.trim() === "") return this.take(target.end - this.at);
    this.spans.length = place;
    this.spans.push({ kind: "link", href: target.href, text });
    // There are no links in links.
    this.open = this.open.filter((one) => one.mark !== "[");
    this.at = target.end;
  }

  /** What stands in parentheses behind a bracket. Stops at the next bracket, so that nothing is looked at twice. */
  target() {
    if (this.text[this.at + 1] !== "(") return undefined;
    let [end, depth] = [this.at + 2, 0];
    for (; end < this.text.length && !/[\s[\]<]/.test(this.text[end]); end++) {
      if (this.text[end] === "(") depth++;
      else if (this.text[end] === ")" && depth-- === 0) return { href: this.text.slice(this.at + 2, end), end: end + 1 };
    }
    const href = this.text.slice(this.at + 2, end);
    while (this.text[end] === " ") end++;
    if (this.text[end] !== '"') return undefined;
    for (end++; end < this.text.length && !/["\n[\]]/.test(this.text[end]);) end++;
    return this.text.startsWith('")', end) ? { href, end: end + 2 } : undefined;
  }

  /** An address that stands in the text by itself. */
  address() {
    let [end, depth] = [this.at, 0];
    // A parenthesis that closes is part of it only if one opens in it.
    for (; end < this.text.length && !ENDS_ADDRESS.test(this.text[end]); end++) {
      if (this.text[end] === "(") depth++;
      else if (this.text[end] === ")" && depth-- === 0) break;
    }
    while (/[.,;:!?*_~]/.test(this.text[end - 1])) end--;
    const href = this.text.slice(this.at, end);
    const isWhole = !LETTER.test(this.text[this.at - 1] ?? " ") && isSafe(href);
    if (!isWhole) return this.take(href.length);
    this.spans.push({ kind: "link", href, text: href });
    this.at += href.length;
  }
}

/** Whether this is an address that a click may open, and that looks like what it is. */
function isSafe(href) {
  return /^https?:\/\/[^/?#]/i.test(href) && visible(href) === href && URL.canParse(href);
}

/** The same spans, with one text where several stand side by side. */
function merged(spans) {
  const found = [];
  for (const span of spans) {
    const last = found.at(-1);
    if (span.kind !== "text") found.push(span);
    else if (last?.kind === "text") last.text += span.text;
    else found.push({ kind: "text", text: span.text });
  }
  return found;
}

/** The words of some spans. */
function textOf(spans) {
  return spans.map((span) => span.text ?? textOf(span.spans)).join("");
}
