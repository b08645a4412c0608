//! Images and documents, from a flag or by read_file, through the real program.

use std::time::Duration;

use posse_protocol::Attachment;
use posse_testkit::{Fixture, Turn, pictures};
use serde_json::{Value, json};

use crate::posse::{Person, eventually, signal, text};

const PROTOCOLS: [&str; 3] = ["chat", "responses", "anthropic"];

/// A machine with images in its project, and one outside it.
fn person(protocol: &str, more: &str, turns: impl IntoIterator<Item = Turn>) -> Person {
    let person = Person::with_project(turns, Fixture::new().file("main.py", "print('hi')\n").git());
    for (name, _, content) in pictures::pictures() {
        std::fs::write(person.project.path().join(name), content).unwrap();
    }
    std::fs::write(person.data_dir().parent().unwrap().join("outside.png"), large()).unwrap();
    configured(&person, protocol, more);
    person
}

fn configured(person: &Person, protocol: &str, more: &str) {
    let endpoint = person.model.base_url();
    person.configure(&format!(
        "[models.fake]\nendpoint = \"{endpoint}\"\nprotocol = \"{protocol}\"\nmodel = \"m\"\n{more}\n"
    ));
}

/// A PNG image that is too large to be kept within its event.
fn large() -> Vec<u8> {
    [pictures::png(40, 30), b"posse".repeat(10_000)].concat()
}

fn outside(person: &Person) -> String {
    text(&person.data_dir().parent().unwrap().join("outside.png"))
}

/// A file as a request shows it.
fn shown(content: &[u8]) -> (String, String) {
    let attachment = Attachment::new("x", content).unwrap();
    (attachment.media_type.as_str().to_string(), attachment.data.to_string())
}

