//! The surface `spawn`: the parameters of its document.

use posse_surface::{Shape, Surface};
use serde_json::json;

use crate::{OFFER, background, blocking, check, check_wrong, strings, task};

const SURFACE: Surface = Surface::Spawn;

#[test]
fn calls() {
    let tests = "Write unit tests for src/auth.ts";
    let cases = [
        (json!({"task": tests}), blocking(task(tests, |_| {}), Shape::Summary)),
        (
            json!({"task": tests, "context_files": ["src/auth.ts"]}),
            blocking(task(tests, |task| task.context_files = strings(&["src/auth.ts"])), Shape::Summary),
        ),
        (
            json!({"task": tests, "model": "small"}),
            blocking(task(tests, |task| task.model = Some("small".into())), Shape::Summary),
        ),
        (
            json!({"task": tests, "endpoint": "http://cloud:8080/v1"}),
            blocking(task(tests, |task| task.endpoint = Some("http://cloud:8080/v1".into())), Shape::Summary),
        ),
        (
            json!({"task": tests, "max_iterations": 50}),
            blocking(task(tests, |task| task.budget.turns = Some(50)), Shape::Summary),
        ),
        (
            json!({"task": "One line for this commit", "max_tokens": 64}),
            blocking(
                task("One line for this commit", |task| task.max_output_tokens = Some(64)),
                Shape::Summary,
            ),
        ),
        (json!({"prompt": tests}), blocking(task(tests, |_| {}), Shape::Summary)),
        (
            json!({"task": tests, "system_prompt": " You grade code. "}),
            blocking(task(tests, |task| task.system_prompt = Some("You grade code.".into())), Shape::Summary),
        ),
        // Research while the parent goes on.
        (json!({"task": tests, "background": true}), background(task(tests, |_| {}))),
    ];
    assert_eq!(cases.len(), 9);
    check(SURFACE, "spawn_task", &cases);
    check_wrong(
        SURFACE,
        "spawn_task",
        &[
            (
                json!({"max_iterations": 5}),
                "`task` is missing. spawn_task takes: task (required), context_files, model, endpoint, max_iterations, max_tokens, system_prompt.",
            ),
            (json!({"taks": "Go"}), "you wrote `taks`"),
            (json!({"task": "Go", "max_iterations": "few"}), "`max_iterations` must be a whole number"),
        ],
    );
}

#[test]
fn the_schema_is_that_of_the_document() {
    let tool = &SURFACE.tools(&OFFER)[0];
    let fields: Vec<&str> =
        tool.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let documented = ["task", "context_files", "model", "endpoint", "max_iterations", "max_tokens"];
    assert_eq!(fields, [&documented[..], &["system_prompt"]].concat());
    assert_eq!(tool.schema["properties"]["endpoint"], json!({"type": "string"}));
    let endpoints = strings(&["http://gpu:8080/v1"]);
    let tool = &SURFACE.tools(&posse_surface::Offer { endpoints: &endpoints, ..OFFER })[0];
    assert_eq!(tool.schema["properties"]["endpoint"]["enum"], json!(["http://gpu:8080/v1"]));
    assert_eq!(tool.schema["required"], json!(["task"]));
}
