//! Names in the configuration that mean nothing are errors, and numbers count as they are written.

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::crew::REPORT;
use crate::posse::Person;

#[test]
fn a_misspelt_tool_or_model_is_an_error_with_its_line_and_a_suggestion() {
    let person = Person::new([Turn::text("ok")]);
    let usual = std::fs::read_to_string(person.config()).unwrap();
    let line = usual.lines().count() + 3;
    let cases = [
        ("[approval]\ndeny = [\"shel(git push*)\"]", "there is no tool \"shel\"; did you mean \"shell\"?"),
        (
            "[approval]\nask = [\"edit-fiel(src/*)\"]",
            "there is no tool \"edit-fiel\"; did you mean \"edit_file\"?",
        ),
        ("[approval]\nallow = [\"bsh\"]", "there is no tool \"bsh\"; did you mean \"shell\"?"),
        ("[approval]\ndeny = [\"xyzzy\"]", "there is no tool \"xyzzy\"; there are shell, edit_file"),
        ("[approval]\ndeny = [\"sehll*\"]", "there is no tool \"sehll*\""),
        ("[approval]\nallow = [\"shell(cargo *)\"]", "no pattern of shell text is safe"),
        ("[approval]\ndeny = [\"shell(\"]", "is no rule"),
        ("[sub_agents]\nmodel = \"local\"", "there is no model \"local\"; configured: fake"),
        ("[sub_agents]\nmodel = \"fkae\"", "there is no model \"fkae\"; did you mean \"fake\"?"),
        ("[roles.explore]\nmodel = \"fkae\"", "there is no model \"fkae\"; did you mean \"fake\"?"),
        ("[roles.main]\nmodel = \"local\"", "there is no model \"local\"; configured: fake"),
    ];
    assert_eq!(cases.len(), 11);
    for (text, wanted) in cases {
        person.configure(&format!("{usual}\n{text}\n"));
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(2), "{text}: {ran:#?}");
        ran.says(&format!("config.toml, line {line}: "));
        ran.says(wanted);
    }
    person.configure(&format!("model = \"fak\"\n{usual}"));
    person
        .posse(&["config", "show"])
        .says("config.toml, line 1: there is no model \"fak\"; did you mean \"fake\"?");
    assert!(person.model.requests().is_empty(), "nothing was sent");
    // What other programs call their tools is known, whether Posse has them or not.
    let known = "allow = [\"Read\", \"WebFetch\"]\nask = [\"Bash\", \"mcp__github__*\", \"NotebookEdit\"]\n\
                 deny = [\"Bash(git push:*)\", \"WebSearch\", \"edit*\", \"task:*\"]";
    person.configure(&format!(
        "model = \"fake\"\n{usual}\n[approval]\n{known}\n[sub_agents]\nmodel = \"fake-model\"\n"
    ));
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[test]
fn a_providers_model_can_be_named_for_sub_agents_and_for_roles() {
    let cases = [
        ("[sub_agents]\nmodel = \"openai/big\"\n", ["fake-model", "big", "fake-model"]),
        ("[roles.explore]\nmodel = \"openai/big\"\n", ["fake-model", "big", "fake-model"]),
        ("[roles.main]\nmodel = \"openai/big\"\n", ["big", "fake-model", "big"]),
        ("[roles.explore]\nmodel = \"inherit\"\n", ["fake-model", "fake-model", "fake-model"]),
    ];
    let look = json!({"role": "explore", "prompt": "Look.", "background": false});
    for (settings, models) in cases {
        let person = Person::new([Turn::call("agent", look.clone()), Turn::text(REPORT), Turn::text("ok")]);
        person.configure_more(settings);
        if settings.contains("roles.main") {
            person.configure_more("[sub_agents]\nmodel = \"fake\"\n");
        }
        let run = |key: &str| {
            let mut command = person.command(&["run", "go"]);
            command.env("OPENAI_BASE_URL", person.model.base_url()).env("OPENAI_API_KEY", key);
            crate::posse::Ran::from(command.output().unwrap())
        };
        if settings.contains("openai") {
            let ran = run("");
            assert_ne!(ran.code, Some(0), "{ran:#?}");
            ran.says("OpenAI needs a key: set OPENAI_API_KEY");
        }
        let ran = run("sesame");
        assert_eq!(ran.code, Some(0), "{settings}: {ran:#?}");
        let asked = person.model.requests().into_iter().map(|request| request.json()["model"].clone());
        assert_eq!(asked.collect::<Vec<_>>(), models.map(Value::from), "{settings}");
    }
}

