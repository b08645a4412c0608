//! Rights only narrow: by parent, role, list of tools, by the agent before, and by a restart.

use std::collections::BTreeSet;

use fastrand::Rng;
use posse_delegate::{Limits, Refusal, Request, Tree};
use posse_policy::{delegates_to, may_write, meet, passes, reaches};
use posse_protocol::{Approval, Budget, Ending, Files, Grant, NameRules, Network, PathRules, Receipt, Shell};

use crate::journal::Journal;
use crate::scene::{MAIN, admitted, id, refused, request, tree_of};

const TOOLS: &[&str] = &["read", "write", "edit", "git_log", "x"];
const TOOL_PATTERNS: &[&str] = &["*", "read", "edit", "git_*", "*e*", ""];
const ROLES: &[&str] = &["coder", "tester", "plan"];
const ROLE_PATTERNS: &[&str] = &["*", "*er", "coder", "p*"];
const HOSTS: &[&str] = &["a.example", "b.example"];
const PATHS: &[&str] = &["src", "src/gen", "docs"];
const APPROVALS: [Approval; 5] =
    [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full];

fn some(rng: &mut Rng, of: &[&str]) -> BTreeSet<String> {
    of.iter().filter(|_| rng.u8(0..3) == 0).map(|&one| one.to_owned()).collect()
}

fn rules(rng: &mut Rng, patterns: &[&str]) -> NameRules {
    let mut allow = BTreeSet::new();
    for _ in 0..rng.u8(0..3) {
        allow.insert(some(rng, patterns));
    }
    // `*` would deny everything, and then nothing is left to test.
    let deny = if rng.bool() { BTreeSet::new() } else { some(rng, &patterns[1..]) };
    NameRules { allow, deny }
}

fn grant(rng: &mut Rng) -> Grant {
    let hosts = some(rng, HOSTS);
    Grant {
        files: [Files::None, Files::Read, Files::Write][rng.usize(0..3)],
        writes: PathRules {
            roots: (0..rng.u8(0..2)).map(|_| some(rng, PATHS)).collect(),
            except: if rng.bool() { BTreeSet::new() } else { some(rng, PATHS) },
        },
        approval: APPROVALS[rng.usize(0..5)],
        shell: [Shell::None, Shell::Inspect, Shell::Verify, Shell::Full][rng.usize(0..4)],
        network: match rng.u8(0..3) {
            0 => Network::Full,
            1 if !hosts.is_empty() => Network::Hosts(hosts),
            _ => Network::None,
        },
        tools: rules(rng, TOOL_PATTERNS),
        // Often everything, so that the tree gets deep.
        delegates: if rng.bool() { NameRules::default() } else { rules(rng, ROLE_PATTERNS) },
    }
}

/// Everything that a grant allows, one bit each. What can be done counts, not how it is written.
fn rights(grant: &Grant) -> u64 {
    let files = [Files::Read, Files::Write].map(|level| grant.files >= level);
    let shell = [Shell::Inspect, Shell::Verify, Shell::Full].map(|level| grant.shell >= level);
    let hosts = HOSTS.iter().chain(&["other"]).map(|host| reaches(&grant.network, host));
    let tools = TOOLS.iter().map(|tool| passes(&grant.tools, tool));
    let roles = ROLES.iter().map(|role| delegates_to(grant, role));
    let writes = PATHS.iter().map(|path| may_write(&grant.writes, path));
    let approval = APPROVALS.map(|mode| grant.approval >= mode);
    let all =
        files.into_iter().chain(shell).chain(hosts).chain(tools).chain(roles).chain(writes).chain(approval);
    all.fold(0, |bits, allowed| bits << 1 | u64::from(allowed))
}

/// Whether the first allows something that the second does not.
fn wider(a: u64, b: u64) -> bool {
    a & !b != 0
}

