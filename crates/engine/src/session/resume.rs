//! Goes on with a session from its record: the same tree, the same conversations, under the same ids. What is on record
//! as done is not done again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use posse_agent::{Input, Next, Recall, Recalled};
use posse_delegate::{Known, KnownMain, Restored, Tree};
use posse_protocol::visible::one_line;
use posse_protocol::{
    AgentId, AgentState, Answer, Budget, CallId, Ending, EventKind, Isolation, MailId, Question, Receipt,
    Report, Sender, SessionId, Words,
};
use posse_store::SessionRow;

use crate::agents::finished::{Continuation, FinishedAgent};
use crate::agents::past_prompts::PastPrompts;
use crate::agents::receipt::{Effects, Inherited};
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, InterruptedAgent, PlacedBefore};
use crate::agents::sub_agent::SubAgent;
use crate::agents::sub_agents::{Delegation, RecordDetail};
use crate::crew::{Crew, ReplayedCrew};
use crate::error::EngineError;
use crate::record::journal::Journal;
use crate::record::reading::read_events;
use crate::session::Session;
use crate::session::main_agent::main_tools;
use crate::session::opening::Opening;
use crate::session::process_parts::ProcessParts;
use crate::session::replay::{Replay, ReplayedAgent, ReplayedConversation};
use crate::session::request::SessionRequest;

/// What the main agent is told when its session goes on after it had ended otherwise than by being done.
const GO_ON: &str = "The session was ended before you were done, and goes on now. Go on with the task.";
/// What an agent is told whose steps are not on record.
const BEGINS_AGAIN: &str = "Posse ended while you were at work, and what you had done is not on record: you begin again. \
     Look at what is there before you do something that may be done.";
/// Why sub-agents do not go on where nobody delegates any more.
const NO_DELEGATION: &str = "delegation is off now";

/// See [`crate::Engine::resume`].
pub(crate) fn resume(
    process: &ProcessParts,
    session: SessionId,
    request: SessionRequest,
) -> Result<Session, EngineError> {
    process.store.find_session(&session.to_string())?;
    // Nobody adds to the record from here on.
    let alive = Opening::lock(process, session)?;
    let row = process.store.find_session(&session.to_string())?;
    let events = read_events(&process.store, session)?;
    let main = events.iter().find(|event| event.parent.is_none()).map(|event| event.agent);
    let main =
        main.ok_or_else(|| EngineError::NotFound("Nothing of this session is on record.".to_string()))?;
    may_go_on(&row, &request)?;
    let after = events.last().map(|event| event.seq).unwrap_or_default();
    let (grant, budget, prompt) = (request.grant.clone(), request.budget, request.words());
    let began_within = events.first().and_then(|event| match &event.kind {
        EventKind::SessionStarted { traceparent, .. } => *traceparent,
        _ => None,
    });
    let (crew, updates) = Opening { id: session, agent: main, after, began_within, home: None }
        .open(process, request, &grant, alive)?;
    let mut replay = Replay::new(&crew, grant);
    for event in events {
        replay.event(event);
    }
    let main = go_on(&crew, replay, budget, prompt)?;
    Ok(Session::drive(process, crew, main, updates))
}

/// A session that was done needs something to do, unless it stays and waits for that.
fn may_go_on(row: &SessionRow, request: &SessionRequest) -> Result<(), EngineError> {
    let is_done = matches!(row.status, AgentState::Completed | AgentState::Resting);
    if is_done && request.prompt.is_empty() && !request.stay {
        return Err(EngineError::NothingToDo(format!(
            "The session {} is completed. Say what is to be done next.",
            row.id
        )));
    }
    Ok(())
}

