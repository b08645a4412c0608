//! A session that begins in the page: sub-agents unfold inside each other while they work, and links lead to them.

use posse_testkit::Turn;

use super::REPORT;
use super::stage::{Gate, Stage, shell, starts};

/// The box of a sub-agent.
fn within(agent: &str, rest: &str) -> String {
    format!("section[aria-label=\"Sub-agent {agent}\"]{rest}")
}

#[test]
fn sub_agents_three_levels_deep_unfold_while_they_work() {
    let stage = Stage::new(&[]);
    let (began, finish) = (Gate::closed(), Gate::closed());
    stage.script("main", [starts("ann", "general"), Turn::text("All **three** did their part.")]);
    stage.script("ann", [starts("bob", "general"), Turn::text(REPORT)]);
    stage.script("bob", [starts("cat", "general"), Turn::text(REPORT)]);
    let last = format!("I read the first half.\n\n{REPORT}");
    let cat = [shell("wc -l main.py").after(&began.0), Turn::text(last).hold_after(3, &finish.0)];
    stage.script("cat", cat);
    let page = stage.tab();
    let session = stage.begin(&page, "Auto", "Please have the three of them look at main.py.");
    assert_eq!(page.text(".session-head h1"), "have the three of them look at main.py");

    // Each box appears in its parent's conversation, and opens into its own.
    let mut depth = String::new();
    for (agent, letters) in [("ann", "Ge"), ("bob", "Ge"), ("cat", "Ge")] {
        depth.push_str(&within(agent, " "));
        page.click(&format!("{depth} > header .delegation-head"));
        page.wait_for(&format!("document.querySelector('{depth} > .thread .item')"), "its conversation");
        assert_eq!(page.text(&format!("{depth} > header .role")), letters);
        assert_eq!(page.text(&format!("{depth} > header .badge")), "● running");
        // Its conversation is there a moment before its first turn begins.
        let line = format!("document.querySelector('{depth} > .delegation-line').innerText");
        page.wait_for(&format!("{line}.includes('turn 1') && {line}.includes('tokens')"), "its first turn");
        let task = page.text(&format!("{depth} > .thread .item.task"));
        assert!(task.contains(&format!("Look after your part, {agent}.")), "{task}");
    }
    assert_eq!(page.eval::<usize>("document.querySelectorAll('.tree [role=row]').length"), 4);

    // Text is there while the rest of it is not.
    began.open();
    let live = format!("document.querySelector('{}')", within("cat", " .live[aria-busy=true] .prose"));
    page.wait_for(&format!("{live}.innerText.startsWith('I read the first half')"), "streamed text");
    let so_far: String = page.eval(&format!("{live}.innerText"));
    assert!(!so_far.contains("SUMMARY"), "{so_far}");
    page.wait_for(
        &format!(
            "document.querySelector('{}').innerText.includes('turn 2')",
            within("cat", " > .delegation-line")
        ),
        "the turn",
    );
    let call = page.text(&within("cat", " .call-line"));
    assert!(call.contains("wc -l main.py"), "{call}");
    finish.open();

    for agent in ["cat", "bob", "ann"] {
        let badge = within(agent, " > header .badge");
        page.wait_for(&format!("document.querySelector('{badge}').innerText === '✓ completed'"), "its end");
        let line = page.text(&within(agent, " > .delegation-line"));
        assert!(line.starts_with("completed in ") && line.contains("(2 turns)"), "{line}");
    }
    page.wait_for(
        "document.querySelector('.item.words strong')?.innerText === 'three'",
        "the reply as Markdown",
    );
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");
    let facts: String = page.eval(&format!("document.querySelector('{}').textContent", within("cat", "")));
    assert!(facts.contains("1 command run"), "{facts}");
    page.wait_for(
        "document.querySelector('main').textContent.split('All three did').length === 2",
        "the reply, once",
    );

    links_lead_to_agents_and_steps(&stage, &page, &session);
}

fn links_lead_to_agents_and_steps(stage: &Stage, page: &posse_testkit::chromium::Page, session: &str) {
    let link = |selector: &str| page.eval::<String>(&format!("document.querySelector('{selector}').href"));
    let agent = link(&within("cat", " > header .anchor"));
    let step = link(&within("cat", " .item.call > .anchor"));
    assert!(
        step.starts_with(&format!("{agent}/e/"))
            && agent.starts_with(&stage.at(&format!("#/s/{session}/a/")))
    );
    let other = stage.empty_tab();
    // This tab has no token: another tab gives it.
    other.open(&agent);
    other.wait_for("document.querySelector('.agent-head h2')?.innerText === 'cat'", "the agent");
    other.wait_for(
        "document.querySelector('.tree [role=row][aria-selected=true]').innerText.includes('cat')",
        "its row",
    );
    other.open(&step);
    other.wait_for("document.querySelector('.item.focus .call-all')", "the step, opened");
    assert!(other.text(".item.focus").contains("wc -l main.py"));
    // What is no agent of the session leads to the session.
    other.open(&stage.at(&format!("#/s/{session}/a/nobody/e/1")));
    other.wait_for("document.querySelector('.agent-head h2')?.innerText === 'main'", "the main agent");
    other.open(&stage.at("#/s/01hzzzzzzzzzzzzzzzzzzzzzzz"));
    other.wait_for("document.querySelector('main .failure')", "that there is no such session");
}
