// The title of a session that nobody has named: the first meaningful words of its prompt, in one line.

import { lines, trim, trimEnd, visibleLine } from "./text.js";

const PROMPT_BYTES_MAX = 16 * 1024;
const CHARS_MAX = 60;
const SENTENCE_CHARS_MIN = 12;
const WORD = /[\p{Alphabetic}\p{N}]/u;

// Words that a request can begin with and that say nothing about it. Longer ones stand before their beginnings.
const POLITE = ("good morning|good afternoon|good evening|hello there|hi there|hello|hey|hi|dear posse|posse|could you please"
  + "|can you please|would you please|will you please|could you|can you|would you mind|would you|will you|please|pls|kindly"
  + "|i would like you to|i'd like you to|i want you to|i need you to|your task is to|thank you|thanks|okay|ok|so|guten morgen"
  + "|guten tag|hallo|könntest du bitte|kannst du bitte|könntest du|kannst du|bitte|bonjour"
  + "|s'il te plaît|s'il vous plaît|peux-tu|pouvez-vous|hola|por favor|puedes").split("|");

/** The title of a session that begins with this prompt. The title of a title is that title. */
export function titleOf(prompt) {
  const fits = new TextEncoder().encodeInto(prompt, new Uint8Array(PROMPT_BYTES_MAX)).read;
  let title = shortened(prompt.slice(0, fits));
  for (let n = 0; n < CHARS_MAX; n++) {
    const again = shortened(title);
    if (again === title) break;
    title = again;
  }
  return title;
}

function shortened(prompt) {
  const all = lines(prompt);
  let words = firstSpoken(all);
  if (words === undefined) {
    // A prompt of code or of a log alone has a title too: its first line.
    const any = all.find((line) => WORD.test(line)) ?? all.find((line) => trim(line) !== "");
    words = joined(any ?? "");
  }
  return cut(visibleLine(firstSentences(words)));
}

/** The words of the first line that somebody wrote to be read: no code, no quote, no log, no rule. */
function firstSpoken(all) {
  let fence = "";
  for (const line of all) {
    const text = trim(line);
    const mark = ["```", "~~~"].find((one) => text.startsWith(one));
    if (fence) fence = fence === mark ? "" : fence;
    else if (mark) fence = mark;
    else if (isSpoken(line, text)) {
      const words = afterCourtesies(unmarked(text));
      if (WORD.test(words)) return words;
    }
  }
  return undefined;
}

function isSpoken(line, text) {
  const isTag = text.startsWith("<") && text.endsWith(">");
  return WORD.test(text) && !/^( {4}|\t)/.test(line) && !isTag && !/^(>|\$ )/.test(text) && !isLog(text);
}

/** Lines that programs write: a time first, a level first, or the frames of a stack. */
function isLog(line) {
  const word = trim(line).split(/\p{White_Space}/u, 1)[0];
  const first = trimEnd(word, (c) => "[]:()".includes(c)).replace(/^[[\]:()]+/, "");
  const digits = first.replace(/[^0-9]/g, "").length;
  if (digits >= 4 && /^[-0-9:.,TZ+/]*$/.test(first) && /[-:/]/.test(first)) return true;
  return /^(ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)$/.test(first) || /^(at .*[(:]|File "|Traceback )/s.test(line);
}

/** A line in single spaces, without the marks of Markdown that only format it. */
function unmarked(line) {
  let text = line;
  for (;;) {
    const mark = /^(?:[0-9]{1,3}[.)] |# |[-*+] |\[[ x]\] |#)/.exec(text)?.[0];
    // `#12` is the number of an issue.
    if (mark === undefined || (text[0] === "#" && /[0-9]/.test(text[mark.length] ?? ""))) break;
    text = trim(text.slice(mark.length));
  }
  return joined(text).replaceAll("**", "").replaceAll("`", "");
}

const joined = (text) => text.split(/\p{White_Space}+/u).filter((word) => word !== "").join(" ");

/** What is left behind the words that only greet or ask kindly. */
function afterCourtesies(text) {
  let rest = trim(text);
  for (let after = rest; after !== undefined; after = POLITE.map((words) => without(rest, words)).find((one) => one !== undefined)) {
    rest = after;
  }
  return rest;
}

function without(text, words) {
  if (text.slice(0, words.length).replaceAll("’", "'").toLowerCase() !== words) return undefined;
  const rest = text.slice(words.length);
  // `so-called` and `hi-res` are words of their own.
  const goesOn = /^[-.][\p{Alphabetic}\p{N}]/u.test(rest);
  return /^($|[ ,!.:;–—-])/.test(rest) && !goesOn ? rest.replace(/^[ ,!.:;–—-]+/, "") : undefined;
}

/** The line if it is short enough, else the sentences at its beginning that are; where there are none, the line. */
function firstSentences(text) {
  let [at, end] = [0, -1];
  for (let length = 1; at < text.length && length <= CHARS_MAX; length++) {
    const c = String.fromCodePoint(text.codePointAt(at));
    const next = text[at + c.length];
    const ends = "。？！".includes(c) || (".?!".includes(c) && next === " ");
    if (next === undefined) end = -1;
    else if (ends && length > SENTENCE_CHARS_MIN && !isAbbreviated(text.slice(0, at), c)) end = at + c.length;
    at += c.length;
  }
  return bare(end < 0 ? text : text.slice(0, end));
}

function isAbbreviated(before, mark) {
  const word = before.slice(before.lastIndexOf(" ") + 1).replace(/^\(+/, "").toLowerCase();
  return mark === "." && ["e.g", "i.e", "z.b", "etc", "vs", "cf", "approx", "no", "p"].includes(word);
}

/** Without the mark that ends a statement, which a title has not. */
function bare(text) {
  const without = trimEnd(text, (c) => ".:,;。 ".includes(c));
  return without === "" || text.endsWith("...") ? trimEnd(text) : without;
}

/** Cut between words where there is a gap, with `…` for what is missing. */
function cut(text) {
  const chars = [...text];
  if (chars.length <= CHARS_MAX) return text;
  // A word that begins in the first half is cut itself: a path without spaces would leave nothing.
  const gap = chars.lastIndexOf(" ", CHARS_MAX - 1);
  const end = gap >= CHARS_MAX / 2 ? gap : CHARS_MAX - 1;
  return `${trimEnd(chars.slice(0, end).join(""), (c) => " ,;:.–-".includes(c))}…`;
}
