// A report as a view keeps it: a summary, what was measured in words and what does not hold, without its text and receipt.

import { counted, cut, grouped, joinedLines, lines, message, oneLine, plural, short, trim, trimEnd } from "./text.js";

const SUMMARY_CHARS_MAX = 1000;

const FAILURES = {
  empty_reply: "the model gave an empty reply twice",
  no_report: "the agent gave no report worth the name, twice",
  reply_cut_off: "the model's replies were cut off again and again",
  malformed_calls: "none of the model's tool calls could be run, several turns in a row",
};

export function reportView(report) {
  const view = {
    ending: report.ending,
    summary: cut(summaryOf(report.text) || endingText(report.ending), SUMMARY_CHARS_MAX),
    facts: facts(report.receipt),
  };
  if (report.blocked) view.blocked = true;
  if (report.warnings?.length) view.warnings = report.warnings.map(message);
  if (report.notes?.length) view.notes = report.notes.map(message);
  const denied = report.receipt.denied ?? [];
  if (denied.length > 0) {
    view.denied = denied.map(({ agent, tool, what, reason }) =>
      ({ agent: short(agent), tool: short(tool), what: short(what), reason: short(reason) }));
  }
  return view;
}

/** What a person should read about an ending that nobody asked for; null for others. */
export function errorMessage(ending) {
  if (ending.status === "completed" || ending.status === "cancelled") return null;
  if (ending.status === "failed") return failureText(ending.failure);
  return ending.status === "interrupted" ? ending.reason : endingText(ending);
}

/** How an agent ended, and why. */
export function endingText(ending) {
  switch (ending.status) {
    case "failed": return `failed: ${failureText(ending.failure)}`;
    case "interrupted": return `interrupted: ${ending.reason}`;
    case "timed_out": return "out of time";
    case "refused": return "the model refused";
    default: return ending.status.replaceAll("_", " ");
  }
}

function failureText(failure) {
  switch (failure.failure) {
    case "model": return sentences(failure);
    case "repeated_call": return `the model kept making the same ${failure.tool} call with the same result`;
    case "context_full": return tooLarge(failure);
    case "internal": return failure.message;
    default: return FAILURES[failure.failure] ?? failure.failure;
  }
}

/** What happened, what was said and what to do, as sentences. One that stands alone is left as it is. */
export function sentences({ message: what, said = "", advice = "" }) {
  if (!said && !advice) return what;
  let text = what.endsWith(".") ? what : `${what}.`;
  if (said) text += ` It said: ${said}${/[.!?…]$/.test(said) ? "" : "."}`;
  const [first = "", ...rest] = advice;
  return first ? `${text} ${first.toUpperCase()}${rest.join("").replace(/\.+$/, "")}.` : text;
}

function tooLarge({ tokens, window }) {
  if (tokens == null) return "the task or the conversation is larger than the model's context";
  // It is an estimate: more digits would say more than is known.
  const about = tokens < 10_000 ? tokens : Math.floor((tokens + 500) / 1000) * 1000;
  const takes = window == null ? "more than the model's context" : `the model's context is ${grouped(window)}`;
  return `the conversation is about ${grouped(about)} tokens, ${takes}; give it less text, or put it in a file and let the agent read it`;
}

// What a report came to, in the agent's own words: its section of that name, or its first paragraph.

