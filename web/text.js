// Texts and numbers: cut by characters, split and trimmed as the record's programs do it, and written as people read them.

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
  const all = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (all[all.length - 1] === '') all.pop();
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
export const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');

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
