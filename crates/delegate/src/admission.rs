//! Whether a task may become an agent, and what that agent may do and spend.

use std::collections::BTreeSet;

use posse_policy::{child_grant, delegates_to, meet};
use posse_protocol::{AgentId, Budget, Grant, NameRules, QueueReason};

use crate::budget;
use crate::limits::{self, OverCap};
use crate::names::AgentNames;
use crate::node::{Endpoint, Node, State};
use crate::refusal::Refusal;
use crate::tree::Tree;

/// A request to start an agent for a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The new agent's id.
    pub id: AgentId,
    /// Who delegates.
    pub parent: AgentId,
    /// What it shall be called; a name after its role, or that of the agent it continues, where `None`.
    pub name: Option<String>,
    /// The canonical name of its role.
    pub role: String,
    /// What it is asked to do, in a few words.
    pub title: String,
    /// The most its role may do.
    pub role_grant: Grant,
    /// Its role comes from a file that the person has not trusted: it asks before it does anything.
    pub untrusted_file: bool,
    /// It runs in the background: it gets no tool that needs a screen.
    pub background: bool,
    /// The only tools it may use, by pattern; narrows further.
    pub allowed_tools: Option<Vec<String>>,
    /// What it wants to spend, defaults filled in.
    pub budget: Budget,
    /// Where its model is.
    pub endpoint: Endpoint,
    /// The settled agent whose conversation and name it takes over. It may not do more than that agent could.
    pub continues: Option<AgentId>,
}

/// An admitted agent: its name, rights and budget, and whether it may run now.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// What it is called.
    pub name: String,
    /// 1 for a child of the main agent.
    pub depth: u32,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub budget: Budget,
    /// What it waits for; `None`: start it now, it holds its slot.
    pub queued: Option<QueueReason>,
    /// How many are in the queue before it.
    pub ahead: usize,
}

impl Tree {
    /// Admits a task below its parent, to start now or when its turn comes. A refusal changes nothing. What is left of the
    /// parent's budget is reckoned by what `spent` was last told of it.
    pub fn admit(&mut self, request: Request) -> Result<Admission, Refusal> {
        let parent = self.parent_of(&request)?;
        let predecessor = self.predecessor(&request)?;
        let grant = narrow(&parent.grant, &request, predecessor.map(|node| &node.grant));
        let budget = budget::carve(parent, request.budget)?;
        let depth = parent.depth.saturating_add(1);
        let queued = self.room_for(&request.endpoint)?;
        let ahead = queued.map_or(0, |_| self.slots.queue.len());
        let name = self.name_for(&request)?;

        self.insert(request, &name, depth, grant.clone(), budget, queued);
        Ok(Admission { name, depth, grant, budget, queued, ahead })
    }

    /// The parent, if it may have this child.
    fn parent_of(&self, request: &Request) -> Result<&Node, Refusal> {
        let unknown = || Refusal::Unknown { id: request.parent.to_string() };
        let parent = self.nodes.get(&request.parent).ok_or_else(unknown)?;
        let (depth, max) = (parent.depth.saturating_add(1), self.limits.depth_max);
        if self.nodes.contains_key(&request.id) {
            return Err(Refusal::IdTaken { id: request.id.to_string() });
        }
        if parent.state.is_settled() {
            return Err(Refusal::ParentSettled);
        }
        if parent.stopping {
            return Err(Refusal::ParentStopping);
        }
        if depth > max {
            return Err(Refusal::TooDeep { depth, max });
        }
        if !delegates_to(&parent.grant, &request.role) {
            let hint = roles_hint(&parent.grant);
            return Err(Refusal::RoleNotAllowed { role: request.role.clone(), hint });
        }
        if request.allowed_tools.as_ref().is_some_and(|tools| tools.len() > limits::ALLOWED_TOOLS_MAX) {
            return Err(Refusal::TooManyTools);
        }
        // Main is a node, and no sub-agent.
        if self.nodes.len() > self.limits.agents_max {
            return Err(Refusal::TooManyAgents { max: self.limits.agents_max });
        }
        Ok(parent)
    }

    /// The agent whose conversation goes on, if it may.
    fn predecessor(&self, request: &Request) -> Result<Option<&Node>, Refusal> {
        let Some(id) = request.continues else { return Ok(None) };
        let node = self.nodes.get(&id).ok_or_else(|| Refusal::Unknown { id: id.to_string() })?;
        if !node.state.is_settled() {
            return Err(Refusal::StillThere { name: node.name.clone() });
        }
        if let Some(successor) = node.continued_by.and_then(|id| self.nodes.get(&id)) {
            let (name, successor) = (node.name.clone(), successor.name.clone());
            return Err(Refusal::FollowedUp { name, successor });
        }
        Ok(Some(node))
    }

