//! `posse hooks`: the hooks of your settings and of this project, and what comes of trying one.

use anyhow::{Context as _, bail};
use posse_engine::{MadeUpMoment, TriedHook};
use posse_hooks::{HookEvent, HookExit, HookVerdict, HookVoice};
use posse_protocol::words::counted;
use posse_setup::{ListedHook, Paths, SessionPlan, Wishes};

use crate::args::HooksCommand;
use crate::exit::Exit;
use crate::output::{self, Style, one_line, visible};

pub(crate) async fn run(paths: &Paths, command: HooksCommand) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(paths.surroundings().folder()?)?;
    let plan = SessionPlan::read(paths, &folder, Wishes::default())?;
    match command {
        HooksCommand::List { json } => list(&plan, json),
        HooksCommand::Test { event, tool, input } => test(&plan, &event, tool, input.as_deref()).await,
    }
}

fn list(plan: &SessionPlan<'_>, json: bool) -> anyhow::Result<Exit> {
    let (hooks, warnings) = plan.hook_list()?;
    if json {
        hooks.iter().try_for_each(output::print_json)?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for hook in &hooks {
        text.push_str(&line(hook, style));
    }
    if hooks.is_empty() {
        text = "No hooks. They stand under \"hooks\" in ~/.claude/settings.json, or in .claude/settings.json of a project.\n"
            .to_string();
    }
    for warning in &warnings {
        text.push_str(&style.yellow(&format!("{warning}\n")));
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}

fn line(hook: &ListedHook, style: Style) -> String {
    let how = match (hook.trusted, hook.confined, hook.kind.as_str()) {
        (false, ..) => "does not run before posse trust",
        (true, true, _) => "in the sandbox",
        (true, false, "http") => "a request",
        (true, false, _) => "as you",
    };
    let only = hook.only_for.as_ref().map(|only| format!(", {only}")).unwrap_or_default();
    let place = style.dim(&format!("{} ({how}{only})", one_line(&hook.file, 200)));
    let (event, matcher) = (&hook.event, one_line(&hook.matcher, 60));
    format!("{event:<18}  {matcher:<12}  {}  {place}\n", one_line(&hook.runs, 200))
}

async fn test(
    plan: &SessionPlan<'_>,
    event: &str,
    tool: Option<String>,
    input: Option<&str>,
) -> anyhow::Result<Exit> {
    let names = || HookEvent::ALL.map(HookEvent::name).join(", ");
    let Some(event) = HookEvent::named(event) else {
        bail!("there is no event {:?}; the events are {}", one_line(event, 60), names());
    };
    let input = input.map(serde_json::from_str).transpose().context("--input is not JSON")?;
    let tried = plan.try_hooks(&MadeUpMoment { event, subject: tool, input }).await?;
    if tried.is_empty() {
        output::print(&format!("No hook runs at {event} for that; posse hooks list shows all.\n"))?;
        return Ok(Exit::Completed);
    }
    let mut text = format!("input:\n{}\n", visible(&serde_json::to_string_pretty(&tried[0].input)?));
    tried.iter().for_each(|one| text.push_str(&told(one)));
    text.push_str(&format!("{} ran.\n", counted(tried.len() as u64, "hook")));
    output::print(&text)?;
    let failed = tried.iter().any(|one| one.run.answer.fault.is_some());
    Ok(if failed { Exit::Failed } else { Exit::Completed })
}

fn told(tried: &TriedHook) -> String {
    let (run, answer) = (&tried.run, &tried.run.answer);
    let exit = match &run.exit {
        HookExit::Code(code) => format!("exit code {code}"),
        HookExit::Signal(signal) => format!("signal {signal}"),
        HookExit::TimedOut(ms) => format!("stopped after {ms} ms"),
        HookExit::Status(status) => format!("status {status}"),
        HookExit::NotRun(why) => format!("not run: {}", one_line(why, 300)),
    };
    let place = if run.confined { "in the sandbox" } else { "as you" };
    let mut text = format!("\n{}\n", one_line(&tried.hook.action.text(), 300));
    text.push_str(&format!("  {exit}, {} ms, {place}\n", run.duration_ms));
    for (name, said) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        if !said.trim().is_empty() {
            text.push_str(&format!("  {name}: {}\n", one_line(said.trim(), 2_000)));
        }
    }
    let decision = match answer.verdict {
        None => "none",
        Some(HookVerdict::Allow) if run.voice == HookVoice::Confined => {
            "allow, which does not count: an agent could change it"
        }
        Some(HookVerdict::Allow) => "allow",
        Some(HookVerdict::Ask | HookVerdict::Defer) => "ask",
        Some(HookVerdict::Deny) => "deny",
    };
    text.push_str(&format!("  decision: {decision}"));
    if !answer.reason.is_empty() {
        text.push_str(&format!(" ({})", one_line(&answer.reason, 500)));
    }
    text.push('\n');
    let context = answer.context.iter().map(|told| format!("  context: {}\n", one_line(told, 500)));
    let rewrite = answer
        .updated_input
        .iter()
        .map(|input| format!("  other arguments: {}\n", one_line(&input.to_string(), 500)));
    let stop = answer.stop.iter().map(|why| format!("  stops everything: {}\n", one_line(why, 500)));
    let fault = answer.fault.iter().map(|fault| format!("  wrong: {}\n", one_line(fault, 500)));
    context.chain(rewrite).chain(stop).chain(fault).for_each(|line| text.push_str(&line));
    text
}
