//! What workers say of themselves, and whether one is there that can take an agent. It says why the others cannot. Pure: the time is an
//! argument.

use std::collections::{BTreeSet, HashMap};

use posse_protocol::visible::one_line;
use serde::Deserialize;

use crate::limits;
use crate::message::{RawBody, Wants, WorkerInfo};
use crate::names::{LabelName, RunId, WorkerName};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Greeted(HashMap<WorkerName, Greeting>);

#[derive(Debug)]
struct Greeting {
    labels: BTreeSet<LabelName>,
    process: RunId,
    is_drained: bool,
    /// Whether that process takes nothing new, because it ends.
    is_leaving: bool,
    /// The names of its own models; none if it does not say all of them.
    models: Option<BTreeSet<String>>,
    at_ms: u64,
}

/// What counts here of all that a worker says it has.
#[derive(Deserialize)]
struct Have {
    models: Option<Vec<String>>,
}

fn models_of(have: &RawBody) -> Option<BTreeSet<String>> {
    let said = (have.get().len() <= limits::HAVE_BYTES_MAX).then_some(have.get())?;
    let models = serde_json::from_str::<Have>(said).ok()?.models?;
    // A list that is as long as it can be may lack some.
    (models.len() < limits::HAVE_MODELS_MAX).then(|| models.into_iter().collect())
}

/// Whether a worker can take an agent.
#[derive(Debug, PartialEq, Eq)]
enum Usable {
    Yes,
    /// Why not.
    No(String),
    /// It was not heard lately.
    Silent,
}

/// That no worker can take an agent now.
#[derive(Debug)]
pub(super) struct Alone {
    /// How long one is waited for.
    pub(super) patience_ms: u64,
    /// Why those that are there cannot.
    whys: Vec<String>,
}

impl Alone {
    /// What to tell whoever wanted it there.
    pub(super) fn reason(&self, on: &str) -> String {
        let minutes = self.patience_ms / 60_000;
        match self.whys.is_empty() {
            true => {
                format!("none that fits \"{on}\" was heard for {minutes} minutes; `posse workers` lists them")
            }
            false => format!(
                "none that fits \"{on}\" could take it for {minutes} minutes: {}; `posse workers` lists them",
                one_line(&self.whys.join(", "), limits::WHY_CHARS_MAX)
            ),
        }
    }
}

impl Greeted {
    /// A worker has said that it is there. Where there are too many, those that are silent are forgotten.
    pub(super) fn hello(&mut self, worker: WorkerName, info: &WorkerInfo, now_ms: u64) {
        if info.labels.len() > limits::LABELS_MAX {
            return;
        }
        if self.0.len() >= limits::WORKERS_MAX && !self.0.contains_key(&worker) {
            self.0.retain(|_, known| !known.is_silent(now_ms));
            if self.0.len() >= limits::WORKERS_MAX {
                return;
            }
        }
        let before = self.0.get(&worker);
        let is_leaving = before.is_some_and(|known| known.is_leaving && known.process == info.process);
        let greeting = Greeting {
            labels: info.labels.clone(),
            process: info.process.clone(),
            is_drained: info.drained,
            is_leaving,
            models: models_of(&info.have),
            at_ms: now_ms,
        };
        self.0.insert(worker, greeting);
    }

    /// A worker takes no more work; it may say that it is there until what it has is done.
    pub(super) fn leaving(&mut self, worker: &WorkerName) {
        if let Some(known) = self.0.get_mut(worker) {
            known.is_leaving = true;
        }
    }

    /// A worker has said something else.
    pub(super) fn heard(&mut self, worker: &WorkerName, now_ms: u64) {
        if let Some(known) = self.0.get_mut(worker) {
            known.at_ms = now_ms;
        }
    }

    /// A worker's connection has ended.
    pub(super) fn gone(&mut self, worker: &WorkerName) {
        self.0.remove(worker);
    }

    /// Whether no worker can take what wants this: none of the known ones that fit, and none of those that were heard and may have it.
    pub(super) fn alone<'a>(
        &'a self,
        (wants, model): (&Wants, Option<&str>),
        mut fitting: BTreeSet<&'a WorkerName>,
        may_have: impl Fn(&WorkerName) -> bool,
        now_ms: u64,
    ) -> Option<Alone> {
        let patience_ms = match fitting.is_empty() {
            false => limits::KNOWN_UNHEARD_MS_MAX,
            true => limits::UNKNOWN_UNHEARD_MS_MAX,
        };
        let said = self.0.iter().filter(|(name, known)| wants.fit(name, &known.labels) && may_have(name));
        fitting.extend(said.map(|(name, _)| name));
        let mut whys = Vec::new();
        for name in fitting {
            match self.usable(name, model, now_ms) {
                Usable::Yes => return None,
                Usable::No(why) => whys.push(why),
                Usable::Silent => {}
            }
        }
        Some(Alone { patience_ms, whys })
    }

    /// Whether a worker can take an agent that needs this model of it.
    fn usable(&self, worker: &WorkerName, model: Option<&str>, now_ms: u64) -> Usable {
        let Some(known) = self.0.get(worker).filter(|known| !known.is_silent(now_ms)) else {
            return Usable::Silent;
        };
        let lacks = |model: &&str| known.models.as_ref().is_some_and(|models| !models.contains(*model));
        match model.filter(lacks) {
            _ if known.is_leaving => Usable::No(format!("{worker} is about to end")),
            _ if known.is_drained => Usable::No(format!("{worker} is drained")),
            Some(model) => Usable::No(format!("{worker} lacks the model {model}")),
            None => Usable::Yes,
        }
    }
}

