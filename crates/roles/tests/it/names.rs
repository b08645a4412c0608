//! Roles are found by any of their names, and an unknown one says which there are.

use posse_protocol::RoleOrigin;
use posse_roles::{DEFAULT_ROLE, Roles, Team, parse};

const ALIASES: [(&str, &[&str]); 8] = [
    ("general", &["worker", "default", "general-purpose"]),
    ("explore", &["explorer", "exploration"]),
    ("plan", &["planning", "awaiter"]),
    ("review", &["reviewer", "code-review"]),
    ("implementer", &["implement", "implementation", "builder"]),
    ("verifier", &["verify", "verification", "validator", "tester"]),
    ("skill", &[]),
    ("custom", &[]),
];

#[test]
fn every_alias_leads_to_its_role() {
    let roles = Roles::builtin(Team::Without);
    let mut count = 0;
    for (name, aliases) in ALIASES {
        for written in [name].iter().chain(aliases) {
            let spellings = [
                written.to_string(),
                written.to_uppercase(),
                written.replace('-', "_"),
                written.replace('-', " "),
                written.replace('-', ""),
                format!(" {written} "),
            ];
            for spelling in spellings {
                assert_eq!(roles.find(&spelling).unwrap().name, name, "{spelling:?}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 24 * 6);
    let accepted = roles.accepted();
    let listed = accepted.iter().map(|one| (one.name.as_str(), one.aliases.clone())).collect::<Vec<_>>();
    assert_eq!(
        listed,
        ALIASES.map(|(name, aliases)| (name, aliases.iter().map(|a| a.to_string()).collect()))
    );
    assert_eq!(roles.find(DEFAULT_ROLE).unwrap().name, "general");
}

#[test]
fn a_role_goes_before_an_alias() {
    let team = Roles::builtin(Team::With);
    let cases = [
        ("tester", "tester"),
        ("reviewer", "reviewer"),
        ("code-review", "review"),
        ("validator", "verifier"),
    ];
    for (written, name) in cases {
        assert_eq!(team.find(written).unwrap().name, name);
    }
    let verifier = team.accepted().into_iter().find(|one| one.name == "verifier").unwrap();
    assert_eq!(verifier.aliases, ["verify", "verification", "validator"], "tester is another role here");
}

#[test]
fn an_unknown_role_says_which_there_are() {
    let roles = Roles::builtin(Team::Without);
    let list = "Accepted: general (worker, default, general-purpose), explore (explorer, exploration), plan (planning, \
                awaiter), review (reviewer, code-review), implementer (implement, implementation, builder), verifier \
                (verify, verification, validator, tester), skill, custom.";
    let cases = [
        ("exploer", format!("there is no role \"exploer\"; did you mean explore? {list}")),
        ("Implementor", format!("there is no role \"Implementor\"; did you mean implementer? {list}")),
        ("zzz", format!("there is no role \"zzz\". {list}")),
        ("", format!("there is no role \"\". {list}")),
    ];
    for (wanted, text) in cases {
        assert_eq!(roles.find(wanted).unwrap_err().to_string(), text);
    }
    let long = roles.find(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(long.len() < 600, "{long}");
}

#[test]
fn a_long_list_of_roles_is_cut_in_the_error() {
    let mut roles = Roles::builtin(Team::Without);
    let mut left_out = 0;
    for n in 0..2_100 {
        let text = format!("---\nname: agent {n}\ndescription: x\n---\nGo.");
        let role = parse(&text, "x.md", RoleOrigin::User("x.md".into())).role.unwrap();
        left_out += usize::from(!roles.add(role).is_empty());
    }
    assert_eq!((roles.iter().count(), left_out), (2_000, 108));
    let error = roles.find("nobody").unwrap_err().to_string();
    assert!(
        error.ends_with("agent 51, and 1940 more; words instead of a name tell which ones fit."),
        "{error}"
    );
}

#[test]
fn delegation_names_roles_however_they_are_written() {
    let mut roles = Roles::builtin(Team::Without);
    let file = "---\nname: lead\ndescription: x\ndelegates_to: EXPLORER, code_review, nobody, ver*\ndisallowedTools: Agent(Worker)\n---\nGo.";
    roles.add(parse(file, "lead.md", RoleOrigin::User("lead.md".into())).role.unwrap());
    let missing = roles.link();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].0, "lead");
    assert!(missing[0].1.text.contains("\"nobody\""), "{missing:?}");
    let grant = &roles.find("lead").unwrap().grant;
    assert_eq!(crate::show::rules(&grant.delegates), "explore,nobody,review,ver* -general");
}

#[test]
fn words_find_the_role_among_many() {
    let mut roles = Roles::builtin(Team::Without);
    let file = |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\nGo.");
    for n in 0..200 {
        let name = format!("specialist-{n}");
        roles.add(
            parse(&file(&name, "Does this and that"), "x.md", RoleOrigin::User("x".into())).role.unwrap(),
        );
    }
    for (name, about) in [
        ("k8s-ops", "Runs Kubernetes clusters and deploys to them"),
        ("sql-tuner", "Makes slow database queries fast"),
        ("kubernetes-expert", "Knows manifests"),
    ] {
        roles.add(parse(&file(name, about), "x.md", RoleOrigin::User("x".into())).role.unwrap());
    }
    let cases = [
        ("kubernetes", "kubernetes-expert, k8s-ops"),
        ("deploy clusters", "k8s-ops"),
        ("Datenbank / database queries", "sql-tuner"),
        ("databases", "sql-tuner"),
        ("zzz", ""),
    ];
    assert_eq!(cases.len(), 5);
    for (words, names) in cases {
        let unknown = roles.find(words).unwrap_err();
        let found = unknown.fitting.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(found.join(", "), names, "{words}");
        assert!(unknown.to_string().len() < 3_000, "{unknown}");
    }
    let told = roles.find("sql slow").unwrap_err().to_string();
    assert!(told.ends_with("These may fit:\n- sql-tuner: Makes slow database queries fast"), "{told}");
    let among = roles.find_among("kubernetes", |role| role.name != "k8s-ops").unwrap_err();
    assert_eq!(among.fitting.len(), 1, "only those that may be used");
}
