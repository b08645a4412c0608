//! What a server was started with: the most that any client of it has. A client's wishes are held against it, and only ever
//! take something away.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use posse_api::{CallError, CallErrorKind, Folders};
use posse_protocol::{Approval, Budget, TraceParent};
use posse_setup::{Paths, SessionPlan, Wishes};
use posse_view::SessionView;

use crate::arguments::{RunTask, TaskBudget};
use crate::limits;

/// The rights, the folders and the budget of a server, and how it waits.
#[derive(Debug)]
pub struct ServerFrame {
    /// Where tasks may work: in these folders and below. The first is the usual one.
    pub folders: Folders,
    /// The only model that tasks have; if there is none, a client may name one.
    pub model: Option<String>,
    /// What is done without asking; as configured if there is none.
    pub approval: Option<Approval>,
    /// What a task may spend; what is missing is as configured.
    pub budget: Budget,
    /// Whether commands run without the sandbox.
    pub no_sandbox: bool,
    /// Whether the folder may be a home folder.
    pub workspace_is_home: bool,
    /// How long a call waits for its task, in milliseconds.
    pub wait_ms: u64,
    /// The same while the client listens to progress.
    pub wait_with_progress_ms: u64,
}

/// A task that a client wants begun.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskStart {
    /// The folder, links resolved.
    pub(crate) folder: PathBuf,
    /// What to do.
    pub(crate) prompt: String,
    /// The words of the command line that hold the task within the frame and the client's wishes.
    pub(crate) flags: Vec<OsString>,
}

/// What a folder's configuration allows within the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ceiling {
    approval: Approval,
    budget: Budget,
}

impl ServerFrame {
    /// A frame with nothing but folders: everything else is as configured.
    pub fn of(folders: Folders) -> Self {
        Self {
            folders,
            model: None,
            approval: None,
            budget: Budget::UNLIMITED,
            no_sandbox: false,
            workspace_is_home: false,
            wait_ms: limits::WAIT_MS,
            wait_with_progress_ms: limits::WAIT_WITH_PROGRESS_MS,
        }
    }

    /// Holds what a client wants against the frame.
    pub(crate) async fn narrow(
        &self,
        paths: &Paths,
        wanted: &RunTask,
        traceparent: Option<&str>,
    ) -> Result<TaskStart, CallError> {
        within(limits::TEXT_BYTES_MAX, "prompt", &wanted.prompt)?;
        if wanted.prompt.trim().is_empty() {
            return Err(refused("The prompt is empty."));
        }
        let folder = self.folder(wanted.workspace.as_deref()).await?;
        let mut flags = self.flags();
        flags.extend(self.permitted_model(wanted.model.as_deref())?.map(|model| word("model", model)));
        if let Some(role) = &wanted.role {
            flags.push(word("role", name("role", role)?));
        }
        flags.extend(budget_flags(match &wanted.budget {
            Some(budget) => lowered(budget, self.ceiling(paths, &folder).await?.budget, self.budget)?,
            None => self.budget,
        }));
        // The span of the client that this is part of; one that is none is left out.
        let traceparent = traceparent.and_then(|text| text.trim().parse::<TraceParent>().ok());
        flags.extend(traceparent.map(|span| word("traceparent", &span.to_string())));
        Ok(TaskStart { folder, prompt: wanted.prompt.clone(), flags })
    }

    /// Whether a client may steer a session: only one that has no more rights than this server would give it.
    pub(crate) async fn may_steer(&self, paths: &Paths, view: &SessionView) -> Result<(), CallError> {
        let ceiling = self.ceiling(paths, Path::new(&view.workspace)).await?;
        let approval = view.approval.unwrap_or(Approval::Full);
        if approval > ceiling.approval || (!view.sandboxed && !self.no_sandbox) {
            let message = "This session has more rights than this server gives to its clients: it can be looked at, and \
                           steered by the person alone.";
            return Err(refused(message));
        }
        Ok(())
    }

    async fn folder(&self, wanted: Option<&str>) -> Result<PathBuf, CallError> {
        let first = self.folders.first().ok_or_else(|| refused("This server has no folder to work in."))?;
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
            return Ok(first.to_path_buf());
        };
        within(limits::NAME_BYTES_MAX * 4, "workspace", wanted)?;
        self.folders.within(&first.join(wanted).to_string_lossy()).await
    }

    fn permitted_model<'a>(&'a self, wanted: Option<&'a str>) -> Result<Option<&'a str>, CallError> {
        match (self.model.as_deref(), wanted) {
            (Some(only), Some(wanted)) if only != wanted => {
                Err(refused(format!("This server was started with the model {only}, and has no other.")))
            }
            (Some(only), _) => Ok(Some(only)),
            (None, wanted) => wanted.map(|wanted| name("model", wanted)).transpose(),
        }
    }

    /// What every task is started with. One word each, so that no value can be taken for a flag.
    fn flags(&self) -> Vec<OsString> {
        let mut flags = vec![word("rest-at-most", &format!("{}s", limits::REST_MS / 1000))];
        flags.extend(self.approval.map(|approval| word("approval", approval.word())));
        flags.extend(self.no_sandbox.then(|| "--no-sandbox".into()));
        flags.extend(self.workspace_is_home.then(|| "--workspace-is-home".into()));
        flags
    }

    /// What the configuration of a folder allows, with the frame over it.
    async fn ceiling(&self, paths: &Paths, folder: &Path) -> Result<Ceiling, CallError> {
        let (paths, folder) = (paths.clone(), folder.to_path_buf());
        let wishes = Wishes {
            approval: self.approval,
            max_turns: self.budget.turns.and_then(NonZeroU32::new),
            max_tokens: self.budget.tokens.and_then(NonZeroU64::new),
            max_time_ms: self.budget.time_ms,
            max_cost_usd: self.budget.cost_usd,
            no_sandbox: self.no_sandbox,
            workspace_is_home: self.workspace_is_home,
            ..Wishes::default()
        };
        let reading = tokio::task::spawn_blocking(move || {
            let plan =
                SessionPlan::read(&paths, &folder, wishes).map_err(|error| refused(error.to_string()))?;
            Ok(Ceiling { approval: plan.config().approval(), budget: plan.budget() })
        });
        reading.await.map_err(|error| refused(error.to_string()))?
    }
}

