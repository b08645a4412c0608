// Texts and numbers: cut, split and trimmed as the record's programs do it, written as people read them, and made visible.

const WHITE = /\p{White_Space}/u;

/** The first characters of a text, without a mark where it is cut. */
export function cut(text, charsMax) {
  if (text.length <= charsMax) return text;
  let end = 0;
  for (let n = 0; n < charsMax && end < text.length; n++) end += text.codePointAt(end) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** A text of one line in a view. */
export const short = (text) => cut(text, 400);

/** A longer message in a view. */
export const message = (text) => cut(text, 4000);

/** The lines of a text, without what ends them. */
export function lines(text) {
  const all = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (all[all.length - 1] === "") all.pop();
  return all;
}

/** Without what `is` says at its end. Takes time in proportion to that. */
export function trimEnd(text, is = (c) => WHITE.test(c)) {
  let end = text.length;
  while (end > 0 && is(text[end - 1])) end--;
  return text.slice(0, end);
}

/** Without spaces and line ends around it. */
export function trim(text) {
  let from = 0;
  while (from < text.length && WHITE.test(text[from])) from++;
  return trimEnd(text.slice(from));
}

/** `12,345` */
export const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** `turn`, `turns` */
export const plural = (number, noun) => (number === 1 ? noun : `${noun}s`);

/** `1 turn`, `2,000 turns` */
export const counted = (number, noun) => `${grouped(number)} ${plural(number, noun)}`;

/** `0.8 s`, `12 s`, `3 min 5 s`, `2 h 10 min` */
export function duration(ms) {
  const whole = (number, unit) => Math.floor(number / unit);
  if (ms < 10_000) return `${whole(ms, 1000)}.${whole(ms % 1000, 100)} s`;
  if (ms < 60_000) return `${whole(ms, 1000)} s`;
  if (ms < 3_600_000) return `${whole(ms, 60_000)} min ${whole(ms % 60_000, 1000)} s`;
  return `${whole(ms, 3_600_000)} h ${whole(ms % 3_600_000, 60_000)} min`;
}

// Text as people are shown it: nothing is left out, and what controls, changes the order of others or cannot be seen is
// written as an escape such as `\u{202e}`.

const MARKS_MAX = 4;
const BLANK = "\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff9-\\ufffc"
  + "\\u{16fe4}\\u{1d159}\\u{e0000}-\\u{e0fff}";
// What has no shape: controls, formats, spaces, private use and what is not assigned; and what is drawn as nothing.
const HIDDEN = new RegExp(`[\\p{C}\\p{Z}${BLANK}]`, "u");
const MARK = /(?=\p{Gr_Ext})[^\p{C}\p{Z}]/u;
// Text without any of this is shown as it is.
const SUSPECT = new RegExp(`[^\\n\\t -~\\p{L}\\p{N}\\p{P}\\p{S}]|[${BLANK}]|\\p{Gr_Ext}`, "u");
const SYMBOL = /[©®\u203c-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}]/u;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function shown(text, oneLine) {
  if (!SUSPECT.test(text) && !(oneLine && /[\n\t]/.test(text))) return text;
  let [out, before, marks] = ["", "", 0];
  for (const c of text) {
    if (c === "\n" || c === "\t") {
      if (oneLine) out += c === "\n" ? "\\n" : "\\t";
      else [out, before, marks] = [out + c, "", 0];
      continue;
    }
    const isMark = c > "~" && MARK.test(c);
    marks = isMark ? marks + 1 : 0;
    let whole = c >= " " && c <= "~";
    if (c === "\ufe0f") whole = SYMBOL.test(before);
    else if (!whole && !HIDDEN.test(c)) whole = !isMark || (before !== "" && before !== " " && marks <= MARKS_MAX);
    out += whole ? c : c === "\r" ? "\\r" : `\\u{${c.codePointAt(0).toString(16)}}`;
    before = whole ? c : "";
  }
  return out;
}

/** A text of several lines: line ends and tabs stay. */
export const visible = (text) => shown(String(text ?? ""), false);

/** A text in one line: line ends and tabs are written as escapes. */
export const visibleLine = (text) => shown(String(text ?? ""), true);

/** A text in one line, cut to so many columns of a terminal. */
export function oneLine(text, columnsMax) {
  const line = visibleLine([...text.slice(0, 2 * columnsMax + 2)].slice(0, columnsMax + 1).join(""));
  let [columns, kept] = [0, ""];
  for (const c of line) {
    columns += WIDE.test(c) ? 2 : 1;
    if (columns <= columnsMax - 1) kept += c;
  }
  return columns <= columnsMax ? line : `${kept.replace(/ +$/, "")}…`;
}

/** A text of several lines in one, cut: line ends and tabs become spaces. */
export const joinedLines = (text, columnsMax) =>
  oneLine(text.trim().slice(0, 2 * columnsMax + 2).replace(/[\n\r\v\f\x85\u2028\u2029\t]/g, " "), columnsMax);