/// Puts the session's agents back to where they were. The main agent is the caller's to drive.
fn go_on(
    crew: &Arc<Crew>,
    mut replay: Replay<'_>,
    fresh: Budget,
    prompt: Words,
) -> Result<AgentStart, EngineError> {
    let (order, commands) = (std::mem::take(&mut replay.order), std::mem::take(&mut replay.commands));
    crew.restore_mail(replay.last_mail, Vec::new());
    let mut main = replay.take(crew.main).filter(|main| main.begun.is_some()).ok_or_else(not_begun)?;
    announce(crew, &mut main, commands, prompt);
    let mut others = order.into_iter().filter_map(|id| replay.take(id)).collect::<Vec<_>>();
    if main.end.is_some() {
        main.budget = with_spent(fresh, &main, &others);
    }
    let known_main = KnownMain {
        id: main.who.id,
        grant: main.grant.clone(),
        budget: main.budget,
        spent: spent(&main).0,
        tokens: spent(&main).1,
        settled: main.end.clone(),
    };
    let limits = crew.delegation.as_ref().map(|delegation| delegation.limits).unwrap_or_default();
    let Restored { mut tree, freed, stopping, refused } = Tree::restored(
        limits,
        known_main,
        others.iter().filter_map(|replayed| known(crew, replayed)).collect(),
    );
    // It goes on, whether it had ended or not.
    tree.reopen_main(main.budget);
    for (id, misfit) in refused {
        tracing::warn!(agent = %id, %misfit, "an agent on record has no place in the tree");
        others.retain(|replayed| replayed.who.id != id);
    }
    let rested_at = main.rested_at;
    let places = places(crew, &others);
    let started_by = started_by(&main, &others);
    crew.tree(|known| *known = tree.clone());
    let mut taken =
        ReplayedCrew { tree, freed, finished: Vec::new(), told: Vec::new(), starts: Vec::new(), started_by };
    let mut stopped = Vec::new();
    let steps_kept = crew.delegation.as_ref().is_none_or(|d| d.sub_agents.record == RecordDetail::Full);
    others.sort_by_key(|replayed| replayed.end.as_ref().map(|end| end.at));
    for replayed in others {
        if let Some(end) = &replayed.end {
            // The report of an earlier prompt has told of it.
            let is_told = replayed.parent == Some(crew.main) && rested_at.is_some_and(|at| end.at < at);
            let done = finished(replayed, steps_kept);
            if is_told { taken.told.extend(done) } else { taken.finished.extend(done) }
        } else if let Some((_, cause)) = stopping.iter().find(|(id, _)| *id == replayed.who.id) {
            stopped.push(given_up(replayed, cause.to_string()));
        } else if let Some(reason) = replayed.cannot_go_on() {
            stopped.push(given_up(replayed, reason.to_string()));
        } else if let Some(delegation) = &crew.delegation {
            let place = replayed.parent.and_then(|parent| places.get(&parent));
            let place = place.map_or(crew.site.folder.as_str(), String::as_str);
            taken.starts.extend(start(crew, delegation, &replay, replayed, place));
        } else {
            stopped.push(given_up(replayed, NO_DELEGATION.to_string()));
        }
    }
    crew.take_over(taken);
    for (id, parent, report) in stopped {
        crew.settle_interrupted(id, parent, report);
    }
    match main.begun.take() {
        Some(begun) => Ok(main_start(crew, main, begun)),
        None => Err(not_begun()),
    }
}

fn not_begun() -> EngineError {
    EngineError::Refused("The main agent of this session had not begun.".to_string())
}

/// Puts on record that the session goes on, with what the main agent has to know: what the person has to say now, and
/// which background commands are gone.
fn announce(crew: &Crew, main: &mut ReplayedAgent, commands: Vec<(String, String)>, prompt: Words) {
    let mut journal = crew.main_journal();
    journal.note(EventKind::SessionResumed {
        version: env!("CARGO_PKG_VERSION").to_string(),
        sandboxed: crew.tools.sandbox.on,
        traceparent: crew.traceparent,
    });
    for (name, command) in commands {
        let text = format!("{name} was stopped when Posse ended: {}", one_line(&command, 100));
        journal.note(EventKind::BackgroundEnded { name, exit_code: None, tail: String::new() });
        mail(crew, &mut journal, main, Sender::Posse, text);
    }
    match (prompt.text.as_str(), &main.end) {
        ("", None) => {}
        // It waits for the next prompt.
        ("", Some(_)) if crew.stays => {}
        ("", Some(_)) => mail(crew, &mut journal, main, Sender::Posse, GO_ON),
        _ => mail(crew, &mut journal, main, Sender::Person, prompt),
    }
    journal.send();
}

/// Words for the main agent: on record before anybody works on them, told at its next turn.
fn mail(crew: &Crew, journal: &mut Journal, main: &mut ReplayedAgent, from: Sender, words: impl Into<Words>) {
    let Words { text, attachments } = words.into();
    let mailed = EventKind::Mailed { id: crew.next_mail(), from, text, is_prompt: false, attachments };
    if let Some(begun) = &mut main.begun {
        begun.recall.event(&mailed);
    }
    journal.note(mailed);
}

/// What an agent has spent, and tokens with estimates.
fn spent(replayed: &ReplayedAgent) -> (posse_protocol::Spent, u64) {
    let agent = replayed.begun.as_ref().map(|begun| begun.recall.agent());
    let spent = agent.map(|agent| agent.spent()).unwrap_or_default();
    let time_ms = spent.time_ms.max(replayed.worked_ms());
    (posse_protocol::Spent { time_ms, ..spent }, agent.map_or(0, |agent| agent.tokens_counted()))
}