#[test]
fn a_prompt_shows_files_on_every_protocol() {
    let mut ran = 0;
    for protocol in PROTOCOLS {
        let person = person(protocol, "images = true\ndocuments = true", [Turn::text("Seen.")]);
        std::fs::write(person.project.path().join("paper.pdf"), pictures::pdf()).unwrap();
        let outside = outside(&person);
        let done = person.posse(&[
            "run",
            "--image",
            "a.png",
            "--image",
            "b.jpg",
            "--image",
            "c.gif",
            "--image",
            "d.webp",
            "--attach",
            "paper.pdf",
            "--image",
            &outside,
            "--image",
            "main.py",
            "What is it?",
        ]);
        assert_eq!(done.code, Some(0), "{done:#?}");
        let request = &person.model.requests()[0];
        let files = pictures::pictures().map(|(_, _, content)| content).into_iter();
        let wanted = files.chain([pictures::pdf(), large()]).map(|file| shown(&file));
        assert_eq!(request.shown(), wanted.collect::<Vec<_>>(), "{protocol}");
        let body = request.json().to_string();
        assert!(body.contains(r"What is it?\n\n[main.py:]\nprint('hi')\n"), "{body}");
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn read_file_shows_an_image_on_every_protocol() {
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for (name, _, content) in pictures::pictures() {
            let turns = [Turn::call("read_file", json!({"path": name})), Turn::text("Seen.")];
            let person = person(protocol, "images = true", turns);
            let done = person.posse(&["run", "--no-agents", "Look."]);
            assert_eq!(done.code, Some(0), "{done:#?}");
            let requests = person.model.requests();
            assert_eq!(requests[0].shown(), [], "{protocol}");
            assert_eq!(requests[1].shown(), [shown(&content)], "{protocol}");
            assert!(requests[1].json().to_string().contains("40×30 pixels"), "{protocol}");
            ran += 1;
        }
    }
    assert_eq!(ran, 12);
}

/// Nobody pays for images who has none: the first request is the same but for one sentence of a description.
#[test]
fn only_models_that_take_images_hear_of_them() {
    let first = |more: &str| {
        let person = person("chat", more, [Turn::text("ok")]);
        assert_eq!(person.posse(&["run", "go"]).code, Some(0));
        let body = String::from_utf8(person.model.requests()[0].body.clone()).unwrap();
        body.replace(&text(person.project.path()), "FOLDER")
    };
    let plain = first("");
    assert!(!plain.contains("mage"), "{plain}");
    assert_eq!(first("images = true").replace(" Images (PNG, JPEG, GIF, WebP) are shown.", ""), plain);
}

#[test]
fn a_model_without_images_is_named_before_anything_starts() {
    let person = person("chat", "", [Turn::call("read_file", json!({"path": "a.png"})), Turn::text("ok")]);
    let cases = [
        (
            vec!["run", "--image", "a.png", "Look."],
            "a.png cannot be shown: fake takes no images. If it does take them, set images = true in [models.fake]",
        ),
        (vec!["run", "--image", "gone.png", "Look."], "gone.png: No such file or directory"),
        (vec!["run", "--image", ".", "Look."], ".: not a file; name an image, a PDF document or a text file"),
        (vec!["run", "--image", "a.png", ""], "the prompt is empty"),
        (vec!["resume", "last", "--image", "a.png"], "say what to do with the image"),
    ];
    assert_eq!(cases.len(), 5);
    for (args, wanted) in cases {
        let refused = person.posse(&args);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        refused.says(wanted);
    }
    assert_eq!(person.model.calls(), 0);
    person.posse(&["sessions", "list"]).says("No sessions");
    // What the agent finds by itself is told in one sentence.
    assert_eq!(person.posse(&["run", "--no-agents", "Look."]).code, Some(0));
    let told = person.model.requests()[1].json().to_string();
    let wanted =
        "a.png (PNG image, 40×30 pixels, 77 bytes) cannot be shown, because this model takes no images.";
    assert!(told.contains(wanted), "{told}");
}

/// What is shown of a session names its images; only its export holds them.
#[test]
fn no_command_prints_base64_but_the_export_is_whole() {
    let person = person(
        "chat",
        "images = true",
        [Turn::call("read_file", json!({"path": "a.png"})), Turn::text("Seen.")],
    );
    let data = shown(&large()).1;
    let part = &data[200..400];
    let outside = outside(&person);
    let run = person.posse(&["run", "--json", "--no-agents", "--image", &outside, "Look."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let told = run.events().into_iter().find(|event| event["type"] == "told").unwrap();
    let wanted = json!([{"name": "outside.png", "media_type": "image/png", "bytes": 50_077, "width": 40, "height": 30}]);
    assert_eq!(told["attachments"], wanted);
    let read = run.events().into_iter().find(|event| event["type"] == "tool_finished").unwrap();
    assert_eq!(read["attachments"][0]["name"], "a.png");
    let name = "outside.png (PNG image, 40×30 pixels, 50,077 bytes)";
    for (args, names) in [
        (&["sessions", "show"][..], true),
        (&["sessions", "show", "--full"], true),
        (&["sessions", "show", "--json"], false),
        (&["sessions", "export", "last", "--format", "markdown"], true),
        (&["sessions", "search", "Look"], false),
        (&["tasks"], false),
    ] {
        let printed = person.posse(args);
        assert_eq!(printed.code, Some(0), "{args:?}: {printed:#?}");
        assert!(!printed.stdout.contains(part) && printed.stdout.len() < 30_000, "{args:?}");
        assert!(!names || printed.stdout.contains(name), "{args:?}: {}", printed.stdout);
    }
    let exported = person.posse(&["sessions", "export", "last", "--format", "jsonl"]);
    let told: Vec<Value> = exported.events().into_iter().filter(|event| event["type"] == "told").collect();
    assert_eq!(told[0]["attachments"][0]["data"], data.as_str());
}

#[test]
fn a_killed_session_goes_on_with_its_images() {
    for protocol in PROTOCOLS {
        let person = person(
            protocol,
            "images = true",
            [
                Turn::call("read_file", json!({"path": "a.png"})),
                Turn::text("never").delay(Duration::from_secs(60)),
            ],
        );
        let outside = outside(&person);
        let mut child = person.spawn(&["run", "--no-agents", "--image", &outside, "Look."]);
        eventually("the second request", || person.model.calls() == 2);
        // A request may leave before its turn is on record.
        let recorded = || person.posse(&["sessions", "show", "last", "--json"]).stdout.contains("\"turn\":2");
        eventually("the second turn on record", recorded);
        signal(&child, "KILL");
        child.wait().unwrap();
        person.model.push(Turn::text("Seen."));
        person.model.push(Turn::text("Seen again."));
        let done = person.posse(&["resume"]);
        assert_eq!(done.code, Some(0), "{done:#?}");
        let requests = person.model.requests();
        assert_eq!(requests[2].body, requests[1].body, "{protocol}: the same request, byte for byte");
        assert_eq!(requests[2].shown(), [shown(&large()), shown(&pictures::png(40, 30))]);
        // More images come with the next prompt.
        let done = person.posse(&["resume", "last", "--image", "c.gif", "And this?"]);
        assert_eq!(done.code, Some(0), "{done:#?}");
        let all = [shown(&large()), shown(&pictures::png(40, 30)), shown(&pictures::gif(40, 30))];
        assert_eq!(person.model.requests()[3].shown(), all, "{protocol}");
    }
}

/// A conversation with images can go on with a model that takes none.
#[test]
fn a_model_without_images_is_told_what_it_does_not_see() {
    let person = person("chat", "images = true", [Turn::text("Seen."), Turn::text("I remember.")]);
    assert_eq!(person.posse(&["run", "--no-agents", "--image", "a.png", "Look."]).code, Some(0));
    configured(&person, "chat", "");
    let done = person.posse(&["resume", "last", "What was it?"]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    let request = person.model.requests()[1].clone();
    assert_eq!(request.shown(), []);
    let wanted =
        "Look.\n[a.png (PNG image, 40×30 pixels, 77 bytes) is not shown: this model takes no images]";
    assert_eq!(request.json()["messages"][1]["content"], wanted);
}

/// What is recorded with images is played back with them.
#[test]
fn a_cassette_holds_images() {
    let person = person("chat", "images = true", [Turn::text("Seen.")]);
    let ran = person.posse(&["run", "--no-agents", "--record", "tape.jsonl", "--image", "a.png", "Look."]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let tape = text(&person.project.path().join("tape.jsonl"));
    person.configure(&format!(
        "[models.fake]\nprotocol = \"replay\"\ncassette = \"{tape}\"\nimages = true\ndocuments = false\n"
    ));
    let played = person.posse(&["run", "-q", "--no-agents", "--image", "a.png", "Look."]);
    assert_eq!((played.code, played.stdout.as_str()), (Some(0), "Seen.\n"), "{played:#?}");
    let other = person.posse(&["run", "-q", "--no-agents", "--image", "b.jpg", "Look."]);
    assert_eq!(other.code, Some(1));
    other.says("attachment b.jpg");
    // So is a session's own cassette, and it is said how.
    configured(&person, "chat", "images = true");
    let exported = person.posse(&["sessions", "export", "last~2", "--format", "cassette", "-o", "own.jsonl"]);
    assert_eq!(exported.code, Some(0), "{exported:#?}");
    exported.says("images = true");
    exported.says("--no-agents --image a.png \"Look.\"");
}
