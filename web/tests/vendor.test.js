// The vendored library is the one that its README names, byte for byte.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("the vendored library has the hash of its README", () => {
  const at = (name) => new URL(`../vendor/${name}`, import.meta.url);
  const hash = createHash("sha256").update(readFileSync(at("preact.js"))).digest("hex");
  const named = readFileSync(at("README.md"), "utf8").match(/[0-9a-f]{64}/g);
  assert.deepEqual(named, [hash]);
});
