//! Questions of servers, as the person is asked them: one field after the other.

use posse_protocol::limits::{CHOICE_CHARS_MAX, CHOICES_MAX, QUESTION_CHARS_MAX};
use posse_protocol::{clip::clipped, visible};
use posse_tools::OutsideAnswer;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value};

use crate::limits;
use crate::open_calls::Asker;

/// What the person answers to leave out a field that need not be filled in.
const SKIP: &str = "(leave it out)";

/// Asks the person what a server wants to know.
pub(crate) async fn elicit(asker: &Asker, request: &ElicitRequestParams) -> ElicitResult {
    let written = serde_json::to_value(request).unwrap_or_default();
    let message = stranger(written.get("message").and_then(Value::as_str).unwrap_or_default());
    if let Some(url) = written.get("url").and_then(Value::as_str) {
        return open_address(asker, &message, url).await;
    }
    let schema = written.get("requestedSchema").cloned().unwrap_or_default();
    let empty = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
    };
    if fields.len() > limits::QUESTION_FIELDS_MAX {
        return ElicitResult::new(ElicitationAction::Cancel);
    }
    if fields.is_empty() {
        let yes = "Yes".to_owned();
        return match asker.ask(message, vec![yes, "No".to_owned()]).await {
            OutsideAnswer::Said(said) if said.trim().eq_ignore_ascii_case("yes") => accepted(Map::new()),
            OutsideAnswer::Nobody => ElicitResult::new(ElicitationAction::Cancel),
            _ => ElicitResult::new(ElicitationAction::Decline),
        };
    }
    let mut content = Map::new();
    for (at, (name, field)) in fields.iter().enumerate() {
        let counted =
            if fields.len() > 1 { format!(" ({} of {})", at + 1, fields.len()) } else { String::new() };
        let must = required(name);
        match ask_field(asker, &format!("{message}{counted}"), name, field, must).await {
            Ok(Some(value)) => drop(content.insert(name.clone(), value)),
            Ok(None) => {}
            Err(action) => return ElicitResult::new(action),
        }
    }
    accepted(content)
}

fn accepted(content: Map<String, Value>) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
}

/// An address is opened by the person, and by nobody else.
async fn open_address(asker: &Asker, message: &str, url: &str) -> ElicitResult {
    let shown = clipped(&visible::line(url), QUESTION_CHARS_MAX / 2);
    let text = format!(
        "{message}\nIt asks you to open this address in a browser yourself, if you trust it: {shown}"
    );
    let choices = vec!["I have opened it".to_owned(), "No".to_owned()];
    let action = match asker.ask(text, choices.clone()).await {
        OutsideAnswer::Said(said) if said.trim() == choices[0] => ElicitationAction::Accept,
        OutsideAnswer::Nobody => ElicitationAction::Cancel,
        _ => ElicitationAction::Decline,
    };
    ElicitResult::new(action)
}

/// Asks for one field until the answer fits.
async fn ask_field(
    asker: &Asker,
    message: &str,
    name: &str,
    field: &Value,
    must: bool,
) -> Result<Option<Value>, ElicitationAction> {
    let said = |key: &str| field.get(key).and_then(Value::as_str);
    let title = stranger(said("title").unwrap_or(name));
    let more = said("description").map(|text| format!(": {}", stranger(text))).unwrap_or_default();
    let options = options(field);
    let mut choices = options.iter().map(|(shown, _)| shown.clone()).collect::<Vec<_>>();
    // What the server proposes is what counts if the person says nothing else.
    let default = field.get("default").filter(|default| !default.is_null());
    let unsaid = match default {
        Some(Value::String(text)) => {
            Some(format!("({})", clipped(&visible::line(text), CHOICE_CHARS_MAX - 2)))
        }
        Some(other) => {
            Some(format!("({})", clipped(&visible::line(&other.to_string()), CHOICE_CHARS_MAX - 2)))
        }
        None => (!must).then(|| SKIP.to_owned()),
    };
    choices.extend(unsaid.clone());
    let mut wrong = String::new();
    for _ in 0..limits::QUESTION_ROUNDS_MAX {
        let text = clipped(&format!("{message}\n{title}{more}{wrong}"), QUESTION_CHARS_MAX);
        match asker.ask(text, choices.clone()).await {
            OutsideAnswer::Said(said)
                if unsaid.is_some() && (said.trim().is_empty() || unsaid.as_deref() == Some(said.trim())) =>
            {
                return Ok(default.cloned());
            }
            OutsideAnswer::Said(said) => match value_of(field, &options, said.trim()) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => wrong = format!("\n({why})"),
            },
            OutsideAnswer::Declined => return Err(ElicitationAction::Decline),
            OutsideAnswer::Nobody => return Err(ElicitationAction::Cancel),
        }
    }
    Err(ElicitationAction::Cancel)
}

