// Markdown becomes blocks and spans, quickly whatever the text is, and the same in pieces as at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Stream, parse } from "../markdown.js";
import { HOSTILE, SLOW } from "./hostile.js";

const text = (words) => ({ kind: "text", text: words });
const spans = (words) => parse(words)[0].spans;
const paragraph = (...some) => ({ kind: "paragraph", spans: some });
const list = (ordered, start, ...items) => ({ kind: "list", ordered, start, items });
const item = (words, ...blocks) => ({ checked: null, blocks: [paragraph(text(words)), ...blocks] });

test("spans", () => {
  const link = (href, words = href) => ({ kind: "link", href, text: words });
  const wrap = (kind, ...some) => ({ kind, spans: some });
  const cases = [
    ["a **b** c", text("a "), wrap("strong", text("b")), text(" c")],
    ["*a* _b_ ~~c~~", wrap("em", text("a")), text(" "), wrap("em", text("b")), text(" "), wrap("strike", text("c"))],
    ["***a***", wrap("em", wrap("strong", text("a")))],
    ["**a *b***", wrap("strong", text("a "), wrap("em", text("b")))],
    ["snake_case_name 2 * 3 * 4 ~x~", text("snake_case_name 2 * 3 * 4 ~x~")],
    ["**open and ``a ` b``", text("**open and "), { kind: "code", text: "a ` b" }],
    ["\\*a\\* \\q `\\*`", text("*a* \\q "), { kind: "code", text: "\\*" }],
    ['[a **b**](https://x.org/(y) "t") z', link("https://x.org/(y)", "a b"), text(" z")],
    ["(see https://x.org/a.)", text("(see "), link("https://x.org/a"), text(".)")],
    ["**https://x.org**", wrap("strong", link("https://x.org"))],
    ["[a](javascript:x) [b] ![c](http://x/y)", text("[a](javascript:x) [b] ![c](http://x/y)")],
    ["<b>x</b> &lt;", text("<b>x</b> &lt;")],
    ["one\\\ntwo  \nthree", text("one\ntwo\nthree")],
  ];
  for (const [words, ...want] of cases) assert.deepStrictEqual(spans(words), want, words);
});

test("blocks", () => {
  const cases = [
    ["# A ##\n####### b", { kind: "heading", level: 1, spans: [text("A")] }, paragraph(text("####### b"))],
    ["a\n***\nb", paragraph(text("a")), { kind: "rule" }, paragraph(text("b"))],
    ["- a\n  - b\n- c", list(false, 1, item("a", list(false, 1, item("b"))), item("c"))],
    ["3. a\n  - b\n4) c", list(true, 3, item("a", list(false, 1, item("b")))), list(true, 4, item("c"))],
    ["- a\n\n  b\n\nc", list(false, 1, item("a", paragraph(text("b")))), paragraph(text("c"))],
    ["- a\nb", list(false, 1, item("a\nb"))],
    ["- [x] a\n- [ ] b", list(false, 1, { ...item("a"), checked: true }, { ...item("b"), checked: false })],
    ["> a\n> > b", { kind: "quote", blocks: [paragraph(text("a")), { kind: "quote", blocks: [paragraph(text("b"))] }] }],
    ["~~~ rust x\na\n```\n ~~~~", { kind: "code", language: "rust", text: "a\n```", closed: true }],
    ["- ```\n  a\n   b\n  ```", list(false, 1, { checked: null, blocks: [{ kind: "code", language: "", text: "a\n b", closed: true }] })],
    ["```\na", { kind: "code", language: "", text: "a", closed: false }],
    ["x\na | b\n:-|-:\n1 | 2 | 3\n", paragraph(text("x")),
      { kind: "table", align: ["left", "right"], head: [[text("a")], [text("b")]], rows: [[[text("1")], [text("2")]]] }],
    ["a\r\n\r\nb", paragraph(text("a")), paragraph(text("b"))],
    ["\n \n"],
  ];
  for (const [words, ...want] of cases) assert.deepStrictEqual(parse(words), want, words);
});

const depthOf = (value) => {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).slice(0, 50).map(depthOf));
};

test("a long text of anything is parsed quickly, and to a bounded depth", () => {
  for (const piece of SLOW) {
    for (const [bytes, end] of [[50_000, ""], [5000, "x"], [5000, ")"], [5000, "*"]]) {
      const started = performance.now();
      const blocks = parse(piece.repeat(Math.ceil(bytes / piece.length)) + end);
      // A machine that is busy may take a second; time that grows with the square takes many.
      assert.ok(performance.now() - started < 5000, JSON.stringify(piece));
      assert.ok(depthOf(blocks) < 100, piece);
    }
  }
  const deep = Array.from({ length: 1400 }, (_, n) => `${" ".repeat(n)}- a`).join("\n");
  assert.ok(depthOf(parse(deep)) < 100);
});

const random = (seed) => () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
const PIECES = ["a", " ", "\n", "\n\n", "```", "```\n", "- ", "  ", "> ", "# ", "|", "|-", "---", "*", "**", "`", "[x](http://a.b)", "1. ", "\r\n", "~~~", "\t", "\\"];

test("pieces give the same as all at once", () => {
  const next = random(7);
  for (let round = 0; round < 500; round++) {
    const [stream, length] = [new Stream(), 1 + Math.floor(next() * 25)];
    let all = "";
    for (let n = 0; n < length; n++) {
      const piece = PIECES[Math.floor(next() * PIECES.length)];
      all += piece;
      const blocks = stream.add(piece);
      assert.deepStrictEqual(blocks, parse(all), JSON.stringify(all));
    }
  }
  for (const words of HOSTILE) {
    const stream = new Stream();
    for (const c of words) stream.add(c);
    assert.deepStrictEqual(stream.blocks, parse(words));
  }
});

test("finished blocks stay the same objects, and a piece costs the same at the end as at the beginning", () => {
  for (const line of ["A sentence **with** `code` in it.\n\n", "```\ncode\n```\n\n", null]) {
    const stream = new Stream();
    if (line === null) stream.add("```\n");
    const took = [];
    let first;
    for (let n = 0; n < 5000; n++) {
      const started = performance.now();
      stream.add(line ?? "a line of code in a very long block\n");
      took.push(performance.now() - started);
      if (n === 100) [first] = stream.blocks;
    }
    if (line !== null) assert.equal(stream.blocks[0], first);
    const mean = (some) => some.reduce((sum, one) => sum + one, 0) / some.length;
    assert.ok(mean(took.slice(-1000)) < 1, `${mean(took.slice(-1000))} ms a piece`);
  }
});

test("all of the text can be set", () => {
  const stream = new Stream();
  stream.set("a\n\nb");
  stream.set("a\n\nb\n\nc");
  assert.deepStrictEqual(stream.blocks, parse("a\n\nb\n\nc"));
  stream.set("```\nx");
  assert.deepStrictEqual(stream.set("other"), parse("other"));
});
