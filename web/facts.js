// What was measured of an agent's work, in plain words: one fact of each kind, always in the same order.

import { counted, plural } from './text.js';
import { joinedLines, oneLine } from './visible.js';

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
    ['commands', commandsRun(receipt), receipt.commands_total > 0 || below.commands > 0],
    ['tests', testsSeen(receipt), Boolean(tests)],
    ['commits', commitsMade(receipt), receipt.commits_total > 0],
    ['sub_agents', subAgents(receipt), receipt.children_total > 0 || below.agents > 0],
    ['files', filesChanged(files), files.length > 0],
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
export const inAWord = ({ status }) =>
  ({ cancelled: 'stopped', timed_out: 'out of time' })[status] ?? status.replaceAll('_', ' ');

/** The last tests seen: its own, or where it ran none, those below it. Earlier records have counts only. */
function testsInAll(receipt) {
  const tests = receipt.tests ?? receipt.tests_below;
  return tests && 'run' in tests ? { counts: tests } : tests;
}

function commandsRun(receipt) {
  const { commands = 0, commands_failed: failedBelow = 0 } = receipt.below ?? {};
  const below = commands ? `, ${commands} by sub-agents${failedBelow ? ` (${failedBelow} failed)` : ''}` : '';
  const total = receipt.commands_total;
  if (total === 0) return `no commands run${below}`;
  const last = receipt.last_command ?? receipt.commands.at(-1);
  const failed = receipt.last_command
    ? receipt.commands_failed ?? 0
    : receipt.commands.filter((run) => run.exit_code !== 0).length;
  const told = last ? `${quoted(last.command)} (${exitCode(last)})` : '';
  if (total === 1) return `1 command run: ${told}${below}`;
  return `${total} commands run, ${failed || 'none'} failed, the last: ${told}${below}`;
}

const exitCode = ({ exit_code: code }) => (code == null ? 'no exit code' : `exit code ${code}`);

function testsSeen(receipt) {
  const tests = testsInAll(receipt);
  const files = receipt.test_files ?? [];
  const text = tests ? seen(tests) : 'no tests run';
  if (files.length === 0) return text;
  return `${text}; test files changed: ${named(files.map(testFile), TEST_FILES_NAMED_MAX)}`;
}

function seen(tests) {
  const by = tests.by == null ? '' : ` by ${word(tests.by)}`;
  const when = tests.edited_after ? ' before the last edit' : '';
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
  return `${how}${tests.command ? `: ${quoted(tests.command)}` : ''} (${details.join(', ')})`;
}

/** How tests ended. A failing exit is a failure whatever the output says. */
function verdict({ own, hidden_by: hiddenBy, counts, exit_code: code, command }) {
  if (own && hiddenBy == null && !counts && code === 0) return 'own';
  if (counts && counts.passed < counts.run) return 'failed';
  if (!command || hiddenBy != null) return counts ? (counts.run > 0 ? 'passed' : 'noneRan') : 'unknown';
  if (code == null) return 'unknown';
  if (code !== 0) return 'failed';
  return counts?.run === 0 ? 'noneRan' : 'passed';
}

function testFile(file) {
  const what = file.deleted ? ['deleted'] : file.created ? ['new file'] : [];
  if (file.tests_removed > 0) what.push(`${counted(file.tests_removed, 'test')} removed`);
  if (file.assertions_removed > 0) what.push(`${counted(file.assertions_removed, 'assertion')} removed`);
  if (file.skips_added > 0) what.push(`${counted(file.skips_added, 'skip')} added`);
  return path(file.path) + (what.length > 0 ? ` (${what.join(', ')})` : '');
}

function filesChanged(files) {
  if (files.length === 0) return 'no files changed';
  const sum = (key) => files.reduce((all, file) => all + file[key], 0);
  const told = named(files.map(changedFile), FILES_NAMED_MAX);
  return `${counted(files.length, 'file')} changed (+${sum('lines_added')} -${sum('lines_removed')}): ${told}`;
}

function changedFile({ path: name, created, lines_added: added, lines_removed: removed }) {
  let lines = `+${added} -${removed} lines`;
  if (removed === 0) lines = `+${added} ${plural(added, 'line')}`;
  else if (added === 0) lines = `-${removed} ${plural(removed, 'line')}`;
  return `${path(name)} (${lines}${created ? ', new file' : ''})`;
}

/** The first of these, and how many more there are. */
function named(texts, max) {
  const more = texts.length > max ? `, and ${texts.length - max} more` : '';
  return texts.slice(0, max).join(', ') + more;
}

function commitsMade({ commits = [], commits_total: total = 0 }) {
  if (total === 0) return 'no commits';
  const last = commits.slice(-COMMITS_NAMED_MAX);
  const told = last.map(({ id, subject }) => `${id.replace(/[^0-9a-f]/gi, '').slice(0, 7)} ${quoted(subject)}`);
  return `${counted(total, 'commit')}${last.length < total ? ', the last' : ''}: ${told.join(', ')}`;
}

function subAgents({ children = [], children_total: own = 0, below = {} }) {
  const all = below.agents ?? 0;
  if (own === 0 && all === 0) return 'no sub-agents';
  const deeper = own > 0 && all > own ? ` (${all} with those below them)` : '';
  let told = '';
  if (children.length > 0 && children.length <= CHILDREN_NAMED_MAX && children.length === own) {
    told = `: ${children.map(({ name, ending }) => `${word(name)} ${inAWord(ending)}`).join(', ')}`;
  } else if (children.length > 0) {
    const counts = {};
    for (const { ending } of children) counts[inAWord(ending)] = (counts[inAWord(ending)] ?? 0) + 1;
    const sorted = Object.keys(counts).sort().map((ending) => `${counts[ending]} ${ending}`);
    told = `${children.length < own ? ', of the first: ' : ': '}${sorted.join(', ')}`;
  }
  return `${counted(own || all, 'sub-agent')}${deeper}${told}`;
}

/** Words that an agent chose, within a fact: they can neither end their quotes nor be long. */
const quoted = (text) => `\`${joinedLines(text, 80).replaceAll('`', "'")}\``;

const path = (text) => oneLine(text, 120);

const word = (name) => [...name.trim()].slice(0, 64).join('').replace(/[^a-zA-Z0-9_.:/-]/gu, '_') || 'agent';
