//! How soon the page shows the list of sessions, and what it weighs.

use anyhow::ensure;
use posse_engine::{Engine, SessionRequest};
use posse_testkit::Turn;
use posse_testkit::chromium::Browser;

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
const BYTES_MAX: f64 = 150_000.0;

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
    let (page, file) = (tab(&browser, &server, &list), tab(&browser, &server, "document.querySelector('svg')"));
    let (list_url, file_url) = (format!("{}/", server.address), format!("{}/icon.svg", server.address));
    // The server packs its files when they are first asked for, and the browser has to start its parts.
    let very_first = shown_first_ms(&page, &list_url);
    let (mut first, mut again, mut floor, mut sizes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRIES {
        floor.push(shown_first_ms(&file, &file_url));
        first.push(shown_first_ms(&page, &list_url));
        sizes.push(bytes(&page));
        again.push(shown_ms(&page, &list_url));
    }
    let errors = page.console().into_iter().filter(|line| line.level != "log").collect::<Vec<_>>();
    ensure!(errors.is_empty(), "the page complains: {errors:?}");
    let (first, again, floor) = (median(first), median(again), median(floor));
    let (on_wire, packed, raw) = sizes.into_iter().fold((0.0_f64, 0.0_f64, 0.0_f64), |most, one| {
        (most.0.max(one.0), most.1.max(one.1), most.2.max(one.2))
    });
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
            "bytes of all that the page and its list ask for".into(),
            format!("{:.1} KB ({:.1} without heads)", on_wire / 1e3, packed / 1e3),
            format!("{:.1} KB unpacked", raw / 1e3),
            format!("< {:.0} KB", BYTES_MAX / 1e3),
            on_wire < BYTES_MAX,
        ),
    ])
}

/// Puts short sessions on record.
fn record(engine: &Engine, home: &WebHome, base_url: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        for n in 0..SESSIONS {
            let prompt = format!("Task {n}: look at the notes and say what they are about.");
            let begun = engine.start(SessionRequest { stay: false, ..request(&home.work, base_url, prompt)? });
            let mut session = begun?;
            while session.next().await.is_some() {}
        }
        Ok(())
    })
}
