//! The surface `delegate`: role, task, files and criteria, as in its document.

use posse_surface::{Offer, RoleOffer, Shape, Surface};
use serde_json::json;

use crate::{blocking, check, check_wrong, strings, task};

const SURFACE: Surface = Surface::Delegate;

#[test]
fn calls() {
    let go = |change: fn(&mut posse_protocol::Task)| {
        blocking(
            task("Go", |task| {
                task.role = Some("coder".into());
                change(task);
            }),
            Shape::Json,
        )
    };
    let cases = [
        (json!({"role": "coder", "task": "Go"}), go(|_| {})),
        (
            json!({"role": "coder", "task": "Go", "context_files": ["Program.cs", "appsettings.json"]}),
            go(|task| task.context_files = strings(&["Program.cs", "appsettings.json"])),
        ),
        (
            json!({"role": "coder", "task": "Go", "success_criteria": "It builds."}),
            go(|task| task.success_criteria = Some("It builds.".into())),
        ),
        (json!({"agent_role": "coder", "prompt": "Go"}), go(|_| {})),
    ];
    assert_eq!(cases.len(), 4);
    check(SURFACE, "delegate_to_agent", &cases);
    check_wrong(
        SURFACE,
        "delegate_to_agent",
        &[
            (
                json!({"task": "Go"}),
                "`role` is missing. delegate_to_agent takes: role (required), task (required), context_files, success_criteria.",
            ),
            (json!({"role": "coder"}), "`task` is missing."),
            (json!({"role": ["coder"], "task": "Go"}), "`role` must be a string, not an array."),
        ],
    );
}

#[test]
fn the_schema_is_that_of_the_document() {
    let names = ["coder", "tester", "reviewer", "planner", "debugger"];
    let roles: Vec<RoleOffer<'_>> = names.map(|name| RoleOffer { name, description: "Works." }).into();
    let tool = &SURFACE.tools(&Offer { roles: &roles, ..crate::OFFER })[0];
    let fields = &tool.schema["properties"];
    assert_eq!(tool.name, "delegate_to_agent");
    assert_eq!(fields["role"], json!({"type": "string", "enum": names}));
    assert_eq!(fields["task"]["type"], "string");
    assert_eq!(fields["context_files"]["items"], json!({"type": "string"}));
    assert_eq!(fields["success_criteria"]["type"], "string");
    assert_eq!(tool.schema["required"], json!(["role", "task"]));
}