impl Greeting {
    fn is_silent(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.at_ms) > limits::WORKER_SILENT_MS_MAX
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(name: &str) -> WorkerName {
        name.parse().unwrap()
    }

    fn info(drained: bool, have: &serde_json::Value) -> WorkerInfo {
        let info = json!({"labels": ["gpu"], "capacity": 1, "room": 1, "program": "1", "have": have, "drained": drained,
            "process": "p1", "orders": 0});
        // A body is read from text.
        serde_json::from_str(&info.to_string()).unwrap()
    }

    #[test]
    fn only_who_can_take_an_agent_is_usable_and_the_others_say_why() {
        let (mut greeted, one) = (Greeted::default(), name("one"));
        let own = json!({"models": ["small"]});
        assert_eq!(greeted.usable(&one, None, 0), Usable::Silent);
        let usable = |greeted: &Greeted, model: Option<&str>| greeted.usable(&one, model, 1_000);
        let no = |why: &str| Usable::No(why.to_owned());
        greeted.hello(one.clone(), &info(false, &own), 1_000);
        assert_eq!(usable(&greeted, None), Usable::Yes);
        assert_eq!(usable(&greeted, Some("small")), Usable::Yes);
        assert_eq!(usable(&greeted, Some("large")), no("one lacks the model large"));
        greeted.hello(one.clone(), &info(true, &own), 1_000);
        assert_eq!(usable(&greeted, None), no("one is drained"));
        // Who does not say which models it has may have any.
        for have in [json!(null), json!({"models": 7}), json!({"models": vec!["a"; limits::HAVE_MODELS_MAX]})]
        {
            greeted.hello(one.clone(), &info(false, &have), 1_000);
            assert_eq!(usable(&greeted, Some("large")), Usable::Yes, "{have}");
        }
        // What it has already it finishes, and says meanwhile that it is there.
        greeted.leaving(&one);
        greeted.hello(one.clone(), &info(false, &own), 1_000);
        assert_eq!(usable(&greeted, None), no("one is about to end"));
        let again = WorkerInfo { process: "p2".parse().unwrap(), ..info(false, &own) };
        greeted.hello(one.clone(), &again, 1_000);
        assert_eq!(usable(&greeted, None), Usable::Yes);
        let late_ms = 1_001 + limits::WORKER_SILENT_MS_MAX;
        assert_eq!(greeted.usable(&one, None, late_ms), Usable::Silent);
        greeted.heard(&one, late_ms);
        assert_eq!(greeted.usable(&one, None, late_ms), Usable::Yes);
        greeted.gone(&one);
        assert_eq!(greeted.usable(&one, None, late_ms), Usable::Silent);
    }

    #[test]
    fn an_agent_is_alone_where_nobody_can_take_it_and_the_reason_says_which() {
        let mut greeted = Greeted::default();
        let (one, two, drained) =
            (name("one"), name("two"), |drained| info(drained, &json!({"models": ["small"]})));
        let gpu = Wants { name: None, labels: ["gpu".parse().unwrap()].into() };
        let alone = |greeted: &Greeted, known: &[&WorkerName], model| {
            let known = known.iter().copied().collect();
            greeted.alone((&gpu, model), known, |name| name.as_str() != "stranger", 0)
        };
        assert_eq!(alone(&greeted, &[], None).unwrap().patience_ms, limits::UNKNOWN_UNHEARD_MS_MAX);
        let silent = alone(&greeted, &[&one], None).unwrap();
        assert_eq!(silent.patience_ms, limits::KNOWN_UNHEARD_MS_MAX);
        assert!(silent.reason("gpu").contains("none that fits \"gpu\" was heard for 10 minutes"));
        greeted.hello(name("stranger"), &drained(false), 0);
        greeted.hello(one.clone(), &drained(true), 0);
        greeted.hello(two, &drained(false), 0);
        let why = alone(&greeted, &[&one], Some("large")).unwrap().reason("gpu");
        assert!(why.contains("for 10 minutes: one is drained, two lacks the model large;"), "{why}");
        assert!(alone(&greeted, &[&one], Some("small")).is_none());
    }

    #[test]
    fn who_is_silent_makes_room_for_who_is_new() {
        let mut greeted = Greeted::default();
        let hello = |greeted: &mut Greeted, worker: &str, at_ms| {
            greeted.hello(name(worker), &info(false, &json!(null)), at_ms);
            greeted.usable(&name(worker), None, at_ms)
        };
        for number in 0..limits::WORKERS_MAX {
            assert_eq!(hello(&mut greeted, &format!("worker-{number}"), 0), Usable::Yes);
        }
        assert_eq!(hello(&mut greeted, "one-more", 1), Usable::Silent, "all of them are there");
        assert_eq!(hello(&mut greeted, "worker-7", 1), Usable::Yes);
        assert_eq!(hello(&mut greeted, "one-more", limits::WORKER_SILENT_MS_MAX + 1), Usable::Yes);
        assert_eq!(greeted.0.len(), 2);
    }
}
