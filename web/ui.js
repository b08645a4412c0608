// Parts that every view uses: buttons, badges, menus, dialogs, failures, and short messages at the edge of the page.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

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
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await act(typed);
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
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
  return html`<div class="failure" role="alert"><span>${error.detail || error.message}</span>
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
  return { ...state, again: () => setRound(round + 1) };
}

/** Renders again whenever `subscribe(callback) → stop` calls back. */
export function useChanges(subscribe, deps) {
  const [, set] = useState(0);
  useEffect(() => subscribe(() => set((count) => count + 1)), deps);
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

/** Says something at the edge of the page for a few seconds. Errors stay until they are closed. */
export const toast = (text, error = false) => showToast(text, error);

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
  showToast = (text, error) => {
    const id = Math.random();
    setList((all) => [...all.slice(-4), { id, text, error }]);
    if (!error) setTimeout(() => drop(id), 5000);
  };
  return html`<div class="toasts" role="status" aria-live="polite">${list.map(({ id, text, error }) =>
    html`<div key=${id} class=${error ? "bad" : ""}><span>${text}</span><${Button} kind="quiet" label="Close" onClick=${() => drop(id)}>×<//></div>`)}</div>`;
}

/** All keys, in groups: [heading, [[keys, meaning], …]]. */
export const KeyHelp = ({ groups, onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}>
  ${groups.map(([heading, rows]) => html`<h3>${heading}</h3><dl class="keys">${rows.map(([keys, meaning]) =>
    html`<dt>${keys.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${meaning}</dd>`)}</dl>`)}
<//>`;
