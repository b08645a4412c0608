//! The dialects, from outside: what a model writes, and what it comes to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod agent;
mod arguments;
mod delegate;
mod handles;
mod hostile;
mod merges;
mod places;
mod routes;
mod sessions;
mod shell;
mod sizes;
mod spawn;
mod surfaces;
mod task;
mod team;

use posse_protocol::{CallId, Task, ToolCall};
use posse_surface::{AgentCommand, Join, Offer, RoleOffer, Shape, Surface};
use serde_json::Value;

/// A call as a model makes it.
fn call(tool: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId("c1".into()), name: tool.into(), arguments: arguments.into() }
}

/// What arguments come to on a surface, without a team.
fn parse(surface: Surface, tool: &str, arguments: &Value) -> Result<AgentCommand, String> {
    surface.parse(&call(tool, &arguments.to_string()), false)
}

/// Compares what calls of one tool come to.
fn check(surface: Surface, tool: &str, cases: &[(Value, AgentCommand)]) {
    for (arguments, expected) in cases {
        assert_eq!(parse(surface, tool, arguments).as_ref(), Ok(expected), "{arguments}");
    }
}

/// Checks what is said about calls that are not understood.
fn check_wrong(surface: Surface, tool: &str, cases: &[(Value, &str)]) {
    for (arguments, part) in cases {
        let said = parse(surface, tool, arguments).expect_err("this is wrong");
        assert!(said.contains(part), "{arguments}: {said:?} lacks {part:?}");
    }
}

/// A task of this prompt, which is its title too, changed a little.
fn task(prompt: &str, change: impl FnOnce(&mut Task)) -> Task {
    let mut task = Task::new(prompt, prompt);
    change(&mut task);
    task
}

/// The start of a task that goes on in the background.
fn background(task: Task) -> AgentCommand {
    AgentCommand::Start { task, join: Join::Background, shape: Shape::Receipt, reuse: false }
}

/// The start of a task that is waited for.
fn blocking(task: Task, shape: Shape) -> AgentCommand {
    AgentCommand::Start { task, join: Join::Blocking, shape, reuse: false }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Roles such as those that come with Posse.
const ROLES: &[RoleOffer<'static>] = &[
    RoleOffer {
        name: "general",
        description: "Takes on a whole task of several steps, reading, changing and running whatever it needs. The default.",
    },
    RoleOffer {
        name: "explore",
        description: "Finds things out without changing anything, such as where something is defined, who calls it, or how parts hang together. Quick and cheap.",
    },
    RoleOffer {
        name: "plan",
        description: "Works out how to reach a goal, and returns ordered steps, the files concerned and the risks. Carries nothing out.",
    },
    RoleOffer {
        name: "review",
        description: "Judges a change or a piece of code and returns findings by severity, each with its place and the fix in words. Changes nothing.",
    },
    RoleOffer {
        name: "implementer",
        description: "Lands one change that is already decided, with the least edit and a quick check. Give it the files.",
    },
    RoleOffer {
        name: "verifier",
        description: "Runs tests, builds, linters or other checks, and returns an authoritative pass or fail with the failing assertion. Fixes nothing.",
    },
    RoleOffer {
        name: "skill",
        description: "Looks after skills, the folders with a SKILL.md. Finds the ones that fit a task.",
    },
    RoleOffer {
        name: "custom",
        description: "Does a narrow job with exactly the tools that the task lists in allowed_tools, and no others.",
    },
];

/// Everything on offer, without a team.
const OFFER: Offer<'static> = Offer {
    roles: ROLES,
    may_delegate: true,
    team: false,
    merges: false,
    models: &[],
    endpoints: &[],
    places: &[],
    shell_tools: &[],
    denied: &[],
    uses: &[],
};
