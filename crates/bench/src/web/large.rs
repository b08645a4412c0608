//! A session of ten thousand turns and a thousand agents in the page: how soon it is open, and how long the main thread is
//! held up while the tree and the conversation are scrolled.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use posse_engine::Engine;
use posse_protocol::{Ending, SessionId};
use posse_testkit::Turn;
use posse_testkit::chromium::{Browser, MainThreadTask, Page};
use serde_json::json;

use crate::chat::resident_mb;
use crate::crew::{self, AGENTS, AT_ONCE, CrewServer, STARTS_PER_REPLY};
use crate::web::home::WebHome;
use crate::web::line;
use crate::web::tab::{shown_first_ms, shown_ms, tab};
use crate::{ResultLine, median, open};

/// Turns of the main agent after the others have ended: a conversation to scroll through.
const MAIN_TURNS: usize = 500;
const TURNS_MIN: u64 = 10_000;
const TRIES: usize = 5;
const OPEN_MS_MAX: f64 = 1_000.0;
const TASK_MS_MAX: f64 = 16.0;
/// Turns of the mouse wheel, and how far each goes.
const WHEELS: usize = 150;
const WHEEL_PIXELS: f64 = 120.0;
const WHEEL_EVERY: Duration = Duration::from_millis(16);
/// Both panes have something in them.
const OPEN: &str = "document.querySelectorAll('.tree-row').length > 9 && document.querySelectorAll('.thread .item').length > 9";
const STATIC: &str = "<!doctype html><style>div{height:44px;overflow:hidden}</style>";

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let place = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let session = runtime.block_on(make(place.path()))?;
    drop(runtime);
    let row = Engine::open(&WebHome::data(place.path()))?.find_session(&session.to_string())?;
    ensure!(row.turns >= TURNS_MIN, "{} turns", row.turns);
    let home = WebHome::new(place, "http://127.0.0.1:9/v1")?;
    let browser = Browser::start();
    let (mut first, mut again, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept = None;
    for _ in 0..TRIES {
        // Each time another server, that has not read the session yet.
        let server = home.serve()?;
        let small = tab(&browser, &server, "document.querySelector('.session-link')");
        floor.push(shown_first_ms(&small, &format!("{}/", server.address)));
        small.close();
        let page = tab(&browser, &server, OPEN);
        let url = format!("{}/#/s/{session}", server.address);
        first.push(shown_first_ms(&page, &url));
        again.push(shown_ms(&page, &url));
        kept = Some((page, server));
    }
    let (page, server) = kept.context("no tab")?;
    let (first, again, floor) = (median(first), median(again), median(floor));
    let floor = format!("{floor:.0} ms (the list of sessions)");
    let size =
        format!("a session of {} turns, {} agents and {} events", row.turns, AGENTS + 1, row.last_seq.0);
    let mut lines = vec![
        line(
            format!("from the navigation to tree and conversation of {size}, nothing cached, a new server"),
            format!("{first:.0} ms"),
            floor.clone(),
            format!("< {OPEN_MS_MAX} ms"),
            first < OPEN_MS_MAX,
        ),
        line(
            "… again".into(),
            format!("{again:.0} ms"),
            floor,
            format!("< {OPEN_MS_MAX} ms"),
            again < OPEN_MS_MAX,
        ),
    ];
    lines.extend(scrolled(&browser, &page)?);
    lines.push(line(
        "memory of the server after it has shown this session".into(),
        format!("{:.1} MB", resident_mb(server.pid())?),
        "–".into(),
        "–".into(),
        true,
    ));
    Ok(lines)
}

