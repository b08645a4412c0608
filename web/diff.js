// A unified diff as data: files, hunks and rows with numbers, and the words that differ between a line and the one in its
// place. Reads what git and Posse write: quoted names, new, deleted, renamed and binary files, other modes, diffs that were
// cut, and hunks without a file. Never fails.

const FILE = "diff --git ";
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;
// What the head of a file says otherwise, or nobody wants to know.
const HEAD = /^(diff --git |index |--- |\+\+\+ |new file|deleted file|rename |copy |(dis)?similarity |Binary files )/;
const NO_LINE_END = /^\\ /;

/**
 * @typedef {{kind: 'context'|'add'|'del'|'note', old: number|null, new: number|null, text: string, marks: [number, number][]}} Row
 * @typedef {{number: number, header: string, oldStart: number, newStart: number, rows: Row[]}} Hunk
 * @typedef {{path: string, oldPath: string, status: 'added'|'deleted'|'modified'|'renamed'|'binary', added: number, removed: number,
 *   notes: string[], hunks: Hunk[]}} File
 */

/** @returns {File[]} A text that names no file is one without a path. */
export function parseDiff(text) {
  const lines = String(text).split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  const files = [];
  for (let at = 0; at < lines.length;) at = readFile(lines, at, files);
  const pairs = files.flatMap((file) => file.hunks.flatMap((hunk) => pairsOf(hunk.rows)));
  markPairs(pairs);
  return files;
}

function readFile(lines, from, files) {
  let at = from + (lines[from].startsWith(FILE) ? 1 : 0);
  while (at < lines.length && !lines[at].startsWith(FILE) && !lines[at].startsWith("@@")) at++;
  const head = lines.slice(from, at);
  const file = { ...namesOf(head), added: 0, removed: 0, notes: [], hunks: [] };
  file.notes = head.filter((line) => line !== "" && !(file.path && HEAD.test(line)));
  files.push(file);
  while (at < lines.length && !lines[at].startsWith(FILE) && !startsFile(lines, at)) at = readHunk(lines, at, file);
  return at;
}

/** Two names after the end of a hunk, where no line says that a file begins. */
const startsFile = (lines, at) => lines[at].startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ");

function readHunk(lines, from, file) {
  const [, oldStart, oldCount = "1", newStart, newCount = "1", header = lines[from].slice(2)] = HUNK.exec(lines[from]) ?? [];
  const rows = [];
  file.hunks.push({ number: file.hunks.length + 1, header: header.trim(), oldStart: Number(oldStart ?? 0), newStart: Number(newStart ?? 0), rows });
  let [old, next] = oldStart === undefined ? [null, null] : [Number(oldStart), Number(newStart)];
  let [oldLeft, newLeft] = [Number(oldCount), Number(newCount)];
  let at = from + 1;
  for (; at < lines.length; at++) {
    const line = lines[at];
    const isOver = oldLeft <= 0 && newLeft <= 0;
    if (line.startsWith("@@") || line.startsWith(FILE) || (isOver && startsFile(lines, at))) break;
    const row = rowOf(line);
    if (row.kind === "note") {
      // Lines are left out here: nobody knows the numbers of those below.
      if (!NO_LINE_END.test(line)) [old, next] = [null, null];
      // The empty line before it is none of the file.
      if (!NO_LINE_END.test(line) && lines[at - 1] === "") rows.pop();
    } else {
      if (row.kind !== "add") [row.old, old, oldLeft] = [old, old === null ? null : old + 1, oldLeft - 1];
      if (row.kind !== "del") [row.new, next, newLeft] = [next, next === null ? null : next + 1, newLeft - 1];
      if (row.kind === "add") file.added++;
      if (row.kind === "del") file.removed++;
    }
    rows.push(row);
  }
  return at;
}

function rowOf(line) {
  const row = (kind, text) => ({ kind, old: null, new: null, text, marks: [] });
  if (line === "" || line[0] === " ") return row("context", line.slice(1));
  if (line[0] === "+") return row("add", line.slice(1));
  if (line[0] === "-") return row("del", line.slice(1));
  return row("note", NO_LINE_END.test(line) ? line.slice(2) : line);
}

/** What the head of a file says: its names and what became of it. */
function namesOf(head) {
  const after = (start) => head.find((line) => line.startsWith(start))?.slice(start.length);
  const [from, to] = [after("rename from ") ?? after("copy from "), after("rename to ") ?? after("copy to ")];
  const [minus, plus] = [after("--- "), after("+++ ")];
  const [first, second] = head[0]?.startsWith(FILE) ? bothNames(head[0].slice(FILE.length)) : [undefined, undefined];
  const real = (name) => (name === undefined || name === "/dev/null" ? undefined : bare(name));
  const path = (to === undefined ? undefined : unquoted(to)) ?? real(plus) ?? real(second) ?? real(minus) ?? "";
  const oldPath = (from === undefined ? undefined : unquoted(from)) ?? real(minus) ?? real(first) ?? path;
  let status = "modified";
  if (head.some((line) => /^(Binary files |GIT binary patch)/.test(line))) status = "binary";
  else if (after("new file") !== undefined || minus === "/dev/null") status = "added";
  else if (after("deleted file") !== undefined || plus === "/dev/null") status = "deleted";
  else if (to !== undefined) status = "renamed";
  return { path, oldPath, status };
}

