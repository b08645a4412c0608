//! One hook as a settings file describes it, and all of a session.

use posse_policy::{Decision, Rules, Wish, judge};
use posse_protocol::Approval;

use crate::event::HookEvent;
use crate::matcher::HookMatcher;
use crate::moment::HookMoment;

/// What a hook does when its moment comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// A line for the shell.
    Shell(String),
    /// A program with its arguments, without a shell.
    Program(String, Vec<String>),
    /// A request to an address, with these headers.
    Http(String, Vec<(String, String)>),
}

impl HookAction {
    /// What it is called in lists and messages, and how the person names it in the configuration: the exact text.
    pub fn text(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Program(program, arguments) => {
                let words = std::iter::once(program).chain(arguments).map(String::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Http(url, _) => url.clone(),
        }
    }
}

/// What happens if a hook does not end in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// Nothing: what it was asked about goes on.
    #[default]
    GoOn,
    /// It counts as a no.
    Deny,
}

/// Whose settings name a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOwner {
    /// The person's own.
    Person,
    /// The project's, which may be a stranger's.
    Project {
        /// Whether the person has trusted that very content.
        trusted: bool,
    },
}

/// When a hook is there at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookScope {
    /// For the whole session.
    Session,
    /// While an agent of this role works.
    Role(String),
    /// Once an agent has loaded this skill.
    Skill(String),
}

/// Where a hook comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookOrigin {
    /// The file, as it is shown.
    pub file: String,
    /// Whose it is.
    pub owner: HookOwner,
    /// When it is there.
    pub scope: HookScope,
}

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// For what.
    pub matcher: HookMatcher,
    /// A rule that the call has to fit, too.
    pub only_if: Option<String>,
    /// What it does.
    pub action: HookAction,
    /// How long it may take.
    pub timeout_ms: u64,
    /// What a late end means.
    pub on_timeout: OnTimeout,
    /// Whether nobody waits for it.
    pub in_background: bool,
    /// Where it comes from.
    pub origin: HookOrigin,
}

impl Hook {
    /// Whether it may run: the person's own, or a project's that was trusted.
    pub fn may_run(&self) -> bool {
        !matches!(self.origin.owner, HookOwner::Project { trusted: false })
    }

    /// Whether it is for this moment.
    fn is_for(&self, moment: &HookMoment<'_>, role: &str, skills: &[String]) -> bool {
        let there = match &self.origin.scope {
            HookScope::Session => true,
            HookScope::Role(name) => name == role,
            HookScope::Skill(key) => skills.contains(key),
        };
        there
            && self.event == moment.event()
            && (!moment.event().has_matcher() || self.matcher.fits(&moment.names()))
            && self.only_if.as_ref().is_none_or(|rule| fits_rule(rule, moment))
    }
}

/// Whether a call fits a rule such as `Bash(git *)`. A rule that cannot be read fits: better a hook too many.
fn fits_rule(rule: &str, moment: &HookMoment<'_>) -> bool {
    let Some(call) = moment.call() else { return true };
    let Ok(rules) = Rules::parse(&[], &[rule.to_owned()], &[]) else { return true };
    let (what, act) = call.wish();
    let wish = Wish { tool: call.own_name, what: &what, act };
    matches!(judge(Approval::Full, &rules, &wish), Decision::Ask(_))
}

/// All hooks of a session, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookSet {
    /// Each as it is written, those that may not run included.
    pub hooks: Vec<Hook>,
}

impl HookSet {
    /// Whether there is nothing that could ever run.
    pub fn is_idle(&self) -> bool {
        !self.hooks.iter().any(Hook::may_run)
    }

    /// Whether anything could run at such a moment.
    pub fn hears(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event && hook.may_run())
    }

    /// What runs now, for an agent of a role that has loaded these skills. Of equal ones the first: the person's own come
    /// first.
    pub fn matching(&self, moment: &HookMoment<'_>, role: &str, skills: &[String]) -> Vec<&Hook> {
        let mut found: Vec<&Hook> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.may_run() && hook.is_for(moment, role, skills)) {
            if !found.iter().any(|other| other.action == hook.action) {
                found.push(hook);
            }
        }
        found
    }
}
