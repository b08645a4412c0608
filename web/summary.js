// What a report came to, in the agent's own words: its section of that name, or its first paragraph.

import { lines, trim, trimEnd } from './text.js';

// What agents call the sections of a report. The first line has the names of the summary, the last those of other parts.
const NAMES = [
  'summary|zusammenfassung|kurzfassung|ergebnis|resumen|resumo|riassunto|sommario|résumé|synthèse|摘要|总结|概要|概述|小结|要約|まとめ|요약|итог|итоги|резюме',
  'change|changes|changes made|files changed|files modified|files modified/created|created files|files created|modified files|changed files|new files|edited files|files edited|files updated|änderung|änderungen|geänderte dateien|erstellte dateien|neue dateien|vorgenommene änderungen|durchgeführte änderungen|cambios|cambios realizados|archivos modificados|alterações|modifiche|modifications|changements|变更|更改|修改|改动|修改的文件|修改内容|变更文件|已修改的文件|创建的文件|新增文件|新建文件|変更|変更点|변경|변경 사항|изменения|изменённые файлы'
    + '|evidence|findings|finding|beleg|belege|nachweis|nachweise|befund|befunde|evidencia|evidencias|hallazgos|evidências|prove|preuves|constats|证据|依据|发现|根拠|証拠|근거|증거|доказательства|находки'
    + '|risk|risks|known risks|open risks|remaining risks|risks and blockers|risks & blockers|risiko|risiken|bekannte risiken|offene risiken|riesgo|riesgos|risco|riscos|rischio|rischi|risque|risques|风险|風險|潜在风险|リスク|위험|리스크|риск|риски'
    + '|blocker|blockers|open blockers|blocked|blocked by|blockade|blockaden|blockierer|hindernis|hindernisse|blockiert|blockiert durch|bloqueo|bloqueos|bloqueador|bloqueadores|impedimento|impedimentos|obstáculo|obstáculos|bloqueios|blocco|blocchi|ostacolo|ostacoli|blocage|blocages|obstacle|obstacles|points bloquants|阻碍|阻塞|障碍|阻塞项|阻碍项|阻碍因素|阻塞问题|卡点|阻礙|障礙|ブロッカー|障害|障害物|차단|차단 요소|장애물|препятствие|препятствия|блокер|блокеры'
    + '|suggestion|suggestions|recommendation|recommendations|next steps|vorschlag|vorschläge|empfehlung|empfehlungen|nächste schritte|sugerencias|recomendaciones|próximos pasos|sugestões|suggerimenti|prossimi passi|recommandations|prochaines étapes|建议|后续步骤|下一步|提案|次のステップ|제안|다음 단계|предложения|рекомендации|следующие шаги',
  'details|warnings|notes|einzelheiten|hinweise|warnungen|detalles|notas|详情|说明|备注',
];
const [SUMMARY, SECTION, OTHER] = [0, 1, 2];
const NAME_CHARS_MAX = 40;
const BY_NAME = new Map(NAMES.flatMap((names, kind) => names.split('|').map((name) => [name, kind])));
const MARKS = /^[*_# \t]+/;

/** The summary of an agent's words; empty if there are none. */
export function summaryOf(text) {
  const all = pieces(text);
  const marked = all.filter((piece) => piece.kind === SUMMARY && piece.body !== '').map((piece) => piece.body);
  if (marked.length > 0) return marked.join('\n\n');
  const before = all.filter((piece) => piece.kind === OTHER).map((piece) => firstParagraph(piece.body));
  return before.find((paragraph) => paragraph !== '') ?? '';
}

function firstParagraph(text) {
  const all = lines(text);
  const from = all.findIndex((line) => trim(line) !== '');
  if (from < 0) return '';
  const to = all.findIndex((line, at) => at > from && trim(line) === '');
  return all.slice(from, to < 0 ? all.length : to).map((line) => trimEnd(line)).join('\n');
}

/** The parts of a text, each with the kind of its heading and what stands below it. */
function pieces(text) {
  const starts = [{ at: 0, kind: OTHER, rest: '', body: 0 }];
  let level = 0;
  for (const [at, line] of linesOutsideFences(text)) {
    const found = heading(line);
    // A heading of the agent's own below that of a section is a part of it.
    if (!found || (!found.known && starts.length > 1 && (level === 0 || found.level > level))) continue;
    level = found.level;
    starts.push({ at, kind: found.kind, rest: found.rest, body: at + line.length + 1 });
  }
  return starts.map(({ kind, rest, body }, n) => {
    const end = starts[n + 1]?.at ?? text.length;
    return { kind, body: trim(`${rest}\n${text.slice(body, end)}`) };
  });
}

/** The lines that are not in a fenced block, with where they begin. A fence that nothing closes is none. */
function linesOutsideFences(text) {
  const [found, fences, last] = [[], ['```', '~~~'], {}];
  const all = [];
  let at = 0;
  for (const line of text.split('\n')) {
    const start = line.trimStart();
    const fence = fences.find((one) => start.startsWith(one));
    if (fence) last[fence] = at;
    all.push([at, line, fence]);
    at += line.length + 1;
  }
  let open;
  for (const [begin, line, fence] of all) {
    if (!open && fence && last[fence] > begin) open = fence;
    else if (open) open = open === fence ? undefined : open;
    else found.push([begin, line]);
  }
  return found;
}

function heading(text) {
  const line = trim(text);
  const level = /^#*/.exec(line)[0].length;
  const after = line.slice(level);
  if (level > 6 || (level > 0 && !/^[ \t]/.test(after))) return undefined;
  const words = after.trimStart().replace(/^[0-9]+[.)] /, '').replace(MARKS, '');
  const colon = /[:：]/.exec(words);
  const name = trimEnd(words.slice(0, colon?.index), (c) => '*_# \t'.includes(c));
  const kind = name.length <= NAME_CHARS_MAX ? BY_NAME.get(name.toLowerCase()) : undefined;
  if (kind !== undefined) {
    const bare = words.slice(name.length).replace(MARKS, '');
    const hasColon = /^[:：]/.test(bare);
    const rest = hasColon ? bare.slice(1).replace(MARKS, '') : bare;
    if (hasColon || rest === '') return { kind, known: true, level, rest };
  }
  return level > 0 ? { kind: OTHER, known: false, level, rest: '' } : undefined;
}
