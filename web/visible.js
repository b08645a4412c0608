// Text as people are shown it: nothing is left out, and what controls, changes the order of others or cannot be seen is
// written as an escape such as `\u{202e}`.

const MARKS_MAX = 4;
const BLANK = '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff9-\\ufffc'
  + '\\u{16fe4}\\u{1d159}\\u{e0000}-\\u{e0fff}';
// What has no shape: controls, formats, spaces, private use and what is not assigned; and what is drawn as nothing.
const HIDDEN = new RegExp(`[\\p{C}\\p{Z}${BLANK}]`, 'u');
const MARK = /(?=\p{Gr_Ext})[^\p{C}\p{Z}]/u;
// Text without any of this is shown as it is.
const SUSPECT = new RegExp(`[^\\n\\t -~\\p{L}\\p{N}\\p{P}\\p{S}]|[${BLANK}]|\\p{Gr_Ext}`, 'u');
const SYMBOL = /[©®\u203c-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}]/u;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function shown(text, oneLine) {
  if (!SUSPECT.test(text) && !(oneLine && /[\n\t]/.test(text))) return text;
  let [out, before, marks] = ['', '', 0];
  for (const c of text) {
    if (c === '\n' || c === '\t') {
      if (oneLine) out += c === '\n' ? '\\n' : '\\t';
      else [out, before, marks] = [out + c, '', 0];
      continue;
    }
    const isMark = c > '~' && MARK.test(c);
    marks = isMark ? marks + 1 : 0;
    let whole = c >= ' ' && c <= '~';
    if (c === '\ufe0f') whole = SYMBOL.test(before);
    else if (!whole && !HIDDEN.test(c)) whole = !isMark || (before !== '' && before !== ' ' && marks <= MARKS_MAX);
    out += whole ? c : c === '\r' ? '\\r' : `\\u{${c.codePointAt(0).toString(16)}}`;
    before = whole ? c : '';
  }
  return out;
}

/** A text of several lines: line ends and tabs stay. */
export const visible = (text) => shown(String(text ?? ''), false);

/** A text in one line: line ends and tabs are written as escapes. */
export const visibleLine = (text) => shown(String(text ?? ''), true);

/** A text in one line, cut to so many columns of a terminal. */
export function oneLine(text, columnsMax) {
  const line = visibleLine([...text.slice(0, 2 * columnsMax + 2)].slice(0, columnsMax + 1).join(''));
  let [columns, kept] = [0, ''];
  for (const c of line) {
    columns += WIDE.test(c) ? 2 : 1;
    if (columns <= columnsMax - 1) kept += c;
  }
  return columns <= columnsMax ? line : `${kept.replace(/ +$/, '')}…`;
}

/** A text of several lines in one, cut: line ends and tabs become spaces. */
export const joinedLines = (text, columnsMax) =>
  oneLine(text.trim().slice(0, 2 * columnsMax + 2).replace(/[\n\r\v\f\x85\u2028\u2029\t]/g, ' '), columnsMax);
