//! Images and documents on their way to a model.

use posse_model::{ModelConfig, Protocol, ToolCallMode};
use posse_protocol::{Attachment, Message, ToolResult};
use posse_testkit::{FakeModel, Turn, pictures};
use serde_json::{Value, json};

use crate::{PROTOCOLS, ask, call, config, messages, model, result, tools};

fn image() -> Attachment {
    Attachment::new("shot.png", &pictures::png(40, 30)).unwrap()
}

fn document() -> Attachment {
    Attachment::new("paper.pdf", &pictures::pdf()).unwrap()
}

/// A question, a call, and a result, with these things shown beside the question and beside the result.
fn conversation(asked: Vec<Attachment>, found: Vec<Attachment>) -> [Message; 3] {
    let shown = ToolResult { attachments: found, ..result("call_1", true, "It is shown.") };
    [
        Message::User { text: "Look.".into(), attachments: asked },
        Message::Assistant {
            text: String::new(),
            reasoning: vec![],
            calls: vec![call("call_1", "read_file", "{}")],
        },
        Message::Tools { results: vec![shown, result("call_2", true, "text")] },
    ]
}

/// The messages of the request with this conversation.
async fn sent(config: impl FnOnce(&FakeModel) -> ModelConfig, conversation: &[Message]) -> Vec<Value> {
    let server = FakeModel::with([Turn::text("Seen.")]).await;
    let model = model(config(&server));
    let mut transcript = model.transcript("", &tools());
    conversation.iter().for_each(|message| transcript.push(message));
    ask(&model, &transcript).await.0.unwrap();
    messages(&server.requests()[0].json()).clone()
}

fn seeing(protocol: Protocol) -> impl Fn(&FakeModel) -> ModelConfig {
    move |server| ModelConfig { images: true, documents: Some(true), ..config(protocol, server) }
}

#[tokio::test]
async fn images_and_documents_are_parts_as_each_protocol_has_them() {
    let (png, pdf) = (image(), document());
    let (data, paper) = (png.data.to_string(), pdf.data.to_string());
    let (url, paper_url) = (png.data_url(), pdf.data_url());
    assert_eq!(url, format!("data:image/png;base64,{data}"));
    let talk = conversation(vec![png.clone(), pdf], vec![png]);
    let chat = sent(seeing(Protocol::Chat), &talk).await;
    assert_eq!(
        (&chat[0], &chat[2..]),
        (
            &json!({"role": "user", "content": [
                {"type": "text", "text": "Look."},
                {"type": "text", "text": "[shot.png:]"},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "file", "file": {"filename": "paper.pdf", "file_data": paper_url}}]}),
            &[
                json!({"role": "tool", "tool_call_id": "call_1", "content": "It is shown."}),
                json!({"role": "tool", "tool_call_id": "call_2", "content": "text"}),
                json!({"role": "user", "content": [
                    {"type": "text", "text": "[Shown by the tools that were called:]"},
                    {"type": "text", "text": "[shot.png:]"},
                    {"type": "image_url", "image_url": {"url": url}}]}),
            ][..]
        )
    );
    let responses = sent(seeing(Protocol::Responses), &talk).await;
    assert_eq!(
        (&responses[0], &responses[2..]),
        (
            &json!({"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Look."},
                {"type": "input_text", "text": "[shot.png:]"},
                {"type": "input_image", "image_url": url},
                {"type": "input_file", "filename": "paper.pdf", "file_data": paper_url}]}),
            &[
                json!({"type": "function_call_output", "call_id": "call_1", "output": [
                    {"type": "input_text", "text": "It is shown."},
                    {"type": "input_text", "text": "[shot.png:]"},
                    {"type": "input_image", "image_url": url}]}),
                json!({"type": "function_call_output", "call_id": "call_2", "output": "text"}),
            ][..]
        )
    );
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let paper_source = json!({"type": "base64", "media_type": "application/pdf", "data": paper});
    let anthropic = sent(seeing(Protocol::Anthropic), &talk).await;
    assert_eq!(
        (&anthropic[0], &anthropic[2..]),
        (
            &json!({"role": "user", "content": [
                {"type": "text", "text": "Look."},
                {"type": "text", "text": "[shot.png:]"},
                {"type": "image", "source": source},
                {"type": "document", "source": paper_source, "title": "paper.pdf"}]}),
            &[json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [
                    {"type": "text", "text": "It is shown."},
                    {"type": "text", "text": "[shot.png:]"},
                    {"type": "image", "source": source}]},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "text"}],
                 "cache_control": {"type": "ephemeral"}}]})][..]
        )
    );
}

/// Anthropic's marker goes into the last block, whatever that is.
#[tokio::test]
async fn the_cache_marker_stands_in_an_image_too() {
    let talk = [Message::User { text: "Look.".into(), attachments: vec![image()] }];
    let sent = sent(seeing(Protocol::Anthropic), &talk).await;
    let last = sent[0]["content"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["type"], &last["cache_control"]), (&json!("image"), &json!({"type": "ephemeral"})));
}

