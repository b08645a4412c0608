//! jobs: looks at commands that run in the background, waits for them, stops them.

use std::{fmt::Write as _, time::Duration};

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use posse_sandbox::CommandExit;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Job, confine::level, context::Context, failure::ToolFailure, limits, output_text::shown, tool::Tool,
};

/// Background commands: list them, or by name show the output, wait for the end, or stop one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsTool {
    name: Option<String>,
    wait_ms: Option<u64>,
    stop: Option<bool>,
}

impl Tool for JobsTool {
    const NAME: &'static str = "jobs";
    const KIND: CallKind = CallKind::Run;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::Inspect, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("id", "name"), ("job", "name"), ("timeout_ms", "wait_ms")];

    fn about(&self) -> String {
        let verb = match (self.stop, self.wait_ms) {
            (Some(true), _) => "stop ",
            (_, Some(_)) => "wait for ",
            _ => "",
        };
        format!("{verb}{}", self.name.as_deref().unwrap_or("list"))
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        let Some(name) = &self.name else {
            return Ok(ToolOutcome::ok(listed(&context.jobs.list())));
        };
        let job = context.jobs.find(name).ok_or_else(|| {
            ToolFailure(format!(
                "There is no command {}. {}",
                one_line(name, 60),
                listed(&context.jobs.list())
            ))
        })?;
        if self.stop == Some(true) {
            if job.owner != context.owner && level(&context.grant) != Shell::Full {
                return Err(ToolFailure(format!(
                    "{name} is another agent's, and this one may only look at it"
                )));
            }
            context.jobs.stop(&job, context.owner).await;
        } else if let Some(wait_ms) = self.wait_ms {
            let limit = Duration::from_millis(wait_ms.min(context.settings.shell_timeout_max_ms));
            let _ = tokio::time::timeout(limit, context.jobs.wait(name, context.owner)).await;
        }
        let job = context.jobs.find(name).unwrap_or(job);
        Ok(ToolOutcome::ok(format!("{}\n{}", line(&job), shown(&job.output()))))
    }
}

fn listed(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "No command was started in the background.".to_owned();
    }
    let mut text = String::new();
    for job in jobs {
        let _ = writeln!(text, "{}", line(job));
    }
    text.truncate(text.trim_end().len());
    text
}

fn line(job: &Job) -> String {
    let state = match job.ended() {
        None => "running".to_owned(),
        Some(exit) => ending(exit),
    };
    format!("{} ({state}): {}", job.name, one_line(job.command.trim(), limits::TITLE_CHARS_MAX))
}

/// How a command in the background ended, in words.
pub(crate) fn ending(exit: CommandExit) -> String {
    match exit {
        CommandExit::Code(code) => format!("exit code {code}"),
        CommandExit::Signal(signal) => format!("ended by signal {signal}"),
        CommandExit::DeadlineExceeded => "stopped".to_owned(),
    }
}
