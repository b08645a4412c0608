//! The agents of a session, in the order in which they came, each found by its id at once.

use std::collections::HashMap;

use posse_protocol::AgentId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AgentView, limits};

/// The agents of a session. As JSON, a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentList {
    list: Vec<AgentView>,
    places: HashMap<AgentId, usize>,
}

impl AgentList {
    /// An agent by its id.
    pub fn get(&self, id: AgentId) -> Option<&AgentView> {
        self.list.get(*self.places.get(&id)?)
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> std::slice::Iter<'_, AgentView> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn get_mut(&mut self, id: AgentId) -> Option<&mut AgentView> {
        self.list.get_mut(*self.places.get(&id)?)
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, AgentView> {
        self.list.iter_mut()
    }

    /// Adds one that is not there yet.
    pub(crate) fn add(&mut self, agent: AgentView) {
        self.places.insert(agent.id, self.list.len());
        self.list.push(agent);
    }

    /// Changes all agents above one, the nearest first. Agents that name each other as parents, which no session has, end
    /// it.
    pub(crate) fn change_above(&mut self, id: AgentId, mut change: impl FnMut(&mut AgentView)) {
        let mut next = self.get(id).and_then(|agent| agent.parent);
        for _ in 0..limits::LEVELS_MAX {
            let Some(agent) = next.and_then(|id| self.get_mut(id)) else { return };
            change(agent);
            next = agent.parent;
        }
    }
}

impl<'a> IntoIterator for &'a AgentList {
    type Item = &'a AgentView;
    type IntoIter = std::slice::Iter<'a, AgentView>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for AgentList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AgentList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut agents = Self::default();
        for agent in Vec::<AgentView>::deserialize(deserializer)? {
            agents.add(agent);
        }
        Ok(agents)
    }
}
