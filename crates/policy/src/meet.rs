//! What two grants have in common: the grant of a child is its parent's met with its role's.

use posse_protocol::{Grant, NameRules, Network, PathRules};

/// The largest grant that allows nothing either of the two forbids. Associative, commutative, idempotent.
pub fn meet(a: &Grant, b: &Grant) -> Grant {
    Grant {
        files: a.files.min(b.files),
        writes: meet_paths(&a.writes, &b.writes),
        shell: a.shell.min(b.shell),
        network: meet_network(&a.network, &b.network),
        tools: meet_names(&a.tools, &b.tools),
        delegates: meet_names(&a.delegates, &b.delegates),
        approval: a.approval.min(b.approval),
    }
}

fn meet_network(a: &Network, b: &Network) -> Network {
    match (a, b) {
        (Network::Full, other) | (other, Network::Full) => other.clone(),
        (Network::Hosts(a), Network::Hosts(b)) => {
            let both = a.intersection(b).cloned().collect::<std::collections::BTreeSet<_>>();
            if both.is_empty() { Network::None } else { Network::Hosts(both) }
        }
        (Network::None, _) | (_, Network::None) => Network::None,
    }
}

fn meet_names(a: &NameRules, b: &NameRules) -> NameRules {
    NameRules {
        allow: a.allow.union(&b.allow).cloned().collect(),
        deny: a.deny.union(&b.deny).cloned().collect(),
    }
}

fn meet_paths(a: &PathRules, b: &PathRules) -> PathRules {
    PathRules {
        roots: a.roots.union(&b.roots).cloned().collect(),
        except: a.except.union(&b.except).cloned().collect(),
    }
}
