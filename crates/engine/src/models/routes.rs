//! Addresses that a task may name although no model is configured there. Keys stay where they belong: such a place gets the
//! key of a model that is configured for the very same address, or none.

use std::sync::Arc;

use posse_model::{Governors, Model, ModelConfig, Recorder, shown_address};

/// Where tasks may be sent, and what a model there is set up with.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The addresses, as they are written.
    pub addresses: Vec<String>,
    /// See `ModelConfig::substitutions`.
    pub substitutions: Vec<(String, String)>,
    /// What writes the cassette, if one is written.
    pub recorder: Option<Arc<Recorder>>,
}

impl Routes {
    /// A model with this configuration, which shares the cassette.
    pub(crate) fn model(&self, mut config: ModelConfig, governors: &Governors) -> Result<Model, String> {
        config.substitutions.clone_from(&self.substitutions);
        let model = Model::new(config, governors).map_err(|error| error.to_string())?;
        Ok(match &self.recorder {
            Some(recorder) => model.recording(Arc::clone(recorder)),
            None => model,
        })
    }

    /// The address that somebody means by this one, as it is written in the configuration.
    pub(crate) fn address(&self, wanted: &str) -> Option<&str> {
        let wanted = shown_address(wanted);
        self.addresses.iter().map(String::as_str).find(|address| shown_address(address) == wanted)
    }
}
