//! `posse resume`: goes on with a session from its record, in its folder.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::AgentState;
use posse_setup::{Paths, SessionPlan, TaskPrompt, Wishes};
use posse_view::{AgentView, SessionView};

use crate::args::ResumeArgs;
use crate::background;
use crate::display::{short, tree};
use crate::exit::Exit;
use crate::follow::{Watching, follow};
use crate::limits::{CALLS_SHOWN_MAX, NAMES_SHOWN_MAX};
use crate::output::{self, Style, one_line};
use crate::prompt;
use crate::recorded::{catch_up, view_of};
use crate::surroundings::shown;
use crate::which_session::{can_name, elsewhere, session_of, session_to_resume};
use crate::work;

pub(crate) async fn run(paths: &Paths, mut args: ResumeArgs) -> anyhow::Result<Exit> {
    if args.work.background {
        return background::start(&args.work);
    }
    let (wanted, task) = said(&mut args)?;
    // Also finds out which sessions were interrupted.
    let (row, mut view) = {
        let engine = Engine::open(&paths.data_dir)?;
        let row = match &wanted {
            Some(wanted) => named(&engine, wanted)?,
            None => session_to_resume(&engine)?,
        };
        let view = view_of(&engine, &row).await?;
        (row, view)
    };
    may_go_on(&row, &task.text)?;
    let folder = folder(&row)?;
    let mut display = work::display(&args.work);
    let mut wishes = work::wishes(&args.work, &display);
    as_it_was(&mut wishes, &row, &view)?;
    let person = wishes.person;
    let plan = SessionPlan::read(paths, &folder, wishes)?;
    let (choice, note) = plan.choose_model_again(row.model.as_deref()).await?;
    task.must_fit(&choice.model)?;
    let engine = Engine::open_with(&paths.data_dir, plan.config().durability())?;
    let engine = engine.running_at_most(plan.config().running_in_process());
    let (request, notice) = work::request(plan.terms(choice)?, &mut display, task, None)?;
    catch_up(&engine, &row, &mut view).await?;
    let session = engine.resume(row.id, request).await?;
    display.found(&overview(Style::for_stderr(), &row, &view))?;
    let limited =
        args.work.max_turns.is_some() || args.work.max_tokens.is_some() || args.work.max_time.is_some();
    let kept = "the limits do not count: what was interrupted goes on with those it had";
    let kept = (limited && row.status == AgentState::Interrupted).then(|| kept.to_string());
    for note in note.map(|note| note.to_string()).into_iter().chain(kept) {
        display.note(&one_line(&note, crate::limits::NOTE_COLUMNS_MAX))?;
    }
    let exit = if args.work.in_background {
        background::attend(paths, &engine, session, view, &args.work, notice).await?
    } else {
        let watching = Watching::new(view, person, args.work.leave_sub_agents);
        follow(&engine, session, display, watching, notice).await?
    };
    engine.leave();
    Ok(exit)
}

/// What was typed: which session, and what to do next. Words that cannot be an id are a prompt.
fn said(args: &mut ResumeArgs) -> anyhow::Result<(Option<String>, TaskPrompt)> {
    let mut session = args.session.take();
    if session.as_ref().is_some_and(|text| text == "-" || text.contains(char::is_whitespace)) {
        args.prompt.insert(0, session.take().unwrap_or_default());
    }
    if args.prompt.is_empty() && !args.work.images.is_empty() {
        bail!("say what to do with the image: posse resume last --image FILE \"…\"");
    }
    let task = match args.prompt.is_empty() {
        true => TaskPrompt::default(),
        false => prompt::read(&args.prompt, &args.work.images)?,
    };
    Ok((session, task))
}

fn named(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    let found = session_of(engine, wanted);
    if found.is_err() && !can_name(wanted) && !engine.sessions(1)?.is_empty() {
        let wanted = one_line(wanted, 60);
        bail!("{wanted:?} names no session; to say something to the newest one: posse resume last \"…\"");
    }
    found
}