/// Scrolls the tree down, the conversation up, and a page without scripts beside them.
fn scrolled(browser: &Browser, page: &Page) -> anyhow::Result<Vec<ResultLine>> {
    std::thread::sleep(Duration::from_secs(1));
    let tree = scroll(page, ".tree", WHEEL_PIXELS);
    let talk = scroll(page, ".conversation .scroller", -WHEEL_PIXELS);
    let plain = browser.page();
    plain.open("about:blank");
    let rows = (0..AGENTS).map(|n| format!("<div>row {n} of the page</div>")).collect::<String>();
    plain.eval::<()>(&format!("document.write({})", json!(format!("{STATIC}<main>{rows}</main>"))));
    let plain = Scrolled::of(&scroll(&plain, "main", WHEEL_PIXELS));
    let floor = format!("{:.1} ms (a page without scripts)", plain.longest_ms);
    let line = |what: &str, tasks: &[MainThreadTask]| {
        let all = Scrolled::of(tasks);
        line(
            format!("longest task of the main thread while the {what} is scrolled, of {}", tasks.len()),
            format!(
                "{:.1} ms ({:.1} ms of it computing; {} over {TASK_MS_MAX} ms)",
                all.longest_ms, all.longest_cpu_ms, all.over
            ),
            floor.clone(),
            format!("≤ {TASK_MS_MAX} ms"),
            all.over == 0,
        )
    };
    Ok(vec![line("tree of a thousand agents", &tree), line("conversation", &talk)])
}

struct Scrolled {
    longest_ms: f64,
    /// What the thread computed in that task.
    longest_cpu_ms: f64,
    over: usize,
}

impl Scrolled {
    fn of(tasks: &[MainThreadTask]) -> Self {
        let longest = tasks.iter().max_by(|a, b| a.duration_ms.total_cmp(&b.duration_ms));
        Self {
            longest_ms: longest.map_or(f64::NAN, |task| task.duration_ms),
            longest_cpu_ms: longest.and_then(|task| task.cpu_ms).unwrap_or(f64::NAN),
            over: tasks.iter().filter(|task| task.duration_ms > TASK_MS_MAX).count(),
        }
    }
}

/// The tasks of the main thread while the wheel is turned over the middle of an element.
fn scroll(page: &Page, element: &str, pixels: f64) -> Vec<MainThreadTask> {
    let middle = format!(
        "(({{x, y, width, height}}) => [x + width / 2, Math.min(y + height / 2, innerHeight / 2)])(\
            document.querySelector('{element}').getBoundingClientRect())"
    );
    let (x, y): (f64, f64) = page.eval(&middle);
    page.main_thread_tasks(|| {
        for _ in 0..WHEELS {
            let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": pixels});
            page.call("Input.dispatchMouseEvent", event);
            std::thread::sleep(WHEEL_EVERY);
        }
    })
}

/// Has the session made, and waits until all of it is on record.
async fn make(place: &Path) -> anyhow::Result<SessionId> {
    let server = CrewServer::start(turn, false);
    let mut session = crew::begin(place, &server.base_url, AT_ONCE)?;
    let id = session.id;
    while session.next().await.is_some() {}
    let report = session.report().await.context("no report")?;
    ensure!(report.ending == Ending::Completed, "the session ended as {}", report.ending);
    Ok(id)
}

/// As the large session of `open`, with a main agent that goes on for long.
fn turn(agent: &str, turn: usize) -> Turn {
    let started = AGENTS / STARTS_PER_REPLY + 1;
    match (agent, turn) {
        ("main", turn) if turn >= started && turn < started + MAIN_TURNS => {
            let from = turn % 900 + 1;
            let text = format!(
                "## Part {turn}\n\nThe notes go on with *line {from}*, which says what the line before it said:\n\n\
                - it has a `number` of its own,\n- it is **short**,\n- nothing follows from it.\n\n\
                ```rust\nfn line(n: usize) -> String {{\n    format!(\"line {{n}} of the notes\")\n}}\n```\n\n\
                So I read the next part, to see whether that is the same there. {}",
                "It may be, and it may be not. ".repeat(turn % 7)
            );
            let lines = json!({"path": "notes.txt", "start_line": from, "end_line": from + 20});
            Turn::text(text).and_call("read_file", lines)
        }
        _ => open::turn(agent, turn),
    }
}
