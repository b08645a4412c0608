//! Files that lead out, and contents that are not what they should be.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::foe::{Held, life, raw};
use super::ground::{Attempt, Comes, EVIL, Ground};

pub(super) const ATTEMPTS: usize = FILES.len();

const OUT: Comes = Comes::Failed("outside of its folder");
const UNREADABLE: Comes = Comes::Failed("cannot be read");

fn sha256(bytes: &[u8]) -> String {
    posse_cluster::BlobId::of(bytes).unwrap().to_string()
}

/// The first thing that an agent tells, after it has changed a file.
fn kept(path: &str) -> Value {
    let bytes = EVIL.as_bytes();
    let mut item = life()[0].clone();
    item["here"]["item"]["kept"] =
        json!([{"path": path, "after": {"mode": "100755", "blob": sha256(bytes)}}]);
    item["here"]["contents"] = json!({sha256(bytes): BASE64_STANDARD.encode(bytes)});
    item
}

fn with_contents(contents: Value) -> Value {
    let mut item = life()[0].clone();
    item["here"]["contents"] = contents;
    item
}

macro_rules! leads {
    ($name:literal, $path:expr) => {
        Attempt { name: $name, comes: OUT, play: |held, _| Box::pin(refused(held, kept($path))) }
    };
}

async fn refused(mut held: Held, item: Value) {
    held.is_refused_for(&[item]).await;
}

static FILES: &[Attempt] = &[
    leads!("above", "../evil"),
    leads!("absolute", "/etc/evil"),
    leads!("through", "a/../../evil"),
    leads!("config", ".git/config"),
    leads!("hook", "sub/.GIT/hooks/evil"),
    leads!("dot", "./evil"),
    leads!("empty", ""),
    leads!("double", "a//evil"),
    leads!("nul", "evil\0.txt"),
    leads!("long", &"evil/".repeat(2_000)),
    // One content at so many paths that nobody can hold all of that, at home or where the agent continues.
    Attempt {
        name: "many-paths",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                let bytes = vec![b'x'; 1 << 20];
                let mut first = life()[0].clone();
                let kept = |n: usize| json!({"path": format!("f/{n}"), "after": {"mode": "100644", "blob": sha256(&bytes)}});
                first["here"]["item"]["kept"] = (0..700).map(kept).collect();
                first["here"]["contents"] = json!({sha256(&bytes): BASE64_STANDARD.encode(&bytes)});
                assert!(held.tell(&[first]).await && held.tell(&life()[1..]).await);
                held.end(&super::foe::end()).await;
            })
        },
    },
    Attempt {
        name: "other-content",
        comes: Comes::Failed("not what its name says"),
        play: |held, _| {
            Box::pin(refused(held, with_contents(json!({sha256(b"one"): BASE64_STANDARD.encode("other")}))))
        },
    },
    Attempt {
        name: "name-that-leads-out",
        comes: Comes::Failed("not what its name says"),
        play: |held, _| {
            Box::pin(refused(held, with_contents(json!({"../../evil": BASE64_STANDARD.encode("evil")}))))
        },
    },
    Attempt {
        name: "no-content",
        comes: UNREADABLE,
        play: |held, _| Box::pin(refused(held, with_contents(json!({sha256(b"x"): "!!!"})))),
    },
    Attempt {
        name: "no-blob",
        comes: Comes::Failed("cannot be fetched"),
        play: |held, _| Box::pin(refused(held, json!({"blob": sha256(b"never put")}))),
    },
    Attempt {
        name: "bad-blob-name",
        comes: UNREADABLE,
        play: |held, _| Box::pin(refused(held, json!({"blob": "../../evil"}))),
    },
    Attempt {
        name: "blob-of-nothing",
        comes: UNREADABLE,
        play: |held, _| {
            Box::pin(async move {
                let blob = held.foe.put(b"no item").await;
                refused(held, json!({"blob": blob.to_string()})).await;
            })
        },
    },
    Attempt {
        name: "huge-blob",
        comes: Comes::Failed("more than"),
        play: |held, arena| {
            Box::pin(async move {
                let path = arena.workspace.with_extension("huge");
                let file = std::fs::File::create(&path).unwrap();
                file.set_len(posse_cluster::limits::ITEM_BLOB_BYTES_MAX + 1).unwrap();
                let blob = held.foe.put_file(&path).await;
                refused(held, json!({"blob": blob.to_string()})).await;
            })
        },
    },
    Attempt {
        name: "many-blobs",
        comes: Comes::Failed("more than"),
        play: |mut held, _| {
            Box::pin(async move {
                let mut item = life()[0]["here"].clone();
                item["item"]["kind"]["text"] = "x".repeat(8 << 20).into();
                let blob = held.foe.put(&serde_json::to_vec(&item).unwrap()).await.to_string();
                held.is_refused_for(&vec![json!({"blob": blob}); 40_000]).await;
            })
        },
    },
    Attempt {
        name: "deep",
        comes: UNREADABLE,
        play: |held, _| {
            Box::pin(async move {
                let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
                let said = posse_cluster::RunUp::Items {
                    epoch: held.epoch,
                    first: 1,
                    items: vec![
                        serde_json::value::RawValue::from_string(deep).unwrap_or_else(|_| raw(&json!([]))),
                    ],
                };
                let mut held = held;
                held.until(said, |heard| super::foe::is_over(heard).then_some(())).await;
            })
        },
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn files_that_lead_out_or_lie_are_refused() {
    let names: Vec<&str> = FILES.iter().map(|attempt| attempt.name).collect();
    let ground = Ground::new(&names, "implementer").await;
    let ran = ground.play(FILES).await;
    let notes = ran.report_of("many-paths").notes;
    assert!(notes.iter().any(|note| note.contains("more than home keeps")), "{notes:?}");
}
