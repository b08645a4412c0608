//! The chat of the real program in a real tmux: conversations, steering, leaving and coming back.

mod opening;
mod screens;
mod typed;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_testkit::Turn;
use serde_json::json;

use crate::pane::{Pane, READY, kill, sessions_of};
use crate::posse::{Person, eventually};

/// What the last request tells the model.
fn last_request(person: &Person) -> String {
    person.model.requests().last().unwrap().json().to_string()
}

fn sessions(person: &Person) -> Vec<serde_json::Value> {
    person.posse(&["sessions", "list", "--json"]).events()
}

#[test]
fn prompts_go_to_one_session_in_the_background_and_quit_ends_it_and_leaves_the_terminal_as_it_was() {
    let person = Person::new([Turn::text("It prints hi."), Turn::text("Because of **line** one.")]);
    let pane = Pane::open(&person, 80, 24);
    pane.runs("stty -a > $HOME/before");
    let modes = "cursor_flag wrap_flag alternate_on origin_flag insert_flag keypad_flag keypad_cursor_flag";
    let flags = || modes.split(' ').map(|name| pane.value(name)).collect::<Vec<_>>();
    let before = flags();
    pane.starts("");
    pane.shows(READY);
    assert_eq!(sessions_of(&person), [0; 0], "no process before the first prompt");
    pane.says("what does it print?");
    pane.shows("It prints hi.");
    let processes = sessions_of(&person);
    assert_eq!(processes.len(), 1);
    pane.says("why?");
    pane.shows("Because of line one.");
    assert_eq!(sessions_of(&person), processes, "the same process");
    assert_eq!(sessions(&person).len(), 1, "the same session");
    let asked = last_request(&person);
    assert!(
        asked.contains("what does it print?") && asked.contains("It prints hi.") && asked.contains("why?"),
        "{asked}"
    );
    pane.says("/quit");
    pane.shows("posse --continue opens this session again");
    pane.is_at_the_shell();
    pane.until("the end of the process", || sessions_of(&person).is_empty());
    assert_eq!(sessions(&person)[0]["status"], "completed");
    assert_eq!(flags(), before);
    let raw = pane.raw();
    for (on, off) in
        [("?2004h", "?2004l"), ("?1004h", "?1004l"), ("[>1u", "[<u"), ("?25l", "?25h"), ("?2026h", "?2026l")]
    {
        assert!(raw.rfind(off) > raw.rfind(on) && raw.contains(on), "{on} is not followed by {off}");
    }
    let whole = pane.whole();
    assert_eq!(whole.matches("It prints hi.").count(), 1, "{whole}");
    assert!(!whole.contains("mode auto"), "nothing is left of the live region: {whole}");
    pane.runs("stty -a > $HOME/after");
    let file = |name: &str| std::fs::read_to_string(person.data_dir().with_file_name(name)).unwrap();
    assert_eq!(file("after"), file("before"));

    // Another chat continues it.
    person.model.push(Turn::text("Third."));
    pane.clears();
    pane.starts("--continue");
    pane.shows("Because of line one.");
    pane.shows("110 in the window");
    assert_eq!(pane.whole().matches("✓ ").count(), 2, "one line for each answer: {}", pane.whole());
    pane.says("and now?");
    pane.shows("Third.");
    assert_eq!(sessions(&person).len(), 1, "still the same session");
    assert!(last_request(&person).contains("It prints hi."));
    // Somebody ends it elsewhere.
    eventually("rest", || sessions(&person)[0]["status"] == "resting");
    assert_eq!(person.posse(&["stop", "last"]).code, Some(0));
    pane.shows("the session has ended; your next prompt takes it up again");
    assert!(!pane.whole().contains("process is gone"), "{}", pane.whole());
    pane.says("/quit");
    pane.is_at_the_shell();
    pane.until("the end of the process", || sessions_of(&person).is_empty());
}

#[test]
fn words_steer_the_running_turn_or_wait_behind_it_and_escape_stops_it() {
    let go_on = Arc::new(AtomicBool::new(false));
    let never = Arc::new(AtomicBool::new(false));
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})).after(&go_on),
        Turn::text("First.").after(&go_on),
        Turn::text("Second."),
        Turn::text("never").after(&never),
        Turn::text("Third."),
    ]);
    let pane = Pane::chat(&person);
    pane.says("begin");
    eventually("a request", || person.model.requests().len() == 1);
    // Also if the chat does not know of the session yet.
    pane.says("count to four");
    pane.types("sing a song");
    pane.keys(&["Tab"]);
    pane.hides("starting: ");
    pane.shows("next turn: count to four");
    pane.shows("then: sing a song");
    go_on.store(true, Ordering::Relaxed);
    pane.shows("Second.");
    let requests = person.model.requests();
    let has = |at: usize, text: &str| requests[at].json().to_string().contains(text);
    assert_eq!([has(1, "count to four"), has(1, "sing a song"), has(2, "sing a song")], [true, false, true]);
    let whole = pane.whole();
    let order = ["› begin", "read_file main.py", "› count to four", "First.", "› sing a song", "Second."];
    let places = order.map(|what| whole.find(what).unwrap_or_else(|| panic!("{what}: {whole}")));
    assert!(places.is_sorted(), "{whole}");

    pane.says("and then?");
    eventually("a request", || person.model.requests().len() == 4);
    pane.shows("Esc stops");
    pane.keys(&["Escape"]);
    pane.hides("Esc stops");
    pane.says("once more");
    pane.shows("Third.");
    assert_eq!(sessions_of(&person).len(), 1);

    // What runs is stopped by leaving.
    person.model.push(Turn::text("never").after(&never));
    pane.says("and then?");
    eventually("a request", || person.model.requests().len() == 6);
    pane.says("/quit");
    pane.is_at_the_shell();
    pane.until("the end of the process", || sessions_of(&person).is_empty());
}

