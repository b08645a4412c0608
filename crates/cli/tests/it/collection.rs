//! A collection of agents and skills as people share them, a few hundred files in every style that is about: it loads,
//! lists, and every role of it starts.

use std::collections::BTreeSet;
use std::path::Path;

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::posse::Person;

const CATEGORIES: [&str; 5] =
    ["01-core", "02-language specialists", "infra/cloud/on/call/deep", "écriture", "misc"];
const TRADES: [&str; 30] = [
    "api-designer",
    "backend-dev",
    "Code Reviewer",
    "css_wizard",
    "data-engineer",
    "database-tuner",
    "debugger-pro",
    "devops",
    "docs-writer",
    "embedded",
    "frontend",
    "game-dev",
    "go-expert",
    "incident",
    "java-architect",
    "kubernetes",
    "legacy",
    "ml-engineer",
    "mobile",
    "network",
    "php-pro",
    "prompt",
    "python-pro",
    "quant",
    "refactorer",
    "rust-expert",
    "security-auditor",
    "seo",
    "tester-pro",
    "übersetzer",
];
const MODELS: [&str; 9] = [
    "model: sonnet\n",
    "model: opus\n",
    "model: inherit\n",
    "model: claude-3-5-sonnet-20241022\n",
    "",
    "model: \"gpt-5\"\n",
    "model: anthropic/claude-haiku-4.5\n",
    "model: fake\n",
    "model: gemini-2.5-pro # best\n",
];
const TOOLS: [&str; 8] = [
    "",
    "tools: Read, Write, Edit, Bash, Glob, Grep\n",
    "tools: [\"Read\", \"WebSearch\"]\n",
    "tools:\n  - Read\n  - Grep\n  - mcp__github__create_issue\n",
    "tools: '*'\n",
    "allowed-tools: Read\n",
    "tools:\n  read: true\n  bash: false\n",
    "tools: Read, WebFetch\n",
];
const REPORT: &str = "SUMMARY: Done.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