/// What can be chosen: as it is shown, and as it is sent.
fn options(field: &Value) -> Vec<(String, Value)> {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |of: &Value| -> Vec<(String, Value)> {
        if let Some(plain) = of.get("enum").and_then(Value::as_array) {
            let names = of.get("enumNames").and_then(Value::as_array);
            let name = |at: usize| names.and_then(|names| names.get(at)).filter(|name| name.is_string());
            let pair = |(at, value): (usize, &Value)| (shown(name(at).unwrap_or(value)), value.clone());
            return plain.iter().enumerate().map(pair).collect();
        }
        let titled = of.get("oneOf").or_else(|| of.get("anyOf")).and_then(Value::as_array);
        let pair = |one: &Value| {
            let value = one.get("const")?;
            Some((shown(one.get("title").unwrap_or(value)), value.clone()))
        };
        titled.into_iter().flatten().filter_map(pair).collect()
    };
    let mut all = match field.get("type").and_then(Value::as_str) {
        Some("boolean") => vec![("Yes".to_owned(), Value::Bool(true)), ("No".to_owned(), Value::Bool(false))],
        Some("array") => field.get("items").map(list).unwrap_or_default(),
        _ => list(field),
    };
    all.truncate(CHOICES_MAX.saturating_sub(1));
    all.iter_mut().for_each(|(shown, _)| *shown = clipped(&visible::line(shown), CHOICE_CHARS_MAX));
    all
}

/// An answer as a field takes it.
fn value_of(field: &Value, options: &[(String, Value)], said: &str) -> Result<Value, String> {
    let chosen = |word: &str| {
        let fits = |(shown, value): &&(String, Value)| {
            shown.eq_ignore_ascii_case(word.trim()) || value.as_str() == Some(word.trim())
        };
        options.iter().find(fits).map(|(_, value)| value.clone())
    };
    match field.get("type").and_then(Value::as_str) {
        Some("array") => {
            let all = said
                .split(',')
                .map(|word| chosen(word).ok_or_else(|| format!("{} is none of these", word.trim())));
            Ok(Value::Array(all.collect::<Result<_, _>>()?))
        }
        Some("boolean") => chosen(said).ok_or_else(|| "answer Yes or No".to_owned()),
        Some("integer") => {
            said.parse::<i64>().map(Value::from).map_err(|_| "that is no whole number".to_owned())
        }
        Some("number") => {
            let number = said.parse().ok().and_then(Number::from_f64);
            number.map(Value::Number).ok_or_else(|| "that is no number".to_owned())
        }
        _ if !options.is_empty() => {
            chosen(said).ok_or_else(|| "choose one of the proposed answers".to_owned())
        }
        _ => Ok(Value::String(said.to_owned())),
    }
}

/// A stranger's words in a question.
fn stranger(text: &str) -> String {
    clipped(visible::text(text).trim(), QUESTION_CHARS_MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_calls::Pulse;
    use serde_json::json;

    /// Answers questions one after the other, and gives back what was asked.
    async fn answered(request: Value, answers: &[&str]) -> (ElicitResult, Vec<String>) {
        let (sender, mut questions) = tokio::sync::mpsc::channel(1);
        let asker = Asker::new("x", sender, Pulse::new());
        let answers = answers.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let person = tokio::spawn(async move {
            let mut asked = Vec::new();
            for answer in answers {
                let Some(question) = questions.recv().await else { break };
                asked.push(format!("{} {:?}", question.text, question.choices));
                let answer = match answer.as_str() {
                    "(no)" => OutsideAnswer::Declined,
                    said => OutsideAnswer::Said(said.to_owned()),
                };
                let _ = question.answer.send(answer);
            }
            asked
        });
        let request: ElicitRequestParams = serde_json::from_value(request).unwrap();
        let result = elicit(&asker, &request).await;
        drop(asker);
        (result, person.await.unwrap())
    }

    fn form(schema: Value) -> Value {
        json!({"mode": "form", "message": "Who?", "requestedSchema": schema})
    }

    #[tokio::test]
    async fn a_form_is_asked_field_by_field() {
        let schema = json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer", "description": "in years"},
            "colour": {"type": "string", "enum": ["red", "green"]},
            "sure": {"type": "boolean"}
        }});
        let (result, asked) = answered(form(schema), &["Ann", "old", "42", "(leave it out)", "yes"]).await;
        assert_eq!(result.action, ElicitationAction::Accept);
        assert_eq!(result.content, Some(json!({"name": "Ann", "age": 42, "sure": true})));
        let expected = [
            "Who? (1 of 4)\nYour name []",
            "Who? (2 of 4)\nage: in years []",
            "Who? (2 of 4)\nage: in years\n(that is no whole number) []",
            "Who? (3 of 4)\ncolour [\"red\", \"green\", \"(leave it out)\"]",
            "Who? (4 of 4)\nsure [\"Yes\", \"No\", \"(leave it out)\"]",
        ];
        assert_eq!(asked, expected);
    }

    #[tokio::test]
    async fn a_person_may_say_no_and_may_be_away() {
        let schema = || json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let (declined, _) = answered(form(schema()), &["(no)"]).await;
        let (away, _) = answered(form(schema()), &[]).await;
        assert_eq!((declined.action, away.action), (ElicitationAction::Decline, ElicitationAction::Cancel));
        let url = json!({"mode": "url", "message": "Log in", "url": "https://x.example/\u{1b}[2J", "elicitationId": "1"});
        let (opened, asked) = answered(url, &["I have opened it"]).await;
        assert_eq!(opened.action, ElicitationAction::Accept);
        assert!(asked[0].contains("https://x.example/") && !asked[0].contains('\u{1b}'), "{asked:?}");
    }
}
