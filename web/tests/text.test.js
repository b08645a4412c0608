// Titles, visible text, reports and facts are those of the programs that write the record.
import assert from "node:assert/strict";
import { test } from "node:test";
import { facts } from "../report.js";
import { endingText, errorMessage } from "../report.js";
import { summaryOf } from "../report.js";
import { cut } from "../text.js";
import { titleOf } from "../title.js";
import { joinedLines, oneLine, visible, visibleLine } from "../text.js";

// As in crates/protocol/src/title.rs.
const PROMPTS = [
  ["", ""],
  [" \n\t\n", ""],
  ["fix the build", "fix the build"],
  ["Please fix the build.", "fix the build"],
  ["Hi!\n\nCan you please look at src/main.rs?", "look at src/main.rs?"],
  ["Hello there, could you explain the parser?", "explain the parser?"],
  ["Hey Posse, I'd like you to add a flag", "add a flag"],
  ["I’d like you to add a flag", "add a flag"],
  ["Kannst du bitte die Tests reparieren?", "die Tests reparieren?"],
  ["S'il te plaît, ajoute un test", "ajoute un test"],
  ["Por favor arregla la prueba", "arregla la prueba"],
  ["hierarchy of so-called types", "hierarchy of so-called types"],
  ["hi-res images are blurred", "hi-res images are blurred"],
  ["Pleased to meet you", "Pleased to meet you"],
  ["# Task\n\nDo it", "Task"],
  ["## Fix **all** of `foo()`", "Fix all of foo()"],
  ["#12 is still open", "#12 is still open"],
  ["- [ ] write docs", "write docs"],
  ["1. first do this\n2. then that", "first do this"],
  ["2 tests fail", "2 tests fail"],
  ["---\nThe release is broken", "The release is broken"],
  ["```\nerror[E0308]: mismatched types\n```\nWhy does this fail?", "Why does this fail?"],
  ["~~~py\n```\nx = 1\n~~~\nmake it faster", "make it faster"],
  ["```\nlet x = 1;\n```", "let x = 1"],
  ["> it worked yesterday\n> and today not\nfind out why", "find out why"],
  ["2026-01-02T03:04:05Z ERROR boom\n[12:30:01] retry\nWhat happened here?", "What happened here?"],
  ["ERROR cannot connect\n    at run (a.js:3)\nat run (a.js:3)\nhelp me with this", "help me with this"],
  ["Traceback (most recent call last):\n  File \"a.py\", line 1\nfix it", "fix it"],
  ["$ cargo test\nIt hangs for ever", "It hangs for ever"],
  ["<context>\nsummarise the report", "summarise the report"],
  ["2026-01-02 03:04:05 boom", "2026-01-02 03:04:05 boom"],
  ["Fix it. Then run the tests.", "Fix it. Then run the tests"],
  ["Rename the module. Then run the tests. After that, tell me what you think of its interface.", "Rename the module. Then run the tests"],
  ["Support formats, e.g. TOML and JSON. Also YAML, but only if that needs no new dependency.", "Support formats, e.g. TOML and JSON"],
  ["It fails. I have no idea why that could be, and nobody else here has one either.", "It fails. I have no idea why that could be, and nobody else…"],
  ["Is this right? I doubt it.", "Is this right? I doubt it"],
  ["Bump version 1.2.3 to 1.3.0 now", "Bump version 1.2.3 to 1.3.0 now"],
  ["Do the following:\n- a\n- b", "Do the following"],
  ["wait for it...", "wait for it..."],
  ["a\u001b[31mred\u202e", "a\\u{1b}[31mred\\u{202e}"],
  ["one  two\tthree\u00a0four", "one two three four"],
  ["!!!\n???", "!!!"],
  ["please", "please"],
  ["修复这个错误。然后运行测试。", "修复这个错误。然后运行测试"],
  ["Implement the exponential back-off of the retry loop in the client module", "Implement the exponential back-off of the retry loop in the…"],
  ["see https://example.org/a/very/long/address/that/has/no/spaces/in/it/anywhere", "see https://example.org/a/very/long/address/that/has/no/spa…"],
];

test("titles are the first meaningful words", () => {
  assert.equal(PROMPTS.length, 46);
  for (const [prompt, title] of PROMPTS) {
    assert.equal(titleOf(prompt), title, JSON.stringify(prompt));
    assert.equal(titleOf(title), title);
  }
});

test("a title of hostile text takes no time", () => {
  for (const piece of ["#", ".", " ", "> ", "please ", "`", "1. ", "\n", "- [ ] "]) {
    const started = performance.now();
    titleOf(piece.repeat(1_000_000 / piece.length));
    assert.ok(performance.now() - started < 500, JSON.stringify(piece));
  }
});

// As in crates/protocol/src/visible.rs.
const HIDDEN = [
  [0x00, 0x08], [0x0b, 0x1f], [0x7f, 0xa0], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x115f, 0x1160], [0x1680, 0x1680],
  [0x17b4, 0x17b5], [0x180b, 0x180f], [0x2000, 0x200f], [0x2028, 0x202f], [0x205f, 0x206f], [0x2800, 0x2800], [0x3000, 0x3000],
  [0x3164, 0x3164], [0xe000, 0xe010], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff9, 0xfffc], [0xfffe, 0xffff],
  [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe007f], [0xe0100, 0xe01ef], [0xf0000, 0xf0010], [0x10fffd, 0x10ffff],
];

