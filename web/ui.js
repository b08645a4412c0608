// Parts that every view uses: buttons, badges, menus, dialogs, failures, tables, and short messages at the edge of the page.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./net.js";
import { visible, visibleLine } from "./text.js";

/** A button. `kind`: "primary", "danger", "quiet" or none. `label` is for screen readers where the content is a sign. */
export function Button({ kind = "", label, class: more = "", children, ...rest }) {
  return html`<button type="button" class=${`button ${kind} ${more}`} aria-label=${label} title=${label} ...${rest}>${children}</button>`;
}

/** A short word with a colour: "ok", "warn", "bad", "info" or none. */
export const Badge = ({ tone = "", children }) => html`<span class=${`badge ${tone}`}>${children}</span>`;

/** Buttons that unfold below a button. `items`: {text, act, danger?}. */
export function Menu({ label, children, items }) {
  const ref = useRef();
  const close = (focus) => {
    ref.current.open = false;
    if (focus) ref.current.firstElementChild.focus();
  };
  const key = (event) => {
    if (event.key === "Escape" && ref.current.open) {
      event.stopPropagation();
      close(true);
    }
  };
  const left = (event) => !ref.current.contains(event.relatedTarget) && close(false);
  return html`<details class="menu" ref=${ref} onKeyDown=${key} onFocusOut=${left}>
    <summary class="button quiet" aria-label=${label} title=${label}>${children || "⋯"}</summary>
    <div class="menu-items">${items.map(({ text, act, danger }) =>
      html`<button type="button" class=${danger ? "danger" : ""} onClick=${() => (close(true), act())}>${text}</button>`)}</div>
  </details>`;
}

/** A modal dialog; the focus returns to where it was. */
export function Dialog({ title, onClose, wide, children }) {
  const ref = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.focus?.();
  }, []);
  const cancel = (event) => (event.preventDefault(), onClose());
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-label=${title} onCancel=${cancel}>
    <header><h2>${title}</h2><${Button} kind="quiet" label="Close" onClick=${onClose}>×<//></header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}

/** A dialog that asks for a text or a confirmation. `act` may fail: the dialog stays and says why. */
export function Confirm({ title, text, input, value = "", yes, danger, act, onClose }) {
  const [typed, setTyped] = useState(value);
  const { begin, busy, error } = useAction(() => act(typed));
  const submit = async (event) => {
    event.preventDefault();
    if (await begin()) onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${text && html`<p>${text}</p>`}
      ${input && html`<label>${input}<input value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>`}
      <${Failure} error=${error} />
      <div class="row end">
        <${Button} onClick=${onClose}>Cancel<//>
        <button class=${`button ${danger ? "danger" : "primary"}`} disabled=${busy}>${yes}</button>
      </div>
    </form>
  <//>`;
}

/** What went wrong, in words; nothing if nothing did. */
export function Failure({ error, again }) {
  if (!error) return null;
  return html`<div class="failure" role="alert"><span>${visible(error.detail || error.message)}</span>
    ${again && html`<${Button} onClick=${again}>Try again<//>`}</div>`;
}

/** Runs `fn` whenever `deps` change: {value, error, loading, again}. An answer that was overtaken is dropped. */
export function useAsync(fn, deps) {
  const [state, setState] = useState({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let current = true;
    setState((before) => ({ ...before, loading: true }));
    fn().then(
      (value) => current && setState({ value, loading: false }),
      (error) => current && setState((before) => ({ value: before.value, error, loading: false })),
    );
    return () => (current = false);
  }, [...deps, round]);
  return { ...state, again: () => setRound((n) => n + 1) };
}

/** What a person begins: `begin(…)` says whether it went well, `busy` while it runs, and `error` why it did not. */
export function useAction(act) {
  const [state, set] = useState({});
  const begin = async (...given) => {
    set({ busy: true });
    const error = await Promise.resolve(act(...given)).then(() => null, (problem) => problem);
    set({ error });
    return error === null;
  };
  return { begin, busy: Boolean(state.busy), error: state.error };
}

/** A view whose module is fetched when it is first shown. `load()` gives the module, `name` is what it exports. */
export function Later({ load, name, ...props }) {
  const { value, error, again } = useAsync(load, []);
  if (value) return html`<${value[name]} ...${props} />`;
  return html`<div class="page"><${Failure} error=${error} again=${again} />${!error && html`<p class="muted">Loading…</p>`}</div>`;
}

/** Renders again whenever `subscribe(callback) → stop` calls back. */
export function useChanges(subscribe, deps) {
  const [, set] = useState(0);
  // At once: what changes between drawing and a later effect would be missed.
  useLayoutEffect(() => subscribe(() => set((count) => count + 1)), deps);
}

/** Renders again every `ms`, for times that count. */
export function useClock(ms = 1000, running = true) {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => set(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms, running]);
  return now;
}