/// A random task below a parent; `None` if the parent may not delegate to its role.
fn narrowed(
    rng: &mut Rng,
    (tree, journal): (&mut Tree, &mut Journal),
    number: u64,
    parent: u64,
    continues: Option<u64>,
) -> Option<Grant> {
    let role = ROLES[rng.usize(0..ROLES.len())];
    let role_grant = grant(rng);
    let allowed_tools = rng.bool().then(|| some(rng, TOOL_PATTERNS).into_iter().collect::<Vec<_>>());
    let above = tree.node(id(parent)).unwrap().grant.clone();
    let request = Request {
        role: role.to_owned(),
        role_grant: role_grant.clone(),
        untrusted_file: rng.bool(),
        background: rng.bool(),
        allowed_tools: allowed_tools.clone(),
        continues: continues.map(id),
        ..request(number, parent)
    };
    let child = match journal.admit(tree, request) {
        Ok(admission) => admission.grant,
        Err(refusal) => {
            assert!(matches!(refusal, Refusal::RoleNotAllowed { .. }) && !delegates_to(&above, role));
            return None;
        }
    };
    assert!(delegates_to(&above, role));
    let now = rights(&child);
    let most = rights(&above) & rights(&role_grant);
    assert!(!wider(now, most), "{child:?} of {above:?} and {role_grant:?}");
    // Dear, and less than what was just checked.
    if rng.u8(0..8) == 0 {
        assert_eq!(meet(&above, &child), child);
    }
    if let Some(list) = allowed_tools {
        let listed = NameRules::only(list);
        assert!(TOOLS.iter().all(|tool| !passes(&child.tools, tool) || passes(&listed, tool)));
    }
    if let Some(old) = continues {
        assert!(!wider(now, rights(&tree.node(id(old)).unwrap().grant)), "a follow-up gained rights");
    }
    assert_eq!(tree.node(id(number)).unwrap().grant, child);
    Some(child)
}

/// A parent, a child, its follow-up and a grandchild; returns how many were admitted.
fn generations(rng: &mut Rng, tree: &mut Tree, journal: &mut Journal) -> usize {
    if narrowed(rng, (tree, journal), 1, MAIN, None).is_none() {
        return 0;
    }
    journal.settle(tree, id(1), &Ending::Completed, &Receipt::default()).unwrap();
    if narrowed(rng, (tree, journal), 2, MAIN, Some(1)).is_none() {
        return 1;
    }
    if narrowed(rng, (tree, journal), 3, 2, None).is_none() { 2 } else { 3 }
}

/// The same agents after a restart, under a main agent that may have other rights, with records that may have been
/// tampered with; returns how many there are.
fn resumed(rng: &mut Rng, limits: Limits, tree: &Tree, journal: &Journal) -> usize {
    let (mut main, mut agents) = (journal.main(tree), journal.agents(tree));
    if rng.bool() {
        main.grant = grant(rng);
    }
    for known in &mut agents {
        if rng.u8(0..3) == 0 {
            known.grant = grant(rng);
        }
    }
    let restored = Tree::restored(limits, main, agents.clone());
    assert_eq!((restored.refused, restored.stopping), (vec![], vec![]));
    for known in &agents {
        let held = |id| rights(&restored.tree.node(id).unwrap().grant);
        let most = held(known.parent) & rights(&known.grant) & known.continues.map_or(u64::MAX, held);
        assert!(!wider(held(known.id), most), "{} gained rights by a restart", known.name);
    }
    agents.len()
}

/// How many agents were admitted below a random main agent, and how many there were after a restart.
fn lives(seed: u64) -> (usize, usize) {
    let mut rng = Rng::with_seed(seed);
    let limits = Limits { depth_max: 3, ..Limits::default() };
    let mut tree = Tree::new(limits, id(MAIN), grant(&mut rng), Budget::UNLIMITED);
    let mut journal = Journal::default();
    let admitted = generations(&mut rng, &mut tree, &mut journal);
    (admitted, resumed(&mut rng, limits, &tree, &journal))
}

