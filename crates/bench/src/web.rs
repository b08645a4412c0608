//! The page, by the real program in a real browser: how soon it is there, how soon what agents write is in it, how it takes
//! a large session, what two hundred followers cost a session, and what the server takes at rest.
//!
//! The model, the plain followers and the browser run on the same machine and take their part of its processors.

mod clocked;
mod follower;
mod followers;
mod home;
mod idle;
mod large;
mod live;
mod ready;
mod tab;

use crate::ResultLine;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let mut lines = Vec::new();
    for measure in [ready::measure, live::measure, large::measure, followers::measure, idle::measure] {
        lines.extend(measure()?);
    }
    Ok(lines)
}

fn line(what: String, measured: String, floor: String, promise: String, holds: bool) -> ResultLine {
    ResultLine { what, measured, floor, promise, holds }
}