// What agents call the sections of a report. The first line has the names of the summary, the last those of other parts.
const NAMES = [
  "summary|zusammenfassung|kurzfassung|ergebnis|resumen|resumo|riassunto|sommario|résumé|synthèse|摘要|总结|概要|概述|小结|要約|まとめ|요약|итог|итоги|резюме",
  "change|changes|changes made|files changed|files modified|files modified/created|created files|files created|modified files|changed files|new files|edited files|files edited|files updated|änderung|änderungen|geänderte dateien|erstellte dateien|neue dateien|vorgenommene änderungen|durchgeführte änderungen|cambios|cambios realizados|archivos modificados|alterações|modifiche|modifications|changements|变更|更改|修改|改动|修改的文件|修改内容|变更文件|已修改的文件|创建的文件|新增文件|新建文件|変更|変更点|변경|변경 사항|изменения|изменённые файлы"
    + "|evidence|findings|finding|beleg|belege|nachweis|nachweise|befund|befunde|evidencia|evidencias|hallazgos|evidências|prove|preuves|constats|证据|依据|发现|根拠|証拠|근거|증거|доказательства|находки"
    + "|risk|risks|known risks|open risks|remaining risks|risks and blockers|risks & blockers|risiko|risiken|bekannte risiken|offene risiken|riesgo|riesgos|risco|riscos|rischio|rischi|risque|risques|风险|風險|潜在风险|リスク|위험|리스크|риск|риски"
    + "|blocker|blockers|open blockers|blocked|blocked by|blockade|blockaden|blockierer|hindernis|hindernisse|blockiert|blockiert durch|bloqueo|bloqueos|bloqueador|bloqueadores|impedimento|impedimentos|obstáculo|obstáculos|bloqueios|blocco|blocchi|ostacolo|ostacoli|blocage|blocages|obstacle|obstacles|points bloquants|阻碍|阻塞|障碍|阻塞项|阻碍项|阻碍因素|阻塞问题|卡点|阻礙|障礙|ブロッカー|障害|障害物|차단|차단 요소|장애물|препятствие|препятствия|блокер|блокеры"
    + "|suggestion|suggestions|recommendation|recommendations|next steps|vorschlag|vorschläge|empfehlung|empfehlungen|nächste schritte|sugerencias|recomendaciones|próximos pasos|sugestões|suggerimenti|prossimi passi|recommandations|prochaines étapes|建议|后续步骤|下一步|提案|次のステップ|제안|다음 단계|предложения|рекомендации|следующие шаги",
  "details|warnings|notes|einzelheiten|hinweise|warnungen|detalles|notas|详情|说明|备注",
];
const [SUMMARY, SECTION, OTHER] = [0, 1, 2];
const NAME_CHARS_MAX = 40;
const BY_NAME = new Map(NAMES.flatMap((names, kind) => names.split("|").map((name) => [name, kind])));
const MARKS = /^[*_# \t]+/;

/** The summary of an agent's words; empty if there are none. */
export function summaryOf(text) {
  const all = pieces(text);
  const marked = all.filter((piece) => piece.kind === SUMMARY && piece.body !== "").map((piece) => piece.body);
  if (marked.length > 0) return marked.join("\n\n");
  const before = all.filter((piece) => piece.kind === OTHER).map((piece) => firstParagraph(piece.body));
  return before.find((paragraph) => paragraph !== "") ?? "";
}

function firstParagraph(text) {
  const all = lines(text);
  const from = all.findIndex((line) => trim(line) !== "");
  if (from < 0) return "";
  const to = all.findIndex((line, at) => at > from && trim(line) === "");
  return all.slice(from, to < 0 ? all.length : to).map((line) => trimEnd(line)).join("\n");
}

/** The parts of a text, each with the kind of its heading and what stands below it. */
function pieces(text) {
  const starts = [{ at: 0, kind: OTHER, rest: "", body: 0 }];
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
  const [found, fences, last] = [[], ["```", "~~~"], {}];
  const all = [];
  let at = 0;
  for (const line of text.split("\n")) {
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
  const words = after.trimStart().replace(/^[0-9]+[.)] /, "").replace(MARKS, "");
  const colon = /[:：]/.exec(words);
  const name = trimEnd(words.slice(0, colon?.index), (c) => "*_# \t".includes(c));
  const kind = name.length <= NAME_CHARS_MAX ? BY_NAME.get(name.toLowerCase()) : undefined;
  if (kind !== undefined) {
    const bare = words.slice(name.length).replace(MARKS, "");
    const hasColon = /^[:：]/.test(bare);
    const rest = hasColon ? bare.slice(1).replace(MARKS, "") : bare;
    if (hasColon || rest === "") return { kind, known: true, level, rest };
  }
  return level > 0 ? { kind: OTHER, known: false, level, rest: "" } : undefined;
}

// What was measured of an agent's work, in plain words: one fact of each kind, always in the same order.

const FILES_MAX = 500;
const FILES_NAMED_MAX = 10;
const TEST_FILES_NAMED_MAX = 5;
const COMMITS_NAMED_MAX = 3;
const CHILDREN_NAMED_MAX = 6;

/** The facts of a receipt: `[{about, text, any}]`. */
export function facts(receipt) {
  const files = filesInAll(receipt);
  const { below = {} } = receipt;
  const tests = testsInAll(receipt) ?? receipt.test_files?.length;
  return [
    ["commands", commandsRun(receipt), receipt.commands_total > 0 || below.commands > 0],
    ["tests", testsSeen(receipt), Boolean(tests)],
    ["commits", commitsMade(receipt), receipt.commits_total > 0],
    ["sub_agents", subAgents(receipt), receipt.children_total > 0 || below.agents > 0],
    ["files", filesChanged(files), files.length > 0],
  ].map(([about, text, any]) => ({ about, text, any }));
}

/** Files changed by an agent and everything below it, one entry a path. */
export function filesInAll(receipt) {
  const files = receipt.files.map((file) => ({ ...file }));
  const known = new Map();
  for (const file of files) if (!known.has(file.path)) known.set(file.path, file);
  for (const file of receipt.files_below ?? []) {
    const same = known.get(file.path);
    if (same) {
      same.lines_added += file.lines_added;
      same.lines_removed += file.lines_removed;
    } else if (files.length < FILES_MAX) {
      files.push({ ...file });
      known.set(file.path, files.at(-1));
    }
  }
  return files;
}

/** How an agent ended, in a word or two. */
const inAWord = ({ status }) =>
  ({ cancelled: "stopped", timed_out: "out of time" })[status] ?? status.replaceAll("_", " ");

/** The last tests seen: its own, or where it ran none, those below it. Earlier records have counts only. */
function testsInAll(receipt) {
  const tests = receipt.tests ?? receipt.tests_below;
  return tests && "run" in tests ? { counts: tests } : tests;
}

function commandsRun(receipt) {
  const { commands = 0, commands_failed: failedBelow = 0 } = receipt.below ?? {};
  const below = commands ? `, ${commands} by sub-agents${failedBelow ? ` (${failedBelow} failed)` : ""}` : "";
  const total = receipt.commands_total;
  if (total === 0) return `no commands run${below}`;
  const last = receipt.last_command ?? receipt.commands.at(-1);
  const failed = receipt.last_command
    ? receipt.commands_failed ?? 0
    : receipt.commands.filter((run) => run.exit_code !== 0).length;
  const told = last ? `${quoted(last.command)} (${exitCode(last)})` : "";
  if (total === 1) return `1 command run: ${told}${below}`;
  return `${total} commands run, ${failed || "none"} failed, the last: ${told}${below}`;
}

const exitCode = ({ exit_code: code }) => (code == null ? "no exit code" : `exit code ${code}`);

function testsSeen(receipt) {
  const tests = testsInAll(receipt);
  const files = receipt.test_files ?? [];
  const text = tests ? seen(tests) : "no tests run";
  if (files.length === 0) return text;
  return `${text}; test files changed: ${named(files.map(testFile), TEST_FILES_NAMED_MAX)}`;
}

function seen(tests) {
  const by = tests.by == null ? "" : ` by ${word(tests.by)}`;
  const when = tests.edited_after ? " before the last edit" : "";
  const how = {
    passed: `tests${by} passed${when}`,
    failed: `tests${by} failed${when}`,
    noneRan: `a test command${by} ran no tests${when}`,
    own: `its own test script${by} ran${when}`,
    unknown: `a test command${by} ran${when}, result not known`,
  }[verdict(tests)];
  const details = [];
  if (tests.hidden_by != null) details.push(`exit code hidden by ${quoted(tests.hidden_by)}`);
  else if (tests.exit_code != null || tests.command) details.push(exitCode(tests));
  if (tests.counts) details.push(`${tests.counts.passed} of ${tests.counts.run} passed`);
  return `${how}${tests.command ? `: ${quoted(tests.command)}` : ""} (${details.join(", ")})`;
}

/** How tests ended. A failing exit is a failure whatever the output says. */
function verdict({ own, hidden_by: hiddenBy, counts, exit_code: code, command }) {
  if (own && hiddenBy == null && !counts && code === 0) return "own";
  if (counts && counts.passed < counts.run) return "failed";
  if (!command || hiddenBy != null) return counts ? (counts.run > 0 ? "passed" : "noneRan") : "unknown";
  if (code == null) return "unknown";
  if (code !== 0) return "failed";
  return counts?.run === 0 ? "noneRan" : "passed";
}

function testFile(file) {
  const what = file.deleted ? ["deleted"] : file.created ? ["new file"] : [];
  if (file.tests_removed > 0) what.push(`${counted(file.tests_removed, "test")} removed`);
  if (file.assertions_removed > 0) what.push(`${counted(file.assertions_removed, "assertion")} removed`);
  if (file.skips_added > 0) what.push(`${counted(file.skips_added, "skip")} added`);
  return path(file.path) + (what.length > 0 ? ` (${what.join(", ")})` : "");
}

function filesChanged(files) {
  if (files.length === 0) return "no files changed";
  const sum = (key) => files.reduce((all, file) => all + file[key], 0);
  const told = named(files.map(changedFile), FILES_NAMED_MAX);
  return `${counted(files.length, "file")} changed (+${sum("lines_added")} -${sum("lines_removed")}): ${told}`;
}

function changedFile({ path: name, created, lines_added: added, lines_removed: removed }) {
  let lines = `+${added} -${removed} lines`;
  if (removed === 0) lines = `+${added} ${plural(added, "line")}`;
  else if (added === 0) lines = `-${removed} ${plural(removed, "line")}`;
  return `${path(name)} (${lines}${created ? ", new file" : ""})`;
}

/** The first of these, and how many more there are. */
function named(texts, max) {
  const more = texts.length > max ? `, and ${texts.length - max} more` : "";
  return texts.slice(0, max).join(", ") + more;
}

function commitsMade({ commits = [], commits_total: total = 0 }) {
  if (total === 0) return "no commits";
  const last = commits.slice(-COMMITS_NAMED_MAX);
  const told = last.map(({ id, subject }) => `${id.replace(/[^0-9a-f]/gi, "").slice(0, 7)} ${quoted(subject)}`);
  return `${counted(total, "commit")}${last.length < total ? ", the last" : ""}: ${told.join(", ")}`;
}

function subAgents({ children = [], children_total: own = 0, below = {} }) {
  const all = below.agents ?? 0;
  if (own === 0 && all === 0) return "no sub-agents";
  const deeper = own > 0 && all > own ? ` (${all} with those below them)` : "";
  let told = "";
  if (children.length > 0 && children.length <= CHILDREN_NAMED_MAX && children.length === own) {
    told = `: ${children.map(({ name, ending }) => `${word(name)} ${inAWord(ending)}`).join(", ")}`;
  } else if (children.length > 0) {
    const counts = {};
    for (const { ending } of children) counts[inAWord(ending)] = (counts[inAWord(ending)] ?? 0) + 1;
    const sorted = Object.keys(counts).sort().map((ending) => `${counts[ending]} ${ending}`);
    told = `${children.length < own ? ", of the first: " : ": "}${sorted.join(", ")}`;
  }
  return `${counted(own || all, "sub-agent")}${deeper}${told}`;
}

/** Words that an agent chose, within a fact: they can neither end their quotes nor be long. */
const quoted = (text) => `\`${joinedLines(text, 80).replaceAll("`", "'")}\``;

const path = (text) => oneLine(text, 120);

const word = (name) => [...name.trim()].slice(0, 64).join("").replace(/[^a-zA-Z0-9_.:/-]/gu, "_") || "agent";
