//! Roles, skills, models and what the doctor finds, as values.

use posse_setup::{
    Config, DoctorReport, DoctorState, context_window, examine, model_list, role_list, skill_list,
};

use crate::world::{TWO_MODELS, World};

#[test]
fn what_there_is_to_choose_from_is_a_value() {
    let world = World::new(&format!("{TWO_MODELS}context_window = 9000\n"));
    world.write(
        "project/.posse/skills/greet/SKILL.md",
        "---\nname: greet\ndescription: How to greet\n---\nSay hi.\n",
    );
    world.write(
        "home/.config/posse/agents/mine.md",
        "---\nname: mine\ndescription: Does mine\n---\nA secret prompt.\n",
    );
    let paths = world.paths();
    let surroundings = paths.surroundings().clone().with_variable("ANTHROPIC_API_KEY", "k");
    let config = Config::load(&paths, &world.project()).unwrap();
    let models = model_list(&config, &surroundings);
    let told = models.iter().map(|model| (model.name.as_str(), model.context_window, model.configured));
    let told = told.collect::<Vec<_>>();
    assert_eq!(told[..2], [("one", None, true), ("two", Some(9_000), true)]);
    assert!(told.len() == 3 && told[2].0.starts_with("anthropic/") && !told[2].2, "{told:?}");
    let windows =
        ["one", "two", "anthropic/any", "nobody"].map(|name| context_window(&config, &surroundings, name));
    assert_eq!(windows, [None, Some(9_000), Some(200_000), None]);

    let skills = skill_list(&paths, &world.project());
    let found = skills.iter().map(|skill| (skill.key.as_str(), skill.from.as_str())).collect::<Vec<_>>();
    assert_eq!(found, [("greet", "project")]);

    let roles = role_list(&paths, &world.project(), false).unwrap();
    let mine = roles.roles.iter().find(|role| role.name == "mine").unwrap();
    assert_eq!((mine.description.as_str(), mine.prompt.as_str()), ("Does mine", ""));
    assert!(roles.roles.iter().any(|role| role.name == "explore"));
    let json = serde_json::to_string(&(&models, &skills, &roles)).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn what_the_doctor_finds_is_a_value() {
    let world = World::new(TWO_MODELS);
    let report = examine(&world.paths(), &world.project(), None, true).await;
    let of = |what: &str| report.findings.iter().find(|finding| finding.what == what).unwrap();
    assert_eq!((of("config").state, of("git").state), (DoctorState::Good, DoctorState::Good));
    // Nothing listens there.
    let model = of("model");
    assert_eq!((model.state, model.advice.is_some()), (DoctorState::Bad, true), "{report:#?}");
    assert!(report.problems() >= 1);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<DoctorReport>(&json).unwrap(), report);
}
