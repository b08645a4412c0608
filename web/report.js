// A report as a view keeps it: a summary, the facts in words and what does not hold, without its text and receipt.

import { facts } from './facts.js';
import { summaryOf } from './summary.js';
import { cut, grouped, message, short } from './text.js';

const SUMMARY_CHARS_MAX = 1000;

const FAILURES = {
  empty_reply: 'the model gave an empty reply twice',
  no_report: 'the agent gave no report worth the name, twice',
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
  if (ending.status === 'completed' || ending.status === 'cancelled') return null;
  if (ending.status === 'failed') return failureText(ending.failure);
  return ending.status === 'interrupted' ? ending.reason : endingText(ending);
}

/** How an agent ended, and why. */
export function endingText(ending) {
  switch (ending.status) {
    case 'failed': return `failed: ${failureText(ending.failure)}`;
    case 'interrupted': return `interrupted: ${ending.reason}`;
    case 'timed_out': return 'out of time';
    case 'refused': return 'the model refused';
    default: return ending.status.replaceAll('_', ' ');
  }
}

function failureText(failure) {
  switch (failure.failure) {
    case 'model': return sentences(failure);
    case 'repeated_call': return `the model kept making the same ${failure.tool} call with the same result`;
    case 'context_full': return tooLarge(failure);
    case 'internal': return failure.message;
    default: return FAILURES[failure.failure] ?? failure.failure;
  }
}

/** What happened, what was said and what to do, as sentences. One that stands alone is left as it is. */
export function sentences({ message: what, said = '', advice = '' }) {
  if (!said && !advice) return what;
  let text = what.endsWith('.') ? what : `${what}.`;
  if (said) text += ` It said: ${said}${/[.!?…]$/.test(said) ? '' : '.'}`;
  const [first = '', ...rest] = advice;
  return first ? `${text} ${first.toUpperCase()}${rest.join('').replace(/\.+$/, '')}.` : text;
}

function tooLarge({ tokens, window }) {
  if (tokens == null) return "the task or the conversation is larger than the model's context";
  // It is an estimate: more digits would say more than is known.
  const about = tokens < 10_000 ? tokens : Math.floor((tokens + 500) / 1000) * 1000;
  const takes = window == null ? "more than the model's context" : `the model's context is ${grouped(window)}`;
  return `the conversation is about ${grouped(about)} tokens, ${takes}; give it less text, or put it in a file and let the agent read it`;
}
