//! Hooks in real sessions: what they can do, what they cannot, and what hostile ones come to.

mod attacks;
mod calls;
mod hostile;
mod published;
mod turns;

use std::path::{Path, PathBuf};

use posse_engine::{HookSettings, SessionRequest};
use posse_hooks::{HookOrigin, HookOwner, HookScope, HookSet, read_settings};
use posse_protocol::{EventKind, HookDecision};
use serde_json::{Value, json};

use crate::check::{Ran, World};

/// A home of the person, with hooks that are theirs.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// Writes a script, and gives back the command that runs it.
    fn script(&self, name: &str, text: &str) -> String {
        let file = self.path().join(name);
        std::fs::write(&file, text).unwrap();
        format!("sh {}", file.display())
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }
}

/// Hooks of settings, as the person's own or as the project's.
fn settings(home: &Home, text: &Value, owner: HookOwner) -> HookSettings {
    let origin = HookOrigin { file: "settings.json".to_owned(), owner, scope: HookScope::Session };
    let (hooks, warnings, _) = read_settings(&text.to_string(), &origin, &|_| None);
    assert_eq!(warnings, []);
    let mut environment = std::env::vars().filter(|(name, _)| name == "PATH").collect::<Vec<_>>();
    environment.push(("HOME".to_owned(), home.path().display().to_string()));
    if let Ok(person) = std::env::var("HOME") {
        environment.push(("PYENV_ROOT".to_owned(), format!("{person}/.pyenv")));
    }
    HookSettings {
        set: HookSet { hooks },
        outside: Vec::new(),
        environment,
        home: Some(home.path()),
        places: Vec::new(),
    }
}

fn own(home: &Home, text: &Value) -> HookSettings {
    settings(home, text, HookOwner::Person)
}

fn of_project(home: &Home, text: &Value) -> HookSettings {
    settings(home, text, HookOwner::Project { trusted: true })
}

/// Settings with one hook.
fn one(event: &str, matcher: &str, command: &str) -> Value {
    with(event, matcher, command, &json!({}))
}

/// The same with more fields.
fn with(event: &str, matcher: &str, command: &str, more: &Value) -> Value {
    let mut hook = json!({"type": "command", "command": command});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})
}

/// A command that says this object.
fn says(object: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{object}'")
}

fn request(world: &World, hooks: HookSettings) -> SessionRequest {
    SessionRequest { hooks: Some(hooks), ..world.request("go") }
}

async fn run(world: &World, hooks: HookSettings) -> Ran {
    crate::check::finish(world.engine.start(request(world, hooks)).unwrap()).await
}

/// Event, decision, whether it was confined, and message of every hook that ran.
fn hooks_ran(ran: &Ran) -> Vec<(String, HookDecision, bool, String)> {
    let ran = ran.events().filter_map(|event| match &event.kind {
        EventKind::HookRan { hook_event, decision, confined, message, .. } => {
            Some((hook_event.clone(), *decision, *confined, message.clone()))
        }
        _ => None,
    });
    ran.collect()
}

/// All texts of the messages of the request with this number.
fn told(world: &World, request: usize) -> String {
    world.model.requests()[request].json()["messages"].to_string()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
