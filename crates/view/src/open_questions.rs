//! The questions to a person that are open, in the order in which they were asked.

use std::collections::BTreeMap;

use posse_protocol::{AgentId, Question, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One open question and who asks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// The sequence number of the event that asked it.
    pub seq: Seq,
    /// Who asks.
    pub agent: AgentId,
    /// When it was asked: milliseconds since 1970, UTC.
    pub asked_at_ms: u64,
    /// What is asked, whole: it is what the person decides on.
    pub question: Question,
}

/// All open questions. As JSON, a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenQuestions {
    open: BTreeMap<Seq, OpenQuestion>,
}

impl OpenQuestions {
    /// The one that was asked first.
    pub fn first(&self) -> Option<&OpenQuestion> {
        self.open.values().next()
    }

    /// All of them, the first first.
    pub fn iter(&self) -> impl Iterator<Item = &OpenQuestion> {
        self.open.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether nobody is asked anything.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn get(&self, seq: Seq) -> Option<&OpenQuestion> {
        self.open.get(&seq)
    }

    pub(crate) fn open(&mut self, question: OpenQuestion) {
        self.open.insert(question.seq, question);
    }

    pub(crate) fn close(&mut self, seq: Seq) -> Option<OpenQuestion> {
        self.open.remove(&seq)
    }
}

impl Serialize for OpenQuestions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.open.values())
    }
}

impl<'de> Deserialize<'de> for OpenQuestions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<OpenQuestion>::deserialize(deserializer)?;
        Ok(Self { open: list.into_iter().map(|one| (one.seq, one)).collect() })
    }
}
