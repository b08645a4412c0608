//! One agent as the tree sees it. Knows only the ids of the others.

use std::collections::{BTreeMap, VecDeque};

use posse_protocol::{AgentId, Below, Budget, Ending, Grant, Spent};
use serde::{Deserialize, Serialize};

/// Where an agent is in its life; the diagram is in the crate's doc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Admitted, and not placed yet.
    Pending,
    /// Waits for its first slot.
    Queued,
    /// At work.
    Running,
    /// Waits for its children and has given its slot back.
    Parked,
    /// Could continue, and waits for a slot.
    Returning,
    /// Waits for a person and has given its slot back.
    NeedsPerson,
    /// Over.
    Settled(Ending),
}

impl State {
    /// One word for tables and models.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Parked | Self::Returning => "waiting",
            Self::NeedsPerson => "needs_person",
            Self::Settled(ending) => ending.word(),
        }
    }

    /// Whether it has ended.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Settled(_))
    }

    /// Whether it holds a slot.
    pub fn holds_slot(&self) -> bool {
        *self == Self::Running
    }
}

/// The model server an agent uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its configured name.
    pub name: String,
    /// How many agents it serves at the same time; with 1 they run in order.
    pub agents_max: Option<usize>,
}

/// One agent. Lives as long as its tree. After it has settled, only two things change: whether its report was delivered,
/// and its name when another agent continues its conversation. Only main can be reopened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: AgentId,
    /// Who delegated to it; none for the main agent.
    pub parent: Option<AgentId>,
    /// What it is called, unique in its session.
    pub name: String,
    /// Its role.
    pub role: String,
    /// What it is asked to do, in a few words.
    pub title: String,
    /// 0 for the main agent.
    pub depth: u32,
    /// Where it is in its life.
    pub state: State,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend, its descendants included.
    pub budget: Budget,
    /// Where its model is; none for the main agent.
    pub endpoint: Option<Endpoint>,
    /// It was cancelled: nothing new begins here, and it settles when it has stopped.
    pub stopping: bool,
    /// Its parent was given its report.
    pub delivered: bool,
    /// Questions to a person that are open.
    pub asking: u32,
    /// The settled agent whose conversation it took up.
    pub continues: Option<AgentId>,
    /// The agent that took up its conversation.
    pub continued_by: Option<AgentId>,
    /// All its children, oldest first.
    pub children: Vec<AgentId>,
    /// What it has spent itself.
    pub spent: Spent,
    /// Tokens it has spent itself, with estimates where the provider did not count.
    pub tokens: u64,
    pub(crate) ledger: Ledger,
    /// Children that have not settled, oldest first.
    pub(crate) live: Vec<AgentId>,
    /// Unsettled agents further below whose parents have settled: they are being stopped, and this agent pays for them.
    pub(crate) strays: Vec<AgentId>,
    /// Settled children whose reports it was not given yet, first settled first.
    pub(crate) reports: VecDeque<AgentId>,
    /// How many agents before it had the same conversation and name.
    pub(crate) generation: u32,
    pub(crate) changes: ChangeCounts,
}

impl Node {
    pub(crate) fn main(id: AgentId, grant: Grant, budget: Budget) -> Self {
        Self {
            id,
            parent: None,
            name: "main".to_owned(),
            role: "main".to_owned(),
            title: String::new(),
            depth: 0,
            state: State::Running,
            grant,
            budget,
            endpoint: None,
            stopping: false,
            delivered: false,
            asking: 0,
            continues: None,
            continued_by: None,
            children: Vec::new(),
            spent: Spent::default(),
            tokens: 0,
            ledger: Ledger::default(),
            live: Vec::new(),
            strays: Vec::new(),
            reports: VecDeque::new(),
            generation: 0,
            changes: ChangeCounts::default(),
        }
    }

    /// One word for tables and models. A question to a person shows even while it also waits for children.
    pub fn word(&self) -> &'static str {
        if self.asking > 0 && !self.state.is_settled() {
            State::NeedsPerson.word()
        } else {
            self.state.word()
        }
    }

    pub(crate) fn family(&self) -> Family {
        Family {
            live: self.live.len(),
            undelivered: self.reports.len(),
            tokens: self.ledger.tokens,
            cost_usd: self.ledger.cost_usd,
            reserved_tokens: self.ledger.reserved_tokens,
            reserved_cost_usd: self.ledger.reserved_cost_usd,
            below: self.ledger.below,
        }
    }
}

/// What an agent's descendants cost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// Spent by descendants, for good.
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
    /// Set aside for children that have not settled.
    pub(crate) reserved_tokens: u64,
    pub(crate) reserved_cost_usd: f64,
    pub(crate) below: Below,
}

/// What has changed, counted, and how far the agent has looked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangeCounts {
    /// Changes of its own state.
    pub(crate) own: u64,
    /// Changes of its children's states.
    pub(crate) children: u64,
    /// `children` when it last looked at them.
    pub(crate) looked_children: Option<u64>,
    /// `own` of the descendants it looked at one by one.
    pub(crate) looked: BTreeMap<AgentId, u64>,
}

/// What an agent needs to know of its descendants for its own budget and for idling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Children that have not settled.
    pub live: usize,
    /// Reports of children that it was not given yet.
    pub undelivered: usize,
    /// Tokens spent below it, for good: what settled children and those below them spent.
    pub tokens: u64,
    /// Money spent below it, for good.
    pub cost_usd: f64,
    /// Tokens set aside for children that have not settled.
    pub reserved_tokens: u64,
    /// Money set aside for children that have not settled.
    pub reserved_cost_usd: f64,
    /// What settled descendants used, for its receipt.
    pub below: Below,
}
