// Draws the blocks of Markdown: text nodes, and elements that can neither run nor load anything. A block that is the same
// object as before is not drawn again.

import { Component, html } from "./vendor/preact.js";
import { visible, visibleLine } from "./text.js";

const COPIED_MS = 1500;

export const Markdown = ({ blocks }) => html`<div class="markdown">${drawn(blocks)}</div>`;

const drawn = (blocks) => blocks.map((block, at) => html`<${Block} key=${at} block=${block} />`);

class Block extends Component {
  shouldComponentUpdate(next) {
    return next.block !== this.props.block;
  }

  render({ block }) {
    return BLOCKS[block.kind](block);
  }
}

const BLOCKS = {
  paragraph: ({ spans }) => html`<p>${inline(spans)}</p>`,
  // The page has headings of its own above these.
  heading: ({ level, spans }) => html`<${`h${Math.min(6, level + 2)}`}>${inline(spans)}<//>`,
  rule: () => html`<hr />`,
  quote: ({ blocks }) => html`<blockquote>${drawn(blocks)}</blockquote>`,
  code: (block) => html`<${Code} language=${block.language} text=${block.text} />`,
  list: ({ ordered, start, items }) => (ordered
    ? html`<ol start=${start}>${items.map(item)}</ol>`
    : html`<ul>${items.map(item)}</ul>`),
  table,
};

function item({ checked, blocks }) {
  // A paragraph that stands alone needs no room around it.
  const [first, ...rest] = blocks;
  const isPlain = first?.kind === "paragraph";
  const task = checked === null ? null
    : html`<span class="task" role="img" aria-label=${checked ? "done" : "not done"}>${checked ? "☑" : "☐"} </span>`;
  return html`<li class=${checked === null ? "" : "has-task"}>${task}${isPlain ? inline(first.spans) : null}${drawn(isPlain ? rest : blocks)}</li>`;
}

function table({ align, head, rows }) {
  const look = (at) => (align[at] ? `align-${align[at]}` : "");
  const row = (cells) => html`<tr>${align.map((_, at) => html`<td class=${look(at)}>${inline(cells[at] ?? [])}</td>`)}</tr>`;
  return html`<div class="table" role="region" aria-label="Table" tabindex="0"><table>
    <thead><tr>${head.map((cell, at) => html`<th scope="col" class=${look(at)}>${inline(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map(row)}</tbody></table></div>`;
}

const SPANS = {
  text: ({ text }) => visible(text),
  code: ({ text }) => html`<code>${visible(text)}</code>`,
  strong: ({ spans }) => html`<strong>${inline(spans)}</strong>`,
  em: ({ spans }) => html`<em>${inline(spans)}</em>`,
  strike: ({ spans }) => html`<del>${inline(spans)}</del>`,
  link,
};

const inline = (spans) => spans.map((span) => SPANS[span.kind](span));

/** A link says where it leads, whatever its words say. */
function link({ href, text }) {
  const address = text === href ? null : html`<span class="address"> (${href})</span>`;
  return html`<a href=${href} rel="noreferrer noopener" target="_blank">${visible(text)}${address}</a>`;
}

/** Code with its language. What is copied is what is shown. */
class Code extends Component {
  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  render({ language, text }, { isCopied } = {}) {
    const shown = visible(text);
    const copied = () => {
      this.setState({ isCopied: true });
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.setState({ isCopied: false }), COPIED_MS);
    };
    const copy = () => navigator.clipboard?.writeText(shown).then(copied, () => {});
    return html`<div class="code">
      <div class="code-head"><span class="language">${visibleLine(language)}</span>
        <button type="button" class="copy" aria-label="Copy code" onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button></div>
      <pre tabindex="0"><code>${shown}</code></pre></div>`;
  }
}
