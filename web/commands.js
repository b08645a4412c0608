// The commands that begin with `/` in the page. The person's own come from the server.

import { get, of, post } from "./net.js";
import { link, reviewLink } from "./route.js";
import { promptCommands } from "./server-prompts.js";
import { toast } from "./ui.js";

/** Saves a text as a file of the person's. */
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Exports a session as Markdown. */
export async function exportSession(session, format = "markdown") {
  const { text } = await get(of(session, "export"), { format });
  download(`posse-${session}.${{ markdown: "md" }[format] ?? format}`, text);
}

/** Opens a session that was just begun, and says what is worth knowing of it. */
export function openBegun({ session, notes = [] }) {
  for (const note of notes) toast(note);
  location.hash = link(session);
}

const needed = (text, what) => {
  if (!text) throw new Error(`Type ${what} behind the command.`);
  return text;
};

/** name, what is typed behind it, what it does, and how: `run({session, agent, show}, rest)`. `show` opens a dialog. */
const OWN = [
  ["compact", "", "shorten the conversation now", ({ session, agent }) => post(of(session, "compact"), { agent }).then(() => toast("The conversation is shortened at its next turn."))],
  ["fork", "PROMPT", "continue in a new session from here", async ({ session }, rest) => openBegun(await post(of(session, "fork"), { prompt: needed(rest, "a prompt") }))],
  ["undo", "", "take back changes, after a preview", ({ show }) => show("undo")],
  ["redo", "", "bring back what an undo took", ({ show }) => show("undo")],
  ["rewind", "", "go back to a turn: files, conversation or both", ({ show }) => show("undo")],
  ["diff", "[AGENT]", "review what the agents changed", ({ session }, rest) => (location.hash = reviewLink(session, { agent: rest }))],
  ["context", "", "what fills the model's window", ({ session, agent }) => (location.hash = `#/look/context/${session}/${encodeURIComponent(agent)}`)],
  ["mcp", "", "servers whose tools agents call, and their prompts", ({ session }) => (location.hash = `#/look/servers/${session}`)],
  ["export", "[markdown|json|jsonl]", "save this session as a file", ({ session }, rest) => exportSession(session, rest || "markdown")],
  ["rename", "TITLE", "give this session a title", ({ session }, rest) => post(of(session, "title"), { title: rest })],
  ["side", "QUESTION", "ask without tools and without disturbing the work", ({ show }, rest) => show("side", needed(rest, "a question"))],
  ["mode", "plan|ask|edit|auto|full", "what runs without asking", ({ session }, rest) => post(of(session, "settings"), { approval: needed(rest, "a mode") })],
  ["effort", "LEVEL", "the reasoning effort", ({ session }, rest) => post(of(session, "settings"), { effort: needed(rest, "a level") })],
  ["new", "", "begin a new session", () => (location.hash = "#/new")],
].map(([name, typed, help, run]) => ({ name, help: `${typed && `${typed} `}· ${help}`, run }));

/** All commands of a folder: those of the page, the person's own, and prompts of servers. */
export function commandsOf(found, servers) {
  const names = new Set(OWN.map(({ name }) => name));
  const theirs = (found ?? []).filter(({ name }) => !names.has(name));
  return [...OWN, ...theirs.map(({ name, description, arguments: typed }) => ({ name, help: `${typed ? `${typed} ` : ""}· ${description ?? ""}` })), ...promptCommands(servers)];
}
