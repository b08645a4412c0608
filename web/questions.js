// Questions of agents: exactly what is asked, and the answers of the terminal. Nothing is answered by a key that was meant for
// something else: the buttons wake a moment after a question appears, and none of them has the focus.

import { html, useEffect, useState } from "./vendor/preact.js";
import { Button, Confirm, Failure, tried, useAction, useChanges } from "./ui.js";
import { of, post } from "./net.js";
import { link } from "./route.js";
import { PlainDiff } from "./diff-view.js";
import { counted, visible, visibleLine } from "./words.js";

const WAKES_MS = 500;
const OUTSIDE = "outside";
const OUTCOMES = {
  not_open: "Somebody else has answered this question already, or it was taken back.",
  bad_pattern: "This is not a pattern, or it does not cover what is asked.",
  wrong_kind: "This question wants another kind of answer.",
  bad_text: "The answer is empty or too long.",
};

/** All open questions of a session, one at a time. They can be put off until another one comes. */
export function Questions({ store, readOnly }) {
  useChanges((changed) => store.subscribe("view", changed), [store]);
  const [wanted, choose] = useState(null);
  const [later, putOff] = useState(0);
  const { questions } = store.view;
  if (questions.length === 0) return null;
  const newest = questions.at(-1).seq;
  const at = Math.max(0, questions.findIndex(({ seq }) => seq === wanted));
  const step = (by) => choose(questions[(at + by + questions.length) % questions.length].seq);
  const isLater = newest <= later;
  return html`<section id="questions" class="questions" tabindex="-1" aria-label="Questions that wait for you">
    <div class="question-nav row small">${isLater ? html`<b class="grow warn">${counted(questions.length, "question")} for you</b>`
      : questions.length > 1 && html`<span class="muted">${at + 1} of ${questions.length}</span><${Button} class="small" onClick=${() => step(-1)}>Previous<//><${Button} class="small" onClick=${() => step(1)}>Next<//>`}
      <${Button} class="small" onClick=${() => putOff(isLater ? 0 : newest)}>${isLater ? "Show" : "Later"}<//></div>
    ${!isLater && html`<${Question} key=${questions[at].seq} store=${store} open=${questions[at]} readOnly=${readOnly} />`}
  </section>`;
}

function heading({ leaves, tool, preview, asks }) {
  if (asks) return "asks you";
  if (leaves) return "wants to run this outside the sandbox, with all your rights";
  return tool === "shell" ? "wants to run a command" : preview ? "wants to change a file" : `wants to use ${visibleLine(tool)}`;
}

/** All of what is asked: the command or the diff, where a path leads, what was written, and why it asks. */
function QuestionBody({ question }) {
  const { what, preview, real_path: path, written = [], written_more: more, writing = [], why } = question;
  const elsewhere = path && !path.endsWith(what);
  const head = preview && !/^(---|diff )/.test(preview) ? `--- a/${what}\n+++ b/${what}\n` : "";
  return html`<div class="asked-what">
    ${question.asks ? html`<p class="words">${visible(what)}</p>` : !preview && html`<pre>${visible(what)}</pre>`}
    ${elsewhere && html`<p class="small warn">That is really <code>${visibleLine(path)}</code></p>`}
    ${preview && html`<${PlainDiff} text=${head + preview} />`}
    ${written.length > 0 && html`<p class="small warn">Written in this session, and it may run what is in them: ${visibleLine(written.join(", "))}${more ? ` and ${more} more` : ""}</p>`}
    ${writing.length > 0 && html`<p class="small warn">Still running, and may write: ${visibleLine(writing.join(", "))}</p>`}
    ${why && html`<p class="small muted">It asks because: ${visibleLine(why)}</p>`}
  </div>`;
}

function Question({ store, open, readOnly }) {
  const { question, agent: id } = open;
  const [awake, setAwake] = useState(false);
  const [stage, setStage] = useState("choose");
  useEffect(() => {
    const timer = setTimeout(() => setAwake(true), WAKES_MS);
    return () => clearTimeout(timer);
  }, []);
  const give = async (answer) => {
    const { outcome } = await post(of(store.session, "answer"), { agent: id, call: question.call, answer });
    if (outcome !== "accepted") throw new Error(OUTCOMES[outcome] ?? `The answer was not taken: ${outcome}.`);
  };
  const { begin: say, busy, error } = useAction(give);
  // Once it is answered there is nothing more to press.
  const off = !awake || busy || error === null;
  const agent = store.agent(id);
  return html`<div class=${`question ${question.leaves ? "leaves" : ""}`} role="group" aria-label="Question">
    <p><span class="warn" aria-hidden="true">? </span><a href=${link(store.session, id)}>${visibleLine(agent?.name ?? "An agent")}</a> <b class=${question.leaves ? "bad" : ""}>${heading(question)}</b></p>
    <${QuestionBody} question=${question} />
    <${Failure} error=${error} />
    ${readOnly ? html`<p class="muted">This page is read-only: answer in a terminal.</p>`
      : question.asks ? html`<${Free} question=${question} off=${off} say=${say} />`
      : html`<${Permission} ...${{ question, off, stage, setStage, say, give }} />`}
  </div>`;
}

/** Whether a call may run. */
function Permission({ question, off, stage, setStage, say, give }) {
  if (stage === "no") return html`<${Words} label="Why not? The agent reads it." yes="Say no" off=${off} back=${() => setStage("choose")} act=${(reason) => say({ answer: "no", reason })} />`;
  if (stage === "pattern") return html`<${Pattern} value=${question.pattern} off=${off} back=${() => setStage("choose")} say=${say} />`;
  const leave = async (typed) => {
    if (typed.trim() !== OUTSIDE) throw new Error(`Type the word ${OUTSIDE} to let it run.`);
    await give({ answer: "once" });
  };
  return html`<div class="row wrap">
    ${question.leaves ? html`<${Button} kind="danger" disabled=${off} onClick=${() => setStage("leave")}>Let it out of the sandbox, once…<//>`
      : html`<${Button} disabled=${off} onClick=${() => say({ answer: "once" })}>Yes, once<//>
        <${Button} disabled=${off} onClick=${() => say({ answer: "session" })}>Yes, for this session<//>
        <${Button} disabled=${off} onClick=${() => setStage("pattern")}>Yes, for a pattern…<//>`}
    <${Button} disabled=${off} onClick=${() => say({ answer: "no", reason: "" })}>No<//>
    <${Button} disabled=${off} onClick=${() => setStage("no")}>No, because…<//>
    ${stage === "leave" && html`<${Confirm} title="This leaves the sandbox" danger yes="Let it run" input=${`Type the word ${OUTSIDE}`} onClose=${() => setStage("choose")} act=${leave}
      text=${html`The command runs with all your rights: it can read, change and send everything that you can.<pre class="mono">${visible(question.what)}</pre>`} />`}
  </div>`;
}

/** A line of words that goes back to the agent. */
function Words({ label, yes, off, back, act, value = "", needed, children }) {
  const [text, setText] = useState(value);
  const submit = (event) => (event.preventDefault(), act(text.trim()));
  return html`<form class="stack tight" onSubmit=${submit}>
    <label>${label}<input value=${text} required=${needed} onInput=${(event) => setText(event.target.value)} /></label>
    <div class="row"><button class="button primary" disabled=${off}>${yes}</button>${back && html`<${Button} onClick=${back}>Back<//>`}${children}</div>
  </form>`;
}

/** A pattern that is allowed from now on, and in other sessions too if it is saved. */
function Pattern({ value, off, back, say }) {
  const [save, setSave] = useState(false);
  const act = async (pattern) => {
    if (!(await say({ answer: "pattern", pattern })) || !save) return;
    await tried(post("/api/rules/save", { kind: "allow", rule: pattern }), "The rule is saved in your configuration.");
  };
  return html`<${Words} label="Everything that this pattern matches may run until the session ends" value=${value} needed yes="Allow the pattern" off=${off} back=${back} act=${act} />
    <label class="row check"><input type="checkbox" checked=${save} onChange=${(event) => setSave(event.target.checked)} /> Save it as a rule for other sessions, too</label>`;
}

/** A question that is answered in words. */
function Free({ question, off, say }) {
  const said = (text) => say({ answer: "said", text });
  return html`<div class="row wrap">${(question.asks.choices ?? []).map((choice) => html`<${Button} disabled=${off} onClick=${() => said(choice)}>${visibleLine(choice)}<//>`)}</div>
    <${Words} label="Your own words" yes="Send" off=${off} needed act=${said}><${Button} disabled=${off} onClick=${() => say({ answer: "no", reason: "" })}>Do not answer<//><//>`;
}
