// Where the person writes to an agent: a prompt, a message into its work, a command; and what waits to be delivered.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { Button, Dialog, Failure, tried, useAsync, useChanges } from "./ui.js";
import { get, of, post } from "./net.js";
import { commandsOf, openBegun } from "./commands.js";
import { ModelSelect, ModeSelect } from "./modes.js";
import { attachmentsOf, PromptField } from "./prompt-field.js";
import { Prose } from "./thread.js";
import { Undo } from "./undo.js";
import { visible, visibleLine } from "./words.js";

/** A view keeps so much of a queued message. */
const MAIL_CHARS_MAX = 4000;

/** A text that survives a reload of the tab. */
function useDraft(key) {
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  useEffect(() => setText(sessionStorage.getItem(key) ?? ""), [key]);
  const set = (value) => {
    setText(value);
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  };
  return [text, set];
}

export function Composer({ store, agent: id }) {
  useChanges((changed) => store.subscribe("view", changed), [store]);
  const { session, view, running } = store;
  const agent = store.agent(id) ?? store.main();
  const isMain = !agent?.parent;
  const [text, setText] = useDraft(`draft:${session}:${agent?.id}`);
  const [files, setFiles] = useState([]);
  const [when, setWhen] = useState("next_turn");
  const [wish, setWish] = useState({});
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [dialog, setDialog] = useState(null);
  const folder = view.workspace;
  const found = useAsync(() => get("/api/commands", { folder }), [folder]);
  const models = useAsync(() => get("/api/models", { folder }), [folder]);
  const commands = commandsOf(found.value?.commands);
  const isAtWork = running && agent && !agent.ended_at_ms && agent.state !== "resting";
  const settings = { model: view.model ?? "", approval: view.approval ?? "auto", ...wish };
  const change = (what) => (running ? tried(post(of(session, "settings"), what), "That holds from the next turn on.") : setWish({ ...wish, ...what }));

  const deliver = async (words) => {
    const attachments = files;
    if (!isMain) return post(of(session, "tell"), { agent: agent.name, text: words, delivery: when });
    if (isAtWork && when !== "next_prompt" && files.length === 0) return post(of(session, "tell"), { text: words, delivery: when });
    const resume = async () => openBegun(await post(of(session, "resume"), { prompt: words, attachments, ...wish }));
    if (!running) return resume();
    return post(of(session, "prompt"), { text: words, attachments }).catch((problem) => {
      // It was refused, so it is not sent twice.
      if (problem.kind === "not_running") return resume();
      throw problem;
    });
  };
  const run = async (command) => {
    const { output, failed } = await post("/api/run", { folder, command, approval: settings.approval });
    setText(`I ran \`${command}\`${failed ? ", which failed" : ""}:\n\`\`\`\n${output.trimEnd()}\n\`\`\`\n`);
    return true;
  };
  const submit = async () => {
    const words = text.trim();
    if (busy || (!words && files.length === 0)) return;
    setBusy(true);
    setError(null);
    try {
      const [, name, rest = ""] = /^\/([\w:-]+)\s*([^]*)$/.exec(words) ?? [];
      const command = commands.find((one) => one.name === name);
      let kept = false;
      if (words.startsWith("!")) kept = await run(words.slice(1).trim());
      else if (command?.run) await command.run({ session, agent: agent.name, show: (kind, about) => setDialog({ kind, about }) }, rest.trim());
      else if (command) await deliver((await post("/api/commands/expand", { folder, name, arguments: rest.trim(), approval: settings.approval })).text);
      else await deliver(words);
      if (!kept) setText("");
      if (!kept && !command?.run) setFiles([]);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const stop = () => tried(isMain ? post(of(session, "stop-turn")) : post(of(session, "stop"), { agent: agent.name }), isMain ? "The turn is stopped." : `${agent.name} and those below it are stopped.`);
  const ended = !isMain && agent.ended_at_ms;
  const placeholder = ended ? `${agent.name} has ended and gets no more messages.` : isMain ? (running ? "Write to the main agent…" : "Nobody runs this session now. What you write resumes it.") : `Write to ${agent.name}…`;
  return html`<div class="composer">
    <${Queue} store=${store} agent=${agent} />
    <${Failure} error=${error} />
    ${files.map((file, at) => html`<span class="chip">${visibleLine(file.name)} <${Button} kind="quiet" class="small" label=${`Remove ${file.name}`} onClick=${() => setFiles(files.filter((_, one) => one !== at))}>×<//></span>`)}
    <${PromptField} label=${isMain ? "Write to the main agent" : `Write to ${agent.name}`} value=${text} onInput=${setText} onSubmit=${submit} folder=${folder} commands=${commands}
      onFiles=${isMain ? (more) => setFiles([...files, ...more]) : undefined} placeholder=${placeholder} disabled=${Boolean(ended) || !agent} />
    <div class="row wrap">
      <${ModeSelect} aria-label="Mode" value=${settings.approval} onChange=${(approval) => change({ approval })} />
      <${ModelSelect} aria-label="Model" models=${models.value?.models ?? []} value=${settings.model} onChange=${(model) => change({ model })} />
      ${isMain && html`<label class="button quiet attach" title="Attach an image"><span aria-hidden="true">+</span> Image<input type="file" multiple accept="image/*,application/pdf" class="hidden-label" onChange=${(event) => tried(attachmentsOf(event.target.files).then((more) => setFiles([...files, ...more])))} /></label>`}
      <span class="grow"></span>
      ${isAtWork && html`<${Button} kind="danger" onClick=${stop}>${isMain ? "Stop" : "Stop agent"}<//>
        <select aria-label="When it is delivered" value=${when} onChange=${(event) => setWhen(event.target.value)}>
          <option value="next_turn">at its next turn</option><option value="interrupt">now: interrupts it</option>${isMain && html`<option value="next_prompt">as the next prompt</option>`}</select>`}
      <${Button} kind="primary" disabled=${busy || Boolean(ended)} onClick=${submit}>${running || !isMain ? "Send" : "Resume"}<//>
    </div>
    ${dialog?.kind === "undo" && html`<${Undo} session=${session} view=${view} changed=${() => {}} onClose=${() => setDialog(null)} />`}
    ${dialog?.kind === "side" && html`<${Side} session=${session} question=${dialog.about} onClose=${() => setDialog(null)} />`}
  </div>`;
}

/** Messages that are sent and not delivered yet. */
function Queue({ store, agent }) {
  const [editing, setEditing] = useState(null);
  const field = useRef();
  const mail = (agent?.mail ?? []).filter(({ from }) => from === "person");
  if (mail.length === 0) return null;
  const save = async (event) => {
    event.preventDefault();
    if (await tried(post(of(store.session, "edit-message"), { mail: editing, text: field.current.value }))) setEditing(null);
  };
  return html`<ul class="queue" aria-label="Messages that wait">${mail.map((one) => html`<li key=${one.id}>
    ${editing === one.id ? html`<form class="row" onSubmit=${save}><textarea ref=${field} aria-label="Message" defaultValue=${one.text} rows="2">${one.text}</textarea><button class="button small">Save</button><${Button} class="small" onClick=${() => setEditing(null)}>Cancel<//></form>`
      : html`<div class="row"><span class="badge">${one.is_prompt ? "next prompt" : "next turn"}</span><span class="cut grow">${visible(one.text)}</span>
        ${one.text.length < MAIL_CHARS_MAX && html`<${Button} class="small" onClick=${() => setEditing(one.id)}>Edit<//>`}
        <${Button} class="small" onClick=${() => tried(post(of(store.session, "withdraw-message"), { mail: one.id }), "The message is taken back.")}>Withdraw<//></div>`}
  </li>`)}</ul>`;
}

/** A question beside the work. */
function Side({ session, question, onClose }) {
  const { value, error } = useAsync(() => post(of(session, "side"), { question }), [question]);
  return html`<${Dialog} title="On the side" onClose=${onClose}><div class="stack">
    <p class="muted">${visible(question)}</p><${Failure} error=${error} />
    ${value ? html`<${Prose} text=${value.answer} />` : !error && html`<p class="muted">It is thinking…</p>`}</div><//>`;
}
