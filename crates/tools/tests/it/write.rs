//! write_file: creating, replacing what was seen, refusing what was not.

use posse_protocol::ToolOutcome;
use serde_json::json;

use crate::{Desk, changed};

#[tokio::test]
async fn files_are_created_and_replaced() {
    let desk = Desk::new(&[]);
    let write = |path: &'static str, content: &'static str| {
        desk.call("write_file", json!({"path": path, "content": content}))
    };
    let outcome = |text: &str, effects| ToolOutcome { effects, ..ToolOutcome::ok(text) };
    let expected = outcome("Created a/b/c.txt (+2 -0 lines).", changed("a/b/c.txt", true, 2, 0));
    assert_eq!(write("./a/b//c.txt", "one\ntwo\n").await, expected);
    let expected = outcome("Replaced a/b/c.txt (+1 -1 lines).", changed("a/b/c.txt", false, 1, 1));
    assert_eq!(write("a/b/c.txt", "one\n2\n").await, expected);
    assert_eq!(desk.bytes("a/b/c.txt"), b"one\n2\n");
    let same = outcome("a/b/c.txt already has exactly this content.", vec![]);
    assert_eq!(write("a/b/c.txt", "one\n2\n").await, same);
    assert_eq!(
        write("empty", "").await,
        outcome("Created empty (+0 -0 lines).", changed("empty", true, 0, 0))
    );
}

#[tokio::test]
async fn what_was_not_seen_is_not_replaced() {
    let desk = Desk::new(&[("seen", "old\n"), ("unseen", "old\n"), ("empty", "")]);
    let write = |path: &'static str| json!({"path": path, "content": "new\n"});
    let text = desk.bad("write_file", write("unseen")).await;
    assert_eq!(
        text,
        "unseen is already there and you have not seen what is in it; nothing was written. It is:\nold\nChange a part of it \
         with edit_file, or call write_file again."
    );
    assert_eq!(desk.bytes("unseen"), b"old\n");
    desk.tools.next_turn();
    // Now it was seen.
    desk.good("write_file", write("unseen")).await;
    desk.put("long", "line\n".repeat(500));
    let text = desk.bad("write_file", write("long")).await;
    assert!(text.ends_with("Call read_file on it, then change a part with edit_file."), "{text}");
    desk.good("write_file", write("empty")).await;
    desk.read("seen").await;
    desk.put("seen", "somebody else's\n");
    let text = desk.bad("write_file", write("seen")).await;
    assert!(text.starts_with("seen changed on disk; read it again"), "{text}");
    assert_eq!(desk.bytes("seen"), b"somebody else's\n");
    desk.read("seen").await;
    desk.good("write_file", write("seen")).await;
    // Its own last write counts as having seen it.
    desk.good("write_file", json!({"path": "seen", "content": "newer\n"})).await;
    assert_eq!(desk.bytes("seen"), b"newer\n");
}

#[tokio::test]
async fn what_was_read_in_the_same_reply_is_not_seen_yet() {
    let desk = Desk::new(&[("a", "old\n")]);
    let run = async |name: &str, arguments: serde_json::Value| {
        let call = crate::call_of(name, arguments.to_string());
        desk.tools.prepare(&call).unwrap().run().await.ok
    };
    assert!(run("read_file", json!({"path": "a"})).await);
    assert!(!run("write_file", json!({"path": "a", "content": "made up\n"})).await);
    assert!(
        run("edit_file", json!({"path": "a", "old_text": "old", "new_text": "new"})).await,
        "a match is proof enough"
    );
    desk.tools.next_turn();
    assert!(run("write_file", json!({"path": "a", "content": "known\n"})).await);
    assert_eq!(desk.bytes("a"), b"known\n");
}

#[tokio::test]
async fn what_one_agent_saw_another_did_not() {
    let desk = Desk::new(&[("a", "old\n")]);
    desk.read("a").await;
    let workspace = posse_workspace::Workspace::open(desk.at(".")).unwrap();
    let other = posse_tools::Toolbox::new(
        &workspace,
        crate::full(),
        Default::default(),
        crate::owner(),
        Default::default(),
        Default::default(),
    );
    let call = crate::call_of("write_file", json!({"path": "a", "content": "new"}).to_string());
    assert!(!other.prepare(&call).unwrap().run().await.ok);
}
