// The fixtures of crates/view: events, and what every reader must make of them.
import { readFileSync, readdirSync } from "node:fs";

const folder = new URL("../../crates/view/fixtures/", import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), "utf8");

/** `[{name, events, want}]` */
export function fixtures() {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
  return names.map((name) => ({
    name,
    events: read(`${name}.jsonl`).trim().split("\n").map((line) => JSON.parse(line)),
    want: JSON.parse(read(`${name}.json`)),
  }));
}

export const FIXTURES_MIN = 12;
