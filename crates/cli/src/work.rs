//! What `posse run` and `posse resume` have in common: from flags to wishes, and how the work is shown.

use std::sync::Arc;

use posse_engine::SessionRequest;
use posse_model::Recorder;
use posse_protocol::Approval;
use posse_setup::{SessionTerms, TaskPrompt, Wishes};

use crate::args::WorkArgs;
use crate::display::Display;
use crate::output;
use crate::questions;

/// How flags want the work to be shown.
pub(crate) fn display(args: &WorkArgs) -> Display {
    if args.in_background {
        // Only what is found out before the session begins is shown, in the terminal that it is started from.
        Display::Quiet
    } else if args.json {
        Display::Json
    } else if args.quiet {
        Display::Quiet
    } else {
        Display::live()
    }
}

/// What flags wish for. A person can be asked where they see what happens.
pub(crate) fn wishes(args: &WorkArgs, display: &Display) -> Wishes {
    Wishes {
        model: args.model.clone(),
        max_turns: args.max_turns,
        max_tokens: args.max_tokens,
        max_time_ms: args.max_time,
        max_cost_usd: args.max_cost,
        role: args.role.clone(),
        approval: args.approval.or(args.modes.plan.then_some(Approval::Plan)),
        approval_max: None,
        no_sandbox: args.no_sandbox,
        workspace_is_home: args.workspace_is_home,
        alone: false,
        no_tools: false,
        coordinator: args.modes.coordinator,
        team: args.modes.team,
        surface: args.modes.surface,
        // In the background anybody can attach and answer.
        person: args.in_background || (matches!(display, Display::Live(_)) && questions::person_is_there()),
        stay: args.in_background,
        traceparent: args.traceparent,
    }
}

/// Shows what the person should know, then builds the request. Also what is found out about the shell while it runs.
pub(crate) fn request(
    terms: SessionTerms<'_>,
    display: &mut Display,
    task: TaskPrompt,
    recorder: Option<&Arc<Recorder>>,
) -> anyhow::Result<(SessionRequest, impl Future<Output = Option<String>> + use<>)> {
    for warning in &terms.warnings {
        display.note(&output::one_line(&warning.to_string(), crate::limits::NOTE_COLUMNS_MAX))?;
    }
    let shell = terms.shell_warning();
    let notice = async move { shell.await.map(|warning| warning.to_string()) };
    Ok((terms.request(task, recorder)?, notice))
}