test("what hides is written out and nothing is dropped", () => {
  let seen = 0;
  for (const [from, to] of HIDDEN) {
    for (let code = from; code <= to; code++) {
      const c = String.fromCodePoint(code);
      const escape = c === "\r" ? "\\r" : `\\u{${code.toString(16)}}`;
      for (const shown of [visible, visibleLine]) assert.equal(shown(`a${c}b${c}`), `a${escape}b${escape}`);
      assert.equal(visible(c), escape);
      seen++;
    }
  }
  assert.equal(seen, 562);
});

test("texts stay as they are", () => {
  const texts = ["plain\n\ttext", "a\\u{1b}b C:\\n", "Grüße, décomposé e\u0301, Tiếng Việt",
    "日本語 한국어 עברית العربية हिन्दी ไทย", "✓ ⚠\ufe0f 😀 “quoted” — … ≥ 5 €"];
  for (const text of texts) assert.equal(visible(text), text);
});

test("lines stay lines and marks stay with their letter", () => {
  const cases = [
    ["a\nb\tc\r", "a\\nb\\tc\\r"], ["\u0301x", "\\u{301}x"], ["x \u0301", "x \\u{301}"], ["\u202e\u0301", "\\u{202e}\\u{301}"],
    ["o\u0301\u0302\u0303\u0304\u0305", "o\u0301\u0302\u0303\u0304\\u{305}"], ["a\ufe0f", "a\\u{fe0f}"],
    ["⚠\ufe0f\ufe0f", "⚠\ufe0f\\u{fe0f}"], ["\ud800", "\\u{d800}"],
  ];
  for (const [text, want] of cases) assert.equal(visibleLine(text), want);
  const lines = [["日本語", 6, "日本語"], ["日本語", 5, "日本…"], ["日本語", 4, "日…"], ["a日本", 3, "a…"], ["😀😀", 3, "😀…"], ["é", 1, "é"],
    ["abc", 0, "…"]];
  for (const [text, columns, want] of lines) assert.equal(oneLine(text, columns), want);
  const joined = [[" a\nb\tc\u2028d\n", 20, "a b c d"], ["a\r\nb\u202e", 20, "a  b\\u{202e}"], ["one\ntwo", 6, "one t…"], ["\n\n", 6, ""]];
  for (const [text, columns, want] of joined) assert.equal(joinedLines(text, columns), want);
  assert.equal(cut("日😀語", 2), "日😀");
});

test("the summary of a report", () => {
  const cases = [
    ["", ""],
    ["All done.\nReally.\n\nMore.", "All done.\nReally."],
    ["SUMMARY: it works\nCHANGES: a.rs", "it works"],
    ["# Report\n## Summary\nIt works.\n### Why\nBecause.\n## Risks\nnone", "It works.\n### Why\nBecause."],
    ["**Zusammenfassung**\nFertig.\n\n2. **Risiken:** keine", "Fertig."],
    ["```\nSUMMARY: no\n```\n摘要：完成", "完成"],
    ["```\nSUMMARY: yes", "yes"],
    ["Risks: many\n# Own\nwords", ""],
    ["# Own\n\nwords\n\nmore", "words"],
  ];
  for (const [text, want] of cases) assert.equal(summaryOf(text), want, JSON.stringify(text));
});

test("facts and endings in words", () => {
  const file = (path, added, removed, created = false) => ({ path, created, lines_added: added, lines_removed: removed });
  const receipt = {
    files: [file("a.rs", 1, 0, true), file("b", 0, 2)], files_below: [file("a.rs", 2, 1)],
    commands: [{ command: "make `x`", exit_code: 1 }], commands_total: 2, commands_failed: 1, last_command: { command: "ls\n-l", exit_code: null },
    tests: { run: 5, passed: 4 }, test_files: [{ path: "t", deleted: true, tests_removed: 2, assertions_removed: 1, skips_added: 0 }],
    commits: [{ id: "abcdef0123", subject: "one" }], commits_total: 3, children: [{ name: "a b", ending: { status: "timed_out" } }], children_total: 1,
    below: { agents: 4, commands: 2, commands_failed: 1 },
  };
  assert.deepStrictEqual(facts(receipt).map(({ text }) => text), [
    "2 commands run, 1 failed, the last: `ls -l` (no exit code), 2 by sub-agents (1 failed)",
    "tests failed (4 of 5 passed); test files changed: t (deleted, 2 tests removed, 1 assertion removed)",
    "3 commits, the last: abcdef0 `one`",
    "1 sub-agent (4 with those below them): a_b out of time",
    "2 files changed (+3 -3): a.rs (+3 -1 lines, new file), b (-2 lines)",
  ]);
  const model = (said, advice) => ({ status: "failed", failure: { failure: "model", message: "h refused the key (401)", said, advice } });
  const full = (tokens, window) => ({ status: "failed", failure: { failure: "context_full", tokens, window } });
  const tail = "; give it less text, or put it in a file and let the agent read it";
  const endings = [
    [model("", ""), "h refused the key (401)"], [model("No.", "check KEY"), "h refused the key (401). It said: No. Check KEY."],
    [model("No", ""), "h refused the key (401). It said: No."], [{ status: "completed" }, null], [{ status: "refused" }, "the model refused"],
    [full(1_000_000, 32_768), `the conversation is about 1,000,000 tokens, the model's context is 32,768${tail}`],
    [full(900), `the conversation is about 900 tokens, more than the model's context${tail}`], [{ status: "out_of_turns" }, "out of turns"],
  ];
  for (const [ending, want] of endings) assert.equal(errorMessage(ending), want);
  assert.equal(endingText(model("", "")), "failed: h refused the key (401)");
});
