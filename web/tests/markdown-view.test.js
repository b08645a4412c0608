// What is drawn of any text: only elements and attributes of this list, and no address but http(s).
import assert from "node:assert/strict";
import { test } from "node:test";
import { Markdown } from "../markdown-view.js";
import { parse } from "../markdown.js";
import { visible } from "../text.js";
import { HOSTILE, SLOW } from "./hostile.js";

const ELEMENTS = new Set("div p h3 h4 h5 h6 hr ul ol li blockquote pre code table thead tbody tr th td strong em del a span button".split(" "));
const ATTRIBUTES = {
  class: /^[a-z -]*$/, role: /^(img|region)$/, "aria-label": /^(done|not done|Table|Copy code)$/, tabindex: /^0$/, start: /^\d+$/, scope: /^col$/,
  type: /^button$/, href: /^https?:\/\//, rel: /^noreferrer noopener$/, target: /^_blank$/,
};

/** The elements of a tree, and all of its text. Components are drawn without a page. */
function walk(node, found) {
  if (Array.isArray(node)) return node.forEach((one) => walk(one, found));
  if (node === null || node === undefined || node === false) return undefined;
  if (typeof node !== "object") return found.texts.push(String(node));
  const { type, props } = node;
  if (typeof type === "function") return walk(drawn(type, props), found);
  assert.ok(ELEMENTS.has(type), `<${type}>`);
  found.elements.push(type);
  for (const [name, value] of Object.entries(props)) {
    if (name === "children" || (name === "onClick" && type === "button")) continue;
    assert.ok(Object.hasOwn(ATTRIBUTES, name), `${type} has ${name}`);
    assert.match(String(value), ATTRIBUTES[name]);
  }
  if (type === "a") {
    found.links.push(props.href);
    assert.deepEqual([props.rel, props.target], ["noreferrer noopener", "_blank"]);
    const inside = { elements: [], texts: [], links: [] };
    walk(props.children, inside);
    assert.ok(inside.texts.join("").includes(props.href), "the address is not shown");
  }
  return walk(props.children, found);
}

const drawn = (type, props) => (type.prototype?.render ? new type(props).render(props) : type(props));

function seen(text) {
  const found = { elements: [], texts: [], links: [] };
  walk(Markdown({ blocks: parse(text) }), found);
  return found;
}

test("hostile text is drawn with allowed elements and attributes, and nothing in it hides", () => {
  for (const text of [...HOSTILE, ...SLOW.map((piece) => piece.repeat(200)), HOSTILE.join("\n\n"), HOSTILE.join(" ")]) {
    const { texts, links } = seen(text);
    for (const one of texts) assert.equal(visible(one).length, one.length, text);
    for (const href of links) assert.ok(["http:", "https:"].includes(new URL(href).protocol));
  }
  assert.ok(HOSTILE.length >= 14);
});

test("every mixture of pieces is drawn with allowed elements", () => {
  let state = 5;
  const next = (n) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % n;
  const pieces = [...SLOW, ...HOSTILE, "https://a.org", "[b](http://c.org)"];
  for (let round = 0; round < 2000; round++) {
    seen(Array.from({ length: 1 + next(12) }, () => pieces[next(pieces.length)]).join(next(3) ? "" : "\n"));
  }
});

test("what is not an address stays text", () => {
  const wanted = ["https://ok.org/", "https://evil.org", "http://evil.org"];
  const links = HOSTILE.flatMap((text) => seen(text).links);
  assert.deepEqual([...new Set(links)].sort(), wanted.sort());
  assert.ok(seen("<script>alert(1)</script>").texts.includes("<script>alert(1)</script>"));
  assert.ok(seen("a\u202eb").texts.includes("a\\u{202e}b"));
  assert.ok(seen("[x](javascript:alert(1))").texts.includes("[x](javascript:alert(1))"));
});

test("everything is drawn", () => {
  const text = "# a\n\n***\n\n- [x] b\n  1. c\n\n> d\n\n|e|f|\n|-|:-:|\n|g|\n\n```rust\nh\n```\n\n**i** *j* ~~k~~ `l` [m](http://n.org)";
  const { elements, texts } = seen(text);
  const all = "div h3 hr ul li span ol blockquote p table thead tr th tbody td pre code button strong em del a".split(" ");
  assert.deepEqual([...new Set(elements)].sort(), all.sort());
  for (const word of ["rust", "Copy", "h", " (", "http://n.org"]) assert.ok(texts.includes(word), word);
});
