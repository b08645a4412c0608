//! Later files win; a project's file never makes more of a name than it was.

use posse_protocol::{Role, RoleOrigin};
use posse_roles::{Parsed, Roles, Team, parse};

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
    let shown = show(&Parsed { role: Ok(role), warnings: vec![], not_used: vec![] });
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
        assert_eq!(warning.is_some(), warned, "{text}: {warning:?}");
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
    assert_eq!(roles.add(user("name: review\ndescription: x\nshell: inspect")), None);
    assert_eq!(rights(&roles, "review"), "write inspect full");
    assert_eq!(roles.iter().count(), 8, "it took the place of the built-in one");
    assert!(roles.add(project("name: review\ndescription: x")).is_some());
    assert_eq!(rights(&roles, "review"), "write inspect full");
    // A second file of the project is held to the person's, not to the first one's.
    roles.add(project("name: review\ndescription: x\ntools: Read"));
    roles.add(project("name: review\ndescription: x"));
    assert_eq!(rights(&roles, "review"), "write inspect full");
}

#[test]
fn two_files_of_one_owner_are_told() {
    let mut roles = Roles::builtin(Team::Without);
    assert_eq!(roles.add(user("name: mine\ndescription: x")), None);
    let warning = roles.add(user("name: Mine\ndescription: y")).unwrap();
    assert_eq!(warning.text, "it takes the place of /u/x.md, which has the same name");
    assert_eq!(roles.find("mine").unwrap().description, "y");
}

#[test]
fn a_project_takes_no_alias_from_another_role() {
    let mut roles = Roles::builtin(Team::Without);
    let warning =
        roles.add(project("name: sly\ndescription: x\naliases: worker, Default, explore, sly-one")).unwrap();
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
        let shown = show(&Parsed { role: Ok(role), warnings: vec![], not_used: vec![] });
        assert!(shown.contains(&format!(" | roots {want} | d ")), "{text}: {shown}");
        assert_eq!(warning.is_some(), warned, "{text}: {warning:?}");
    }
}
