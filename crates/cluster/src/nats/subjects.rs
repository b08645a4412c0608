//! The subjects of an owner at the broker, who may use which, and the lines of the server's configuration that say so.

use std::collections::BTreeSet;

use posse_protocol::AgentId;

use crate::message::Wants;
use crate::names::{HomeName, LabelName, OwnerName, WorkerName};

/// Where a server tells about itself. Home asks there where it may; it needs no answer.
pub(super) const ABOUT_SERVER: &str = "$SYS.REQ.SERVER.PING.VARZ";

/// Whose rights are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsSide {
    /// A home: everything of its owner.
    Home,
    /// One worker: its own words, what is said to it, offers that are for it, and its own blobs.
    Worker {
        /// Its name.
        name: WorkerName,
        /// Its labels.
        labels: BTreeSet<LabelName>,
    },
}

/// Which way blobs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobWay {
    /// From home to a worker.
    Down,
    /// From a worker to home. The worker cannot read it.
    Up,
}

impl BlobWay {
    fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// The names of an owner's things.
#[derive(Clone, Debug)]
pub(super) struct Subjects {
    owner: OwnerName,
}

impl Subjects {
    pub(super) fn new(owner: OwnerName) -> Self {
        Self { owner }
    }

    pub(super) fn tasks_stream(&self) -> String {
        format!("posse-{}-tasks", self.owner)
    }

    pub(super) fn tasks(&self) -> String {
        format!("posse.{}.task.*.*", self.owner)
    }

    pub(super) fn task(&self, place: &str, agent: AgentId) -> String {
        format!("posse.{}.task.{place}.{agent}", self.owner)
    }

    /// All offers of one place.
    pub(super) fn place(&self, place: &str) -> String {
        format!("posse.{}.task.{place}.*", self.owner)
    }

    /// The offers of one agent, wherever they are.
    pub(super) fn agent(&self, agent: AgentId) -> String {
        format!("posse.{}.task.*.{agent}", self.owner)
    }

    pub(super) fn up(&self, home: &HomeName, worker: &WorkerName) -> String {
        format!("posse.{}.up.{home}.{worker}", self.owner)
    }

    pub(super) fn all_up(&self, home: &HomeName) -> String {
        format!("posse.{}.up.{home}.*", self.owner)
    }

    pub(super) fn hello(&self, worker: &WorkerName) -> String {
        format!("posse.{}.hello.{worker}", self.owner)
    }

    pub(super) fn all_hello(&self) -> String {
        format!("posse.{}.hello.*", self.owner)
    }

    pub(super) fn down(&self, worker: &WorkerName) -> String {
        format!("posse.{}.down.{worker}", self.owner)
    }

    /// Where the blobs for a worker are, or those of it. The hyphens of the owner are doubled, so that no owner's bucket can be named
    /// like another's.
    pub(super) fn bucket(&self, way: BlobWay, worker: &WorkerName) -> String {
        format!("posse_{}-{}-{worker}", way.word(), self.owner.as_str().replace('-', "--"))
    }

    /// What their subjects begin with.
    pub(super) fn blobs(&self, way: BlobWay, worker: &WorkerName) -> String {
        format!("posse.{}.blob.{}.{worker}", self.owner, way.word())
    }

    /// Where answers to one client go; another worker may not listen there.
    pub(super) fn inbox(&self, who: &str) -> String {
        format!("_INBOX.posse.{}.{who}", self.owner)
    }

    pub(super) fn next_offer(&self, place: &str) -> String {
        format!("$JS.API.CONSUMER.MSG.NEXT.{}.{place}", self.tasks_stream())
    }

    /// Tells whether a place is there. The broker does not answer at all to who asks a place for offers that is not.
    pub(super) fn about_place(&self, place: &str) -> String {
        format!("$JS.API.CONSUMER.INFO.{}.{place}", self.tasks_stream())
    }

