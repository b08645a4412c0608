// Prompts of servers are commands, with arguments as the chat reads them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isServerPrompt, promptCommands, stateWords, wordsOf } from "../server-prompts.js";

// As in crates/tui/src/chat/servers.rs.
const LINES = [
  ["", []],
  ["a  b", ["a", "b"]],
  ["\"a b\" 'c d'", ["a b", "c d"]],
  ["it's \"\" x", ["it's", "", "x"]],
  ['"open end', ["open end"]],
];

test("quotes keep blanks", () => {
  for (const [line, words] of LINES) assert.deepEqual(wordsOf(line), words, line);
});

test("prompts are commands", () => {
  const prompts = [{ name: "mcp__s__p", description: "Does", arguments: [["who", true], ["how", false]] }, { name: "mcp__s__q", description: "", arguments: [] }];
  assert.deepEqual(promptCommands([{ prompts }]), [{ name: "mcp__s__p", help: "who [how] · Does" }, { name: "mcp__s__q", help: "· " }]);
  assert.deepEqual(promptCommands(undefined), []);
  assert.deepEqual(["mcp__s__p", "mcp", undefined].map(isServerPrompt), [true, false, false]);
  assert.deepEqual(["failed", "new"].map(stateWords), ["failed", "new"]);
});