#[test]
fn a_misspelt_tool_in_an_agent_file_is_told_by_check() {
    let file = |more: &str| format!("---\nname: a\ndescription: x\n{more}---\nGo.");
    let project = Fixture::new()
        .file("one/a.md", file("tools: Read, Grpe\n"))
        .file("one/b.md", file("disallowedTools: Bahs\nmodel: opus\n"))
        .file("two/c.md", file("tools: WebFetch\nnetwork: none\n"));
    let person = Person::with_project([], project.git());
    let ran = person.posse(&["agents", "check", "one", "two"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    for part in [
        "one/a.md:4: \"Grpe\" is no tool of Posse's; did you mean \"grep\"?",
        "one/b.md:4: \"Bahs\" is no tool of Posse's; did you mean \"shell\"?",
        "two/c.md:4: web_fetch needs a network, and this file gives none: it cannot be used",
    ] {
        ran.says(part);
    }
    person
        .posse(&["agents", "check", "one/b.md"])
        .says("one/b.md:5: \"opus\" is not configured: runs on fake");
}

/// Main starts three agents at once, and then lets the first go on; each says its report.
fn three_agents() -> FakeModel {
    FakeModel::by_rule_blocking(|request| {
        let request = request.json();
        let text = request.to_string();
        let start =
            |name: &str| json!({"action": "start", "name": name, "role": "explore", "prompt": "Look."});
        match asker(&request).as_str() {
            "main" if request["messages"].as_array().unwrap().len() == 2 => Turn::call("agent", start("ann"))
                .and_call("agent", start("bob"))
                .and_call("agent", start("cem")),
            "main" if !text.contains("go.txt") => {
                Turn::call("write_file", json!({"path": "go.txt", "content": "x"}))
            }
            "main" if ["ann", "bob", "cem"].iter().all(|name| text.contains(&format!("from=\\\"{name}"))) => {
                Turn::text("All is done.")
            }
            "main" => Turn::text("They are at it."),
            "ann" if request["messages"].as_array().unwrap().len() == 2 => {
                Turn::call("shell", json!({"command": "until [ -e go.txt ]; do sleep 0.05; done"}))
            }
            _ => Turn::text(REPORT),
        }
    })
}

#[test]
fn max_concurrent_counts_as_written_and_why_something_waits_is_said() {
    let person = Person::with_model(three_agents(), Fixture::new().file("main.py", "x").git());
    let queued = |events: &[Value]| {
        let queued = events.iter().filter(|event| event["type"] == "agent_queued");
        queued.map(|event| (event["reason"].clone(), event["at"].clone())).collect::<Vec<_>>()
    };
    let run = |args: &[&str]| {
        let _ = std::fs::remove_file(person.project.path().join("go.txt"));
        person.posse(args)
    };
    let usual = std::fs::read_to_string(person.config()).unwrap();
    person.posse(&["config", "show"]).says("max_concurrent = 1");
    person.posse(&["doctor"]).says("✓ model      fake, one agent at a time (max_concurrent = 1)");
    let one_by_one = queued(&run(&["run", "--json", "go"]).events());
    assert_eq!(one_by_one, vec![(json!("endpoint"), json!("127.0.0.1")); 2]);
    run(&["run", "go"]).says("queued: one at a time on 127.0.0.1 (max_concurrent)");
    person.posse(&["sessions", "show", "last"]).says("queued: one at a time on 127.0.0.1 (max_concurrent)");

    let other = usual.replace("[models.fake]", "[models.other]");
    let eight = usual.replace("price =", "max_concurrent = 8\nprice =");
    person.configure(&format!("model = \"fake\"\n{eight}\n{other}"));
    let shown = person.posse(&["config", "show"]).stdout;
    assert_eq!(shown.matches("max_concurrent = 8").count(), 2, "{shown}");
    assert_eq!(queued(&run(&["run", "--json", "go"]).events()), []);
    // One that is not used holds nobody up, whatever it says.
    let one = other.replace("price =", "max_concurrent = 1\nprice =");
    person.configure(&format!("model = \"fake\"\n{eight}\n{one}"));
    assert_eq!(queued(&run(&["run", "--json", "go"]).events()), []);
}
