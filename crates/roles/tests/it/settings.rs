//! Roles in a settings file, files that change a known role, and the keys that both know.

use posse_protocol::{Budget, NameRules, Role, RoleOrigin};
use posse_roles::{AgentRoles, RoleError, Roles, Team, parse, read};

/// The settings of the design, with comments and the other things that such files have.
const DOCUMENT: &str = include_str!("settings/appsettings.json");

fn origin() -> RoleOrigin {
    RoleOrigin::User("/u/appsettings.json".into())
}

fn loaded(text: &str) -> Result<Roles, String> {
    let mut roles = Roles::builtin(Team::With);
    let file = AgentRoles::parse(text).map_err(|error| error.to_string())?;
    file.add_to(&mut roles, &origin(), |_| Some("---\nname: x\n---\nOther words.\n"))
        .map_err(|error| error.to_string())?;
    Ok(roles)
}

fn names(rules: &NameRules) -> Vec<&str> {
    rules.allow.iter().flatten().map(String::as_str).collect()
}

#[test]
fn the_settings_of_the_design_are_read_as_they_are() {
    let file = AgentRoles::parse(DOCUMENT).unwrap();
    assert_eq!((file.max_depth, file.max_turns, file.max_time_ms), (Some(2), Some(20), Some(300_000)));
    let prompts: Vec<_> = file.prompt_files().collect();
    assert_eq!((prompts.len(), prompts[0]), (6, ("prompts/roles/main.md", "main")));
    let (roles, known) = (loaded(DOCUMENT).unwrap(), Roles::builtin(Team::With));
    let table = [
        ("main", "qwen/qwen3-coder-30b", 50, 600_000, 5),
        ("coder", "qwen/qwen3-coder-30b", 30, 300_000, 1),
        ("tester", "deepseek-chat", 20, 180_000, 0),
        ("reviewer", "anthropic/claude-opus-4.5", 10, 120_000, 0),
        ("planner", "deepseek-reasoner", 15, 180_000, 3),
        ("debugger", "qwen/qwen3-coder-30b", 25, 240_000, 0),
    ];
    for (name, model, turns, time_ms, delegates) in table {
        let (role, before) = (roles.find(name).unwrap(), known.find(name).unwrap());
        assert_eq!(role.model.as_deref(), Some(model));
        assert_eq!((role.budget.turns, role.budget.time_ms), (Some(turns), Some(time_ms)), "{name}");
        assert_eq!(names(&role.grant.delegates).len(), delegates, "{name}");
        // The prompt is the file's; rights and description stay the known role's.
        assert_eq!((role.prompt.as_str(), &role.origin), ("Other words.", &origin()));
        assert_eq!((role.grant.files, role.grant.shell), (before.grant.files, before.grant.shell), "{name}");
        assert_eq!(role.description, before.description);
    }
    assert_eq!(roles.find("reviewer").unwrap().display_name.as_deref(), Some("Code Reviewer"));
}

#[test]
fn keys_count_however_they_are_spelt_and_what_is_not_said_is_the_default_or_the_known_roles() {
    let text = r#"{"agent_roles": {"default_max_iterations": 7, "roles": [
        {"role_id": "scribe", "display_name": "The Scribe", "model_id": "m", "system_prompt_file": "p.md",
         "can_delegate": true, "allowed_delegations": ["tester"], "max_duration_ms": 9000},
        {"RoleId": "coder", "CanDelegate": false, "On": "gpu-1"},
        {"RoleId": "planner", "CanDelegate": true, "MaxIterations": 3},
        {"RoleId": "reviewer", "Tools": ["read_file", "write_file"]}]}}"#;
    let roles = loaded(text).unwrap();
    let scribe = roles.find("Scribe").unwrap();
    assert_eq!((scribe.description.as_str(), scribe.prompt.as_str()), ("The Scribe", "Other words."));
    assert_eq!(scribe.budget, Budget { turns: Some(7), time_ms: Some(9_000), ..Budget::UNLIMITED });
    assert_eq!(names(&scribe.grant.delegates), ["tester"]);
    let known = Roles::builtin(Team::With);
    let coder = roles.find("coder").unwrap();
    assert_eq!((&coder.grant.delegates, coder.on.as_deref()), (&NameRules::nothing(), Some("gpu-1")));
    assert_eq!((&coder.prompt, coder.budget.turns), (&known.find("coder").unwrap().prompt, Some(7)));
    let planner = roles.find("planner").unwrap();
    assert_eq!(planner.grant.delegates, known.find("planner").unwrap().grant.delegates);
    assert_eq!(planner.budget.turns, Some(3));
    // It can do less than it could, not more.
    assert_eq!(roles.find("reviewer").unwrap().grant.files, known.find("reviewer").unwrap().grant.files);
    // The file has no leader, so ours may hand work to whom it names.
    assert!(names(&roles.find("main").unwrap().grant.delegates).contains(&"scribe"));
}

