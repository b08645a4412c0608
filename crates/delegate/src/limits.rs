//! Every limit of the tree, in one place: those a person may set, and those nobody may pass.

use serde::{Deserialize, Serialize};

/// How deep agents may delegate unless the configuration says otherwise: 1 is a child of the main agent.
pub const DEPTH_MAX: u32 = 2;
/// The deepest tree a configuration can ask for.
pub const DEPTH_MAX_CEILING: u32 = 16;
/// Sub-agents at work at the same time unless the configuration says otherwise.
pub const RUNNING_MAX: usize = 10;
/// The most a configuration can ask for.
pub const RUNNING_MAX_CEILING: usize = 1_000;
/// Agents that may wait for their first slot.
pub const QUEUED_MAX: usize = 1_000;
/// Sub-agents of one session, settled ones included.
pub const AGENTS_MAX: usize = 10_000;
/// Fewer tokens than this are of no use to a child.
pub const TOKENS_MIN: u64 = 1_000;
/// Less money than this is of no use to a child.
pub const COST_USD_MIN: f64 = 0.000_1;
/// What one child gets at most of what its parent has left, in quarters: the parent must be able to go on.
pub const SHARE_QUARTERS: u64 = 3;
/// The longest name of an agent, in characters.
pub const NAME_CHARS_MAX: usize = 40;
/// The longest part of a role that goes into a name of our own, in characters.
pub const NAME_ROLE_CHARS_MAX: usize = 30;
/// The longest title kept, in characters.
pub const TITLE_CHARS_MAX: usize = 200;
/// Tool patterns that one task may list.
pub const ALLOWED_TOOLS_MAX: usize = 256;
/// Roles named in a refusal.
pub const ROLES_NAMED_MAX: usize = 12;
/// The shortest beginning of an id by which an agent can be found, in characters.
pub const ID_PREFIX_CHARS_MIN: usize = 8;
/// Items on a board, done ones included.
pub const BOARD_ITEMS_MAX: usize = 500;
/// The longest title of an item, in characters.
pub const ITEM_TITLE_CHARS_MAX: usize = 200;

/// What a person may set for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The depth of the deepest agent; 0 is no delegation at all.
    pub depth_max: u32,
    /// Sub-agents that may run at the same time.
    pub running_max: usize,
    /// What happens to one more.
    pub over_cap: OverCap,
    /// Agents that may wait for their first slot.
    pub queued_max: usize,
    /// Sub-agents in all, settled ones included.
    pub agents_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth_max: DEPTH_MAX,
            running_max: RUNNING_MAX,
            over_cap: OverCap::Queue,
            queued_max: QUEUED_MAX,
            agents_max: AGENTS_MAX,
        }
    }
}

impl Limits {
    /// The same, within what a tree can bear. At least one agent may always run, or nothing queued would ever start.
    pub(crate) fn bounded(self) -> Self {
        Self {
            depth_max: self.depth_max.min(DEPTH_MAX_CEILING),
            running_max: self.running_max.clamp(1, RUNNING_MAX_CEILING),
            agents_max: self.agents_max.min(AGENTS_MAX),
            ..self
        }
    }
}

/// What happens to a task when as many agents run as may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverCap {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It is refused.
    Error,
}