    /// Why a new agent would have to wait, if it may wait.
    fn room_for(&self, endpoint: &Endpoint) -> Result<Option<QueueReason>, Refusal> {
        let queued = self.slots.blocked(endpoint, self.limits.running_max);
        if queued == Some(QueueReason::RunningCap) && self.limits.over_cap == OverCap::Error {
            return Err(Refusal::RunningCap { cap: self.limits.running_max });
        }
        if queued.is_some() && self.slots.queue.len() >= self.limits.queued_max {
            return Err(Refusal::QueueFull { max: self.limits.queued_max });
        }
        Ok(queued)
    }

    fn name_for(&mut self, request: &Request) -> Result<String, Refusal> {
        let inherited = request.continues.and_then(|id| self.nodes.get(&id));
        match (&request.name, inherited) {
            (None, Some(predecessor)) => Ok(predecessor.name.clone()),
            (None, None) => Ok(self.names.numbered(&request.role)),
            (Some(name), _) => {
                let name = AgentNames::given(name)?;
                match self.names.find(&name) {
                    Some(owner) if Some(owner) != request.continues => Err(Refusal::NameTaken { name }),
                    _ => Ok(name),
                }
            }
        }
    }

    /// Puts an admitted agent into the tree.
    fn insert(
        &mut self,
        request: Request,
        name: &str,
        depth: u32,
        grant: Grant,
        budget: Budget,
        queued: Option<QueueReason>,
    ) {
        let Request { id, parent, role, title, endpoint, continues, .. } = request;
        self.attach(Node {
            parent: Some(parent),
            name: name.to_owned(),
            role,
            title: title.chars().take(limits::TITLE_CHARS_MAX).collect(),
            depth,
            state: State::Pending,
            endpoint: Some(endpoint),
            continues,
            ..Node::main(id, grant, budget)
        });
        if queued.is_some() {
            self.enqueue(id);
        } else {
            self.begin(id);
        }
    }

    /// Makes an agent known to those it has to do with: the one it continues, its parent, and whoever pays for it.
    pub(crate) fn attach(&mut self, mut node: Node) {
        let (id, budget) = (node.id, node.budget);
        let Some(parent) = node.parent else { return };
        node.generation = self.hand_over(node.continues, id, &node.name);
        self.names.set(node.name.clone(), id);
        self.nodes.insert(id, node);
        if let Some(parent) = self.nodes.get_mut(&parent) {
            parent.children.push(id);
        }
        let payer = self.payer(parent);
        if let Some(node) = self.nodes.get_mut(&payer) {
            if payer == parent {
                node.live.push(id)
            } else {
                node.strays.push(id)
            }
            budget::reserve(node, budget);
        }
    }

    /// Lets an agent wait for its first slot.
    pub(crate) fn enqueue(&mut self, id: AgentId) {
        self.slots.queue.push_back(id);
        self.change(id, |node| node.state = State::Queued);
    }

    /// Lets a new agent take the place of the one it continues, and its name if it has that; the old one is then called
    /// `name~1`, the next `name~2`, which no given name can be. Returns how many had the name before.
    fn hand_over(&mut self, continues: Option<AgentId>, successor: AgentId, name: &str) -> u32 {
        let Some(old) = continues.and_then(|id| self.nodes.get_mut(&id)) else { return 0 };
        old.continued_by = Some(successor);
        if old.name != name {
            return 0;
        }
        let generation = old.generation.saturating_add(1);
        old.name = format!("{name}~{generation}");
        self.names.set(old.name.clone(), old.id);
        generation
    }
}

/// What the parent leaves its children, the role, the list of the task and the agent before it allow, all together.
fn narrow(parent: &Grant, request: &Request, predecessor: Option<&Grant>) -> Grant {
    let mut grant = child_grant(parent, &request.role_grant, request.untrusted_file, request.background);
    if let Some(tools) = &request.allowed_tools {
        let listed = Grant { tools: NameRules::only(tools.iter().cloned()), ..Grant::full() };
        grant = meet(&grant, &listed);
    }
    if let Some(predecessor) = predecessor {
        grant = meet(&grant, predecessor);
    }
    grant
}

/// Which roles an agent may delegate to, as advice.
fn roles_hint(grant: &Grant) -> String {
    // A name must pass every layer, so the names of all of them hold every one that passes.
    let named: BTreeSet<&String> = grant.delegates.allow.iter().flatten().collect();
    let usable: Vec<&str> = named
        .into_iter()
        .map(String::as_str)
        .filter(|role| delegates_to(grant, role))
        .take(limits::ROLES_NAMED_MAX)
        .collect();
    if !usable.is_empty() {
        format!("it may delegate to {}", usable.join(", "))
    } else if delegates_to(grant, "") {
        "choose another role".to_owned()
    } else {
        "do this work yourself".to_owned()
    }
}
