//! A question of an agent as the client is asked it, and the client's reply as an answer. Pure.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, EnumOption,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, StringPropertySchema, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use posse_protocol::clip::clipped;
use posse_protocol::visible::{self, one_line};
use posse_protocol::{Answer, Question, words::counted};
use serde_json::Value;

use crate::limits::{QUESTION_CHARS_MAX, TITLE_COLUMNS_MAX};

/// The field of a form that is filled in with words.
const WORDS: &str = "answer";
/// The field of a form in which one of the proposed answers is chosen.
const CHOICE: &str = "choice";
/// What an agent is told where the person closed the question.
const DISMISSED: &str = "The person closed the question without an answer.";

/// A request to the client that asks a question.
pub(crate) struct PosedQuestion {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// What each option of a permission request means.
    answers: Vec<(String, Answer)>,
}

/// What a reply of the client means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientAnswer {
    /// This.
    Answer(Answer),
    /// The person closed it. That is a no, unless the whole turn is being stopped.
    Closed,
    /// Nothing that can be understood: the question stays open.
    Unclear,
}

/// Puts a question for a client. `name` is the agent that asks.
pub(crate) fn pose(
    session: &Arc<str>,
    call: ToolCallId,
    name: &str,
    question: &Question,
    forms: bool,
) -> PosedQuestion {
    match &question.asks {
        Some(asks) if forms => form(session, call, name, question, &asks.choices),
        Some(asks) => {
            let choice = |(at, text): (usize, &String)| OfferedAnswer {
                id: format!("choice-{}", at + 1),
                name: text.clone(),
                kind: PermissionOptionKind::AllowOnce,
                answer: Answer::Said { text: text.clone() },
            };
            let mut options = asks.choices.iter().enumerate().map(choice).collect::<Vec<_>>();
            options.push(OfferedAnswer::new("no", "Do not answer", PermissionOptionKind::RejectOnce, no()));
            permission(session, call, name, question, options)
        }
        None => permission(session, call, name, question, allowing(question)),
    }
}

/// One answer that can be chosen.
struct OfferedAnswer {
    id: String,
    name: String,
    kind: PermissionOptionKind,
    answer: Answer,
}

impl OfferedAnswer {
    fn new(id: &str, name: impl Into<String>, kind: PermissionOptionKind, answer: Answer) -> Self {
        Self { id: id.to_owned(), name: name.into(), kind, answer }
    }
}

fn no() -> Answer {
    Answer::No { reason: String::new() }
}

/// What can be answered to a question whether a call may run.
fn allowing(question: &Question) -> Vec<OfferedAnswer> {
    let once = match question.leaves {
        true => "Run OUTSIDE the sandbox, once, with all your rights",
        false => "Allow once",
    };
    let mut options = vec![OfferedAnswer::new("once", once, PermissionOptionKind::AllowOnce, Answer::Once)];
    // What leaves the sandbox is decided each time.
    if !question.leaves {
        let tool = format!("Allow {} until the session ends", one_line(&question.tool, TITLE_COLUMNS_MAX));
        options.push(OfferedAnswer::new("session", tool, PermissionOptionKind::AllowAlways, Answer::Session));
        if !question.pattern.is_empty() {
            let pattern = question.pattern.clone();
            let shown = one_line(&pattern, TITLE_COLUMNS_MAX);
            let name = format!("Allow {shown} until the session ends");
            let answer = Answer::Pattern { pattern };
            options.push(OfferedAnswer::new("pattern", name, PermissionOptionKind::AllowAlways, answer));
        }
    }
    options.push(OfferedAnswer::new("no", "Deny", PermissionOptionKind::RejectOnce, no()));
    options
}

fn permission(
    session: &Arc<str>,
    call: ToolCallId,
    name: &str,
    question: &Question,
    offered: Vec<OfferedAnswer>,
) -> PosedQuestion {
    let option = |one: &OfferedAnswer| PermissionOption::new(one.id.clone(), one.name.clone(), one.kind);
    let fields = ToolCallUpdateFields::new()
        .title(title(name, question))
        .status(ToolCallStatus::Pending)
        .content(vec![ToolCallContent::from(body(question))]);
    let request = RequestPermissionRequest::new(
        SessionId::new(Arc::clone(session)),
        ToolCallUpdate::new(call, fields),
        offered.iter().map(option).collect(),
    );
    PosedQuestion {
        method: CLIENT_METHOD_NAMES.session_request_permission,
        params: serde_json::to_value(request).unwrap_or_default(),
        answers: offered.into_iter().map(|one| (one.id, one.answer)).collect(),
    }
}