#[tokio::test]
async fn a_model_that_takes_no_images_is_told_what_is_not_shown() {
    let talk = conversation(vec![image(), document()], vec![image()]);
    let png = "[shot.png (PNG image, 40×30 pixels, 77 bytes) is not shown: this model takes no images]";
    let pdf = "[paper.pdf (PDF document, 86 bytes) is not shown: this model takes no PDF documents]";
    let plain = [
        Message::user(format!("Look.\n{png}\n{pdf}")),
        talk[1].clone(),
        Message::Tools {
            results: vec![
                result("call_1", true, &format!("It is shown.\n{png}")),
                result("call_2", true, "text"),
            ],
        },
    ];
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for tool_calls in [ToolCallMode::Auto, ToolCallMode::Text] {
            let blind = |server: &FakeModel| ModelConfig { tool_calls, ..config(protocol, server) };
            assert_eq!(sent(blind, &talk).await, sent(blind, &plain).await, "{protocol:?}");
            ran += 1;
        }
    }
    assert_eq!(ran, 6);
}

/// A server that does not know a part of a message refuses the whole request, and every later one with it.
#[tokio::test]
async fn documents_go_where_they_are_known_to_be_taken() {
    let at = |protocol, url: &str| ModelConfig { images: true, ..ModelConfig::new("m", "m", protocol, url) };
    let cases = [
        (at(Protocol::Chat, "http://127.0.0.1:8080/v1"), false),
        (at(Protocol::Chat, "https://api.openai.com/v1"), true),
        (at(Protocol::Chat, "https://openrouter.ai/api/v1"), true),
        (at(Protocol::Chat, "https://api.deepseek.com/v1"), false),
        (at(Protocol::Responses, "http://127.0.0.1:8080/v1"), true),
        (at(Protocol::Anthropic, "http://127.0.0.1:8080/v1"), true),
        (ModelConfig { images: false, ..at(Protocol::Anthropic, "https://api.anthropic.com/v1") }, false),
        (ModelConfig { documents: Some(true), ..at(Protocol::Chat, "http://127.0.0.1:8080/v1") }, true),
        (
            ModelConfig { documents: Some(false), ..at(Protocol::Responses, "https://api.openai.com/v1") },
            false,
        ),
    ];
    assert_eq!(cases.len(), 9);
    for (config, takes) in cases {
        assert_eq!(config.takes_documents(), takes, "{config:?}");
    }
}

/// Calls that are text have results that are text, and what those show stays with them.
#[tokio::test]
async fn calls_as_text_show_images_too() {
    for protocol in PROTOCOLS {
        let server = FakeModel::with([Turn::text("Seen.")]).await;
        let text = ModelConfig { tool_calls: ToolCallMode::Text, ..seeing(protocol)(&server) };
        let model = model(text);
        let mut transcript = model.transcript("", &tools());
        conversation(vec![], vec![image()]).iter().for_each(|message| transcript.push(message));
        ask(&model, &transcript).await.0.unwrap();
        let wanted = ("image/png".to_string(), image().data.to_string());
        assert_eq!(server.requests()[0].shown(), [wanted], "{protocol:?}");
    }
}

/// More than a request takes is not sent; what was sent before stays as it was, byte for byte.
#[tokio::test]
async fn a_request_holds_so_many_images_and_the_rest_is_named() {
    let large = |side| Attachment::new("large.png", &pictures::png(side, 10)).unwrap();
    let cases = [(large(2_000), 100), (large(2_001), 20)];
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for (image, most) in &cases {
            let server = FakeModel::by_rule(|_| Turn::text("Seen.")).await;
            let model = model(seeing(protocol)(&server));
            let mut transcript = model.transcript("", &tools());
            for n in 0..most + 2 {
                let text = format!("Number {n}.");
                transcript.push(&Message::User { text, attachments: vec![image.clone()] });
                if n >= most - 1 {
                    ask(&model, &transcript).await.0.unwrap();
                }
            }
            let requests = server.requests();
            assert!(requests.iter().all(|request| request.shown().len() == *most), "{protocol:?}");
            let last = messages(&requests[2].json()).last().unwrap().to_string();
            assert!(last.contains("holds as many images as one request takes"), "{last}");
            let same = requests[1].body.iter().zip(&requests[2].body).take_while(|(a, b)| a == b).count();
            assert!(same > requests[0].body.len() - 60, "the beginning stays");
            ran += 1;
        }
    }
    assert_eq!(ran, 6);
}

/// A conversation without attachments has the bytes that it always had.
#[tokio::test]
async fn what_shows_nothing_is_encoded_as_before() {
    let wanted = [
        (
            Protocol::Chat,
            r#"{"role":"user","content":"Look."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"It is shown."},{"role":"tool","tool_call_id":"call_2","content":"text"}]}"#,
        ),
        (
            Protocol::Responses,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]},{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"It is shown."},{"type":"function_call_output","call_id":"call_2","output":"text"}]}"#,
        ),
        (
            Protocol::Anthropic,
            r#"{"role":"user","content":[{"type":"text","text":"Look."}]},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"It is shown."}]},{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"text"}],"cache_control":{"type":"ephemeral"}}]}]}"#,
        ),
    ];
    for (protocol, end) in wanted {
        for images in [false, true] {
            let server = FakeModel::with([Turn::text("Seen.")]).await;
            let model = model(ModelConfig { images, ..config(protocol, &server) });
            let mut transcript = model.transcript("", &tools());
            conversation(vec![], vec![]).iter().for_each(|message| transcript.push(message));
            ask(&model, &transcript).await.0.unwrap();
            let body = String::from_utf8(server.requests()[0].body.clone()).unwrap();
            assert!(body.ends_with(end), "{protocol:?}: {body}");
        }
    }
}