/** The two names of the first line. Without quotes they are as long as each other unless the file was renamed. */
function bothNames(text) {
  const quoted = /^("(?:[^"\\]|\\.)*") (.*)$/s.exec(text);
  if (quoted) return [quoted[1], quoted[2]];
  const middle = text.length >> 1;
  if (text[middle] === " " && text.slice(2, middle) === text.slice(middle + 3)) return [text.slice(0, middle), text.slice(middle + 1)];
  const at = text.indexOf(" b/");
  return at < 0 ? [text, text] : [text.slice(0, at), text.slice(at + 1)];
}

/** A name without quotes, the letter of its side and a time behind it. */
const bare = (name) => unquoted(name).replace(/^[ab]\//, "");

const ESCAPES = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11 };

/** A name in quotes as git writes it, with escapes for bytes. */
function unquoted(name) {
  if (!/^".*"$/s.test(name)) return name.split("\t", 1)[0];
  const bytes = [];
  for (const [part, octal, letter] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+|\\/gsu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter in ESCAPES) bytes.push(ESCAPES[letter]);
    else for (const byte of new TextEncoder().encode(letter ?? part)) bytes.push(byte);
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Runs of rows that changed: those on the left and those on the right, and the rows between the runs. */
function runs(rows) {
  const found = [];
  let run = null;
  for (const row of rows) {
    const side = row.kind === "note" ? run?.last : { del: "left", add: "right" }[row.kind];
    if (side === undefined) {
      run = null;
      found.push({ same: row });
      continue;
    }
    // What was removed after something was added begins another run.
    if (!run || (side === "left" && run.right.length > 0)) found.push((run = { left: [], right: [] }));
    run[side].push(row);
    run.last = side;
  }
  return found;
}

/** The lines that stand in the place of each other. */
function pairsOf(rows) {
  const isLine = (row) => row.kind !== "note";
  return runs(rows).flatMap((run) => {
    const [left, right] = [run.left?.filter(isLine) ?? [], run.right?.filter(isLine) ?? []];
    return left.slice(0, right.length).map((row, at) => [row, right[at]]);
  });
}

/** The rows of a hunk in two columns: `[{left, right}]`, null where there is nothing. */
export function sideBySide(hunk) {
  return runs(hunk.rows).flatMap((run) => {
    if (run.same) return [{ left: run.same, right: run.same }];
    const length = Math.max(run.left.length, run.right.length);
    return Array.from({ length }, (_, at) => ({ left: run.left[at] ?? null, right: run.right[at] ?? null }));
  });
}

// Which words differ between a line and the one in its place. The work is bounded: past a limit, all between the first and
// the last difference counts as changed.

const LINE_CHARS_MAX = 2000;
const PAIRS_MAX = 5000;
const STEPS_MAX = 2_000_000;
const WORDS_MAX = 200;

/** Sets `marks` of pairs of rows: where each line has what the other has not. */
function markPairs(pairs) {
  let steps = STEPS_MAX;
  for (const [left, right] of pairs.slice(0, PAIRS_MAX)) {
    if (left.text.length > LINE_CHARS_MAX || right.text.length > LINE_CHARS_MAX) continue;
    steps -= mark(left, right, steps);
  }
}

/** Words change as a whole; so do spaces. */
const wordsOf = (text) => text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^]/gu) ?? [];

function mark(left, right, stepsMax) {
  const [a, b] = [wordsOf(left.text), wordsOf(right.text)];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < a.length - from && end < b.length - from && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [inA, inB] = [a.slice(from, a.length - end), b.slice(from, b.length - end)];
  const isSmall = inA.length <= WORDS_MAX && inB.length <= WORDS_MAX;
  const steps = inA.length * inB.length;
  const isDone = isSmall && steps <= stepsMax;
  const [keptA, keptB] = isDone ? common(inA, inB) : [new Set(), new Set()];
  const isSame = (n, kept, length) => n < from || n >= length - end || kept.has(n - from);
  const weight = (words, kept) => words.reduce((sum, word, n) => sum + (isSame(n, kept, words.length) ? word.trim().length : 0), 0);
  const longer = Math.max(left.text.trim().length, right.text.trim().length);
  const shared = weight(a, keptA);
  // Lines that have little in common are different as a whole.
  if (shared > 0 && shared * 3 >= longer) {
    left.marks = ranges(a, (n) => isSame(n, keptA, a.length));
    right.marks = ranges(b, (n) => isSame(n, keptB, b.length));
  }
  return isDone ? steps : 0;
}

/** The places of a longest sequence of words that both have. */
function common(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] = a[i] === b[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const [keptA, keptB] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const at = i * width + j;
    if (a[i] === b[j]) {
      keptA.add(i++);
      keptB.add(j++);
    } else if (lengths[at + width] >= lengths[at + 1]) i++;
    else j++;
  }
  return [keptA, keptB];
}

/** Where the words are that are not the same: `[[from, to]…]` in characters of the line. */
function ranges(words, isSame) {
  const found = [];
  let at = 0;
  words.forEach((word, n) => {
    const to = at + word.length;
    if (!isSame(n)) {
      if (found.at(-1)?.[1] === at) found.at(-1)[1] = to;
      else found.push([at, to]);
    }
    at = to;
  });
  return found;
}