/// A budget for what comes now, with what was spent before on top of it: by the main agent, and by all below it where
/// that counts.
fn with_spent(fresh: Budget, main: &ReplayedAgent, others: &[ReplayedAgent]) -> Budget {
    let (spent, _) = spent(main);
    let all = || others.iter().chain([main]).map(self::spent);
    let tokens = all().fold(0u64, |sum, (_, tokens)| sum.saturating_add(tokens));
    let cost_usd = all().filter_map(|(spent, _)| spent.cost_usd).sum::<f64>();
    Budget {
        turns: fresh.turns.map(|turns| turns.saturating_add(spent.turns)),
        tokens: fresh.tokens.map(|more| more.saturating_add(tokens)),
        time_ms: fresh.time_ms.map(|ms| ms.saturating_add(spent.time_ms)),
        cost_usd: fresh.cost_usd.map(|usd| usd + cost_usd),
    }
}

fn known(crew: &Crew, replayed: &ReplayedAgent) -> Option<Known> {
    let (spent, tokens) = spent(replayed);
    Some(Known {
        id: replayed.who.id,
        parent: replayed.parent?,
        name: replayed.who.name.clone(),
        role: replayed.who.role.name.clone(),
        title: replayed.who.title.clone(),
        depth: replayed.who.depth,
        grant: replayed.grant.clone(),
        budget: replayed.budget,
        endpoint: Some(replayed.endpoint(crew)),
        continues: replayed.continues,
        spent,
        tokens,
        admitted_at: replayed.admitted_at,
        settled: replayed.end.clone(),
        delivered: replayed.delivered,
        stopping: false,
    })
}

/// Where agents work: in checkouts of their own, or where their parents do.
fn places(crew: &Crew, replay: &[ReplayedAgent]) -> HashMap<AgentId, String> {
    let mut places: HashMap<AgentId, String> = HashMap::from([(crew.main, crew.site.folder.clone())]);
    // Parents were admitted before their children.
    for replayed in replay {
        let above =
            replayed.parent.and_then(|parent| places.get(&parent)).unwrap_or(&crew.site.folder).clone();
        let place = match replayed.isolation {
            Isolation::Shared => above,
            Isolation::Worktree => crew.checkouts.folder(Path::new(&above), &replayed.who.name),
        };
        places.insert(replayed.who.id, place);
    }
    places
}

/// Which call of which agent had started an agent, where that call waits for its answer.
fn started_by(main: &ReplayedAgent, replay: &[ReplayedAgent]) -> HashMap<(AgentId, CallId), AgentId> {
    let parents: HashMap<AgentId, &ReplayedAgent> =
        replay.iter().chain([main]).map(|replayed| (replayed.who.id, replayed)).collect();
    let of = |replayed: &ReplayedAgent| {
        let (parent, call) = (parents.get(&replayed.parent?)?, replayed.brief.as_ref()?.call.as_ref()?);
        parent.awaits(call, replayed.admitted_at).then(|| ((parent.who.id, call.clone()), replayed.who.id))
    };
    replay.iter().filter_map(of).collect()
}

/// An agent that does not go on, with what it had done.
fn given_up(replayed: ReplayedAgent, reason: String) -> (AgentId, Option<AgentId>, Report) {
    let (ending, branch) =
        (Ending::Interrupted { reason }, replayed.branch.filter(|branch| branch.tip != branch.base));
    let agent = replayed.begun.as_ref().map(|begun| begun.recall.agent());
    let receipt =
        agent.map(|agent| replayed.effects.receipt(agent, Inherited::default())).unwrap_or_default();
    let text = agent.map(|agent| agent.last_words().to_string()).unwrap_or_default();
    let report = Report::new(ending, text, Receipt { branch, ..receipt });
    (replayed.who.id, replayed.parent, report)
}

/// An agent that has ended, with the conversation that a follow-up needs.
fn finished(replayed: ReplayedAgent, steps_kept: bool) -> Option<FinishedAgent> {
    let ReplayedAgent { who, report, begun, isolation, on, .. } = replayed;
    let AgentIdentity { id, name, title, role, .. } = who;
    let report = report?;
    let branch = report.receipt.branch.clone();
    let role_name = role.name.clone();
    let continuation = begun.filter(|_| steps_kept).map(|begun| {
        let ReplayedConversation { mut conversation, recall } = begun;
        conversation.extend(recall.finish().agent.conversation().messages());
        Continuation { role, conversation, isolation, branch, on }
    });
    Some(FinishedAgent { id, name, role: role_name, title, report, continuation })
}

