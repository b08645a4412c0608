//! What recording costs: the same session with the record and without, in turn.

use anyhow::ensure;
use bytes::Bytes;
use posse_engine::Engine;

use crate::server::Server;
use crate::turns::{posse, raw, recorded};
use crate::{ResultLine, median};

/// Short sessions and many of them, so that what else the machine does hits all sides alike.
const TURNS: usize = 200;
const ROUNDS: usize = 40;
const SHARE_MAX: f64 = 0.10;

/// Who sends the requests of a session.
#[derive(Clone, Copy)]
enum Side {
    Recorded,
    Unrecorded,
    Raw,
}

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let first = Server::start(TURNS, true)?;
    runtime.block_on(posse(&first.base_url, recorded, None))?;
    let bodies: Vec<Bytes> = first.take().into_iter().map(|arrival| Bytes::from(arrival.body)).collect();

    let server = Server::start(TURNS, false)?;
    let mut gaps = [const { Vec::new() }; 3];
    let mut order = [Side::Recorded, Side::Unrecorded, Side::Raw];
    for _ in 0..ROUNDS {
        for side in order {
            match side {
                Side::Recorded => runtime.block_on(posse(&server.base_url, recorded, None))?,
                Side::Unrecorded => runtime.block_on(posse(&server.base_url, unrecorded, None))?,
                Side::Raw => runtime.block_on(raw(&server.base_url, &bodies))?,
            }
            gaps[side as usize].extend(turns_us(&server)?);
        }
        // Nobody always comes after the same one.
        order.reverse();
    }
    Ok(lines(gaps))
}

fn unrecorded(data_dir: &std::path::Path) -> anyhow::Result<Engine> {
    Ok(Engine::unrecorded(data_dir)?)
}

/// Microseconds from each request to the next.
fn turns_us(server: &Server) -> anyhow::Result<Vec<f64>> {
    let arrivals = server.take();
    ensure!(arrivals.len() == TURNS + 1, "{} requests came", arrivals.len());
    Ok(arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1e6).collect())
}

fn lines(gaps: [Vec<f64>; 3]) -> Vec<ResultLine> {
    // Commits that now and then take long show in the means only, and so does everything else that disturbs.
    let [mean_on, mean_off, _] = gaps.each_ref().map(|gaps| gaps.iter().sum::<f64>() / gaps.len() as f64);
    let [on, off, floor] = gaps.map(median);
    let share = (on - off) / on;
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let line = |what: &str, measured: String, promise: String, holds: bool| ResultLine {
        what: what.into(),
        measured,
        floor: format!("{floor:.0} µs (the raw client)"),
        promise,
        holds,
    };
    vec![
        line(
            "share of recording in the time of a turn",
            format!("{} ({on:.0} µs with, {off:.0} µs without)", percent(share)),
            format!("≤ {}", percent(SHARE_MAX)),
            share <= SHARE_MAX,
        ),
        line(
            "… by the means instead of the middle turns",
            format!("{} ({mean_on:.0} µs, {mean_off:.0} µs)", percent((mean_on - mean_off) / mean_on)),
            "–".into(),
            true,
        ),
        line(
            "… in what a turn takes beyond the raw client",
            percent((on - off) / (on - floor)),
            "–".into(),
            true,
        ),
    ]
}
