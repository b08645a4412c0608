// A field for a prompt: Enter sends, `@` completes files, `/` completes commands, images can be pasted or dropped; and the
// choices of mode and model beside it.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./net.js";
import { typedWord } from "./typed-word.js";
import { Button, tried } from "./ui.js";
import { visibleLine } from "./words.js";

const IMAGE_BYTES_MAX = 5_000_000;

/** Images as the server takes them. */
async function attachmentsOf(files) {
  const images = [...files].filter(({ type }) => type.startsWith("image/") || type === "application/pdf");
  const large = images.find(({ size }) => size > IMAGE_BYTES_MAX);
  if (large) throw new Error(`${large.name} is larger than ${IMAGE_BYTES_MAX / 1e6} MB.`);
  return Promise.all(images.map(async (file) => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return { name: file.name || "image.png", media_type: file.type, bytes: bytes.length, data: btoa(text) };
  }));
}

/** `files` are attachments, which `setFiles` changes; without it there are none. */
export function PromptField({ label, value, onInput, onSubmit, files = [], setFiles, folder, commands = [], placeholder, disabled }) {
  const field = useRef();
  const [list, setList] = useState(null);
  const [at, setAt] = useState(0);
  const word = useRef(null);
  const timer = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = (items) => (setList(items.length > 0 ? items : null), setAt(0));
  const typed = () => {
    const text = field.current.value;
    onInput(text);
    clearTimeout(timer.current);
    const found = (word.current = typedWord(text.slice(0, field.current.selectionStart)));
    if (!found) return setList(null);
    if (found.kind === "command") return show(commands.filter(({ name }) => name.startsWith(found.typed)).map(({ name, help }) => ({ text: name, help })));
    timer.current = setTimeout(async () => {
      const { paths = [] } = (await get("/api/files", { folder, typed: found.typed }).catch(() => ({}))) || {};
      if (word.current === found) show(paths.slice(0, 12).map((text) => ({ text })));
    }, 100);
  };
  const take = ({ text }) => {
    const end = word.current.from + word.current.typed.length;
    onInput(`${value.slice(0, word.current.from)}${text} ${value.slice(end).replace(/^ /, "")}`);
    setList(null);
    const cursor = word.current.from + text.length + 1;
    requestAnimationFrame(() => (field.current?.focus(), field.current?.setSelectionRange(cursor, cursor)));
  };
  const key = (event) => {
    const done = () => event.preventDefault();
    if (event.isComposing) return;
    if (list && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      done();
      setAt((at + (event.key === "ArrowDown" ? 1 : list.length - 1)) % list.length);
    } else if (list && (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && list[at].text !== word.current.typed))) {
      done();
      take(list[at]);
    } else if (list && event.key === "Escape") {
      event.stopPropagation();
      setList(null);
    } else if (event.key === "Enter" && !event.shiftKey) {
      done();
      setList(null);
      onSubmit();
    }
  };
  const attach = (event, { files: given }) => {
    if (!setFiles || !given?.length) return;
    event.preventDefault();
    tried(attachmentsOf(given).then((more) => setFiles([...files, ...more])));
  };
  return html`<div class="prompt-field">
    ${list && html`<ul class="completions" role="listbox" id="completions" aria-label="Completions">${list.map((one, index) =>
      html`<li id=${`completion-${index}`} role="option" aria-selected=${index === at} onMouseDown=${(event) => (event.preventDefault(), take(one))}>${visibleLine(one.text)}${one.help && html` <span class="muted">${visibleLine(one.help)}</span>`}</li>`)}</ul>`}
    <textarea ref=${field} aria-label=${label} rows="2" value=${value} disabled=${disabled} placeholder=${placeholder} onInput=${typed} onKeyDown=${key} onBlur=${() => setList(null)}
      role="combobox" aria-expanded=${Boolean(list)} aria-controls="completions" aria-activedescendant=${list ? `completion-${at}` : undefined} aria-autocomplete="list"
      onPaste=${(event) => attach(event, event.clipboardData)} onDrop=${(event) => attach(event, event.dataTransfer)}></textarea>
    ${files.map((file) => html`<span class="chip">${visibleLine(file.name)} <${Button} kind="quiet" class="small" label=${`Remove ${file.name}`} onClick=${() => setFiles(files.filter((one) => one !== file))}>×<//></span>`)}
  </div>`;
}

/** A button that chooses files to attach. */
export const Attach = ({ files, setFiles }) => html`<label class="button quiet attach" title="Attach images or PDF files"><span aria-hidden="true">+</span><span class="wide-only">Image</span><span class="hidden-label">Attach</span><input type="file" multiple accept="image/*,application/pdf" class="hidden-label"
  onChange=${(event) => tried(attachmentsOf(event.target.files).then((more) => setFiles([...files, ...more])))} /></label>`;

// The modes: what runs without asking.

export const MODES = [
  ["plan", "Plan", "Agents read and plan. Nothing is changed, and nobody is asked."],
  ["ask", "Ask", "Agents ask before they change a file, run a command or use the network."],
  ["edit", "Edit", "Agents change files without asking. Commands and the network ask."],
  ["auto", "Auto", "Everything inside the sandbox runs without asking. Leaving it asks."],
  ["full", "Full", "Nothing asks, also not outside the sandbox."],
];

export const ModeSelect = ({ value, onChange, ...rest }) => html`<select value=${value} title=${MODES.find(([mode]) => mode === value)?.[2]} onChange=${(event) => onChange(event.target.value)} ...${rest}>
  ${MODES.map(([mode, name, words]) => html`<option value=${mode} title=${words}>${name}</option>`)}</select>`;

export const ModelSelect = ({ models, value, onChange, ...rest }) => html`<select value=${value} onChange=${(event) => onChange(event.target.value)} ...${rest}>
  ${!models.some(({ name }) => name === value) && html`<option value=${value}>${value || "default model"}</option>`}
  ${models.map(({ name, model }) => html`<option value=${name}>${name}${model && model !== name ? ` (${model})` : ""}</option>`)}</select>`;