    /// What a side has to publish to.
    pub(super) fn publishes(&self, side: &NatsSide) -> Vec<String> {
        let owner = &self.owner;
        let mut all = vec!["$SYS.REQ.USER.INFO".to_owned()];
        match side {
            NatsSide::Home => all.extend([
                format!("posse.{owner}.task.*.*"),
                format!("posse.{owner}.down.*"),
                "$JS.API.INFO".to_owned(),
                format!("$JS.API.*.*.{}", self.tasks_stream()),
                format!("$JS.API.*.*.{}.>", self.tasks_stream()),
                // A right cannot name a part of a word, so these are about all that its account keeps: home makes buckets for each
                // worker.
                "$JS.API.STREAM.INFO.*".to_owned(),
                "$JS.API.STREAM.CREATE.*".to_owned(),
                "$JS.API.STREAM.PURGE.*".to_owned(),
                "$JS.API.DIRECT.GET.*.>".to_owned(),
                format!("posse.{owner}.blob.down.*.>"),
            ]),
            NatsSide::Worker { name, labels } => {
                all.extend([
                    format!("posse.{owner}.up.*.{name}"),
                    format!("posse.{owner}.hello.{name}"),
                    format!("$JS.API.DIRECT.GET.{}.>", self.bucket(BlobWay::Down, name)),
                    format!("{}.>", self.blobs(BlobWay::Up, name)),
                ]);
                for place in places(name, labels) {
                    all.push(self.about_place(&place));
                    all.push(self.next_offer(&place));
                    all.push(format!("$JS.ACK.{}.{place}.>", self.tasks_stream()));
                }
            }
        }
        all
    }

    /// What a side has to subscribe to.
    pub(super) fn subscribes(&self, side: &NatsSide) -> Vec<String> {
        let owner = &self.owner;
        match side {
            NatsSide::Home => vec![
                format!("{}.>", self.inbox("home")),
                format!("posse.{owner}.up.*.*"),
                format!("posse.{owner}.hello.*"),
            ],
            NatsSide::Worker { name, .. } => {
                vec![format!("{}.>", self.inbox(&format!("worker.{name}"))), self.down(name)]
            }
        }
    }
}

/// Where an offer waits. A worker looks in every place that it may take from; what it does not fit, it gives back.
pub(super) fn place_of(wants: &Wants) -> String {
    match (&wants.name, wants.labels.first()) {
        (Some(name), _) => format!("w-{name}"),
        (None, Some(label)) => format!("l-{label}"),
        (None, None) => "any".to_owned(),
    }
}

/// The places that a worker takes from, the most particular first.
pub(super) fn places(name: &WorkerName, labels: &BTreeSet<LabelName>) -> Vec<String> {
    let labels = labels.iter().map(|label| format!("l-{label}"));
    [format!("w-{name}")].into_iter().chain(labels).chain(["any".to_owned()]).collect()
}

/// The entry for one user in the `users` list of a nats-server's configuration. The password may be a bcrypt hash.
pub fn nats_user_config(owner: &OwnerName, side: &NatsSide, user: &str, password: &str) -> String {
    let subjects = Subjects::new(owner.clone());
    let mut publishes = subjects.publishes(side);
    if *side == NatsSide::Home {
        publishes.push(ABOUT_SERVER.to_owned());
    }
    let list = |subjects: Vec<String>| {
        let lines: Vec<String> =
            subjects.iter().map(|subject| format!("        {}", quoted(subject))).collect();
        lines.join("\n")
    };
    format!(
        "{{\n  user: {}\n  password: {}\n  permissions: {{\n    publish: {{\n      allow: [\n{}\n      ]\n    }}\n    \
         subscribe: {{\n      allow: [\n{}\n      ]\n    }}\n  }}\n}}\n",
        quoted(user),
        quoted(password),
        list(publishes),
        list(subjects.subscribes(side)),
    )
}

/// A text in the server's configuration.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether a right covers all subjects that are needed, both with wildcards.
pub(super) fn covers(right: &str, needed: &str) -> bool {
    let (mut right, mut needed) = (right.split('.'), needed.split('.'));
    loop {
        match (right.next(), needed.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(word)) if word != ">" => {}
            (Some(a), Some(b)) if a == b => {}
            _ => return false,
        }
    }
}