fn put(path: &Path, text: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Writes the agents into a folder; gives back their names.
fn write_agents(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (c, category) in CATEGORIES.iter().enumerate() {
        for (t, trade) in TRADES.iter().enumerate() {
            let n = c * TRADES.len() + t;
            let name = if c == 0 { trade.to_string() } else { format!("{trade}-{c}") };
            let colour = ["", "color: blue\n", "version: 1.2.0\ntags: [a, b]\n"][n % 3];
            let about = match n % 5 {
                0 => format!(
                    "description: Use this agent when: {trade} work comes up. Examples: <example>user: \"Hi\"</example>\n"
                ),
                1 => format!(
                    "description: \"Expert for {trade}.\\n\\nExamples:\\n- Context: a bug\\n  user: 'Fix'\"\n"
                ),
                2 => format!("description: |\n  Knows {trade}.\n  Use PROACTIVELY: always.\n"),
                3 => format!("description: >-\n  Knows {trade}\n  well.\n"),
                _ => format!("description: '{trade}: it''s what it does'\n"),
            };
            let (model, tools) = (MODELS[n % MODELS.len()], TOOLS[n % TOOLS.len()]);
            // Some do not say their names, which are those of their files then.
            let named = if n % 7 == 6 { String::new() } else { format!("name: {name}\n") };
            let text = format!(
                "---\n{named}{about}{tools}{model}{colour}---\n\nYou are the {trade}.\n\n---\n\n## Rules\n"
            );
            let text = match n % 6 {
                4 => text.replace('\n', "\r\n"),
                5 => format!("\u{feff}{text}"),
                _ => text,
            };
            let extension = if n % 11 == 3 { "MD" } else { "md" };
            put(&folder.join(category).join(format!("{name}.{extension}")), text.as_bytes());
            names.insert(name);
        }
    }
    names
}

/// What lies about in such a collection and not an agent.
fn write_pages(folder: &Path) {
    for (path, text) in [
        ("README.md", "# Agents\n"),
        ("LICENSE", "MIT"),
        ("LICENSE.md", "MIT"),
        ("docs/how-to.md", "---\ntitle: How to\nlayout: page\n---\nWrite."),
        ("docs/old.md", "---\n\nA rule above.\n"),
        ("01-core/README.md", "# Core\n"),
        (
            "commands/fix-issue.md",
            "---\ndescription: Fix an issue\nallowed-tools: Bash(git:*)\n---\nFix $ARGUMENTS.",
        ),
        ("misc/commands/review.md", "---\nargument-hint: [pr]\ndescription: Review\n---\nGo."),
        ("hooks/format.md", "---\nname: format\n---\nx"),
        ("hooks/hooks.json", "{}"),
        (".claude-plugin/plugin.json", "{\"name\": \"x\"}"),
        (".github/ISSUE_TEMPLATE.md", "---\nname: Bug\nabout: x\n---\n"),
        ("misc/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nx"),
        ("misc/pdf/forms.md", "---\nname: forms\ndescription: part of the skill\n---\nx"),
        ("install.sh", "#!/bin/sh\n"),
    ] {
        put(&folder.join(path), text.as_bytes());
    }
}

/// A person who has all of it in the home folder.
fn person(model: FakeModel) -> (Person, BTreeSet<String>) {
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    let config = std::fs::read_to_string(person.config()).unwrap();
    person.configure(&config.replace("price =", "max_concurrent = 8\nprice ="));
    let home = person.config().parent().unwrap().join(".claude");
    let names = write_agents(&home.join("agents"));
    write_pages(&home.join("agents"));
    for n in 0..150 {
        let about = format!("Use it for kind {n} of work: \"quoted\"");
        let text = format!("---\nname: skill-{n}\ndescription: {about}\nlicense: MIT\n---\n# Skill {n}\n");
        let group = ["", "public/", "a/b/"][n % 3];
        put(&home.join(format!("skills/{group}skill-{n}/SKILL.md")), text.as_bytes());
    }
    (person, names)
}

#[test]
fn it_is_listed_and_only_what_is_broken_is_named() {
    let (person, names) = person(FakeModel::start_blocking());
    let listed = person.posse(&["agents", "list", "--json"]).events();
    let found = listed.iter().map(|role| role["name"].as_str().unwrap().to_string()).collect::<BTreeSet<_>>();
    assert_eq!(names.difference(&found).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(found.len(), names.len() + 8, "and nothing else");
    assert_eq!(person.posse(&["skills", "list", "--json"]).events().len(), 150);

    let checked = person.posse(&["agents", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:#?}");
    checked.says("150 files checked: 0 broken, ");
    checked.says(" files: \"sonnet\" is not configured: runs on fake\n");
    checked.says(
        " files: web_fetch needs a network, and [rights] network is \"none\" here: it cannot be used\n",
    );
    for page in ["README", "LICENSE", "how-to", "fix-issue", "SKILL", "forms", "Bug"] {
        assert!(!checked.stdout.contains(page), "{page}: {}", checked.stdout);
    }
    assert!(checked.stdout.lines().count() < 60, "{}", checked.stdout);
    person.posse(&["agents", "show", "api-designer"]).says("sonnet (not configured: runs on fake)");

    put(
        &person.config().parent().unwrap().join(".claude/agents/bad.md"),
        b"---\nname: bad\ndescription: x\n",
    );
    let checked = person.posse(&["agents", "check"]);
    assert_eq!(checked.code, Some(1));
    checked.says("bad.md:1: broken: the front matter that begins here has no end");
    checked.says("151 files checked: 1 broken, ");
}

#[test]
fn every_role_of_it_starts_and_the_right_one_is_found() {
    let answer = |request: &posse_testkit::Captured| {
        let request = request.json();
        if asker(&request) != "main" {
            return Turn::text(REPORT);
        }
        let messages = request["messages"].as_array().unwrap();
        let prompt = messages.iter().find(|m| m["role"] == "user").unwrap()["content"].as_str().unwrap();
        let names = prompt.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>();
        let begun = messages.iter().filter(|m| m["role"] == "assistant").count();
        // As many as a reply may hold.
        match names.chunks(60).nth(begun) {
            Some(some) => {
                let search = Turn::call("agent", start("kubernetes clusters"));
                some.iter().fold(search, |turn, name| turn.and_call("agent", start(name)))
            }
            None => Turn::text("All done."),
        }
    };
    let (person, names) = person(FakeModel::by_rule_blocking(answer));
    let asked = names.iter().cloned().collect::<Vec<_>>().join("\n");
    let ran = person.posse(&["run", "--surface", "task", &asked]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("asks for the model \"sonnet\", which is not configured: it runs on fake"),
        "{}",
        ran.stderr
    );
    let told = person.posse(&["tasks", "last", "--json"]).events();
    let started = told.iter().filter(|agent| agent["parent"] != Value::Null);
    let started = started.map(|agent| (agent["role"].as_str().unwrap(), agent["status"].as_str().unwrap()));
    let wanted = names.iter().map(|name| (name.as_str(), "completed")).collect::<BTreeSet<_>>();
    assert_eq!(started.collect::<BTreeSet<_>>(), wanted);

    let requests = person.model.requests();
    let first = requests[0].json();
    for tool in first["tools"].as_array().unwrap() {
        let about = tool["function"]["description"].as_str().unwrap();
        assert!(about.chars().count() <= 1_024, "{}", tool["function"]["name"]);
    }
    let last = requests.iter().rev().find(|request| asker(&request.json()) == "main").unwrap().json();
    let result = last["messages"].as_array().unwrap().iter().find(|m| m["role"] == "tool").unwrap();
    let found = result["content"].as_str().unwrap();
    assert!(found.contains("These may fit:\n- kubernetes: "), "{found}");
}

fn start(role: &str) -> Value {
    json!({"description": "look at it", "prompt": "Say that you are there.", "type": role})
}
