//! A stage whose model answers by what it is told and nothing else, and keeps what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use posse_engine::SessionRequest;
use posse_engine::models::Models;
use posse_model::{Governors, Model};
use posse_testkit::{Captured, Turn, asker};
use serde_json::Value;

use super::outcome::timeless;
use crate::crew::Stage;

pub(super) struct Play {
    pub(super) stage: Stage,
    /// The context window of the model, where it has one.
    pub(super) window: Option<u64>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// One request: who made it, and its messages and tools without the seconds in them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) body: String,
}

impl Play {
    /// Each agent's turns by its name, `*` for all others; which one comes next is told by the conversation alone.
    pub(super) async fn new<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Self {
        let scripts = scripts.into_iter().map(|(who, turns)| (who.to_string(), turns)).collect();
        Self::scripted(scripts).await
    }

    pub(super) async fn scripted(scripts: BTreeMap<String, Vec<Turn>>) -> Self {
        Self::by_rule(move |request, name| {
            let turns = scripts.get(name).or_else(|| scripts.get("*")).unwrap_or_else(|| panic!("no {name}"));
            turns.get(turn(request, name)).or(turns.last()).cloned().unwrap()
        })
        .await
    }

    /// A model that answers each request of each agent by this rule.
    pub(super) async fn by_rule(rule: impl Fn(&Value, &str) -> Turn + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let log = Arc::clone(&asked);
        let stage = Stage::by_rule(move |request: &Captured| {
            let body = timeless(&String::from_utf8_lossy(&request.body));
            let request = request.json();
            let name = asker(&request);
            let turn = rule(&request, &name);
            log.lock().unwrap().push(Asked { name, body });
            turn
        })
        .await;
        stage.model.capture(false);
        Self { stage, window: None, asked }
    }

    /// What the model was asked since this was asked last.
    pub(super) fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(super) fn request(&self, prompt: &str) -> SessionRequest {
        let mut request = self.stage.request(prompt);
        if self.window.is_some() {
            let mut config = self.stage.config("fake");
            config.context_window = self.window;
            request.models = Models::new(Model::new(config, &Governors::default()).unwrap(), None);
        }
        request
    }
}

/// How often the model has replied to this agent; what it knows of another's conversation does not count.
pub(super) fn turn(request: &Value, name: &str) -> usize {
    let messages = request["messages"].as_array().unwrap();
    let named = format!("You are {name},");
    let own = |message: &Value| message["content"].as_str().is_some_and(|text| text.contains(&named));
    let begin = messages.iter().rposition(own).unwrap_or(0);
    messages[begin..].iter().filter(|message| message["role"] == "assistant").count()
}
