//! Whether home has a way to each worker that a configuration names. One without would only be found out by the agents for it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::FileConfig;
use crate::error::ConfigError;
use crate::surroundings::ShownPath;

/// The tables of workers, with their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Places {
    workers: BTreeMap<String, Spanned<IgnoredAny>>,
}

/// Refuses a worker that is reached neither over ssh nor through a broker.
pub(super) fn check(text: &str, file: &FileConfig, path: &ShownPath) -> Result<(), ConfigError> {
    let lost = file.workers.iter().find(|(_, worker)| worker.ssh.is_none());
    let Some((name, _)) = lost.filter(|_| file.cluster.nats.is_none()) else { return Ok(()) };
    let places: Places = toml::from_str(text).unwrap_or_default();
    let start = places.workers.get(&name.0).map_or(0, |table| table.span().start);
    Err(ConfigError::Line {
        path: path.clone(),
        line: text[..start.min(text.len())].matches('\n').count() + 1,
        fault: format!(
            "there is no way to the worker {}; add ssh = \"HOST\" to it, or for a broker nats = \"tls://HOST:4222\" to [cluster]",
            name.0
        ),
    })
}
