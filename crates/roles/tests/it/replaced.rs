//! Later files win; a project's file never makes more of a name than it was.

use posse_protocol::{Files, Network, Role, RoleOrigin, Shell};
use posse_roles::{Audience, Parsed, Roles, Team, Warning, parse};

use crate::show::{rules, show};

fn role(text: &str, origin: RoleOrigin) -> Role {
    parse(&format!("---\n{text}\n---\nGo."), "x.md", origin).role.unwrap()
}

fn user(text: &str) -> Role {
    role(text, RoleOrigin::User("/u/x.md".into()))
}

fn project(text: &str) -> Role {
    role(text, RoleOrigin::Project("/p/x.md".into()))
}

fn rights(roles: &Roles, name: &str) -> String {
    let mut role = roles.find(name).unwrap().clone();
    role.origin = RoleOrigin::BuiltIn;
    let shown = show(&Parsed {
        role: Ok(role),
        warnings: vec![],
        not_used: vec![],
        lines: posse_roles::Lines::default(),
    });
    shown.split(" | ").nth(1).unwrap().to_string()
}

#[test]
fn a_project_cannot_widen_a_known_role() {
    let cases = [
        ("name: explore\ndescription: x", "read inspect full", true),
        ("name: EXPLORE\ndescription: x\ntools: Read, Write, Bash", "read inspect none", true),
        ("name: review\ndescription: x\nnetwork: full", "read none none", true),
        ("name: verifier\ndescription: x\ntools: Read", "read none none", false),
        ("name: general\ndescription: x", "write full full", false),
        ("name: brand-new\ndescription: x", "write full full", false),
        ("name: tester\ndescription: writes tests\ntools: Read, Write", "write none none", false),
    ];
    let mut count = 0;
    for (text, want, warned) in cases {
        let mut roles = Roles::builtin(Team::Without);
        let added = project(text);
        let name = added.name.clone();
        let warning = roles.add(added);
        assert_eq!(rights(&roles, &name), want, "{text}");
        let checked = warning.iter().filter(|warning| warning.told == Audience::WhoChecks).count();
        assert_eq!(checked > 0, warned, "{text}: {warning:?}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn names_and_duties_of_the_replaced_role_stay() {
    let mut roles = Roles::builtin(Team::Without);
    roles.add(project("name: explore\ndescription: x\ndelegates_to: \"*\"\ntools: Read, Task"));
    let explore = roles.find("explore").unwrap();
    assert_eq!(rules(&explore.grant.tools), "read_file -edit -edit_file -task:* -write -write_file");
    assert_eq!(rules(&explore.grant.delegates), "nothing");
    roles.add(project("name: custom\ndescription: x"));
    assert!(roles.find("custom").unwrap().tools_listed_by_task, "still needs a list");
}

#[test]
fn a_role_without_memory_gets_none_from_a_project() {
    let cases = [("off", "on", Some(false)), ("off", "~", Some(false)), ("on", "off", Some(false))];
    let more = [("~", "on", Some(true)), ("local", "~", None), ("~", "user", Some(true))];
    for (own, theirs, want) in cases.into_iter().chain(more) {
        let mut roles = Roles::builtin(Team::Without);
        roles.add(user(&format!("name: mine\ndescription: x\ninherit_memory: {own}")));
        roles.add(project(&format!("name: mine\ndescription: x\nmemory: {theirs}")));
        assert_eq!(roles.find("mine").unwrap().inherit_memory, want, "{own} {theirs}");
    }
    let odd = parse("---\nname: x\ndescription: x\nmemory: lots\n---\nGo.", "x.md", RoleOrigin::BuiltIn);
    assert_eq!(odd.role.unwrap().inherit_memory, None);
    assert_eq!(odd.warnings.len(), 1, "{:?}", odd.warnings);
}

#[test]
fn the_person_may_widen_and_the_project_is_held_to_that() {
    let mut roles = Roles::builtin(Team::Without);
    assert_eq!(roles.add(user("name: review\ndescription: x\nshell: inspect")), []);
    assert_eq!(rights(&roles, "review"), "write inspect full");
    assert_eq!(roles.iter().count(), 8, "it took the place of the built-in one");
    assert!(!roles.add(project("name: review\ndescription: x")).is_empty());
    assert_eq!(rights(&roles, "review"), "write inspect full");
    // A second file of the project is held to the person's, not to the first one's.
    roles.add(project("name: review\ndescription: x\ntools: Read"));
    roles.add(project("name: review\ndescription: x"));
    assert_eq!(rights(&roles, "review"), "write inspect full");
}

#[test]
fn two_files_of_one_owner_are_told() {
    let mut roles = Roles::builtin(Team::Without);
    assert_eq!(roles.add(user("name: mine\ndescription: x")), []);
    let warning = roles.add(user("name: Mine\ndescription: y")).remove(0);
    assert_eq!(warning.text, "it takes the place of /u/x.md, which has the same name");
    assert_eq!(roles.find("mine").unwrap().description, "y");
}

#[test]
fn a_project_takes_no_alias_from_another_role() {
    let mut roles = Roles::builtin(Team::Without);
    let warning =
        roles.add(project("name: sly\ndescription: x\naliases: worker, Default, explore, sly-one")).remove(0);
    assert!(warning.text.ends_with("left out: worker, Default, explore"), "{warning:?}");
    for (written, name) in
        [("worker", "general"), ("default", "general"), ("explore", "explore"), ("slyone", "sly")]
    {
        assert_eq!(roles.find(written).unwrap().name, name);
    }
    roles.add(user("name: hand\ndescription: x\naliases: worker"));
    assert_eq!(roles.find("worker").unwrap().name, "hand", "the person's own word counts");
}

#[test]
fn a_project_cannot_widen_where_or_how_freely_a_role_writes() {
    let own = "name: mine\ndescription: x\nwrite_roots: src, docs\nwrite_except: src/gen\napproval: edit\nisolation: worktree";
    let cases = [
        ("", "docs,src | except [src/gen] | approval edit | isolation worktree", true),
        (
            "write_roots: .\nwrite_except: []\napproval: full\nisolation: shared",
            " and docs,src | except [src/gen] | approval edit | isolation worktree",
            true,
        ),
        (
            "write_roots: src/a\nwrite_except: src/b\napproval: ask",
            "docs,src and src/a | except [src/b,src/gen] | approval ask | isolation worktree",
            false,
        ),
        (
            "write_roots: web\napproval: plan",
            "docs,src and web | except [src/gen] | approval plan | isolation worktree",
            true,
        ),
    ];
    assert_eq!(cases.len(), 4);
    for (text, want, warned) in cases {
        let mut roles = Roles::builtin(Team::Without);
        roles.add(user(own));
        let warning = roles.add(project(&format!("name: mine\ndescription: x\n{text}")));
        let mut role = roles.find("mine").unwrap().clone();
        role.origin = RoleOrigin::BuiltIn;
        let shown = show(&Parsed {
            role: Ok(role),
            warnings: vec![],
            not_used: vec![],
            lines: posse_roles::Lines::default(),
        });
        assert!(shown.contains(&format!(" | roots {want} | d ")), "{text}: {shown}");
        let checked = warning.iter().filter(|warning| warning.told == Audience::WhoChecks).count();
        assert_eq!(checked > 0, warned, "{text}: {warning:?}");
    }
}

#[test]
fn a_project_does_not_say_where_a_known_role_runs() {
    let cases = [
        ("", "on: gpu", None, true),
        ("on: mine", "on: gpu", Some("mine"), true),
        ("on: mine", "on: mine", Some("mine"), false),
        ("on: mine", "", Some("mine"), false),
        ("on: home", "on: anywhere", Some("home"), true),
        ("on: mine", "on: home", Some("home"), false),
    ];
    assert_eq!(cases.len(), 6);
    for (own, theirs, want, warned) in cases {
        let mut roles = Roles::builtin(Team::Without);
        roles.add(user(&format!("name: mine\ndescription: x\n{own}")));
        let warnings = roles.add(project(&format!("name: mine\ndescription: x\n{theirs}")));
        assert_eq!(roles.find("mine").unwrap().on.as_deref(), want, "{own}, {theirs}");
        let said = warnings.iter().any(|warning| warning.text.contains("runs where the role"));
        assert_eq!(said, warned, "{own}, {theirs}: {warnings:?}");
    }
}

fn told(warnings: &[Warning]) -> Vec<&str> {
    let told = warnings.iter().filter(|warning| warning.told > Audience::WhoChecks);
    told.map(|warning| warning.text.as_str()).collect()
}

#[test]
fn a_project_can_only_lower_what_a_known_role_spends() {
    let own = "name: mine\ndescription: x\nmax_turns: 20\nmax_tokens: 5000\nmax_time: 10m\nmax_output_tokens: 900\nsingle: true";
    let cases = [
        ("", [Some(20), Some(5_000), Some(600_000), Some(900)], false),
        (
            "max_turns: 30000\nmax_tokens: 9999999\nmax_time: 100h\nmax_output_tokens: 100000\nsingle: false",
            [Some(20), Some(5_000), Some(600_000), Some(900)],
            true,
        ),
        (
            "max_turns: 3\nmax_tokens: 50\ntimeout_mins: 1\nmax_output_tokens: 9",
            [Some(3), Some(50), Some(60_000), Some(9)],
            false,
        ),
        ("max_turns: 3\nmax_time: 11m", [Some(3), Some(5_000), Some(600_000), Some(900)], true),
        ("steps: 21", [Some(20), Some(5_000), Some(600_000), Some(900)], true),
    ];
    for (text, want, warned) in cases {
        let mut roles = Roles::builtin(Team::With);
        roles.add(user(own));
        let warnings = roles.add(project(&format!("name: mine\ndescription: x\n{text}")));
        let role = roles.find("mine").unwrap();
        let budget = role.budget;
        let got = [
            budget.turns.map(u64::from),
            budget.tokens,
            budget.time_ms,
            role.max_output_tokens.map(u64::from),
        ];
        assert_eq!(got, want, "{text}");
        assert!(role.single, "{text}");
        assert_eq!(
            warnings.iter().any(|warning| warning.text.contains("may spend at most")),
            warned,
            "{text}: {warnings:?}"
        );
    }
    let mut roles = Roles::builtin(Team::With);
    for text in ["max_turns: 45000\nmax_time: 9999m", "max_turns: 3"] {
        roles.add(project(&format!("name: coder\ndescription: x\n{text}")));
    }
    roles.add(project("name: coder\ndescription: x\nmax_turns: 1000"));
    let coder = roles.find("coder").unwrap();
    assert_eq!(
        (coder.budget.turns, coder.budget.time_ms),
        (Some(30), Some(300_000)),
        "held to the built-in one"
    );
}

#[test]
fn whoever_starts_a_session_is_told_of_another_prompt() {
    let mut roles = Roles::builtin(Team::Without);
    let warnings = roles.add(project("name: Explore\ndescription: x"));
    assert_eq!(told(&warnings), ["the project's file replaces the prompt of the built-in role \"Explore\""]);
    assert_eq!(told(&roles.add(project("name: new\ndescription: x"))), <[&str; 0]>::default());
    let warnings = roles.add(project("name: tester\ndescription: x"));
    assert_eq!(
        told(&warnings),
        ["the name \"tester\" led to the role verifier so far; here it leads to the project's prompt"]
    );
    assert_eq!(told(&roles.add(user("name: review\ndescription: x"))), <[&str; 0]>::default());
    let mut other = project("name: review\ndescription: x");
    assert_eq!(told(&roles.add(other.clone())), <[&str; 0]>::default(), "the same words");
    other.prompt = "Other.".to_owned();
    assert_eq!(told(&roles.add(other)), ["the project's file replaces the prompt of your role \"review\""]);
}

#[test]
fn a_key_that_looks_like_a_right_leaves_read_access() {
    let keys =
        ["permissions", "deny", "Disallowed_Tool", "maxTurn", "read-only", "sandbox", "toolAccess", "mode"];
    for key in keys {
        for origin in [RoleOrigin::User("/u/x.md".into()), RoleOrigin::Project("/p/x.md".into())] {
            let text =
                format!("---\nname: mine\ndescription: x\n{key}: strict\ndelegates_to: \"*\"\n---\nGo.");
            let parsed = parse(&text, "x.md", origin);
            let told = told(&parsed.warnings);
            let want = format!(
                "the key {key:?} is not known and looks like a right or a limit, so this role may only read; correct it or remove it"
            );
            assert_eq!(told, [want]);
            assert_eq!(parsed.warnings[0].line, 4);
            let grant = parsed.role.unwrap().grant;
            assert_eq!(
                (grant.files, grant.shell, grant.network),
                (Files::Read, Shell::None, Network::None),
                "{key}"
            );
            assert_eq!(rules(&grant.delegates), "nothing");
            for (tool, want) in [
                ("read_file", true),
                ("grep", true),
                ("write_file", false),
                ("shell", false),
                ("mcp__x__y", false),
                ("remember", false),
            ] {
                assert_eq!(posse_policy::passes(&grant.tools, tool), want, "{key} {tool}");
            }
        }
    }
    // Without strict YAML the same holds, also where the blank is missing, and more than enough other warnings.
    let many = (0..200).map(|n| format!("odd{n}: x\n")).collect::<String>();
    let odd = parse(
        &format!("---\nname: m\ndescription: a: b\n{many}denied:Bash\n---\nGo."),
        "x.md",
        RoleOrigin::BuiltIn,
    );
    assert_eq!(told(&odd.warnings).len(), 1);
    assert_eq!(odd.role.unwrap().grant.files, Files::Read);
    for text in ["mode: subagent", "mode: primary", "version: 2", "capabilities: [edit, run]"] {
        let parsed =
            parse(&format!("---\nname: m\ndescription: x\n{text}\n---\nGo."), "x.md", RoleOrigin::BuiltIn);
        assert_eq!(parsed.role.unwrap().grant.files, Files::Write, "{text}");
    }
}
