// Server-sent events in pieces of any size.

import test from "node:test";
import assert from "node:assert/strict";
import { SseParser } from "../sse.js";

const TEXT = ": heartbeat\n\nevent: event\nid: 7\ndata: {\"a\":1}\n\ndata: one\ndata:two\r\n\r\nevent: progress\ndata: Grüße 😀\n\n: more\n\nevent: empty\n\n";
const WANT = [
  { event: "event", data: '{"a":1}', id: "7" },
  { event: "message", data: "one\ntwo", id: null },
  { event: "progress", data: "Grüße 😀", id: null },
];

function parsed(pieces) {
  const found = [];
  const parser = new SseParser((message) => found.push(message));
  for (const piece of pieces) parser.push(piece);
  return found;
}

test("messages are the same however the text is cut", () => {
  assert.deepEqual(parsed([TEXT]), WANT);
  assert.deepEqual(parsed([...TEXT]), WANT);
  for (let at = 1; at < TEXT.length; at++) assert.deepEqual(parsed([TEXT.slice(0, at), TEXT.slice(at)]), WANT, `cut at ${at}`);
});

test("an unfinished message waits", () => {
  assert.deepEqual(parsed(["event: event\ndata: 1\n"]), []);
  assert.deepEqual(parsed(["data: 1\r", "\n\r", "\n"]), [{ event: "message", data: "1", id: null }]);
});
