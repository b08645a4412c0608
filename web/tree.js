// The agents of a session as a tree with a waterfall of time in the same rows. Only the rows on the screen are in the page.

import { Component, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { useChanges, useClock } from "./ui.js";
import { bars, timeSpan, treeKey, treeRows, visibleRows } from "./tree-rows.js";
import { costOf, glyph, hue, RoleIcon, tokensOf, tone, word, worked } from "./agent-words.js";
import { inAll } from "./fold.js";
import { duration, now, on, turn, visibleLine } from "./words.js";

/** Heights, as the style sheet has them. */
const [ROW, HEAD] = [44, 24];

export function Tree({ store, selected, onSelect }) {
  const [closed, setClosed] = useState(new Set());
  const [place, setPlace] = useState({ top: 0, screen: 800 });
  const box = useRef();
  useChanges((changed) => store.subscribe("view", changed), [store]);
  const { view, running } = store;
  const nowMs = useClock(1000, running);
  const rows = useMemo(() => treeRows(view.agents, closed), [view, store.version, closed]);
  const [first, end] = visibleRows(rows.length, ROW, place.top, place.screen);
  useMeasured(box, setPlace);
  useEffect(() => {
    // Those above what is selected are opened, and it is scrolled to.
    const above = [];
    for (let one = store.agent(selected); one?.parent; one = store.agent(one.parent)) above.push(one.parent);
    if (above.some((id) => closed.has(id))) setClosed(new Set([...closed].filter((id) => !above.includes(id))));
  }, [selected]);
  useLayoutEffect(() => {
    const at = rows.findIndex(({ agent }) => agent.id === selected) * ROW;
    const { scrollTop, clientHeight } = box.current;
    if (at >= 0 && (at < scrollTop || at + ROW + HEAD > scrollTop + clientHeight)) box.current.scrollTop = at - clientHeight / 2;
  }, [selected]);
  const toggle = (id, open) => {
    const next = new Set(closed);
    if (open) next.delete(id);
    else next.add(id);
    setClosed(next);
  };
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const done = treeKey(rows, selected, event.key, Math.floor(place.screen / ROW));
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
    if (done.to) onSelect(done.to);
    if (done.open) toggle(done.open, true);
    if (done.close) toggle(done.close, false);
  };
  // The time in which all rest is not shown.
  const span = timeSpan(view, running && view.state === "running", nowMs);
  const shared = { from: span.from, to: span.to, nowMs, questions: view.questions, toggle, onSelect };
  return html`<div class="tree" ref=${box} role="treegrid" aria-label="Agents" aria-rowcount=${rows.length} tabindex="0"
    aria-activedescendant=${`row-${selected}`} onKeyDown=${key} onScroll=${() => setPlace(measured(box.current))}>
    <div class="tree-head" aria-hidden="true"><span>Agent</span><span>time, cost, tokens</span><span class="row"><span class="grow">0 s</span>${duration(span.to - span.from)}</span></div>
    <div class="tree-all" style=${{ height: `${rows.length * ROW}px` }} role="rowgroup">
      ${slots(first, end).map(([slot, at]) =>
        html`<${Row} key=${slot} ...${rows[at]} at=${at} isSelected=${rows[at].agent.id === selected} ...${shared} />`)}
    </div>
  </div>`;
}

/** Rows that leave the screen are used again for those that come: [slot, row], in the order of the slots. */
function slots(first, end) {
  const count = end - first;
  return Array.from({ length: count }, (_, slot) => [slot, first + ((((slot - first) % count) + count) % count)]);
}

const measured = ({ scrollTop, clientHeight }) => ({ top: scrollTop, screen: clientHeight });

function useMeasured(box, setPlace) {
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setPlace(measured(box.current)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
}

/** A row is drawn again only if something of it has changed: scrolling changes few of them. */
class Row extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((key) => typeof next[key] !== "function" && next[key] !== this.props[key]);
  }

  render(props) {
    return drawn(props);
  }
}

function drawn({ agent, depth, kids, open, at, isSelected, from, to, nowMs, questions, toggle, onSelect }) {
  const asked = questions.filter((one) => one.agent === agent.id).map((one) => one.asked_at_ms);
  const folded = kids > 0 && !open;
  const fold = (event) => (event.stopPropagation(), toggle(agent.id, !open));
  const all = inAll(agent);
  const does = visibleLine(now(agent, nowMs)) || word(agent);
  return html`<div id=${`row-${agent.id}`} role="row" aria-level=${depth + 1} aria-selected=${isSelected} aria-rowindex=${at + 1}
    aria-expanded=${kids > 0 ? open : undefined} class=${`tree-row ${agent.ended_at_ms ? "over" : ""}`}
    style=${{ top: `${at * ROW}px`, "--depth": Math.min(depth, 8) }} onClick=${() => onSelect(agent.id)}>
    <span class="tree-fold" aria-hidden="true" onClick=${kids > 0 ? fold : undefined}>${kids > 0 ? (open ? "▾" : "▸") : ""}</span>
    <span role="gridcell" class=${`glyph ${tone(agent)} ${agent.state === "running" ? "pulse" : ""}`}><span aria-hidden="true">${glyph(agent)}</span><span class="hidden-label">${word(agent)}</span></span>
    <div role="gridcell" class="tree-name">
      <div class="cut"><${RoleIcon} agent=${agent} /> <b class="hued" style=${hue(agent)}>${visibleLine(agent.name)}</b> ${agent.title ? visibleLine(agent.title) : ""}</div>
      <div class="cut muted small">${[does, folded && `${all.agents - 1} below`, agent.turn > 0 && turn(agent), visibleLine(on(agent))].filter(Boolean).join(" · ")}</div>
    </div>
    <div role="gridcell" class="tree-figures num small" title="Working time, cost; tokens of its own / with all below it">
      <div>${worked(agent, nowMs)}<span class="muted"> ${costOf(folded ? all : agent.own)}</span></div>
      <div class="muted">${tokensOf(agent.own)}${agent.below.agents > 0 && ` / ${tokensOf(all)}`}</div>
    </div>
    <div role="gridcell" class="waterfall" aria-hidden="true">${bars(agent, { from, to }, asked).map((bar) =>
      html`<i key=${bar.kind} class=${`${bar.kind} ${agent.ended_at_ms ? tone(agent) : "accent"}`} style=${{ left: `${bar.left}%`, width: `${bar.width}%` }}></i>`)}</div>
  </div>`;
}