let showToast = () => {};

/** Says something at the edge of the page for a few seconds. `bad`: what went wrong, which stays until it is closed. */
export const toast = (text, bad = false) => showToast({ text, bad });

/** The same with a button, which stays until it is used, closed, or another such message comes. */
export const offer = (text, label, act) => showToast({ text, label, act });

/** Runs something, and says at the edge of the page if it fails. Answers undefined then. */
export async function tried(promise, done) {
  try {
    const value = await promise;
    if (done) toast(done);
    return value;
  } catch (error) {
    toast(error.detail || error.message, true);
    return undefined;
  }
}

export function Toasts() {
  const [list, setList] = useState([]);
  const drop = (id) => setList((all) => all.filter((one) => one.id !== id));
  showToast = (one) => {
    const id = Math.random();
    setList((all) => [...all.filter(({ act }) => !(act && one.act)).slice(-4), { ...one, id }]);
    if (!one.bad && !one.act) setTimeout(() => drop(id), 5000);
  };
  return html`<div class="toasts" role="status" aria-live="polite">${list.map(({ id, text, bad, label, act }) =>
    html`<div key=${id} class=${bad ? "bad" : ""}><span>${visible(text)}</span>
      ${act && html`<${Button} class="small" onClick=${() => (drop(id), act())}>${label}<//>`}
      <${Button} kind="quiet" label="Close" onClick=${() => drop(id)}>×<//></div>`)}</div>`;
}

/** All keys, in groups: [heading, [[keys, meaning], …]]. */
export const KeyHelp = ({ groups, onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}>
  ${groups.map(([heading, rows]) => html`<h3>${heading}</h3><dl class="keys">${rows.map(([keys, meaning]) =>
    html`<dt>${keys.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${meaning}</dd>`)}</dl>`)}
<//>`;

// What the views of review and looking back share: answers with their failures, choices, facts and tables.

/** What the server answers: `value`, `again`, and `failure` to be shown. */
export function useRead(path, query = {}) {
  const { value, error, again } = useAsync(() => get(path, query), [path, JSON.stringify(query)]);
  return { value, again, failure: html`<${Failure} error=${error} again=${again} />` };
}

/** A choice. `options`: [value, text?]. `name` is for screen readers where there is no label. */
export const Select = ({ label, name, value, options, set }) => html`<label class="row">${label}<select value=${value} aria-label=${name} onChange=${(event) => set(event.target.value)}>
  ${options.map(([one, text = one]) => html`<option value=${one}>${visibleLine(text)}</option>`)}</select></label>`;

/** Names and texts; those without text are left out. */
export const Facts = ({ rows }) => html`<dl class="facts">${rows.filter(([, text]) => text).map(([name, text]) => html`<dt>${name}</dt><dd>${visibleLine(text)}</dd>`)}</dl>`;

/** Rows with a name and numbers. A row may have a mark before its name. */
export const Table = ({ head, rows, mark = () => null }) => html`<div class="scroll"><table>
  <thead><tr>${head.map((name, index) => html`<th scope="col" class=${index ? "num" : ""}>${name}</th>`)}</tr></thead>
  <tbody>${rows.map(([name, ...cells], index) => html`<tr><th scope="row">${mark(index)}${visibleLine(name)}</th>${cells.map((text) => html`<td class="num">${text}</td>`)}</tr>`)}</tbody></table></div>`;