#[test]
fn what_is_wrong_is_said_with_a_suggestion() {
    let role = |more: &str| format!(r#"{{"AgentRoles": {{"Roles": [{{"RoleId": "coder"{more}}}]}}}}"#);
    let cases = [
        ("[]".to_string(), "there is no object \"AgentRoles\""),
        ("{\"Logging\": {}}".to_string(), "there is no object \"AgentRoles\""),
        ("{\"AgentRoles\": {\"Roles\": [}".to_string(), "it is not JSON"),
        ("{\"AgentRoles\": {}}".to_string(), "AgentRoles has no Roles"),
        ("{\"AgentRoles\": {\"MaxDeep\": 2, \"Roles\": []}}".to_string(), "did you mean MaxDepth?"),
        ("{\"AgentRoles\": {\"MaxDepth\": -1, \"Roles\": []}}".to_string(), "write a whole number"),
        ("{\"AgentRoles\": {\"Roles\": [{}]}}".to_string(), "AgentRoles.Roles[0] has no RoleId"),
        (
            role(", \"MaxIteration\": 3"),
            "Roles[0] (coder) has an unknown key \"MaxIteration\"; did you mean MaxIterations?",
        ),
        (role(", \"Prompt\": 3"), "there are RoleId, DisplayName"),
        (role(", \"MaxIterations\": \"many\""), "the role \"coder\": \"many\" is not understood"),
        (role(", \"MaxIterations\": 0"), "write a whole number above zero"),
        (role(", \"CanDelegate\": \"perhaps\""), "write true or false"),
        (
            role(", \"On\": \"gpu:22\""),
            "\"gpu:22\" is not understood; it runs at home: write a worker's name",
        ),
        (role(", \"AllowedDelegations\": {}"), "AllowedDelegations has a value that is not understood"),
        (role(", \"AllowedDelegations\": [\"testr\"]"), "there is no such role; did you mean tester?"),
        (role("}, {\"RoleId\": \"Coder\""), "two roles \"Coder\""),
        (
            role("}, {\"RoleId\": \"codr\""),
            "no SystemPromptFile, and there is no role of that name; did you mean coder?",
        ),
        (role("}, {\"RoleId\": \"a:b\""), "cannot be a role's name"),
    ];
    assert_eq!(cases.len(), 18);
    for (text, wanted) in cases {
        let error = loaded(&text).expect_err(&text);
        assert!(error.contains(wanted), "{error}\nof {text}");
    }
    assert!(AgentRoles::parse(&" ".repeat(300_000)).unwrap_err().to_string().contains("300000 bytes"));
}

/// What a file comes to among the roles of the team.
fn completed(front: &str, path: &str) -> Result<Option<Role>, RoleError> {
    let (parsed, given) = read(&format!("---\n{front}\n---\n"), path, origin());
    Roles::builtin(Team::With).completed(parsed.role?, &given).map(|(role, _)| role)
}

#[test]
fn a_file_that_sets_only_a_model_keeps_everything_else_of_the_role() {
    let known = Roles::builtin(Team::With);
    for (front, path, name) in [
        ("name: explore\nmodel: small", "x.md", "explore"),
        ("name: Explorer\nmodel_id: small", "x.md", "explore"),
        ("model: small", "/u/agents/reviewer.md", "reviewer"),
        ("name: coder\nmodel: small", "x.md", "coder"),
    ] {
        let role = completed(front, path).unwrap().unwrap();
        let wanted =
            Role { model: Some("small".into()), origin: origin(), ..known.find(name).unwrap().clone() };
        assert_eq!(role, wanted, "{front}");
    }
    // It may say less of what the role may do, never more.
    let narrower =
        completed("name: coder\nmax_turns: 3\ntools: Read, Bash\ndelegates_to: tester, reviewer", "x.md");
    let narrower = narrower.unwrap().unwrap();
    assert_eq!(
        (narrower.budget.turns, names(&narrower.grant.delegates)),
        (Some(3), vec!["reviewer", "tester"])
    );
    assert_eq!(narrower.grant.files, posse_protocol::Files::Read);
    let wider = completed("name: reviewer\ntools: Read, Write, Bash", "x.md").unwrap().unwrap();
    assert_eq!(wider.grant.files, known.find("reviewer").unwrap().grant.files);
    let closed = completed("name: coder\nmax_write_depth: 3", "x.md").unwrap().unwrap();
    assert_eq!((closed.grant.files, names(&closed.grant.delegates)), (posse_protocol::Files::Read, vec![]));
    // A role that is known and not among these is nobody's mistake; one that nobody knows is.
    let (parsed, given) = read("---\nname: coder\nmodel: small\n---\n", "x.md", origin());
    assert_eq!(Roles::builtin(Team::Without).completed(parsed.role.unwrap(), &given), Ok((None, vec![])));
    let error = completed("name: reviwer\nmodel: small", "x.md").unwrap_err().to_string();
    assert!(error.contains("no role \"reviwer\"") && error.contains("did you mean reviewer?"), "{error}");
    assert_eq!(completed("description: x", "x.md"), Err(RoleError::Empty));
}

#[test]
fn agent_files_take_the_keys_of_settings_files() {
    let text = "---\nrole_id: scribe\ndisplay_name: The Scribe\ndescription: d\nmodel_id: m\ncan_delegate: true\nallowed_delegations: [tester]\nmax_iterations: 4\nmax_duration_ms: 9000\n---\nWrite.";
    let parsed = parse(text, "x.md", origin());
    assert_eq!(parsed.warnings, []);
    let role = parsed.role.unwrap();
    assert_eq!((role.name.as_str(), role.display_name.as_deref()), ("scribe", Some("The Scribe")));
    assert_eq!(
        (role.model.as_deref(), role.budget.turns, role.budget.time_ms),
        (Some("m"), Some(4), Some(9_000))
    );
    assert_eq!(names(&role.grant.delegates), ["tester"]);
    let delegates = |more: &str| {
        let text = format!("---\nname: x\ndescription: d\n{more}\n---\nGo.");
        parse(&text, "x.md", origin()).role.unwrap().grant.delegates
    };
    assert_eq!(delegates("can_delegate: false\ndelegates_to: tester"), NameRules::nothing());
    assert_eq!(delegates("can_delegate: maybe\ndelegates_to: tester"), NameRules::nothing());
    assert_eq!(delegates("can_delegate: true"), NameRules::default());
    assert_eq!(delegates("max_turns: 3"), NameRules::nothing());
}
