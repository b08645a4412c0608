//! What exporting traces costs while a session runs: time per turn with a collector, against time per turn without.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, ensure};
use posse_telemetry::{Telemetry, TelemetrySettings};

use crate::server::Server;
use crate::turns::{around, posse, recorded};
use crate::{ResultLine, median};

const TURNS: usize = 200;
const ROUNDS: usize = 80;
const RATIO_MAX: f64 = 1.03;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (address, taken) = collector()?;
    let server = Server::start(TURNS, false)?;
    let mut sides = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        // Nobody always comes after the same one.
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let telemetry = if side == 0 { exporting(&address)? } else { Telemetry::default() };
            let trouble = runtime.block_on(async {
                posse(&server.base_url, recorded, telemetry.watcher()).await?;
                anyhow::Ok(telemetry.finish().await)
            })?;
            ensure!(trouble.is_none(), "{trouble:?}");
            let arrivals = server.take();
            ensure!(arrivals.len() == TURNS + 1, "{} requests came", arrivals.len());
            // The first round fills caches.
            if round > 0 {
                sides[side].extend(around(&arrivals, TURNS / 2));
            }
        }
    }
    let bytes = taken.load(Ordering::Relaxed);
    ensure!(bytes > TURNS * ROUNDS * 100, "the collector got only {bytes} bytes");
    let [with, without] = sides.map(median);
    let ratio = with / without;
    Ok(vec![ResultLine {
        what: "time per turn while traces and metrics are exported, ratio to none".into(),
        measured: format!("{ratio:.3} ({with:.0} µs)"),
        floor: format!("1 ({without:.0} µs)"),
        promise: format!("≤ {RATIO_MAX}"),
        holds: ratio <= RATIO_MAX,
    }])
}

fn exporting(address: &str) -> anyhow::Result<Telemetry> {
    let (settings, faults) =
        TelemetrySettings::read(&|name| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| address.to_owned()));
    ensure!(faults.is_empty(), "{faults:?}");
    Ok(Telemetry::new(Some(settings.context("no settings")?)))
}

/// A collector that takes everything, and how many bytes that were.
fn collector() -> anyhow::Result<(String, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || take(stream, &counter));
        }
    });
    Ok((address, taken))
}

fn take(mut stream: TcpStream, counter: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        counter.fetch_add(usize::try_from(length).unwrap_or(0), Ordering::Relaxed);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}
