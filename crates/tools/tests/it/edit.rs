//! edit_file: exact, unique, byte for byte, and only on what is still the same.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::{Desk, changed};

#[tokio::test]
async fn edits_are_exact_and_shown() {
    let desk = Desk::new(&[("a.rs", "fn a() {}\nfn b() {\n    old();\n}\nfn c() {}\n")]);
    let outcome = desk
        .call("edit_file", json!({"path": "a.rs", "old_text": "old();", "new_text": "new();\n    more();"}))
        .await;
    let text = "Edited a.rs (+2 -1 lines). Now:\n1\tfn a() {}\n2\tfn b() {\n3\t    new();\n4\t    more();\n5\t}\n6\tfn c() {}";
    assert_eq!(
        (outcome.ok, outcome.text.as_str(), outcome.effects),
        (true, text, changed("a.rs", false, 2, 1))
    );
    let outcome = desk
        .call(
            "edit_file",
            json!({"path": "a.rs", "old_text": "fn ", "new_text": "pub fn ", "replace_all": true}),
        )
        .await;
    assert!(outcome.text.starts_with("Edited a.rs in 3 places (+3 -3 lines)."), "{}", outcome.text);
    assert_eq!(
        desk.bytes("a.rs"),
        b"pub fn a() {}\npub fn b() {\n    new();\n    more();\n}\npub fn c() {}\n"
    );
}

#[tokio::test]
async fn bytes_outside_the_hunk_stay() {
    let desk = Desk::new(&[]);
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"\xEF\xBB\xBFa\r\nb\n", "b", "B", b"\xEF\xBB\xBFa\r\nB\n"),
        (b"caf\xe9\nold\n\xff\xfe\n", "old", "new", b"caf\xe9\nnew\n\xff\xfe\n"),
        (b"no end", "end", "end\n", b"no end\n"),
        (b"a\nb\r\nc\rd\n", "b", "x\ny", b"a\nx\r\ny\r\nc\rd\n"),
        ("\u{202e}x\u{200b}y\n".as_bytes(), "y", "z", "\u{202e}x\u{200b}z\n".as_bytes()),
    ];
    for (before, old, new, after) in cases {
        desk.put("f", before);
        fs::set_permissions(desk.at("f"), fs::Permissions::from_mode(0o750)).unwrap();
        desk.read("f").await;
        desk.good("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await;
        assert_eq!(desk.bytes("f").escape_ascii().to_string(), after.escape_ascii().to_string());
        assert_eq!(fs::metadata(desk.at("f")).unwrap().permissions().mode() & 0o7777, 0o750);
    }
}

#[tokio::test]
async fn what_cannot_be_edited_is_told() {
    let desk = Desk::new(&[("a", "one\n  two\nthree\ntwo\n"), ("bin", "a\0b"), ("latin", "")]);
    desk.put("latin", b"caf\xe9 au lait\n");
    let cases = [
        (
            "a",
            "two",
            "x",
            "old_text is in a 2 times, on lines 2, 4; call edit_file again with replace_all true to change them all, or with lines around it until it is unique",
        ),
        (
            "a",
            "",
            "x",
            "old_text is empty; to add lines, give the line before them as old_text, and that line with the new ones after it as new_text",
        ),
        (
            "a",
            "one",
            "one",
            "old_text and new_text are the same, so nothing was changed; old_text is what stands in the file now, new_text what shall stand there instead",
        ),
        (
            "latin",
            "caf\u{fffd}",
            "x",
            "old_text is not in latin; nothing was changed. The file has bytes there that are not UTF-8; choose text without \u{fffd}.",
        ),
        ("bin", "a", "x", "bin is not text (binary data); edit_file cannot change it"),
        ("b", "a", "x", "b is not there. These files are there: a, bin, latin."),
    ];
    for (path, old, new, expected) in cases {
        let before = fs::read(desk.at(path)).ok();
        let text = desk.bad("edit_file", json!({"path": path, "old_text": old, "new_text": new})).await;
        assert_eq!(text, expected);
        assert_eq!(fs::read(desk.at(path)).ok(), before);
    }
}

#[tokio::test]
async fn a_file_that_changed_is_not_edited() {
    let desk = Desk::new(&[("a", "one\ntwo\n")]);
    let edit = |old: &'static str, new: &'static str| json!({"path": "a", "old_text": old, "new_text": new});
    // Never read: an exact match is knowledge enough.
    desk.good("edit_file", edit("one", "1")).await;
    desk.good("edit_file", edit("two", "2")).await;
    desk.put("a", "1\n2\nthree\n");
    let text = desk.bad("edit_file", edit("1", "one")).await;
    assert!(text.starts_with("a changed on disk; read it again"), "{text}");
    desk.read("a").await;
    desk.good("edit_file", edit("1", "one")).await;
    assert_eq!(desk.bytes("a"), b"one\n2\nthree\n");
    // Also when a command of the agent itself changed it.
    desk.good("shell", json!({"command": "sed -i s/one/ONE/ a"})).await;
    desk.bad("edit_file", edit("2", "two")).await;
}

