//! The list of work that a team of agents shares: what is to be done, after what, and who has taken it.
//!
//! ```text
//!   open ── claim ──▶ claimed ── done ──▶ done
//!     ▲                  │
//!     └──── release ─────┘    (also when its owner ends)
//! ```
//!
//! An item is ready when everything it comes after is done. It can only come after items that exist already, so there
//! are no circles. The board knows agents by id only; who may use it is not its business.

use std::fmt;

use posse_protocol::AgentId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits;

/// Names an item on its board: 1, 2, 3, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(pub u32);

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// Nobody works on it.
    Open,
    /// One agent works on it.
    Claimed(AgentId),
    /// This agent has done it.
    Done(AgentId),
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its number.
    pub id: ItemId,
    /// What is to be done.
    pub title: String,
    /// What must be done before.
    pub after: Vec<ItemId>,
    /// Who put it on the board.
    pub added_by: AgentId,
    /// How far it is.
    pub state: ItemState,
}

/// Why the board did not do what was asked, in words that a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BoardError {
    /// No room for another item.
    #[error("the board holds {max} items, which is the most: work on what is there", max = limits::BOARD_ITEMS_MAX)]
    Full,
    /// A title that is none.
    #[error("a title has 1 to {max} characters: say what is to be done in one line", max = limits::ITEM_TITLE_CHARS_MAX)]
    BadTitle,
    /// There is no such item.
    #[error("there is no item {id}: list the board to see which there are")]
    Unknown {
        /// The number asked for.
        id: ItemId,
    },
    /// Somebody else works on it.
    #[error("another agent has claimed {id}: claim another item")]
    Claimed {
        /// Which item.
        id: ItemId,
        /// Who works on it.
        by: AgentId,
    },
    /// It is done.
    #[error("{id} is done: claim another item")]
    Done {
        /// Which item.
        id: ItemId,
    },
    /// It has to wait for others.
    #[error("{id} comes after {}, not done yet: claim one of those or another item", numbers(.waits_for))]
    NotReady {
        /// Which item.
        id: ItemId,
        /// What must be done before it.
        waits_for: Vec<ItemId>,
    },
    /// There is nothing to claim.
    #[error(
        "nothing is ready ({claimed} claimed, {waiting} waiting for those): finish what you claimed, or end if that is nothing"
    )]
    NothingReady {
        /// Items that somebody works on.
        claimed: usize,
        /// Open items that come after others.
        waiting: usize,
    },
    /// Only its owner may do that.
    #[error("{id} is not yours: claim it first")]
    NotYours {
        /// Which item.
        id: ItemId,
    },
}

/// The board of one session. Items are never taken off, so a number always means the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    items: Vec<Item>,
}

impl Board {
    /// Puts up a new item that comes after others.
    pub fn add(&mut self, title: &str, after: &[ItemId], by: AgentId) -> Result<ItemId, BoardError> {
        // One line, so that a title cannot pose as further items.
        let title =
            title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let title = title.collect::<Vec<_>>().join(" ");
        if title.is_empty() || title.chars().count() > limits::ITEM_TITLE_CHARS_MAX {
            return Err(BoardError::BadTitle);
        }
        let mut after = after.to_vec();
        after.sort_unstable();
        after.dedup();
        for &id in &after {
            self.item(id)?;
        }
        let number = u32::try_from(self.items.len()).unwrap_or(u32::MAX).saturating_add(1);
        if self.items.len() >= limits::BOARD_ITEMS_MAX {
            return Err(BoardError::Full);
        }
        let id = ItemId(number);
        self.items.push(Item { id, title, after, added_by: by, state: ItemState::Open });
        Ok(id)
    }

    /// Gives an item to one agent: the one asked for, or the first that is ready. Claiming one's own again is fine.
    pub fn claim(&mut self, by: AgentId, id: Option<ItemId>) -> Result<&Item, BoardError> {
        let id = match id {
            Some(id) => id,
            None => self.items.iter().find(|item| self.is_ready(item)).ok_or_else(|| self.nothing())?.id,
        };
        let item = self.item(id)?;
        match item.state {
            ItemState::Done(_) => return Err(BoardError::Done { id }),
            ItemState::Claimed(owner) if owner != by => return Err(BoardError::Claimed { id, by: owner }),
            _ => {}
        }
        let waits_for = self.waits_for(item);
        if !waits_for.is_empty() {
            return Err(BoardError::NotReady { id, waits_for });
        }
        let item = self.item_mut(id)?;
        item.state = ItemState::Claimed(by);
        Ok(item)
    }

