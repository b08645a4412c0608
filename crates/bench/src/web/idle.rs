//! What the server takes at rest: after its start, while somebody has the page open, and after they have gone.

use std::path::Path;
use std::time::{Duration, Instant};

use posse_testkit::chromium::Browser;

use crate::ResultLine;
use crate::chat::{memory_mb, resident_mb};
use crate::crew::cpu_us;
use crate::web::clocked::{ClockedModel, ClockedReply};
use crate::web::home::WebHome;
use crate::web::line;
use crate::web::tab::{shown_first_ms, tab};

const SETTLES: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(20);
const MEMORY_MB_MAX: f64 = 25.0;
const IDLE_PERCENT_MAX: f64 = 0.5;
/// What is not read from files: the rest is mostly the program, which processes share.
const OWN: &str = "RssAnon:";

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let model = ClockedModel::start(|_, _| ClockedReply::Says("This is what I found.".into()))?;
    let home = WebHome::new(tempfile::tempdir()?, &model.base_url)?;
    let server = home.serve()?;
    std::thread::sleep(SETTLES);
    let (at_start, own_at_start) = (resident_mb(server.pid())?, memory_mb(server.pid(), OWN)?);
    let session = server.begin("Look at the notes.")?;
    let browser = Browser::start();
    let page = tab(&browser, &server, "document.querySelector('.session-link')");
    shown_first_ms(&page, &format!("{}/", server.address));
    page.click(".session-link");
    page.wait_for("document.querySelector('.thread .prose')", "the conversation");
    std::thread::sleep(SETTLES);
    let watched = percent(server.pid())?;
    page.close();
    drop(browser);
    server.end(&session)?;
    std::thread::sleep(SETTLES);
    let (after, own_after) = (resident_mb(server.pid())?, memory_mb(server.pid(), OWN)?);
    let alone = percent(server.pid())?;
    Ok(vec![
        line(
            "memory of the server after its start".into(),
            format!("{at_start:.1} MB ({own_at_start:.1} without the pages of the program's file)"),
            "–".into(),
            format!("< {MEMORY_MB_MAX} MB"),
            at_start < MEMORY_MB_MAX,
        ),
        line(
            "… after a browser has looked at a session and left".into(),
            format!("{after:.1} MB ({own_after:.1} without)"),
            format!("{at_start:.1} MB after its start"),
            format!("< {MEMORY_MB_MAX} MB"),
            after < MEMORY_MB_MAX,
        ),
        line(
            format!("processor time of the server at rest, of {} s", IDLE.as_secs()),
            format!("{alone:.2}%"),
            "–".into(),
            format!("< {IDLE_PERCENT_MAX}%"),
            alone < IDLE_PERCENT_MAX,
        ),
        line(
            "… with the page open".into(),
            format!("{watched:.2}%"),
            format!("{alone:.2}% without"),
            "–".into(),
            true,
        ),
    ])
}

/// What a process uses of one processor during a while.
fn percent(pid: u32) -> anyhow::Result<f64> {
    let process = Path::new("/proc").join(pid.to_string());
    let (since, before_us) = (Instant::now(), cpu_us(&process)?);
    std::thread::sleep(IDLE);
    Ok((cpu_us(&process)? - before_us) / (since.elapsed().as_secs_f64() * 1e6) * 100.0)
}
