// Where the person writes to an agent: a prompt, a message into its work, a command; and what waits to be delivered.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { Button, Dialog, Failure, tried, useAction, useAsync, useChanges } from "./ui.js";
import { get, of, post } from "./net.js";
import { commandsOf, openBegun } from "./commands.js";
import { isServerPrompt, wordsOf } from "./server-prompts.js";
import { Attach, ModelSelect, ModeSelect, PromptField } from "./prompt-field.js";
import { Prose } from "./thread.js";
import { Undo } from "./undo.js";
import { visible } from "./words.js";

/** A view keeps so much of a queued message. */
const MAIL_CHARS_MAX = 4000;
/** What the main agent is told when its plan is approved, as in the terminal. */
const APPROVED = "I approve the plan. Carry it out now.";

/** A text that survives a reload of the tab. */
function useDraft(key) {
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  useEffect(() => setText(sessionStorage.getItem(key) ?? ""), [key]);
  const set = (value) => {
    setText(value);
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  };
  // What was typed while it was sent stays.
  const clear = (sent) => {
    if (sessionStorage.getItem(key)?.trim() === sent) sessionStorage.removeItem(key);
    setText((now) => (now.trim() === sent ? "" : now));
  };
  return [text, set, clear];
}

/** Gives the main agent a prompt; resumes the session where nobody runs it, with the settings in `wish`. */
async function prompt({ session, running }, text, attachments, wish) {
  const resume = async () => openBegun(await post(of(session, "resume"), { prompt: text, attachments, ...wish }));
  if (!running) return resume();
  return post(of(session, "prompt"), { text, attachments }).catch((problem) => {
    // It was refused, so it is not sent twice.
    if (problem.kind === "not_running") return resume();
    throw problem;
  });
}

export function Composer({ store, agent: id }) {
  useChanges((changed) => store.subscribe("view", changed), [store]);
  const { session, view, running } = store;
  const agent = store.agent(id) ?? store.main();
  const isMain = !agent.parent;
  const [text, setText, clearText] = useDraft(`draft:${session}:${agent.id}`);
  const [files, setFiles] = useState([]);
  const [when, setWhen] = useState("next_turn");
  const [wish, setWish] = useState({});
  const [dialog, setDialog] = useState(null);
  const folder = view.workspace;
  const found = useAsync(() => get("/api/commands", { folder }), [folder]);
  const models = useAsync(() => get("/api/models", { folder }), [folder]);
  const servers = useAsync(() => (running ? get(of(session, "servers")) : Promise.resolve(null)), [session, running, text.startsWith("/mcp_")]);
  const commands = commandsOf(found.value?.commands, servers.value?.servers);
  const isAtWork = running && !agent.ended_at_ms && agent.state !== "resting";
  const settings = { model: view.model ?? "", approval: view.approval ?? "auto", ...wish };
  const change = (what) => (running ? tried(post(of(session, "settings"), what), "That holds from the next turn on.") : setWish({ ...wish, ...what }));

  const deliver = (words) => {
    if (!isMain) return post(of(session, "tell"), { agent: agent.name, text: words, delivery: when });
    if (isAtWork && when !== "next_prompt" && files.length === 0) return post(of(session, "tell"), { text: words, delivery: when });
    return prompt(store, words, files, wish);
  };
  /** The output of a command goes into the field, to be sent with the prompt. */
  const run = async (command) => {
    const { output, failed } = await post("/api/run", { folder, command, approval: settings.approval });
    setText(`I ran \`${command}\`${failed ? ", which failed" : ""}:\n\`\`\`\n${output.trimEnd()}\n\`\`\`\n`);
  };
  const { begin, busy, error } = useAction(async (words) => {
    if (words.startsWith("!")) return run(words.slice(1).trim());
    const [, name, rest = ""] = /^\/([\w:-]+)\s*([^]*)$/.exec(words) ?? [];
    const command = commands.find((one) => one.name === name);
    if (command?.run) await command.run({ session, agent: agent.name, show: (kind, about) => setDialog({ kind, about }) }, rest.trim());
    else if (isServerPrompt(name)) await deliver((await post(of(session, "server-prompt"), { name, arguments: wordsOf(rest) })).text);
    else if (command) await deliver((await post("/api/commands/expand", { folder, name, arguments: rest.trim(), approval: settings.approval })).text);
    else await deliver(words);
    if (!command?.run) setFiles([]);
    return setText("");
  });
  const submit = () => !busy && (text.trim() || files.length > 0) && begin(text.trim());
  const stop = () => (isMain ? tried(post(of(session, "stop-turn")), "The turn is stopped.")
    : tried(post(of(session, "stop"), { agent: agent.name }), `${agent.name} and those below it are stopped.`));
  const ended = !isMain && Boolean(agent.ended_at_ms);
  const whom = isMain ? "the main agent" : agent.name;
  const placeholder = ended ? `${agent.name} has ended and gets no more messages.` : running || !isMain ? `Write to ${whom}…` : "Nobody runs this session now. What you write resumes it.";
  return html`<div class="composer">
    ${isMain && html`<${Plan} store=${store} approval=${settings.approval} />`}
    <${Queue} store=${store} agent=${agent} />
    <${Failure} error=${error} />
    <${PromptField} label=${`Write to ${whom}`} value=${text} onInput=${setText} onSubmit=${submit} folder=${folder} commands=${commands}
      files=${files} setFiles=${isMain ? setFiles : undefined} placeholder=${placeholder} disabled=${ended} />
    <div class="row wrap">
      <${ModeSelect} aria-label="Mode" value=${settings.approval} onChange=${(approval) => change({ approval })} />
      <${ModelSelect} aria-label="Model" models=${models.value?.models ?? []} value=${settings.model} onChange=${(model) => change({ model })} />
      ${isMain && html`<${Attach} files=${files} setFiles=${setFiles} />`}
      <span class="row act">${isAtWork && html`<${Button} kind="danger" onClick=${stop}>${isMain ? "Stop" : "Stop agent"}<//>
        <select class="when" aria-label="When it is delivered" value=${when} onChange=${(event) => setWhen(event.target.value)}>
          <option value="next_turn">at its next turn</option><option value="interrupt">now: interrupts it</option>${isMain && html`<option value="next_prompt">as the next prompt</option>`}</select>`}
      <${Button} kind="primary" disabled=${busy || ended} onClick=${submit}>${running || !isMain ? "Send" : "Resume"}<//></span>
    </div>
    ${dialog?.kind === "undo" && html`<${Undo} session=${session} view=${view} changed=${() => {}} onClose=${() => setDialog(null)} />`}
    ${dialog?.kind === "side" && html`<${Side} session=${session} question=${dialog.about} onClose=${() => setDialog(null)} />`}
  </div>`;
}

