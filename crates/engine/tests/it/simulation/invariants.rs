//! What holds after every step, at every admission, at every end, and when all is over.

use std::collections::BTreeMap;

use posse_delegate::{Admission, Node, State};
use posse_policy::meet;
use posse_protocol::AgentId;

use super::world::{Doing, World, id};

/// Slots are within their caps and as the states say; nobody is left below one that has ended.
pub(super) fn after_a_step(world: &mut World) {
    let tree = &world.tree;
    let (mut running, mut queued) = (0, 0);
    let mut at_endpoint: BTreeMap<&str, (usize, Option<usize>)> = BTreeMap::new();
    for node in tree.nodes() {
        let over = node.state.is_settled();
        if let Some(endpoint) = node.endpoint.as_ref().filter(|_| node.state.holds_slot()) {
            running += 1;
            at_endpoint.entry(&endpoint.name).or_insert((0, endpoint.agents_max)).0 += 1;
        }
        queued += usize::from(node.state == State::Queued && !node.stopping);
        let above = node.parent.and_then(|parent| tree.node(parent));
        assert!(over || above.is_none_or(|above| !above.state.is_settled()), "{} is an orphan", node.name);
        assert!(
            over || above.is_none_or(|above| !above.stopping || node.stopping),
            "{} was not stopped",
            node.name
        );
    }
    assert_eq!((tree.running(), tree.queued()), (running, queued), "slots are not as the states say");
    assert!(running <= world.limits.running_max, "{running} run");
    assert!(queued <= world.limits.queued_max, "{queued} wait");
    for (endpoint, (busy, max)) in at_endpoint {
        assert!(max.is_none_or(|max| busy <= max), "{busy} run at {endpoint}");
    }
    for (number, actor) in world.actors.iter().enumerate() {
        let state = tree.node(id(number)).map(|node| &node.state);
        let fits = match actor.doing {
            Doing::Over => state.is_some_and(State::is_settled),
            Doing::Queued => state == Some(&State::Queued),
            Doing::Begins | Doing::Works(_) => {
                state == Some(&State::Running) || number == 0 || returning(state)
            }
            Doing::Waits { .. } | Doing::Rests => state == Some(&State::Parked),
            Doing::Calls | Doing::Ends { .. } => state.is_some_and(|state| !state.is_settled()),
        };
        assert!(fits, "{number} is {state:?}");
        assert_eq!(actor.settled, u32::from(matches!(actor.doing, Doing::Over)), "{number} settles once");
        assert!(actor.delivered <= 1, "the report of {number} was given {} times", actor.delivered);
    }
}

fn returning(state: Option<&State>) -> bool {
    matches!(state, Some(State::Returning | State::Parked))
}

/// A child gets no more than its parent has, of anything.
pub(super) fn at_admission(world: &World, parent: usize, admission: &Admission) {
    let parent = world.tree.node(id(parent)).expect("a parent");
    assert_eq!(meet(&parent.grant, &admission.grant), admission.grant, "a child may do more than its parent");
    assert!(admission.depth <= world.limits.depth_max, "too deep");
    assert!(world.tree.nodes().count() <= world.limits.agents_max + 1, "too many agents");
    let (child, whole) = (admission.budget, parent.budget);
    assert!(whole.turns.is_none_or(|most| child.turns.is_some_and(|turns| turns <= most)));
    assert!(whole.time_ms.is_none_or(|most| child.time_ms.is_some_and(|ms| ms <= most)));
    let family = world.tree.family(parent.id);
    let gone = parent.tokens + family.tokens + family.reserved_tokens;
    assert!(whole.tokens.is_none_or(|all| gone <= all), "{gone} of {:?} tokens are given away", whole.tokens);
    let usd = parent.spent.cost_usd.unwrap_or(0.0) + family.cost_usd + family.reserved_cost_usd;
    assert!(
        whole.cost_usd.is_none_or(|all| usd <= all + 1e-9),
        "{usd} of {:?} is given away",
        whole.cost_usd
    );
}

/// The books are right, and what was spent beyond the budget is what was under way when it ran out.
pub(super) fn at_settling(world: &World, number: usize) {
    let node = world.tree.node(id(number)).expect("it settled");
    let family = world.tree.family(node.id);
    let children = || node.children.iter().filter_map(|child| world.tree.node(*child));
    assert_eq!(family.live, 0);
    assert_eq!(family.reserved_tokens, 0, "what was set aside has come back");
    assert!(family.reserved_cost_usd == 0.0 && family.cost_usd >= 0.0, "{family:?}");
    assert_eq!(
        family.tokens,
        children().map(|child| in_all(world, child)).sum::<u64>(),
        "what children spent"
    );
    assert_eq!(node.tokens, world.actors[number].agent.tokens_counted().max(node.tokens));

    let actor = &world.actors[number];
    let late = |child: &&Node| actor.since_work.contains(&child.id);
    let over_by =
        |child: &Node| child.budget.tokens.map_or(0, |all| in_all(world, child).saturating_sub(all));
    let Some(budget) = node.budget.tokens else { return };
    // A first reply is always allowed, even where it alone is more than the budget.
    let budget = budget.max(actor.reply_max);
    // The reply that was under way and the last words; where replies are all alike, one of them is within the budget.
    let replies = if world.temper.steady.is_some() && actor.since_work.is_empty() { 1 } else { 2 };
    let most = budget + replies * actor.reply_max + children().filter(late).map(over_by).sum::<u64>();
    assert!(
        in_all(world, node) <= most,
        "{number} spent {} of {budget}, at most {most}",
        in_all(world, node)
    );
}

fn in_all(world: &World, node: &Node) -> u64 {
    node.tokens + world.tree.family(node.id).tokens
}

/// All slots are free, all agents settled once, and every report was given to its parent or lies there for it.
pub(super) fn at_the_end(world: &World) {
    assert_eq!((world.tree.running(), world.tree.queued()), (0, 0));
    let mut waiting: BTreeMap<AgentId, usize> = BTreeMap::new();
    for (number, actor) in world.actors.iter().enumerate() {
        let node = world.tree.node(id(number)).expect("a node");
        assert!(node.state.is_settled() && actor.settled == 1, "{number} is over, once");
        assert_eq!(node.delivered, actor.delivered == 1, "the report of {number}");
        if let Some(parent) = node.parent.filter(|_| !node.delivered) {
            *waiting.entry(parent).or_default() += 1;
        }
    }
    for node in world.tree.nodes() {
        let waits = waiting.get(&node.id).copied().unwrap_or(0);
        assert_eq!(world.tree.undelivered(node.id), waits, "reports for {}", node.name);
    }
}
