//! The hooks of one session, shared by its agents: which of them a moment concerns, run at the same time.

use std::path::PathBuf;
use std::sync::Arc;

use posse_hooks::{CombinedAnswer, Hook, HookContext, HookEvent, HookMoment, HookVoice, combine};
use posse_protocol::{CallId, EventKind, SessionId};
use tokio::task::JoinSet;

use crate::changes::found::Found;
use crate::changes::site::Site;
use crate::hooks::runner::{HookPlace, HookRun, HookRunner};
use crate::hooks::told::{hook_ran, name_of};
use crate::record::journal::Journal;

/// Where files for hooks are, in the data directory.
const FOLDER: &str = "hooks";

/// The hooks of one session.
pub(crate) struct SessionHooks {
    pub(crate) runner: HookRunner,
    pub(crate) session: String,
    /// Where transcripts are written.
    pub(crate) folder: PathBuf,
}

/// What hooks said of one moment, what is to go on record, and what they changed.
#[derive(Default)]
pub(crate) struct HooksHeard {
    pub(crate) answer: CombinedAnswer,
    pub(crate) ran: Vec<EventKind>,
    pub(crate) found: Found,
}

/// Whose moment it is.
pub(crate) struct HookScene<'a> {
    pub(crate) site: &'a Arc<Site>,
    pub(crate) place: HookPlace,
    pub(crate) context: HookContext,
    pub(crate) role: &'a str,
    pub(crate) skills: Vec<String>,
    /// For what is recorded after everybody has gone on.
    pub(crate) spare: &'a Journal,
}

impl SessionHooks {
    /// None if nothing could ever run: then hooks cost nothing.
    pub(crate) fn new(runner: HookRunner, session: SessionId, data_dir: &std::path::Path) -> Option<Self> {
        if runner.set().is_idle() {
            return None;
        }
        Some(Self { runner, session: session.to_string(), folder: data_dir.join(FOLDER) })
    }

    /// Whether anything could run at such a moment.
    pub(crate) fn hears(&self, event: HookEvent) -> bool {
        self.runner.set().hears(event)
    }

    /// Runs what a moment concerns, all at the same time, and waits for it; what is to run in the background is only started.
    pub(crate) async fn hear(&self, moment: &HookMoment<'_>, scene: HookScene<'_>) -> HooksHeard {
        let hooks = self.runner.set().matching(moment, scene.role, &scene.skills);
        if hooks.is_empty() {
            return HooksHeard::default();
        }
        let call = moment.call().map(|call| CallId(call.id.to_owned()));
        let input = Arc::new(moment.input(&scene.context));
        let mut running = JoinSet::new();
        for (at, hook) in hooks.iter().enumerate() {
            let (runner, hook, input) = (self.runner.clone(), Hook::clone(hook), Arc::clone(&input));
            let (site, place) = (Arc::clone(scene.site), scene.place.clone());
            if hook.in_background || crate::hooks::told::is_only_told(hook.event) {
                let (mut spare, call) = (scene.spare.beside(), call.clone());
                tokio::spawn(async move {
                    let (run, _) = run_one(&runner, &hook, &input, &place, &site).await;
                    spare.note(hook_ran(&hook, call.as_ref(), &run));
                    spare.send();
                });
                continue;
            }
            running.spawn(async move { (at, run_one(&runner, &hook, &input, &place, &site).await) });
        }
        let mut ended = Vec::new();
        while let Some(joined) = running.join_next().await {
            ended.extend(joined.ok());
        }
        ended.sort_by_key(|(at, _)| *at);
        let mut heard = HooksHeard::default();
        let mut answers: Vec<(String, HookVoice, _)> = Vec::new();
        for (at, (run, found)) in ended {
            heard.ran.push(hook_ran(hooks[at], call.as_ref(), &run));
            heard.found.extend(found);
            answers.push((name_of(hooks[at]), run.voice, run.answer));
        }
        heard.answer = combine(answers);
        heard
    }
}

/// Runs one, and finds out what it changed.
async fn run_one(
    runner: &HookRunner,
    hook: &Hook,
    input: &serde_json::Value,
    place: &HookPlace,
    site: &Site,
) -> (HookRun, Found) {
    if matches!(hook.action, posse_hooks::HookAction::Http(..)) || hook.event == HookEvent::SessionEnd {
        return (runner.run(hook, input, place).await, Found::default());
    }
    let watched = site.history.begin_command(place.grant.approval).await;
    let run = runner.run(hook, input, place).await;
    let found = site.history.end_command(watched, &run.touched).await;
    (run, found)
}
