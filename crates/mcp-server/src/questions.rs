//! Questions of a task's agents: as a client sees them, as its person is asked them, and what an answer means. Pure.

use posse_api::CallError;
use posse_protocol::clip::clipped;
use posse_protocol::visible;
use posse_protocol::{Answer, Question};
use posse_view::{OpenQuestion, SessionView};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::frame::{refused, within};
use crate::limits;

/// The field of a form that holds the answer.
const FIELD: &str = "answer";
const YES: &str = "yes";
const NO: &str = "no";

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AskedQuestion {
    /// The key by which it is answered.
    pub(crate) key: String,
    /// The name of the agent that asks.
    pub(crate) agent: String,
    /// Whether it asks for permission to make a call: then the answer is "yes" or "no".
    pub(crate) permission: bool,
    /// What it wants to know, or the call: the tool, and the command, path or address.
    pub(crate) question: String,
    /// Why the call is not made without asking.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
    /// Answers that the agent proposes; others are accepted as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) choices: Vec<String>,
    /// Whether the call would leave the sandbox: a client can only refuse it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) leaves_sandbox: bool,
}

/// The key of a question: the number of the event that asked it. The ids of calls are the model's, and two agents may have
/// the same.
pub(crate) fn key(open: &OpenQuestion) -> String {
    open.seq.0.to_string()
}

/// A question as a client sees it.
pub(crate) fn asked(view: &SessionView, open: &OpenQuestion) -> AskedQuestion {
    let Question { tool, what, asks, why, leaves, .. } = &open.question;
    let shown = |text: &str| clipped(&visible::text(text), limits::QUESTION_CHARS_MAX);
    let agent = view.agents.get(open.agent).map_or("main", |agent| agent.name.as_str());
    let choices = asks.iter().flat_map(|asks| &asks.choices).map(|choice| shown(choice)).collect();
    AskedQuestion {
        key: key(open),
        agent: visible::one_line(agent, limits::LINE_CHARS_MAX),
        permission: asks.is_none(),
        question: if asks.is_some() { shown(what) } else { shown(&format!("{tool}: {what}")) },
        why: shown(why),
        choices,
        leaves_sandbox: *leaves,
    }
}

/// What an answer in words means.
pub(crate) fn understood(question: &Question, text: &str) -> Result<Answer, CallError> {
    within(limits::TEXT_BYTES_MAX, "answer", text)?;
    let text = text.trim();
    if question.asks.is_some() {
        return match text.is_empty() {
            true => Err(refused("The answer is empty.")),
            false => Ok(Answer::Said { text: text.to_owned() }),
        };
    }
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest = text[first.len()..].trim_start_matches([',', '.', ':', ';', '-']).trim();
    match first.to_lowercase().as_str() {
        YES | "y" if question.leaves => Err(refused(
            "This call would leave the sandbox. A client cannot allow that; the person does, with `posse answer` or in the page \
             of `posse serve`. It can be refused here.",
        )),
        YES | "y" if rest.is_empty() => Ok(Answer::Once),
        NO | "n" => Ok(Answer::No { reason: rest.to_owned() }),
        _ => Err(refused("The agent asks for permission: answer \"yes\", or \"no\" and why.")),
    }
}

/// What the client's person filled in. None where they did not decide: the question stays open.
pub(crate) fn filled_in(question: &Question, result: &ElicitResult) -> Result<Option<Answer>, CallError> {
    match result.action {
        ElicitationAction::Accept => {
            let said = result.content.as_ref().and_then(|content| content.get(FIELD)).and_then(Value::as_str);
            understood(question, said.unwrap_or_default()).map(Some)
        }
        ElicitationAction::Decline => Ok(Some(Answer::No { reason: "The person declined.".to_owned() })),
        _ => Ok(None),
    }
}

/// The form that the client's person fills in.
pub(crate) fn form(view: &SessionView, open: &OpenQuestion) -> Option<ElicitRequestParams> {
    let asked = asked(view, open);
    let field = match (asked.permission, asked.leaves_sandbox) {
        (true, true) => {
            json!({ "type": "string", "enum": [NO], "description": "It can only be refused here." })
        }
        (true, false) => json!({ "type": "string", "enum": [YES, NO] }),
        (false, _) if asked.choices.is_empty() => json!({ "type": "string" }),
        (false, _) => {
            json!({ "type": "string", "description": format!("Proposed: {}", asked.choices.join(" | ")) })
        }
    };
    let verb = if asked.permission { "asks to be allowed" } else { "asks" };
    let why = if asked.why.is_empty() { String::new() } else { format!("\n({})", asked.why) };
    let written = json!({
        "mode": "form",
        "message": format!("{} {verb}: {}{why}", asked.agent, asked.question),
        "requestedSchema": { "type": "object", "properties": { FIELD: field }, "required": [FIELD] },
    });
    serde_json::from_value(written).ok()
}

/// All open questions as requests to the client, by key.
pub(crate) fn requests(view: &SessionView) -> InputRequests {
    let open = view.questions.iter().take(limits::QUESTIONS_SHOWN_MAX);
    let request = |open: &OpenQuestion| {
        Some((key(open), InputRequest::Elicitation(ElicitRequest::new(form(view, open)?))))
    };
    open.filter_map(request).collect()
}

#[cfg(test)]
mod tests {
    use posse_protocol::{CallId, FreeQuestion};

    use super::*;

    fn permission(leaves: bool) -> Question {
        Question { leaves, ..Question::new(CallId("c".to_owned()), "shell", "make") }
    }

    #[test]
    fn an_answer_in_words_is_understood_or_refused() {
        let no = |reason: &str| Some(Answer::No { reason: reason.to_owned() });
        let cases = [
            ("yes", false, Some(Answer::Once)),
            (" Y. ", false, Some(Answer::Once)),
            ("no", false, no("")),
            ("No, use cargo", false, no("use cargo")),
            ("no", true, no("")),
            ("yes", true, None),
            ("yes, and everything else as well", false, None),
            ("session", false, None),
            ("", false, None),
            ("notwithstanding", false, None),
        ];
        for (text, leaves, want) in cases {
            assert_eq!(understood(&permission(leaves), text).ok(), want, "{text:?} {leaves}");
        }
        let free = Question { asks: Some(FreeQuestion::default()), ..permission(false) };
        let said = Some(Answer::Said { text: "blue".to_owned() });
        assert_eq!(understood(&free, " blue ").ok(), said);
        assert!(understood(&free, "  ").is_err());
        assert!(understood(&free, &"x".repeat(limits::TEXT_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn who_closes_the_form_has_not_answered() {
        let result = |text: &str| serde_json::from_str::<ElicitResult>(text).unwrap();
        let filled = |text: &str| filled_in(&permission(false), &result(text)).ok().flatten();
        assert_eq!(filled(r#"{"action":"accept","content":{"answer":"yes"}}"#), Some(Answer::Once));
        assert!(matches!(filled(r#"{"action":"decline"}"#), Some(Answer::No { .. })));
        assert_eq!(filled(r#"{"action":"cancel"}"#), None);
        assert_eq!(filled(r#"{"action":"accept","content":{"other":1}}"#), None);
    }
}