    /// An agent has done what it claimed. Returns the items that are ready because of it.
    pub fn done(&mut self, by: AgentId, id: ItemId) -> Result<Vec<ItemId>, BoardError> {
        self.owned(by, id)?.state = ItemState::Done(by);
        let freed = self.items.iter().filter(|item| item.after.contains(&id) && self.is_ready(item));
        Ok(freed.map(|item| item.id).collect())
    }

    /// An agent gives back what it claimed.
    pub fn release(&mut self, by: AgentId, id: ItemId) -> Result<(), BoardError> {
        self.owned(by, id)?.state = ItemState::Open;
        Ok(())
    }

    /// An agent has ended: what it claimed and did not do is open again. Returns those items.
    pub fn release_all(&mut self, by: AgentId) -> Vec<ItemId> {
        let claimed = self.items.iter_mut().filter(|item| item.state == ItemState::Claimed(by));
        claimed
            .map(|item| {
                item.state = ItemState::Open;
                item.id
            })
            .collect()
    }

    /// Everything on the board, in the order it was put up.
    pub fn list(&self) -> &[Item] {
        &self.items
    }

    /// The board as text for a model, one line an item, with agents called by the names that `name` gives them.
    pub fn text(&self, name: impl Fn(AgentId) -> String) -> String {
        if self.items.is_empty() {
            return "the board is empty".to_owned();
        }
        let line = |item: &Item| {
            let state = match item.state {
                ItemState::Open => match self.waits_for(item) {
                    waits_for if waits_for.is_empty() => "ready".to_owned(),
                    waits_for => format!("after {}", numbers(&waits_for)),
                },
                ItemState::Claimed(by) => format!("claimed by {}", name(by)),
                ItemState::Done(by) => format!("done by {}", name(by)),
            };
            format!("{} [{state}] {}", item.id, item.title)
        };
        self.items.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn is_ready(&self, item: &Item) -> bool {
        item.state == ItemState::Open && self.waits_for(item).is_empty()
    }

    /// What must still be done before an item.
    fn waits_for(&self, item: &Item) -> Vec<ItemId> {
        let done = |id: ItemId| self.item(id).is_ok_and(|item| matches!(item.state, ItemState::Done(_)));
        item.after.iter().copied().filter(|&id| !done(id)).collect()
    }

    fn nothing(&self) -> BoardError {
        let count = |wanted: fn(&ItemState) -> bool| self.items.iter().filter(|i| wanted(&i.state)).count();
        BoardError::NothingReady {
            claimed: count(|state| matches!(state, ItemState::Claimed(_))),
            waiting: count(|state| *state == ItemState::Open),
        }
    }

    fn owned(&mut self, by: AgentId, id: ItemId) -> Result<&mut Item, BoardError> {
        let item = self.item_mut(id)?;
        match item.state {
            ItemState::Claimed(owner) if owner == by => Ok(item),
            ItemState::Done(_) => Err(BoardError::Done { id }),
            _ => Err(BoardError::NotYours { id }),
        }
    }

    fn item(&self, id: ItemId) -> Result<&Item, BoardError> {
        self.items.get(place(id)).ok_or(BoardError::Unknown { id })
    }

    fn item_mut(&mut self, id: ItemId) -> Result<&mut Item, BoardError> {
        self.items.get_mut(place(id)).ok_or(BoardError::Unknown { id })
    }
}

/// Agents are called by their ids.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|id| id.to_string()))
    }
}

/// Where an item is; number 0 is nowhere.
fn place(id: ItemId) -> usize {
    usize::try_from(id.0).ok().and_then(|number| number.checked_sub(1)).unwrap_or(usize::MAX)
}

fn numbers(ids: &[ItemId]) -> String {
    ids.iter().map(ItemId::to_string).collect::<Vec<_>>().join(", ")
}