fn form(
    session: &Arc<str>,
    call: ToolCallId,
    name: &str,
    question: &Question,
    choices: &[String],
) -> PosedQuestion {
    let mut schema = ElicitationSchema::new();
    if !choices.is_empty() {
        let options =
            choices.iter().map(|text| EnumOption::new(text.clone(), text.clone())).collect::<Vec<_>>();
        schema = schema.property(CHOICE, StringPropertySchema::new().title("Choose").one_of(options), false);
    }
    let label = if choices.is_empty() { "Answer" } else { "Or another answer" };
    schema = schema.property(WORDS, StringPropertySchema::new().title(label), choices.is_empty());
    let scope = ElicitationSessionScope::new(SessionId::new(Arc::clone(session))).tool_call_id(call);
    let message = format!("{name} asks:\n{}", visible::text(&clipped(&question.what, QUESTION_CHARS_MAX)));
    let request = CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message);
    PosedQuestion {
        method: CLIENT_METHOD_NAMES.elicitation_create,
        params: serde_json::to_value(request).unwrap_or_default(),
        answers: Vec::new(),
    }
}

/// Who wants what, in one line.
fn title(name: &str, question: &Question) -> String {
    let wants = match (question.leaves, question.tool.as_str(), &question.preview) {
        _ if question.asks.is_some() => "asks".to_owned(),
        (true, ..) => "wants to run OUTSIDE the sandbox, with all your rights".to_owned(),
        (_, "shell", _) => "wants to run".to_owned(),
        (_, _, Some(_)) => "wants to change".to_owned(),
        (_, tool, _) => format!("wants to use {tool} with"),
    };
    one_line(&format!("{name} {wants}: {}", question.what.trim()), TITLE_COLUMNS_MAX)
}

/// All that a person decides on.
fn body(question: &Question) -> String {
    let mut parts = vec![match question.asks {
        Some(_) => visible::text(&clipped(&question.what, QUESTION_CHARS_MAX)),
        None => crate::translate::fenced(&clipped(&question.what, QUESTION_CHARS_MAX)),
    }];
    parts.extend(question.real_path.iter().map(|path| format!("It leads to {}.", visible::line(path))));
    if let Some(diff) = &question.preview {
        parts.push(crate::translate::fenced(&clipped(diff, QUESTION_CHARS_MAX)));
    }
    if !question.why.is_empty() {
        parts.push(format!("Why it asks: {}", visible::text(&question.why)));
    }
    if !question.written.is_empty() {
        let more = match question.written_more {
            0 => String::new(),
            more => format!(", and {}", counted(more as u64, "more file")),
        };
        parts.push(format!("The session has written {}{more}.", visible::line(&question.written.join(", "))));
    }
    if !question.writing.is_empty() {
        parts.push(format!("Beside it runs: {}", visible::line(&question.writing.join(", "))));
    }
    parts.join("\n\n")
}

impl PosedQuestion {
    /// Reads the client's reply.
    pub(crate) fn read(&self, reply: Value) -> ClientAnswer {
        if self.method == CLIENT_METHOD_NAMES.elicitation_create {
            return read_form(reply);
        }
        let Ok(reply) = serde_json::from_value::<RequestPermissionResponse>(reply) else {
            return ClientAnswer::Unclear;
        };
        match reply.outcome {
            RequestPermissionOutcome::Selected(selected) => {
                let chosen = self.answers.iter().find(|(id, _)| *id == *selected.option_id.0);
                chosen.map_or(ClientAnswer::Unclear, |(_, answer)| ClientAnswer::Answer(answer.clone()))
            }
            _ => ClientAnswer::Closed,
        }
    }
}

