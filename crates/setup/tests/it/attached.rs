//! Files that go with a task, and models that take them.

use std::path::Path;

use posse_model::{ModelConfig, Protocol};
use posse_protocol::Attachment;
use posse_protocol::limits::{ATTACHMENTS_MAX, IMAGE_BYTES_MAX};
use posse_setup::{Paths, SessionPlan, TaskPrompt, Wishes};
use posse_testkit::pictures;

use crate::world::World;

fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn task(text: &str) -> TaskPrompt {
    text.to_string().into()
}

#[test]
fn images_and_documents_are_shown_and_texts_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = task("Look.");
    let mut wanted = Vec::new();
    for (name, _, content) in pictures::pictures().into_iter().chain([("p.pdf", "", pictures::pdf())]) {
        // What a file is called makes no difference.
        let name = format!("{name}.txt");
        seen.attach(&put(folder.path(), &name, &content)).unwrap();
        wanted.push(Attachment::new(&name, &content).unwrap());
    }
    seen.attach(&put(folder.path(), "notes.png", "one\ntwo\n")).unwrap();
    let text = "Look.\n\n[notes.png:]\none\ntwo\n".to_string();
    assert_eq!(seen, TaskPrompt { text, attached_bytes: 8, attachments: wanted });
}

#[test]
fn what_cannot_go_with_a_task_is_told_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let png = pictures::png(40, 30);
    let large = |bytes: u64| vec![b'x'; usize::try_from(bytes).unwrap()];
    let heavy = [png.clone(), large(IMAGE_BYTES_MAX)].concat();
    let cases = [
        ("half.png", &png[..40], "a PNG image that is damaged or cut off"),
        (
            "tall.png",
            &pictures::png(40, 9_000),
            "a PNG image of 40×9000 pixels; models are sent at most 8,000 on a side",
        ),
        ("heavy.png", &heavy, "a PNG image of 3,932,237 bytes; models are sent at most 3,932,160"),
        ("a.bin", b"a\0b", "neither an image (PNG, JPEG, GIF, WebP) nor a PDF document"),
        (
            "long.txt",
            &large((1 << 20) + 1),
            "a text of 1,048,577 bytes; at most 1,048,576 go with a task: let the agent read it",
        ),
    ];
    assert_eq!(cases.len(), 5);
    for (name, content, wanted) in cases {
        let path = put(folder.path(), name, content);
        let error = task("Look.").attach(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {wanted}", path.display()));
    }
    let error = |path: &Path| task("Look.").attach(path).unwrap_err().to_string();
    assert!(error(&folder.path().join("gone.png")).contains("gone.png: No such file"));
    assert!(error(folder.path()).ends_with("not a file; name an image, a PDF document or a text file"));
    assert!(error(Path::new("/dev/zero")).contains("not a file"));
}

#[test]
fn one_message_holds_so_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.png", pictures::png(40, 30));
    let mut seen = task("Look.");
    (0..ATTACHMENTS_MAX).for_each(|_| seen.attach(&path).unwrap());
    let error = seen.attach(&path).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "one file too many; one message holds 20 images and documents, 20,971,520 bytes of base64 in all"
        ),
        "{error}"
    );
    let heavy = [pictures::png(40, 30), vec![0; 3_500_000]].concat();
    let path = put(folder.path(), "heavy.png", heavy);
    let mut seen = task("Look.");
    (0..4).for_each(|_| seen.attach(&path).unwrap());
    assert!(seen.attach(&path).is_err(), "five of 4.7 MB are too much");
}

#[test]
fn a_model_that_takes_no_images_is_told_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |name: &str, content: &[u8]| {
        let mut seen = task("Look.");
        seen.attach(&put(folder.path(), name, content)).unwrap();
        seen
    };
    let (png, pdf) = (shown("a.png", &pictures::png(40, 30)), shown("b.pdf", &pictures::pdf()));
    let plain = ModelConfig::new("small", "m", Protocol::Chat, "http://127.0.0.1:9/v1");
    let configured = ModelConfig { section: Some("[models.small]".into()), ..plain.clone() };
    let cases = [
        (
            &png,
            &plain,
            "a.png cannot be shown: small takes no images. If it does take them, set images = true in a table [models.NAME] of the configuration",
        ),
        (
            &png,
            &configured,
            "a.png cannot be shown: small takes no images. If it does take them, set images = true in [models.small]",
        ),
        (
            &pdf,
            &configured,
            "b.pdf cannot be shown: small takes no PDF documents. If it does take them, set documents = true in [models.small]",
        ),
    ];
    for (task, model, wanted) in cases {
        assert_eq!(task.must_fit(model).unwrap_err().to_string(), wanted);
    }
    png.must_fit(&ModelConfig { images: true, ..plain.clone() }).unwrap();
    pdf.must_fit(&ModelConfig { documents: Some(true), ..plain.clone() }).unwrap();
    // It counts as the tokens that it takes.
    let window = |tokens| ModelConfig { images: true, context_window: Some(tokens), ..plain.clone() };
    png.must_fit(&window(108)).unwrap();
    assert!(png.must_fit(&window(107)).is_err());
}

/// What is configured counts; of what is found, only models that are known to take images do.
#[tokio::test]
async fn models_take_images_where_it_is_known() {
    let world = World::new(
        "[models.a]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n\
         [models.b]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nimages = true\n\
         [models.c]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nimages = true\ndocuments = true\n",
    );
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY"];
    let surroundings = || keys.iter().fold(world.surroundings(), |s, key| s.with_variable(*key, "k"));
    let cases = [
        ("a", (false, false)),
        ("b", (true, false)),
        ("c", (true, true)),
        ("anthropic", (true, true)),
        ("anthropic/claude-opus-4-1", (true, true)),
        ("openai", (true, true)),
        ("openai/o3-mini", (false, false)),
        ("deepseek", (false, false)),
        ("openrouter", (false, false)),
    ];
    assert_eq!(cases.len(), 9);
    for (name, wanted) in cases {
        let wishes = Wishes { model: Some(name.into()), ..Wishes::default() };
        let (paths, project) = (Paths::find(surroundings(), None, None).unwrap(), world.project());
        let model = SessionPlan::read(&paths, &project, wishes).unwrap().choose_model().await.unwrap().model;
        assert_eq!((model.images, model.takes_documents()), wanted, "{name}");
    }
}
