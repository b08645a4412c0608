//! Writing to agents while they work: messages reach them, wait in a queue, change and are taken back.

use posse_testkit::{Turn, chromium::Page};

use super::REPORT;
use super::stage::{Gate, Stage, shell, starts};

/// What waits to be delivered, as the page shows it.
fn waits(page: &Page, expected: &[&str]) {
    let expected = serde_json::Value::from(expected);
    page.wait_for(
        &format!("JSON.stringify([...document.querySelectorAll('.queue .grow')].map((one) => one.textContent)) === JSON.stringify({expected})"),
        "the queue",
    );
}

/// Sends a message, when the one before has left.
fn writes(page: &Page, text: &str) {
    let send = "[...document.querySelectorAll('.composer button')].find((one) => /^(Send|Resume)$/.test(one.textContent))";
    page.wait_for(&format!("{send}.disabled === false"), "that a message can be sent");
    page.fill(".composer textarea[role=combobox]", text);
    page.press("Enter");
}

fn writes_to(page: &Page, agent: &str) {
    page.click(&format!("text={agent}"));
    page.wait_for(&format!("document.querySelector('.agent-head h2').innerText === '{agent}'"), "the agent");
}

#[test]
fn words_reach_agents_at_work_and_turns_are_stopped() {
    let stage = Stage::new(&[]);
    let page = stage.tab();
    words_reach_a_sub_agent_at_work_and_prompts_wait_for_their_turn(&stage, &page);
    a_turn_is_stopped_settings_change_and_a_session_that_has_ended_is_resumed(&stage, &page);
}

fn words_reach_a_sub_agent_at_work_and_prompts_wait_for_their_turn(stage: &Stage, page: &Page) {
    let (go_on, stay) = (Gate::closed(), Gate::closed());
    stage.script("main", [starts("ann", "general"), Turn::text("Done."), Turn::text("Done, too.")]);
    stage.script(
        "ann",
        [
            shell("true").after(&go_on.0),
            Turn::text("Not yet.").stall_after(2).after(&stay.0),
            Turn::text(REPORT),
        ],
    );
    let session = stage.begin(page, "Auto", "Have ann look.");

    // To a sub-agent: one message is edited, another taken back.
    page.wait_for("document.querySelectorAll('.tree [role=row]').length === 2", "ann");
    writes_to(page, "ann");
    page.wait_for("document.querySelector('.composer textarea').placeholder === 'Write to ann…'", "to whom");
    writes(page, "Use tabs.");
    waits(page, &["Use tabs."]);
    writes(page, "Drop everything.");
    waits(page, &["Use tabs.", "Drop everything."]);
    page.click(".queue li:nth-child(2) button:last-child");
    waits(page, &["Use tabs."]);
    page.click("text=Edit");
    page.fill("textarea[aria-label=Message]", "Use four spaces.");
    page.click("text=Save");
    waits(page, &["Use four spaces."]);

    // To the main agent: the next prompt, in the same way.
    writes_to(page, "main");
    page.fill("select[aria-label='When it is delivered']", "next_prompt");
    writes(page, "Then write a tset.");
    waits(page, &["Then write a tset."]);
    writes(page, "Then delete it.");
    waits(page, &["Then write a tset.", "Then delete it."]);
    page.click(".queue li:nth-child(2) button:last-child");
    waits(page, &["Then write a tset."]);
    page.click("text=Edit");
    page.fill("textarea[aria-label=Message]", "Then write a test.");
    page.click("text=Save");
    waits(page, &["Then write a test."]);
    assert_eq!(page.text(".queue .badge"), "next prompt");

    assert_eq!(stage.asked("ann").len(), 1);
    go_on.open();
    let told = stage.request("ann", 1).to_string();
    assert!(told.contains("Use four spaces."), "{told}");
    assert!(!told.contains("Use tabs.") && !told.contains("Drop everything."), "{told}");

    // What interrupts does not wait for the reply.
    stay.open();
    writes_to(page, "ann");
    waits(page, &[]);
    page.wait_for(
        "document.querySelector('.live .prose')?.innerText.length > 0",
        "a reply that stands still",
    );
    page.fill("select[aria-label='When it is delivered']", "interrupt");
    writes(page, "Stop reading, report.");
    let told = stage.request("ann", 2).to_string();
    assert!(told.contains("Stop reading, report."), "{told}");
    page.wait_for("document.querySelector('.composer textarea').disabled", "that ann has ended");

    let told = stage.request("main", 2).to_string();
    assert!(
        told.contains("Then write a test.") && !told.contains("tset") && !told.contains("delete it"),
        "{told}"
    );
    page.open(&stage.at(&format!("#/s/{session}")));
    let answered = "document.querySelectorAll('.item.words .prose')[1]?.textContent === 'Done, too.'";
    page.wait_for(answered, "the answer to it");
    let said = page
        .eval::<Vec<String>>("[...document.querySelectorAll('.item .words')].map((one) => one.textContent)");
    assert_eq!(said, ["Have ann look.", "Then write a test."]);
    let said = page.eval::<Vec<String>>(
        "[...document.querySelectorAll('.item.words .prose')].map((one) => one.textContent)",
    );
    assert_eq!(said, ["Done.", "Done, too."]);
}

fn a_turn_is_stopped_settings_change_and_a_session_that_has_ended_is_resumed(stage: &Stage, page: &Page) {
    stage.script(
        "main",
        [
            Turn::text("Too long a story.").stall_after(2),
            Turn::text("A short one."),
            Turn::text("Here again."),
        ],
    );
    stage.begin(page, "Auto", "Tell me a story.");
    page.wait_for("document.querySelector('.live .prose')?.innerText.length > 0", "a story that begins");
    page.click("text=Stop");
    page.wait_for("document.querySelector('main').textContent.includes('Stopped here.')", "the stop");
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");
    page.fill("select[aria-label=Mode]", "plan");
    page.wait_for("document.querySelector('select[aria-label=Mode]').value === 'plan'", "the mode");
    writes(page, "A shorter one, please.");
    page.wait_for("document.querySelector('main').textContent.includes('A short one.')", "the answer");
    page.wait_for("document.querySelector('main').textContent.includes('mode plan')", "the mode on record");

    page.click(".session-head summary");
    page.click("text=Stop and end the session");
    page.wait_for("document.querySelector('.composer').innerText.includes('Resume')", "that nobody runs it");
    writes(page, "Are you there?");
    page.wait_for("document.querySelector('main').textContent.includes('Here again.')", "the answer");
    page.wait_for("!document.querySelector('.composer').innerText.includes('Resume')", "that it runs");
}
