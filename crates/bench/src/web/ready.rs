//! How soon the page shows the list of sessions, and what it weighs.

use anyhow::ensure;
use posse_engine::{Engine, SessionRequest};
use posse_testkit::Turn;
use posse_testkit::chromium::{Browser, ConsoleLine};

use crate::resting::request;
use crate::server::Server;
use crate::web::home::WebHome;
use crate::web::line;
use crate::web::tab::{bytes, shown_first_ms, shown_ms, tab};
use crate::{ResultLine, median};

const TRIES: usize = 15;
/// Sessions on record: a whole page of the list.
const SESSIONS: usize = 50;
const READY_MS_MAX: f64 = 300.0;
const KB_MAX: f64 = 150.0;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let model = Server::by(usize::MAX - 1, false, |_| Turn::text("This is what I found."))?;
    let place = tempfile::tempdir()?;
    let home = {
        let data = WebHome::data(place.path());
        let home = WebHome::new(place, &model.base_url)?;
        record(&Engine::open(&data)?, &home, &model.base_url)?;
        home
    };
    let server = home.serve()?;
    let browser = Browser::start();
    let list = format!("document.querySelectorAll('.session-link').length >= {SESSIONS}");
    let (page, file) =
        (tab(&browser, &server, &list), tab(&browser, &server, "document.querySelector('svg')"));
    let (list_url, file_url) = (format!("{}/", server.address), format!("{}/icon.svg", server.address));
    // The server packs its files when they are first asked for, and the browser has to start its parts.
    let very_first = shown_first_ms(&page, &list_url);
    let (mut first, mut again, mut floor, mut sizes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRIES {
        floor.push(shown_first_ms(&file, &file_url));
        first.push(shown_first_ms(&page, &list_url));
        sizes.push([bytes(&page, false), bytes(&page, true)]);
        again.push(shown_ms(&page, &list_url));
    }
    // A picture that is looked at by itself has no page that would name an icon, so the browser asks for the usual one.
    let of_page = |line: &ConsoleLine| line.level != "log" && !line.text.contains("/favicon.ico");
    let errors = page.console().into_iter().filter(of_page).collect::<Vec<_>>();
    ensure!(errors.is_empty(), "the page complains: {errors:?}");
    let (first, again, floor) = (median(first), median(again), median(floor));
    let size = |of: usize, which: usize| median(sizes.iter().map(|size| size[of][which] / 1e3).collect());
    let on_wire = size(0, 0);
    let floor = format!("{floor:.0} ms (one file of the same server)");
    Ok(vec![
        line(
            format!("from the navigation to the list of {SESSIONS} sessions shown, nothing cached"),
            format!("{first:.0} ms (the very first: {very_first:.0})"),
            floor.clone(),
            format!("≤ {READY_MS_MAX} ms"),
            first <= READY_MS_MAX,
        ),
        line(
            "… with the files of the page cached".into(),
            format!("{again:.0} ms"),
            floor,
            format!("≤ {READY_MS_MAX} ms"),
            again <= READY_MS_MAX,
        ),
        line(
            "all files of the page, on the wire".into(),
            format!("{on_wire:.1} KB ({:.1} without heads)", size(0, 1)),
            format!("{:.1} KB unpacked", size(0, 2)),
            format!("< {KB_MAX:.0} KB"),
            on_wire < KB_MAX,
        ),
        line(
            format!("… what it asks of the API for the list of {SESSIONS}"),
            format!("{:.1} KB", size(1, 0)),
            format!("{:.1} KB unpacked", size(1, 2)),
            "–".into(),
            true,
        ),
    ])
}

/// Puts short sessions on record.
fn record(engine: &Engine, home: &WebHome, base_url: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        for n in 0..SESSIONS {
            let prompt = format!("Task {n}: look at the notes and say what they are about.");
            let begun =
                engine.start(SessionRequest { stay: false, ..request(&home.work, base_url, prompt)? });
            let mut session = begun?;
            while session.next().await.is_some() {}
        }
        Ok(())
    })
}
