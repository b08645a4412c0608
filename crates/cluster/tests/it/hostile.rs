//! Hostile workers and hostile homes, both with the owner's secret. A worker can spoil the agent that it was given and nothing
//! else; a home gets no more than the ceiling of the worker. Cases are data, and each test asserts that all of its own ran.

mod bundles;
mod claims;
mod events;
mod files;
mod floods;
pub(crate) mod foe;
mod grants;
pub(crate) mod ground;
mod home;
mod homes;
mod large;
mod letters;
mod models;
mod questions;
mod requests;

/// What is promised, as a whole.
const WORKERS_MIN: usize = 25;
const HOMES_MIN: usize = 12;
const ATTEMPTS_MIN: usize = 40;

#[test]
fn enough_is_attempted() {
    let workers = events::ATTEMPTS
        + letters::ATTEMPTS
        + files::ATTEMPTS
        + bundles::ATTEMPTS
        + requests::ATTEMPTS
        + questions::ATTEMPTS
        + floods::ATTEMPTS
        + claims::ATTEMPTS;
    let homes = homes::ATTEMPTS + grants::ATTEMPTS;
    assert!(workers >= WORKERS_MIN, "{workers} attempts of workers");
    assert!(homes >= HOMES_MIN, "{homes} attempts of homes");
    assert!(workers + homes >= ATTEMPTS_MIN, "{} attempts", workers + homes);
}