/// An agent that goes on, or begins now. One whose task is not on record cannot.
fn start(
    crew: &Arc<Crew>,
    delegation: &Delegation,
    replay: &Replay<'_>,
    mut replayed: ReplayedAgent,
    place: &str,
) -> Option<AgentStart> {
    let parent = replayed.parent?;
    let mut journal = crew.sub_agent_journal(delegation, replayed.who.id, parent, replayed.on.is_some());
    if replayed.on.is_none() {
        withdraw(&mut journal, replayed.asking.take());
    }
    let told = replayed.first_words();
    let begun = replayed.begun.take();
    let had_begun = begun.is_some();
    let begun = begun.unwrap_or_else(|| {
        let fresh = || {
            let sub_agent = SubAgent {
                name: &replayed.who.name,
                role: &replayed.who.role,
                parent: &crew.name(parent),
                depth: replayed.who.depth,
                budget: &replayed.budget,
                grant: &replayed.grant,
                isolation: replayed.isolation,
                folder: place,
                on: replayed.on.as_deref(),
            };
            sub_agent.prompt(crew, delegation, |prompt| prompt.to_string())
        };
        let system = replayed.borrowed_system().map_or_else(fresh, str::to_string);
        replay.begin(&replayed, system)
    });
    let (toolbox, worked) = (replayed.toolbox(crew), Duration::from_millis(replayed.worked_ms()));
    let ReplayedConversation { mut conversation, recall } = begun;
    let placed = replayed.on.is_some().then(|| Box::new(placed_before(&mut replayed, &recall)));
    let Recalled { mut agent, next, .. } = recall.finish();
    let begins = next == Next::Begin;
    if had_begun && replayed.on.is_none() && delegation.sub_agents.record == RecordDetail::Result {
        agent.hear(MailId::default(), Sender::Posse, BEGINS_AGAIN.to_string());
    }
    if !had_begun {
        conversation.extend(agent.conversation().messages());
    }
    let effects = std::mem::take(&mut replayed.effects);
    let past = PastPrompts::default();
    let interrupted =
        had_begun.then(|| Box::new(InterruptedAgent { agent, next: Some(next), worked, effects, past }));
    let brief = replayed.brief.take();
    let (context_files, deliverables) =
        brief.map(|brief| (brief.context_files, brief.deliverables)).unwrap_or_default();
    // A worker that is given an agent from its beginning has to be told everything.
    let whole = begins || placed.is_some();
    let (told, context_files) = if whole { (told, context_files) } else { (None, Vec::new()) };
    Some(AgentStart {
        who: replayed.who,
        grant: replayed.grant,
        budget: replayed.budget,
        toolbox,
        conversation,
        task: FirstTask { told, context_files, deliverables },
        forked: Vec::new(),
        mail: replayed.mail,
        isolation: replayed.isolation,
        branch: replayed.branch,
        on: replayed.on,
        placed,
        journal,
        resumed: true,
        interrupted,
    })
}

/// How far an agent had come on workers.
fn placed_before(replayed: &mut ReplayedAgent, recall: &Recall) -> PlacedBefore {
    PlacedBefore {
        epoch: replayed.epoch,
        worker: replayed.worker.take(),
        recorded: replayed.told_by_workers,
        recall: recall.clone(),
        known: replayed.known.clone(),
        asking: replayed.asking.take(),
    }
}

/// The main agent.
fn main_start(crew: &Arc<Crew>, mut main: ReplayedAgent, begun: ReplayedConversation) -> AgentStart {
    let mut journal = crew.main_journal();
    withdraw(&mut journal, main.asking.take());
    let (toolbox, _) = main_tools(crew, &main.grant);
    let worked = Duration::from_millis(main.worked_ms());
    let ReplayedConversation { conversation, recall } = begun;
    let Recalled { mut agent, mut next, prompts } = recall.finish();
    crew.restore_mail(MailId::default(), prompts);
    let (mut effects, mut past) = (main.effects, main.past);
    if main.end.is_some() {
        agent.allow(main.budget);
        if crew.stays {
            agent.rest_again();
            next = Next::Rest;
        } else {
            agent.reopen();
            next = Next::TakeIn(Box::new(Input::GoOn));
        }
    }
    if let Some(report) = main.report.filter(|_| crew.stays && main.rested_at.is_none()) {
        // What it did until then has been reported.
        (effects, past) = (Effects::default(), PastPrompts::ended(report.receipt));
    }
    AgentStart {
        who: main.who,
        grant: main.grant,
        budget: main.budget,
        toolbox,
        conversation,
        // What it is told was mailed.
        task: FirstTask::default(),
        forked: Vec::new(),
        mail: Vec::new(),
        isolation: Isolation::Shared,
        branch: None,
        on: None,
        placed: None,
        journal,
        // It works in the session's folder, as ever.
        resumed: false,
        interrupted: Some(Box::new(InterruptedAgent { agent, next: Some(next), worked, effects, past })),
    }
}

/// A question that nobody can answer any more is asked again if it has to be.
fn withdraw(journal: &mut Journal, asking: Option<Question>) {
    if let Some(Question { call, .. }) = asking {
        journal.note(EventKind::PersonAnswered { call, answer: Answer::Withdrawn });
    }
}
