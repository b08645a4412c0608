// Starts a session: where, with which model, what may run without asking, and what to do.

import { html, useState } from "./vendor/preact.js";
import { Button, Failure, useAsync } from "./ui.js";
import { get, post } from "./net.js";
import { openBegun } from "./commands.js";
import { MODES, ModelSelect } from "./modes.js";
import { PromptField } from "./prompt-field.js";
import { visibleLine } from "./words.js";

const DRAFT = "draft:new";

export function NewSession({ server }) {
  const [wish, setWish] = useState(() => ({ approval: "auto", ...JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}") }));
  const [files, setFiles] = useState([]);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const folder = wish.folder ?? server?.folder ?? "";
  const models = useAsync(() => (folder ? get("/api/models", { folder }) : Promise.resolve(null)), [folder]);
  const set = (change) => {
    const next = { ...wish, ...change };
    setWish(next);
    sessionStorage.setItem(DRAFT, JSON.stringify(next));
  };
  const prompt = wish.prompt ?? "";
  const begin = async () => {
    if (busy || !prompt.trim()) return;
    setBusy(true);
    setError(null);
    try {
      const begun = await post("/api/sessions", { folder, prompt: prompt.trim(), attachments: files, approval: wish.approval, ...(wish.model && { model: wish.model }) });
      sessionStorage.removeItem(DRAFT);
      openBegun(begun);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  if (!server) return html`<div class="page"><p class="muted">Loading…</p></div>`;
  if (server.read_only) return html`<div class="page"><p>This page is read-only: it starts no sessions.</p></div>`;
  const folders = [...new Set([server.folder, ...server.folders])];
  return html`<div class="page narrow stack">
    <h1>New session</h1>
    ${server.problem && html`<div class="notice"><b>No model is configured, so no session can begin.</b> ${visibleLine(server.problem)}</div>`}
    <label>Folder<input list="folders" value=${folder} spellcheck=${false} onInput=${(event) => set({ folder: event.target.value })} /></label>
    <datalist id="folders">${folders.map((one) => html`<option value=${one} />`)}</datalist>
    <label>Model<${ModelSelect} models=${models.value?.models ?? []} value=${wish.model ?? server.model?.name ?? ""} onChange=${(model) => set({ model })} /></label>
    <${Failure} error=${models.error} />
    <fieldset class="modes"><legend>What runs without asking</legend>${MODES.map(([mode, name, words]) => html`<label class="row"><input type="radio" name="mode" checked=${wish.approval === mode} onChange=${() => set({ approval: mode })} /><span><b>${name}</b> <span class="muted">${words}</span></span></label>`)}</fieldset>
    <div><div class="label">Prompt</div>
      <${PromptField} label="Prompt" value=${prompt} folder=${folder} onInput=${(text) => set({ prompt: text })} onSubmit=${begin} onFiles=${(more) => setFiles([...files, ...more])} placeholder="What should be done? @ names a file, Shift+Enter begins a new line." />
      ${files.map((file, at) => html`<span class="chip">${visibleLine(file.name)} <${Button} kind="quiet" class="small" label=${`Remove ${file.name}`} onClick=${() => setFiles(files.filter((_, one) => one !== at))}>×<//></span>`)}</div>
    <${Failure} error=${error} />
    <div class="row end"><${Button} kind="primary" disabled=${busy || !prompt.trim()} onClick=${begin}>${busy ? "Starting…" : "Start"}<//></div>
  </div>`;
}
