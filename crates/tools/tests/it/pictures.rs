//! read_file on images and documents.

use std::os::unix::fs::symlink;

use posse_protocol::limits::IMAGE_BYTES_MAX;
use posse_protocol::{Attachment, ToolOutcome};
use posse_testkit::pictures;
use posse_tools::ToolSettings;
use serde_json::json;

use crate::{Desk, full};

fn desk(images: bool, documents: bool) -> Desk {
    Desk::with(&[], full(), ToolSettings { images, documents, ..ToolSettings::default() })
}

/// A PNG image of so many bytes.
fn heavy(bytes: u64) -> Vec<u8> {
    let mut png = pictures::png(40, 30);
    // Behind the end of the picture anything may follow.
    png.resize(usize::try_from(bytes).unwrap(), 1);
    png
}

#[tokio::test]
async fn every_format_is_shown_to_a_model_that_takes_images() {
    let desk = desk(true, true);
    let mut ran = 0;
    for (name, media_type, bytes) in pictures::pictures() {
        // Small ones are read at once, others on a thread; the name says nothing.
        for (path, content) in [
            (format!("in/{name}"), bytes.clone()),
            (format!("{name}.txt"), bytes.clone()),
            ("no extension".to_string(), bytes.clone()),
            (format!("heavy-{name}"), [bytes.clone(), vec![1; 200_000]].concat()),
        ] {
            desk.put(&path, &content);
            let shown = Attachment::new(&path, &content).unwrap();
            assert_eq!((shown.media_type.as_str(), shown.width, shown.height), (media_type, 40, 30));
            let text = format!("{shown} is shown to you.");
            let wanted = ToolOutcome { attachments: vec![shown], ..ToolOutcome::ok(text) };
            assert_eq!(desk.call("read_file", json!({"path": path})).await, wanted);
            ran += 1;
        }
    }
    assert_eq!(ran, 16);
    desk.put("paper.pdf", pictures::pdf());
    let paper = desk.call("read_file", json!({"path": "paper.pdf", "start_line": 3})).await;
    assert_eq!(paper.attachments, [Attachment::new("paper.pdf", &pictures::pdf()).unwrap()]);
    assert_eq!(paper.text, "paper.pdf (PDF document, 86 bytes) is shown to you.");
}

#[tokio::test]
async fn what_cannot_be_shown_is_told_in_one_sentence() {
    let desks = [desk(false, false), desk(true, false), desk(true, true)];
    let taken = "Use shell to inspect it.";
    let kept = "Use shell to inspect or convert it.";
    let png = "a.png (PNG image, 40×30 pixels, 77 bytes)";
    let cases: [(Vec<u8>, [Option<String>; 3]); 5] = [
        (
            pictures::png(40, 30),
            [Some(format!("{png} cannot be shown, because this model takes no images. {taken}")), None, None],
        ),
        (
            pictures::pdf(),
            [
                Some(format!("a.png (PDF document, 86 bytes) cannot be shown, because this model takes no PDF documents. {taken}")),
                Some(format!("a.png (PDF document, 86 bytes) cannot be shown, because this model takes no PDF documents. {taken}")),
                None,
            ],
        ),
        (
            pictures::png(40, 30)[..60].to_vec(),
            [(); 3].map(|()| Some(format!("a.png cannot be shown: it is a PNG image that is damaged or cut off. {kept}"))),
        ),
        (
            heavy(IMAGE_BYTES_MAX + 1),
            [(); 3].map(|()| Some(format!("a.png cannot be shown: it is a PNG image of 3,932,161 bytes; models are sent at most 3,932,160. {kept}"))),
        ),
        (
            pictures::png(9_000, 30),
            [(); 3].map(|()| Some(format!("a.png cannot be shown: it is a PNG image of 9000×30 pixels; models are sent at most 8,000 on a side. {kept}"))),
        ),
    ];
    let mut ran = 0;
    for (content, wanted) in cases {
        for (desk, wanted) in desks.iter().zip(wanted) {
            desk.put("a.png", &content);
            let outcome = desk.call("read_file", json!({"path": "a.png"})).await;
            match wanted {
                Some(text) => assert_eq!(outcome, ToolOutcome::error(text)),
                None => assert!(outcome.ok && outcome.attachments.len() == 1, "{}", outcome.text),
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 15);
    desks[1].put("a.png", heavy(IMAGE_BYTES_MAX));
    assert!(desks[1].call("read_file", json!({"path": "a.png"})).await.ok, "the largest that is shown");
}

/// The name of an image does not make one, nor does its first word.
#[tokio::test]
async fn text_that_looks_like_an_image_is_text() {
    let desk = desk(true, true);
    for (text, wanted) in
        [("hello\n", "1\thello"), ("GIF89a is a format\n", "1\tGIF89a is a format"), ("%PDF-\n", "1\t%PDF-")]
    {
        desk.put("a.png", text);
        assert_eq!(desk.good("read_file", json!({"path": "a.png"})).await, wanted);
    }
    assert!(desk.call("read_file", json!({"path": "a.png"})).await.attachments.is_empty());
    // A document without a zero byte is text to a model that takes no documents.
    let plain = "%PDF-1.4\n%%EOF\n";
    desk.put("plain.pdf", plain);
    assert_eq!(desk.call("read_file", json!({"path": "plain.pdf"})).await.attachments.len(), 1);
    let blind = self::desk(true, false);
    blind.put("plain.pdf", plain);
    assert_eq!(blind.good("read_file", json!({"path": "plain.pdf"})).await, "1\t%PDF-1.4\n2\t%%EOF");
}

/// Images are read as every other file is: not outside the workspace, and not through a link.
#[tokio::test]
async fn images_outside_stay_outside() {
    let desk = desk(true, true);
    std::fs::write(desk.outer.path().join("private.png"), pictures::png(40, 30)).unwrap();
    symlink(desk.outer.path().join("private.png"), desk.at("link.png")).unwrap();
    for path in ["../private.png", "link.png"] {
        let outcome = desk.call("read_file", json!({"path": path})).await;
        assert!(!outcome.ok && outcome.attachments.is_empty(), "{path}: {}", outcome.text);
    }
}

#[test]
fn only_models_that_take_images_are_told_of_them() {
    let told = |images, documents| {
        let desk = desk(images, documents);
        let spec = desk.tools.specs().iter().find(|spec| spec.name == "read_file").unwrap().clone();
        assert_eq!(desk.tools.specs(), desk.tools.specs_now());
        spec.description
    };
    let plain = told(false, false);
    assert!(!plain.contains("mage"), "{plain}");
    let cases = [
        (told(true, false), " Images (PNG, JPEG, GIF, WebP) are shown."),
        (told(true, true), " Images (PNG, JPEG, GIF, WebP) and PDF documents are shown."),
        (told(false, true), " PDF documents are shown."),
    ];
    for (description, more) in cases {
        assert_eq!(description, format!("{plain}{more}"));
    }
}
