//! `meet` is a meet: it only ever narrows, and the order of meeting does not matter.

use std::collections::BTreeSet;

use posse_policy::{delegates_to, meet, offers, reaches};
use posse_protocol::{Files, Grant, NameRules, Needs, Network, Shell, ToolSpec};
use proptest::prelude::*;

fn any_files() -> impl Strategy<Value = Files> {
    prop_oneof![Just(Files::None), Just(Files::Read), Just(Files::Write)]
}

fn any_shell() -> impl Strategy<Value = Shell> {
    prop_oneof![Just(Shell::None), Just(Shell::Inspect), Just(Shell::Verify), Just(Shell::Full)]
}

fn any_names(most: usize) -> impl Strategy<Value = BTreeSet<String>> {
    proptest::collection::btree_set("[ab_]{0,2}\\*?[ab]{0,1}", 0..most)
}

fn any_grant() -> impl Strategy<Value = Grant> {
    let network = prop_oneof![
        Just(Network::None),
        Just(Network::Full),
        proptest::collection::btree_set("[ab]", 1..3).prop_map(Network::Hosts),
    ];
    (any_files(), any_shell(), network, any_rules(), any_rules()).prop_map(
        |(files, shell, network, tools, delegates)| Grant { files, shell, network, tools, delegates },
    )
}

fn any_rules() -> impl Strategy<Value = NameRules> {
    (proptest::collection::btree_set(any_names(3), 0..3), any_names(2))
        .prop_map(|(allow, deny)| NameRules { allow, deny })
}

fn any_tool() -> impl Strategy<Value = ToolSpec> {
    ("[ab_]{0,3}", any_files(), any_shell(), any::<bool>()).prop_map(|(name, files, shell, network)| {
        ToolSpec {
            name,
            description: String::new(),
            schema: serde_json::json!({}),
            needs: Needs { files, shell, network },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn never_widens(a in any_grant(), b in any_grant(), tool in any_tool(), host in "[ab]") {
        let both = meet(&a, &b);
        prop_assert_eq!(offers(&both, &tool) && !(offers(&a, &tool) && offers(&b, &tool)), false);
        let role = &tool.name;
        prop_assert_eq!(delegates_to(&both, role), delegates_to(&a, role) && delegates_to(&b, role));
        prop_assert_eq!(reaches(&both.network, &host), reaches(&a.network, &host) && reaches(&b.network, &host));
    }

    #[test]
    fn is_a_meet(a in any_grant(), b in any_grant(), c in any_grant()) {
        prop_assert_eq!(meet(&a, &a), a.clone());
        prop_assert_eq!(meet(&a, &b), meet(&b, &a));
        prop_assert_eq!(meet(&meet(&a, &b), &c), meet(&a, &meet(&b, &c)));
        prop_assert_eq!(meet(&a, &Grant::none()).files, Files::None);
    }
}