/** Offers to carry out a plan, once the main agent has answered in mode plan. */
function Plan({ store, approval }) {
  const { state, report } = store.main();
  const { begin, busy } = useAction((mode) => tried(carryOut(mode)));
  if (approval !== "plan" || report?.blocked || !["resting", "completed"].includes(state)) return null;
  const carryOut = async (mode) => {
    if (store.running) await post(of(store.session, "settings"), { approval: mode });
    await prompt(store, APPROVED, [], { approval: mode });
  };
  return html`<div class="plan row wrap" role="group" aria-label="The plan"><span class="grow"><b>The plan is ready.</b> <span class="muted">Carry it out, or write what to change.</span></span>
    <${Button} disabled=${busy} title="Agents change files without asking. Commands and the network ask." onClick=${() => begin("edit")}>Carry out in Edit<//>
    <${Button} disabled=${busy} kind="primary" title="Everything inside the sandbox runs without asking." onClick=${() => begin("auto")}>Carry out in Auto<//></div>`;
}

/** Messages that are sent and not delivered yet. */
function Queue({ store, agent }) {
  const [editing, setEditing] = useState(null);
  const field = useRef();
  const mail = (agent.mail ?? []).filter(({ from }) => from === "person");
  if (mail.length === 0) return null;
  const edit = async ({ id, text }) => {
    const all = text.length < MAIL_CHARS_MAX ? text : await tried(store.mailText(agent.id, id));
    if (all !== undefined) setEditing({ id, text: all });
  };
  const save = async (event) => {
    event.preventDefault();
    if (await tried(post(of(store.session, "edit-message"), { mail: editing.id, text: field.current.value }))) setEditing(null);
  };
  const withdraw = (id) => tried(post(of(store.session, "withdraw-message"), { mail: id }), "The message is taken back.");
  return html`<ul class="queue" aria-label="Messages that wait">${mail.map((one) => html`<li key=${one.id}>
    ${editing?.id === one.id ? html`<form class="row" onSubmit=${save}><textarea ref=${field} aria-label="Message" rows="2" defaultValue=${editing.text}></textarea><button class="button small">Save</button><${Button} class="small" onClick=${() => setEditing(null)}>Cancel<//></form>`
      : html`<div class="row"><span class="badge">${one.is_prompt ? "next prompt" : "next turn"}</span><span class="cut grow">${visible(one.text)}</span>
        <${Button} class="small" onClick=${() => edit(one)}>Edit<//><${Button} class="small" onClick=${() => withdraw(one.id)}>Withdraw<//></div>`}
  </li>`)}</ul>`;
}

/** A question beside the work. */
function Side({ session, question, onClose }) {
  const { value, error } = useAsync(() => post(of(session, "side"), { question }), [question]);
  return html`<${Dialog} title="On the side" onClose=${onClose}><div class="stack">
    <p class="muted">${visible(question)}</p><${Failure} error=${error} />
    ${value ? html`<${Prose} text=${value.answer} />` : !error && html`<p class="muted">It is thinking…</p>`}</div><//>`;
}