fn may_go_on(row: &SessionRow, prompt: &str) -> anyhow::Result<()> {
    let id = short(row.id);
    match row.status {
        // Whatever was left behind by a process that is gone is on record as interrupted by now.
        AgentState::Running => {
            bail!(
                "the session {id} is at work in another process; posse attach {id} follows it, posse stop {id} ends it"
            )
        }
        AgentState::Resting => {
            bail!("the session {id} is open in another process; posse tell {id} \"…\" continues it")
        }
        AgentState::Completed if prompt.is_empty() => {
            bail!("the session {id} is completed; say what to do next: posse resume {id} \"…\"")
        }
        _ => Ok(()),
    }
}

/// The session's folder, which must still be there.
pub(crate) fn folder(row: &SessionRow) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(&row.workspace).with_context(|| {
        format!("the folder of the session, {}, is not there any more", shown(row.workspace.as_ref()))
    })
}

/// How the session delegates, and the most that it did without asking, unless flags say otherwise.
pub(crate) fn as_it_was(wishes: &mut Wishes, row: &SessionRow, view: &SessionView) -> anyhow::Result<()> {
    take_surface(wishes, row, view.agents.len())?;
    wishes.coordinator |= view.coordinator;
    wishes.team |= view.team;
    wishes.approval_max = Some(view.approval.unwrap_or_default());
    Ok(())
}

/// The session's own surface, unless another was asked for; none if nobody delegates.
fn take_surface(wishes: &mut Wishes, row: &SessionRow, agents: usize) -> anyhow::Result<()> {
    // Older records do not name the surface; where there are sub-agents, there was one.
    if wishes.surface.is_some() || (row.surface.is_empty() && agents > 1) {
        return Ok(());
    }
    if row.surface.is_empty() {
        if wishes.coordinator || wishes.team {
            bail!("nobody delegates in this session; name the tools to do it with: --surface agent");
        }
        wishes.alone = true;
        return Ok(());
    }
    let known = row.surface.parse();
    wishes.surface = Some(known.ok().with_context(|| {
        format!(
            "this session delegates with {:?}, which this posse does not know; give --surface",
            row.surface
        )
    })?);
    Ok(())
}

/// Where a session was: the tree, who goes on, who had ended, and which calls have no result.
fn overview(style: Style, row: &SessionRow, view: &SessionView) -> String {
    let title = one_line(view.title.as_deref().unwrap_or(""), 80);
    let mut text = format!("{} {}  {title}\n", style.bold("session"), short(row.id));
    if let Some(folder) = elsewhere(row) {
        text.push_str(&format!("  in {folder}\n"));
    }
    text.push_str(&tree::agents(style, view, output::stderr_width(), output::now_ms()));
    let (ended, open): (Vec<_>, Vec<_>) = view.sub_agents().partition(|agent| agent.has_ended());
    for (what, agents) in [("go on", open), ("ended", ended)] {
        if !agents.is_empty() {
            text.push_str(&style.dim(&format!("  {what:<9}  {}\n", names(&agents))));
        }
    }
    let open = view.agents.iter().filter(|agent| !agent.has_ended());
    let calls = open.flat_map(|agent| agent.calls.iter().map(move |call| (agent, call))).collect::<Vec<_>>();
    for (number, (agent, call)) in calls.iter().take(CALLS_SHOWN_MAX).enumerate() {
        let what = if number == 0 { "no result" } else { "" };
        let (name, title) = (one_line(&agent.name, 60), one_line(&call.title, 100));
        text.push_str(&style.dim(&format!("  {what:<9}  {name}: {title}\n")));
    }
    if let Some(more @ 1..) = calls.len().checked_sub(CALLS_SHOWN_MAX) {
        text.push_str(&style.dim(&format!("             and {more} more\n")));
    }
    text
}

fn names(agents: &[&AgentView]) -> String {
    let mut names =
        agents.iter().take(NAMES_SHOWN_MAX).map(|agent| one_line(&agent.name, 60)).collect::<Vec<_>>();
    if let Some(more @ 1..) = agents.len().checked_sub(NAMES_SHOWN_MAX) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
