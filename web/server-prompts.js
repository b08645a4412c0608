// Prompts of servers as commands, and how servers are in words. Pure.

/** Every such command begins with this. */
const PREFIX = "mcp__";

/** Whether a command is the prompt of a server. */
export const isServerPrompt = (name) => Boolean(name?.startsWith(PREFIX));

/** The prompts of servers as commands that can be completed. */
export function promptCommands(servers) {
  const typed = (list) => list.map(([name, needed]) => (needed ? name : `[${name}]`)).join(" ");
  const prompts = (servers ?? []).flatMap(({ prompts: all }) => all);
  return prompts.map(({ name, description, arguments: list }) => ({ name, help: `${list.length ? `${typed(list)} ` : ""}· ${description}` }));
}

/** The words of a line; quotes keep blanks in one. */
export function wordsOf(line) {
  const words = [];
  let word = null;
  let quote = null;
  for (const c of line) {
    if (quote) {
      if (c === quote) quote = null;
      else word += c;
    } else if (word === null && (c === '"' || c === "'")) {
      [quote, word] = [c, ""];
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  return word === null ? words : [...words, word];
}

/** What a server does, in words. */
export const stateWords = (state) => ({ waiting: "not needed yet", starting: "starting", running: "running", failed: "failed" })[state] ?? state;