#[tokio::test]
async fn white_space_and_line_numbers_are_forgiven_where_one_place_fits() {
    let cases = [
        (
            "def add(a, b):\n    return a - b\n",
            "2\t    return a - b",
            "2\t    return a + b",
            "def add(a, b):\n    return a + b\n",
            "; line numbers left out",
        ),
        (
            "if x:\r\n\ta = 1\r\n\tb = 2\r\nend\r\n",
            "  a = 1\n  b = 2\n",
            "  a = 1\n  c = 3\n  b = 2\n",
            "if x:\r\n\ta = 1\r\n\tc = 3\r\n\tb = 2\r\nend\r\n",
            "; white space differed",
        ),
        ("1\tone\n", "1\tone", "1\tuno", "1\tuno\n", ""),
    ];
    for (before, old, new, after, forgiven) in cases {
        let desk = Desk::new(&[("f", before)]);
        let text = desk.good("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await;
        assert!(text.contains(&format!(" lines{forgiven}). Now:\n")), "{text}");
        assert_eq!(String::from_utf8(desk.bytes("f")).unwrap(), after);
    }
    let desk = Desk::new(&[("f", "a  b\n")]);
    let all = json!({"path": "f", "old_text": "a b", "new_text": "c", "replace_all": true});
    assert!(desk.bad("edit_file", all).await.contains("Only white space differs here:\na  b\n"));
}

#[tokio::test]
async fn what_was_probably_meant_is_shown_to_be_copied() {
    let desk = Desk::new(&[("a", "one\n  two\nthree\ntwo\n"), ("twice", "a =  1\na  = 1\n")]);
    desk.put("long", "line\n".repeat(13));
    let cases = [
        (
            "a",
            "one\n two",
            "one\n   x",
            "old_text is not in a; nothing was changed. Only white space differs here:\none\n  two\nCall edit_file again with old_text copied from there, or answer if that is what was wanted.",
        ),
        (
            "a",
            "threee",
            "x",
            "old_text is not in a; nothing was changed. The closest is:\nthree\nCall edit_file again with old_text copied from there, or answer if that is what was wanted.",
        ),
        (
            "a",
            "nothing like it",
            "x",
            "old_text is not in a; nothing was changed. The whole file is:\none\n  two\nthree\ntwo\nCall edit_file again with old_text copied from there, or answer if that is what was wanted.",
        ),
        (
            "long",
            "nothing like it",
            "x",
            "old_text is not in long; nothing was changed. Nothing in it is close; call read_file on it first.",
        ),
        // Numbers of other lines, and a line that fits twice but for white space.
        (
            "a",
            "3\tone",
            "x",
            "old_text is not in a; nothing was changed. The closest is:\none\nCall edit_file again with old_text copied from there, or answer if that is what was wanted.",
        ),
        (
            "twice",
            "a = 1",
            "x",
            "old_text is in twice 2 times, on lines 1, 2; call edit_file again with replace_all true to change them all, or with lines around it until it is unique",
        ),
    ];
    for (path, old, new, expected) in cases {
        let before = desk.bytes(path);
        let text = desk.bad("edit_file", json!({"path": path, "old_text": old, "new_text": new})).await;
        assert_eq!(text, expected);
        assert_eq!(desk.bytes(path), before);
    }
}

#[tokio::test]
async fn a_guess_that_cuts_a_word_is_not_taken() {
    let desk = Desk::new(&[("settings.ini", "[server]\nport = 8080\n")]);
    let edit = json!({"path": "settings.ini", "old_text": "port = 80", "new_text": "port = 30"});
    let outcome = desk.call("edit_file", edit.clone()).await;
    let wanted =
        "which you have not read; nothing was changed. There it says:\nport = 8080\nCall edit_file again";
    assert!(!outcome.ok && outcome.text.contains(wanted), "{}", outcome.text);
    assert_eq!(desk.bytes("settings.ini"), b"[server]\nport = 8080\n");
    let delete = json!({"path": "settings.ini", "old_text": "port", "new_text": ""});
    let outcome = desk.call("edit_file", delete).await;
    assert!(!outcome.ok && outcome.text.contains("There it says:\nport = 8080\n"), "{}", outcome.text);
    // Whoever has read the file may mean it.
    desk.call("read_file", json!({"path": "settings.ini"})).await;
    let outcome = desk.call("edit_file", edit).await;
    assert!(outcome.ok, "{}", outcome.text);
}

#[tokio::test]
async fn whole_lines_that_are_replaced_by_nothing_leave_no_empty_line() {
    let cases: &[(&[u8], &str, &[u8])] = &[
        (b"A=1\nDEBUG=true\nB=2\n", "DEBUG=true", b"A=1\nB=2\n"),
        (b"A=1\r\nDEBUG=true\r\nB=2\r\n", "DEBUG=true", b"A=1\r\nB=2\r\n"),
        (b"A=1\nB=2\nC=3\n", "A=1\nB=2", b"C=3\n"),
        // Part of a line, or a line with its end, is taken as it is.
        (b"A=1\nB=2\n", "=2", b"A=1\nB\n"),
        (b"A=1\nB=2\nC=3\n", "B=2\n", b"A=1\nC=3\n"),
        (b"A=1\nB=2", "B=2", b"A=1\n"),
    ];
    for (before, old_text, after) in cases {
        let desk = Desk::new(&[]);
        desk.put("a", before);
        desk.call("read_file", json!({"path": "a"})).await;
        let outcome =
            desk.call("edit_file", json!({"path": "a", "old_text": old_text, "new_text": ""})).await;
        assert!(outcome.ok, "{}", outcome.text);
        assert_eq!(desk.bytes("a"), *after, "{old_text:?}");
    }
}

#[tokio::test]
async fn lines_that_were_added_are_not_added_once_more() {
    let desk = Desk::new(&[("settings.ini", "port = 8080\nhost = a\n")]);
    let add =
        json!({"path": "settings.ini", "old_text": "port = 8080", "new_text": "port = 8080\ntimeout = 30"});
    assert!(desk.call("edit_file", add.clone()).await.ok);
    let again = desk.call("edit_file", add).await;
    assert!(!again.ok && again.text.contains("already; nothing was changed"), "{}", again.text);
    assert_eq!(desk.bytes("settings.ini"), b"port = 8080\ntimeout = 30\nhost = a\n");
}