#[test]
fn a_question_is_answered_with_a_key_of_its_own_and_leaving_the_sandbox_takes_a_word() {
    let outside = json!({"command": "echo out > outside.txt", "outside_sandbox": true});
    let person = Person::new([
        Turn::call("shell", json!({"command": "echo in > inside.txt"})),
        Turn::call("shell", outside),
        Turn::text("Both ran."),
    ]);
    let pane = Pane::open(&person, 100, 30);
    pane.starts("--approval ask");
    pane.shows(READY);
    pane.says("go");
    pane.shows("main wants to run a command");
    // Keys are the composer's until Ctrl+Q.
    pane.types("yes");
    pane.shows("› yes");
    assert!(!person.project.path().join("inside.txt").exists());
    pane.keys(&["C-q"]);
    pane.shows("for the session");
    pane.keys(&["y"]);
    pane.shows("OUTSIDE the sandbox");
    assert_eq!(person.file("inside.txt"), "in\n");
    pane.keys(&["C-q"]);
    pane.shows("let it out, once");
    pane.keys(&["o"]);
    pane.shows("type outside:");
    pane.says("yes");
    pane.shows("type outside: yes");
    assert!(!person.project.path().join("outside.txt").exists());
    pane.keys(&["C-u"]);
    pane.says("outside");
    pane.shows("Both ran.");
    assert_eq!(person.file("outside.txt"), "out\n");
    assert!(pane.screen().contains("› yes"), "what was written is still there: {}", pane.screen());
}

#[test]
fn detached_hung_up_or_killed_the_work_is_not_lost() {
    let flags: [_; 3] = std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
    let go_on = |at: usize| flags[at].store(true, Ordering::Relaxed);
    let person = Person::new([
        Turn::text("First answer.").after(&flags[0]),
        Turn::text("La la."),
        Turn::text("Second answer.").after(&flags[1]),
        Turn::text("never").after(&flags[2]),
    ]);
    let pane = Pane::chat(&person);
    pane.says("first");
    eventually("a request", || person.model.requests().len() == 1);
    // What was said last is not lost.
    pane.says("sing a song");
    pane.says("/detach");
    pane.shows("the session goes on in the background: posse attach ");
    pane.is_at_the_shell();
    let process = sessions_of(&person);
    assert_eq!(process.len(), 1);
    go_on(0);
    pane.clears();
    pane.starts("attach");
    pane.shows("La la.");
    let whole = pane.whole();
    assert!(["› first", "First answer.", "› sing a song"].iter().all(|said| whole.contains(said)), "{whole}");

    // The terminal goes away.
    pane.says("second");
    eventually("a request", || person.model.requests().len() == 3);
    let chat = chat_process(&pane);
    pane.is_closed_and_another_opened();
    eventually("the end of the chat", || !is_there(&chat));
    assert_eq!(sessions_of(&person), process, "the session goes on");
    go_on(1);
    pane.starts("attach");
    pane.shows("Second answer.");
    assert!(pane.whole().contains("First answer.") && pane.whole().contains("› second"), "{}", pane.whole());

    // The process of the session goes away.
    pane.says("third");
    eventually("a request", || person.model.requests().len() == 4);
    kill(process[0], "KILL");
    pane.shows("Your next prompt takes the session up again.");
    person.model.push(Turn::text("Fourth answer."));
    pane.says("fourth");
    pane.shows("Fourth answer.");
    assert_eq!(sessions(&person).len(), 1, "still the same session");
    let asked = last_request(&person);
    for said in ["first", "First answer.", "second", "Second answer.", "third", "fourth"] {
        assert!(asked.contains(said), "{said}: {asked}");
    }
    assert_ne!(sessions_of(&person), process, "in another process");
    pane.says("/quit");
    pane.is_at_the_shell();
    pane.until("the end of the process", || sessions_of(&person).is_empty());
}

/// The process in front of the terminal.
fn chat_process(pane: &Pane<'_>) -> String {
    let shell = pane.value("pane_pid");
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    children.split_whitespace().next().unwrap().to_owned()
}

fn is_there(process: &str) -> bool {
    std::path::Path::new("/proc").join(process).exists()
}