fn read_form(reply: Value) -> ClientAnswer {
    let Ok(reply) = serde_json::from_value::<CreateElicitationResponse>(reply) else {
        return ClientAnswer::Unclear;
    };
    match reply.action {
        ElicitationAction::Accept(accepted) => {
            let content = accepted.content.unwrap_or_default();
            let text = |field: &str| match content.get(field) {
                Some(ElicitationContentValue::String(text)) if !text.trim().is_empty() => Some(text.clone()),
                _ => None,
            };
            match text(WORDS).or_else(|| text(CHOICE)) {
                Some(text) => ClientAnswer::Answer(Answer::Said { text }),
                None => ClientAnswer::Closed,
            }
        }
        ElicitationAction::Decline => ClientAnswer::Answer(no()),
        ElicitationAction::Cancel => ClientAnswer::Closed,
        _ => ClientAnswer::Unclear,
    }
}

/// The answer to a question that the person closed.
pub(crate) fn dismissed() -> Answer {
    Answer::No { reason: DISMISSED.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_protocol::{CallId, FreeQuestion};
    use serde_json::json;

    fn question() -> Question {
        let mut question = Question::new(CallId("c".to_owned()), "shell", "cargo test");
        (question.why, question.pattern) = ("it runs a command".to_owned(), "shell(cargo test)".to_owned());
        question
    }

    fn posed(question: &Question, forms: bool) -> PosedQuestion {
        pose(&Arc::from("s1"), ToolCallId::new("call-1"), "coder-1", question, forms)
    }

    fn chosen(id: &str) -> Value {
        json!({"outcome": {"outcome": "selected", "optionId": id}})
    }

    #[test]
    fn a_permission_names_who_asks_and_every_option_means_something() {
        let posed = posed(&question(), true);
        assert_eq!(posed.method, "session/request_permission");
        assert_eq!(posed.params["sessionId"], "s1");
        assert_eq!(posed.params["toolCall"]["title"], "coder-1 wants to run: cargo test");
        let options = posed.params["options"].as_array().unwrap();
        let pattern = Answer::Pattern { pattern: "shell(cargo test)".to_owned() };
        let want = [("once", Answer::Once), ("session", Answer::Session), ("pattern", pattern), ("no", no())];
        assert_eq!(options.len(), want.len());
        for (option, (id, answer)) in options.iter().zip(want) {
            assert_eq!(option["optionId"], id);
            assert_eq!(posed.read(chosen(id)), ClientAnswer::Answer(answer));
        }
        assert_eq!(posed.read(json!({"outcome": {"outcome": "cancelled"}})), ClientAnswer::Closed);
        for odd in [chosen("sudo"), json!({}), json!(null), json!({"outcome": "selected"})] {
            assert_eq!(posed.read(odd), ClientAnswer::Unclear);
        }
    }

    #[test]
    fn leaving_the_sandbox_is_never_allowed_for_long() {
        let posed = posed(&Question { leaves: true, ..question() }, true);
        let title = posed.params["toolCall"]["title"].as_str().unwrap();
        assert!(title.contains("OUTSIDE the sandbox"), "{title}");
        let kinds = posed.params["options"].as_array().unwrap().iter().map(|one| &one["kind"]);
        assert_eq!(kinds.collect::<Vec<_>>(), ["allow_once", "reject_once"]);
    }

    #[test]
    fn free_questions_are_forms_or_choices() {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let free =
            Question { asks: Some(FreeQuestion { choices }), what: "Colour?".to_owned(), ..question() };
        let form = posed(&free, true);
        assert_eq!((form.method, &form.params["mode"]), ("elicitation/create", &json!("form")));
        let said = |text: &str| ClientAnswer::Answer(Answer::Said { text: text.to_owned() });
        let cases = [
            (json!({"action": "accept", "content": {"choice": "red"}}), said("red")),
            (json!({"action": "accept", "content": {"choice": "red", "answer": "green"}}), said("green")),
            (json!({"action": "accept", "content": {}}), ClientAnswer::Closed),
            (json!({"action": "decline"}), ClientAnswer::Answer(no())),
            (json!({"action": "cancel"}), ClientAnswer::Closed),
            (json!({"action": 5}), ClientAnswer::Unclear),
        ];
        for (reply, want) in cases {
            assert_eq!(form.read(reply.clone()), want, "{reply}");
        }
        let plain = posed(&free, false);
        assert_eq!(plain.method, "session/request_permission");
        assert_eq!(plain.read(chosen("choice-2")), said("blue"));
        assert_eq!(plain.params["toolCall"]["title"], "coder-1 asks: Colour?");
    }
}