/// A client's budget, no limit above the ceiling's; what it leaves out is as the server has it.
fn lowered(wanted: &TaskBudget, ceiling: Budget, own: Budget) -> Result<Budget, CallError> {
    let TaskBudget { max_turns, max_tokens, max_time, max_cost } = *wanted;
    let nothing = [max_turns.map(u64::from), max_tokens, max_time].contains(&Some(0));
    if nothing || max_cost.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
        return Err(refused("A limit of the budget is nothing: leave it out, or write a number above 0."));
    }
    fn least<T: PartialOrd>(wanted: Option<T>, most: Option<T>, own: Option<T>) -> Option<T> {
        match (wanted, most) {
            (Some(wanted), Some(most)) => Some(if most < wanted { most } else { wanted }),
            (Some(wanted), None) => Some(wanted),
            (None, _) => own,
        }
    }
    Ok(Budget {
        turns: least(max_turns, ceiling.turns, own.turns),
        tokens: least(max_tokens, ceiling.tokens, own.tokens),
        time_ms: least(max_time.map(|s| s.saturating_mul(1000)), ceiling.time_ms, own.time_ms),
        cost_usd: least(max_cost, ceiling.cost_usd, own.cost_usd),
    })
}

fn budget_flags(budget: Budget) -> Vec<OsString> {
    let Budget { turns, tokens, time_ms, cost_usd } = budget;
    let flags = [
        turns.map(|turns| word("max-turns", &turns.to_string())),
        tokens.map(|tokens| word("max-tokens", &tokens.to_string())),
        // The flag has whole seconds; less than one would be none.
        time_ms.map(|ms| word("max-time", &format!("{}s", (ms / 1000).max(1)))),
        cost_usd.map(|usd| word("max-cost", &usd.to_string())),
    ];
    flags.into_iter().flatten().collect()
}

/// A flag and its value as one word.
fn word(flag: &str, value: &str) -> OsString {
    format!("--{flag}={value}").into()
}

/// A name that becomes part of a command line.
fn name<'a>(what: &str, text: &'a str) -> Result<&'a str, CallError> {
    within(limits::NAME_BYTES_MAX, what, text)?;
    if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
        return Err(refused(format!("{text:?} cannot be the name of a {what}.")));
    }
    Ok(text)
}

pub(crate) fn within(bytes_max: usize, what: &str, text: &str) -> Result<(), CallError> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    let message = format!("The {what} has {} bytes; at most {bytes_max} are accepted.", text.len());
    Err(CallError::new(CallErrorKind::TooLarge, message))
}

pub(crate) fn refused(message: impl Into<String>) -> CallError {
    CallError::new(CallErrorKind::Refused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Budget = Budget { turns: Some(20), tokens: None, time_ms: Some(60_000), cost_usd: None };
    /// The configuration has a limit on money, the server none of its own.
    const CEILING: Budget = Budget { cost_usd: Some(2.0), ..OWN };

    #[test]
    fn a_budget_is_only_ever_lowered() {
        let none = TaskBudget::default();
        let cases = [
            (none, vec!["--max-turns=20", "--max-time=60s"]),
            (TaskBudget { max_turns: Some(5), ..none }, vec!["--max-turns=5", "--max-time=60s"]),
            (TaskBudget { max_turns: Some(500), ..none }, vec!["--max-turns=20", "--max-time=60s"]),
            (
                TaskBudget { max_tokens: Some(9), max_time: Some(3_600), ..none },
                vec!["--max-turns=20", "--max-tokens=9", "--max-time=60s"],
            ),
            (
                TaskBudget { max_cost: Some(9.5), ..none },
                vec!["--max-turns=20", "--max-time=60s", "--max-cost=2"],
            ),
            (
                TaskBudget { max_cost: Some(0.5), ..none },
                vec!["--max-turns=20", "--max-time=60s", "--max-cost=0.5"],
            ),
        ];
        for (wanted, flags) in cases {
            assert_eq!(budget_flags(lowered(&wanted, CEILING, OWN).unwrap()), flags, "{wanted:?}");
        }
        let wrong = [
            TaskBudget { max_turns: Some(0), ..none },
            TaskBudget { max_time: Some(0), ..none },
            TaskBudget { max_cost: Some(-1.0), ..none },
            TaskBudget { max_cost: Some(f64::NAN), ..none },
        ];
        for wanted in wrong {
            assert!(lowered(&wanted, CEILING, OWN).is_err(), "{wanted:?}");
        }
    }

    #[test]
    fn no_name_is_a_flag() {
        for bad in ["--no-sandbox", "-C", "", "a\nb", "\u{1b}[0m"] {
            assert!(name("model", bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("model", "local/small:7b").unwrap(), "local/small:7b");
        assert!(name("role", &"x".repeat(limits::NAME_BYTES_MAX + 1)).is_err());
    }
}
