// Which words differ between a line and the one in its place. The work is bounded: past a limit, all between the first and
// the last difference counts as changed.

const LINE_CHARS_MAX = 2000;
const PAIRS_MAX = 5000;
const STEPS_MAX = 2_000_000;
const WORDS_MAX = 200;

/** Sets `marks` of pairs of rows: where each line has what the other has not. */
export function markPairs(pairs) {
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
