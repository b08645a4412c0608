// The review of what agents changed: accept, reject and comment on hunks and files; comments go back as one message.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { get, of, post } from "./net.js";
import { Badge, Button, Dialog, Failure, KeyHelp, Select, toast, tried, useAction, useAsync } from "./ui.js";
import { counted, visible, visibleLine } from "./text.js";
import { reviewLink } from "./route.js";
import { parseDiff } from "./diff.js";
import { Counts, hunkHead, Lines, Path, useSplit } from "./diff-view.js";
import { ChangePreview, Merge, sayUndone, Undo, unmerged } from "./undo.js";
import { agentOf, deliveries, messageOf, placeOf } from "./review-state.js";
import * as state from "./review-state.js";

const KEYS = [["j k", "next, previous hunk"], ["n p", "next, previous file"], ["↑ ↓", "choose a line of the hunk"], ["a", "accept the hunk"],
  ["r", "reject the hunk"], ["c", "comment on the line"], ["u", "unified or side by side"]];

export function Review({ session, view, agent, turn, readOnly }) {
  const extent = state.extentOf(view, agent, turn);
  const key = JSON.stringify(extent);
  const calls = view.in_all.tool_calls;
  const load = async () => {
    const { diff, branch, hunks } = await get(of(session, "diff"), extent);
    return { key, calls, branch, files: state.withMarks(parseDiff(diff), hunks) };
  };
  // A message may reload this long after it was shown.
  const [round, setRound] = useState(0);
  const again = () => setRound((count) => count + 1);
  const { value, error } = useAsync(load, [session, key, round]);
  const [files, setFiles] = useState(null);
  useEffect(() => setFiles(value?.key === key && !error ? value.files : null), [value, error, key]);
  const [dialog, show] = useState(null);
  const close = () => show(null);
  // What is only on a branch can be merged, not undone.
  const branch = files && value.branch;
  const branches = unmerged(view).length;
  const nothing = error?.kind === "nothing_to_do" ? error.detail : files?.length === 0 && "Nothing was changed here.";
  return html`<div class="review-page">
    <div class="review-bar row wrap"><${Extent} session=${session} view=${view} extent=${extent} />
      ${!readOnly && html`<${Button} onClick=${() => show("undo")}>Undo …<//>`}
      ${branches > 0 && html`<${Button} onClick=${() => show("merge")}>Branches (${branches}) …<//>`}
      <${Button} kind="quiet" onClick=${() => show("keys")}>Keys<//></div>
    ${value?.calls < calls && html`<div class="notice row"><span class="grow">Agents have worked since this was loaded.</span><${Button} class="small" onClick=${again}>Load again<//></div>`}
    ${branch && html`<p class="notice">This work is only on the branch <code>${visibleLine(branch)}</code>. Comment on it, or merge it.</p>`}
    ${nothing ? html`<p class="empty">${nothing}</p>` : html`<${Failure} error=${error} again=${again} />`}
    ${!files && !error && html`<p class="empty">Reading the changes …</p>`}
    ${files?.length > 0 && html`<${Files} key=${key} session=${session} view=${view} extent=${extent} files=${files} setFiles=${setFiles} show=${show} quiet=${dialog} readOnly=${readOnly} canReject=${!readOnly && !branch} />`}
    ${dialog === "undo" && html`<${Undo} session=${session} view=${view} changed=${again} onClose=${close} />`}
    ${dialog === "merge" && html`<${Merge} session=${session} view=${view} readOnly=${readOnly} changed=${again} onClose=${close} />`}
    ${dialog === "keys" && html`<${KeyHelp} groups=${[["Review", KEYS]]} onClose=${close} />`}
    ${dialog?.path && html`<${Dialog} wide title=${`Reject ${dialog.hunk ? `hunk ${dialog.hunk} of ` : ""}${visibleLine(dialog.path)}`} onClose=${close}>
      <${ChangePreview} session=${session} change=${state.rejection(extent, dialog.path, dialog.hunk)} yes="Reject" done=${(outcome) => (close(), sayUndone(session, outcome, again), again())} /><//>`}
  </div>`;
}

/** Chooses what is reviewed. The choice is in the address. */
function Extent({ session, view, extent }) {
  const go = (wish) => (location.hash = reviewLink(session, { ...extent, ...wish }));
  const names = state.agentNames(view).filter((name) => state.agentOf(view, name).parent);
  return html`<${Select} label="Changes of" value=${extent.agent ?? ""} options=${[["", "the session"], ...names.map((name) => [name])]} set=${(agent) => go({ agent, turn: null })} />
    <label class="row">Turn <input class="short" type="number" min="1" placeholder="all" value=${extent.turn ?? ""} onChange=${(event) => go({ turn: event.target.value })} /></label>`;
}

/** The files, what is done with them, and where the reader is: `at` has the key of a hunk and a row in it. */
function Files({ session, view, extent, files, setFiles, show, quiet, readOnly, canReject }) {
  const [at, go] = useState({ row: null });
  const [folds, setFolds] = useState({});
  const [split, toggleSplit, canSplit] = useSplit();
  const drafts = useDrafts(session);
  const fold = (name, open) => setFolds({ ...folds, [name]: open });
  const move = (key) => {
    const file = files.find((one) => one.hunks.some((hunk) => hunk.key === key));
    if (file) fold(file.path, true);
    go({ key, row: null, moved: true });
  };
  const mark = async (hunks, reviewed) => {
    const ids = hunks.map((hunk) => hunk.id).filter(Boolean);
    const after = state.marked(files, ids, reviewed);
    setFiles(after);
    setFolds(Object.fromEntries(Object.entries(folds).filter(([name]) => !hunks.some((hunk) => hunk.key === name || hunk.path === name))));
    if (!(await tried(post(of(session, "review"), { hunks: ids, reviewed })))) setFiles(files);
    else if (reviewed && at.key) go({ key: state.nextOpen(after, at.key), row: null, moved: true });
  };
  const comment = (path, row) => row && state.placeOf(row) && drafts.begin(path, row);
  const act = { mark, comment, fold, go, reject: (path, hunk) => show({ path, hunk }), split, at, folds, drafts, readOnly, canReject };
  useKeys({ ...act, files, move, quiet, toggleSplit });
  useLayoutEffect(() => {
    const element = at.moved && document.getElementById(`hunk-${at.key}`);
    if (!element) return;
    element.focus({ preventScroll: true });
    (element.querySelector(".at") ?? element).scrollIntoView({ block: at.row === null ? "start" : "nearest" });
  }, [at]);
  const { done, all } = state.progress(files);
  const jump = (file) => (file.hunks.length ? move(file.hunks[0].key) : document.getElementById(`file-${file.at}`).scrollIntoView());
  return html`<div class="review-body">
    <div class="file-list"><div class="row wrap"><label class="row grow">${done} of ${counted(all, "hunk")} reviewed <progress value=${done} max=${all}></progress></label>
        ${canSplit && html`<${Button} class="small" aria-pressed=${split} onClick=${toggleSplit}>Side by side<//>`}</div>
      <nav aria-label="Files">${files.map((file) => html`<button type="button" onClick=${() => jump(file)}>${state.isDone(file) ? html`<span class="ok">✓<span class="hidden-label"> reviewed</span></span>` : html`<span>·</span>`}
        <${Path} file=${{ ...file, status: "modified" }} /><${Counts} file=${file} /></button>`)}</nav></div>
    <div class="review">${files.map((file) => html`<${File} key=${file.path} file=${file} act=${act} />`)}</div></div>
  ${!readOnly && html`<${Send} session=${session} view=${view} extent=${extent} drafts=${drafts} />`}`;
}

function File({ file, act }) {
  const done = state.isDone(file);
  const open = act.folds[file.path] ?? !done;
  return html`<section class="file" id=${`file-${file.at}`} aria-label=${visibleLine(file.path)}>
    <div class="file-head row"><button type="button" class="fold row grow" aria-expanded=${open} onClick=${() => act.fold(file.path, !open)}>
        <span aria-hidden="true">${open ? "▾" : "▸"}</span><${Path} file=${file} /></button><${Counts} file=${file} />
      ${!act.readOnly && file.hunks.length > 0 && html`<${Button} class="small" onClick=${() => act.mark(file.hunks, !done)}>${done ? "Reopen" : "Accept file"}<//>`}
      ${act.canReject && html`<${Button} class="small" onClick=${() => act.reject(file.path)}>Reject file<//>`}</div>
    ${open && file.hunks.map((hunk) => html`<${Hunk} key=${hunk.key} hunk=${hunk} act=${act} />`)}</section>`;
}

function Hunk({ hunk, act }) {
  const { drafts, at: { key, row } } = act;
  const { path, rows } = hunk;
  const open = act.folds[hunk.key] ?? !hunk.reviewed;
  const isHere = key === hunk.key;
  const places = useMemo(() => new Set(rows.map(state.placeOf)), [rows]);
  const mine = drafts.list.filter((one) => one.path === path && places.has(one.place));
  const latest = useRef();
  latest.current = drafts;
  const notes = useMemo(() => new Map([...Map.groupBy(mine, (one) => one.place)].map(([place, list]) => [place, html`<div class="drafts">
    ${list.map((draft) => html`<${Comment} key=${draft.id} draft=${draft} open=${drafts.open === draft.id} drafts=${latest} />`)}</div>`])), [JSON.stringify(mine), drafts.open]);
  return html`<div class=${`hunk ${isHere ? "current" : ""}`} id=${`hunk-${hunk.key}`} tabindex="-1" onFocusIn=${() => isHere || act.go({ key: hunk.key, row: null })}>
    <div class="hunk-head row"><button type="button" class="fold mono grow cut" aria-expanded=${open} onClick=${() => act.fold(hunk.key, !open)}>${hunkHead(hunk)}</button>
      ${hunk.reviewed && html`<${Badge} tone="ok">reviewed<//>`}
      ${!act.readOnly && hunk.id && html`<${Button} class="small" onClick=${() => act.mark([hunk], !hunk.reviewed)}>${hunk.reviewed ? "Reopen" : "Accept"}<//>`}
      ${act.canReject && html`<${Button} class="small" onClick=${() => act.reject(path, hunk.number)}>Reject<//>`}</div>
    ${open && html`<${Lines} rows=${rows} split=${act.split} notes=${notes} cursor=${isHere && row !== null ? state.placeOf(rows[row]) : null} pick=${act.readOnly ? undefined : (chosen) => act.comment(path, chosen)} />`}
  </div>`;
}

/** The keys of a review. They are quiet while somebody types, or while a dialog is open. */
function useKeys(now) {
  const latest = useRef();
  latest.current = now;
  useEffect(() => {
    const press = (event) => {
      const { files, at, go, move, mark, comment, reject, toggleSplit, readOnly, canReject, quiet } = latest.current;
      if (quiet || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
      const hunk = files.flatMap((file) => file.hunks).find((one) => one.key === at.key);
      const step = (by, whole) => () => move(state.stepped(files, at.key, by, whole));
      const line = (by) => event.target.id === `hunk-${at.key}` && (() => go({ ...at, moved: true, row: Math.max(0, Math.min(hunk.rows.length - 1, (at.row ?? -1) + by)) }));
      const row = () => hunk.rows[at.row ?? hunk.rows.findIndex((one) => one.kind !== "context")];
      const act = {
        j: step(1), k: step(-1), n: step(1, true), p: step(-1, true), u: toggleSplit, ArrowDown: line(1), ArrowUp: line(-1),
        a: hunk && !readOnly && (() => mark([hunk], !hunk.reviewed)), r: hunk && canReject && (() => reject(hunk.path, hunk.number)), c: hunk && !readOnly && (() => comment(hunk.path, row())),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

// Comments on lines of a diff: kept in this tab until they are sent together, as one message to an agent.

/** Comments that are not sent yet, and the one that is being written. They outlive a reload, text that is being typed included. */
function useDrafts(session) {
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
function Comment({ draft, open, drafts }) {
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
function Send({ session, view, extent, drafts }) {
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
  const { begin, busy, error } = useAction(async () => {
    const [direct, resume] = deliveries(agentOf(view, to), text).map(([what, body]) => () => post(of(session, what), body));
    await direct().catch((problem) => (problem.kind === "not_running" ? resume() : Promise.reject(problem)));
    toast(`Sent to ${visibleLine(to)}.`);
    onClose();
    sent();
  });
  const send = (event) => (event.preventDefault(), begin());
  return html`<${Dialog} title="Send comments" wide onClose=${onClose}><form class="stack" onSubmit=${send}>
    <${Select} label="To" value=${to} options=${names.map((name) => [name])} set=${setTo} />
    <label>Message<textarea rows="14" class="mono" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <${Failure} error=${error} /><div class="row end"><button class="button primary" disabled=${busy}>Send</button></div></form><//>`;
}