/// Promise X6.
#[test]
fn a_child_never_has_more_rights_than_its_parent() {
    let (mut seed, mut checked, mut restarted) = (0, 0, 0);
    while checked < 100_000 {
        let (admitted, again) = std::panic::catch_unwind(|| lives(seed)).unwrap_or_else(|cause| {
            println!("seed {seed}");
            std::panic::resume_unwind(cause)
        });
        (checked, restarted) = (checked + admitted, restarted + again);
        seed += 1;
        assert!(seed < 200_000, "only {checked} were admitted");
    }
    assert!((100_000..100_003).contains(&checked), "{checked}");
    assert_eq!(restarted, checked);
}

#[test]
fn a_list_of_tools_narrows_and_an_empty_one_leaves_none() {
    let cases: [(Option<Vec<String>>, &[&str]); 3] = [
        (None, &["read", "write"]),
        (Some(vec!["re*".into(), "agent".into()]), &["read"]),
        (Some(vec![]), &[]),
    ];
    for (number, (allowed_tools, want)) in (1..).zip(cases) {
        let role_grant = Grant { tools: NameRules::only(["read", "write"]), ..Grant::full() };
        let grant =
            admitted(&mut tree_of(9), Request { role_grant, allowed_tools, ..request(number, MAIN) }).grant;
        let usable: Vec<&str> = TOOLS.iter().copied().filter(|tool| passes(&grant.tools, tool)).collect();
        assert_eq!(usable, want);
    }
    let endless = Some(vec!["read".to_owned(); 257]);
    let refusal = refused(&mut tree_of(9), Request { allowed_tools: endless, ..request(1, MAIN) });
    assert_eq!(refusal, Refusal::TooManyTools);
}

#[test]
fn no_child_steers_asks_or_uses_a_screen_and_a_strangers_file_asks_first() {
    // The file's trust, the background; the tools that are left of three; what it does without asking.
    let cases = [
        (false, false, [false, false, true], Approval::Full),
        (true, false, [false, false, true], Approval::Ask),
        (false, true, [false, false, false], Approval::Full),
        (true, true, [false, false, false], Approval::Ask),
    ];
    let mut count = 0;
    for (untrusted_file, background, tools, approval) in cases {
        let request = Request { untrusted_file, background, ..request(1, MAIN) };
        let grant = admitted(&mut tree_of(9), request).grant;
        let left = ["ask_person", "session_end", "browser_open"].map(|tool| passes(&grant.tools, tool));
        assert_eq!((left, grant.approval), (tools, approval), "{untrusted_file} {background}");
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn children_of_a_planner_plan() {
    let plan = Grant { approval: Approval::Plan, ..Grant::full() };
    let limits = Limits { depth_max: 3, ..Limits::default() };
    let mut tree = Tree::new(limits, id(MAIN), plan, Budget::UNLIMITED);
    for number in 1..=3 {
        assert_eq!(admitted(&mut tree, request(number, number - 1)).grant.approval, Approval::Plan);
    }
}

#[test]
fn a_parent_delegates_only_to_the_roles_it_may() {
    let only = |roles: &[&str]| NameRules::only(roles.iter().copied());
    let denied = NameRules { deny: BTreeSet::from(["coder".to_owned()]), ..NameRules::default() };
    let both = meet(
        &Grant { delegates: only(&["tester", "review*", "coder2"]), ..Grant::full() },
        &Grant { delegates: only(&["tester", "planner"]), ..Grant::full() },
    );
    let cases = [
        (only(&["tester", "planner"]), Some("it may delegate to planner, tester")),
        (both.delegates, Some("it may delegate to tester")),
        (NameRules::nothing(), Some("do this work yourself")),
        (denied, Some("choose another role")),
        (only(&["cod*"]), None),
        (NameRules::default(), None),
    ];
    let mut count = 0;
    for (delegates, want) in cases {
        let grant = Grant { delegates, ..Grant::full() };
        let mut tree = Tree::new(Limits::default(), id(MAIN), grant, Budget::UNLIMITED);
        let got = tree.admit(Request { role: "coder".to_owned(), ..request(1, MAIN) }).err();
        let role = "coder".to_owned();
        assert_eq!(got, want.map(|hint| Refusal::RoleNotAllowed { role, hint: hint.to_owned() }));
        count += 1;
    }
    assert_eq!(count, 6);
}
