//! The surface `task`: description, prompt and type, as in its document.

use posse_surface::{Offer, RoleOffer, Shape, Surface};
use serde_json::json;

use crate::{background, blocking, check, check_wrong, task};

const SURFACE: Surface = Surface::Task;

#[test]
fn calls() {
    let go = |role: Option<&str>| {
        task("Go", |task| {
            task.title = "do it".into();
            task.role = role.map(str::to_owned);
        })
    };
    let cases = [
        (json!({"description": "do it", "prompt": "Go"}), blocking(go(None), Shape::Text)),
        (
            json!({"description": "do it", "prompt": "Go", "type": "explore"}),
            blocking(go(Some("explore")), Shape::Text),
        ),
        (
            json!({"description": "do it", "prompt": "Go", "type": "plan"}),
            blocking(go(Some("plan")), Shape::Text),
        ),
        (
            json!({"description": "do it", "prompt": "Go", "type": "general"}),
            blocking(go(Some("general")), Shape::Text),
        ),
        (
            json!({"description": "do it", "prompt": "Go", "subagent_type": "reviewer"}),
            blocking(go(Some("reviewer")), Shape::Text),
        ),
        (
            json!({"description": "do it", "prompt": "Go", "run_in_background": false}),
            blocking(go(None), Shape::Text),
        ),
        (json!({"description": "do it", "prompt": "Go", "run_in_background": true}), background(go(None))),
        (json!({"prompt": "Go"}), blocking(task("Go", |_| {}), Shape::Text)),
        (
            json!({"prompt": "Go", "model": "haiku"}),
            blocking(task("Go", |task| task.model = Some("haiku".into())), Shape::Text),
        ),
    ];
    assert_eq!(cases.len(), 9);
    for tool in ["agent", "Agent", "Task"] {
        check(SURFACE, tool, &cases);
    }
    check_wrong(
        SURFACE,
        "agent",
        &[(
            json!({"description": "do it"}),
            "`prompt` is missing. agent takes: description (required), prompt (required), type.",
        )],
    );
}

#[test]
fn the_schema_is_that_of_the_document() {
    let role = |name| RoleOffer { name, description: "" };
    let roles = [role("explore"), role("plan"), role("general")];
    let tools = SURFACE.tools(&Offer { roles: &roles, ..crate::OFFER });
    assert_eq!(tools[0].name, "agent");
    assert_eq!(
        *tools[0].schema,
        json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "3-5 words"},
                "prompt": {"type": "string"},
                "type": {"type": "string", "enum": ["explore", "plan", "general"], "description": "general by default"},
            },
            "required": ["description", "prompt"],
        })
    );
}
