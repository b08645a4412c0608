// Comments on lines of a diff: kept in this tab until they are sent together, as one message to an agent.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { of, post } from "./net.js";
import { Button, Dialog, Failure, toast } from "./ui.js";
import { counted } from "./text.js";
import { visible, visibleLine } from "./visible.js";
import { Select } from "./fields.js";
import { agentOf, deliveries, messageOf, placeOf } from "./review-state.js";

/** Comments that are not sent yet, and the one that is being written. They outlive a reload, text that is being typed included. */
export function useDrafts(session) {
  const name = `posse-review-${session}`;
  const [list, setList] = useState(() => JSON.parse(sessionStorage.getItem(name) ?? "[]"));
  const [open, write] = useState(null);
  const store = (all) => sessionStorage.setItem(name, JSON.stringify(all));
  const keep = (all) => (store(all), setList(all));
  const others = (id) => list.filter((one) => one.id !== id && one.text);
  return {
    list, open, write, clear: () => keep([]),
    begin: (path, row) => {
      const draft = { id: Math.random().toString(36).slice(2), path, place: placeOf(row), quote: row.text, text: "" };
      keep([...others(), draft]);
      write(draft.id);
    },
    typed: (draft, text) => store([...others(draft.id), { ...draft, text }]),
    change: (draft, text) => keep(text ? list.map((one) => (one.id === draft.id ? { ...draft, text } : one)) : others(draft.id)),
  };
}

/** A comment that is not sent yet: to be written, or to be read. */
export function Comment({ draft, open, drafts }) {
  const field = useRef();
  useLayoutEffect(() => open && field.current.focus(), [open]);
  const end = (event) => {
    event.preventDefault();
    drafts.current.change(draft, field.current.value.trim());
    drafts.current.write(null);
    field.current.closest(".hunk").focus({ preventScroll: true });
  };
  const key = (event) => (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) && end(event);
  if (!open) {
    return html`<div class="comment row"><p class="said grow">${visible(draft.text)}</p><${Button} class="small" kind="quiet" onClick=${() => drafts.current.write(draft.id)}>Edit<//>
      <${Button} class="small" kind="quiet" onClick=${() => drafts.current.change(draft, "")}>Remove<//></div>`;
  }
  return html`<form class="comment stack" onSubmit=${end} onKeyDown=${key}>
    <textarea ref=${field} rows="3" aria-label=${`Comment on ${visibleLine(draft.path)}`} value=${draft.text} onInput=${() => drafts.current.typed(draft, field.current.value)}
      onBlur=${() => field.current?.value.trim() && drafts.current.change(draft, field.current.value)}></textarea>
    <div class="row end"><span class="muted grow">It is sent together with the others.</span><button class="button">Keep</button></div></form>`;
}

/** Says how many comments wait; shows the message that they become, and sends it. */
export function Send({ session, view, extent, drafts }) {
  const [isOpen, setOpen] = useState(false);
  const list = drafts.list.filter((one) => one.text);
  if (!list.length) return null;
  return html`<div class="send-bar row"><span class="grow">${counted(list.length, "comment")} not sent yet</span>
      <${Button} kind="quiet" onClick=${drafts.clear}>Discard<//><${Button} kind="primary" onClick=${() => setOpen(true)}>Send …<//></div>
    ${isOpen && html`<${Message} session=${session} view=${view} extent=${extent} list=${list} sent=${drafts.clear} onClose=${() => setOpen(false)} />`}`;
}

function Message({ session, view, extent, list, sent, onClose }) {
  const maker = agentOf(view, extent.agent);
  const names = [...new Set(view.agents.filter((one) => !one.parent || !one.ended_at_ms).map((one) => one.name))];
  const [to, setTo] = useState(maker.ended_at_ms ? names[0] : maker.name);
  const [text, setText] = useState(() => visible(messageOf(list, extent)));
  const [error, setError] = useState(null);
  const send = async (event) => {
    event.preventDefault();
    const [direct, resume] = deliveries(agentOf(view, to), text).map(([what, body]) => () => post(of(session, what), body));
    try {
      await direct().catch((problem) => (problem.kind === "not_running" ? resume() : Promise.reject(problem)));
      toast(`Sent to ${visibleLine(to)}.`);
      onClose();
      sent();
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<${Dialog} title="Send comments" wide onClose=${onClose}><form class="stack" onSubmit=${send}>
    <${Select} label="To" value=${to} options=${names.map((name) => [name])} set=${setTo} />
    <label>Message<textarea rows="14" class="mono" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <${Failure} error=${error} /><div class="row end"><button class="button primary">Send</button></div></form><//>`;
}
