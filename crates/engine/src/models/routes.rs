//! Addresses that a task may name although no model is configured there. Keys stay where they belong: such a place gets the
//! key of a model that is configured for the very same address, or none.

use std::sync::Arc;

use posse_model::{Governors, Model, ModelConfig, Protocol, Recorder, shown_address};

use crate::models::choice::{Models, PricedModel};

/// Where tasks may be sent, and what a model there is set up with.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The addresses, as they are written.
    pub addresses: Vec<String>,
    /// Shared with the configured models: an address has one queue.
    pub governors: Governors,
    /// See `ModelConfig::substitutions`.
    pub substitutions: Vec<(String, String)>,
    /// What writes the cassette, if one is written.
    pub recorder: Option<Arc<Recorder>>,
}

/// Between a model's id and the address in the name of a model that is not configured.
const AT: char = '@';

impl Models {
    /// What a task asks for, and where: a configured model, or any model at an address that may be named.
    pub(crate) fn reach(&self, model: Option<&str>, endpoint: Option<&str>) -> Result<PricedModel, String> {
        let unknown = match self.find(model, endpoint) {
            Ok(found) => return Ok(found.clone()),
            Err(unknown) => unknown,
        };
        // By this name it is on record.
        let named = model.filter(|_| endpoint.is_none()).and_then(|name| name.split_once(AT));
        let (model, endpoint) = named.map_or((model, endpoint), |(id, at)| (Some(id), Some(at)));
        let routes = self.routes();
        let Some(address) = endpoint.and_then(|wanted| routes.address(wanted)) else {
            let shown = self.endpoints();
            if endpoint.is_none() || shown.is_empty() {
                return Err(unknown);
            }
            return Err(format!("{unknown} Other addresses: {}.", shown.join(", ")));
        };
        let id = model.unwrap_or(&self.main().model.config().model);
        let name = format!("{id}{AT}{}", shown_address(address));
        let sibling = self.at(address).map(|there| ModelConfig {
            name: name.clone(),
            model: id.to_string(),
            ..there.model.config().clone()
        });
        let mut config = sibling.unwrap_or_else(|| ModelConfig::new(name, id, Protocol::Chat, address));
        config.substitutions.clone_from(&routes.substitutions);
        let mut model = Model::new(config, &routes.governors).map_err(|error| error.to_string())?;
        if let Some(recorder) = &routes.recorder {
            model = model.recording(Arc::clone(recorder));
        }
        Ok(PricedModel { model, prices: None })
    }

    /// The addresses that may be named beside those of configured models, without credentials.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.routes().addresses.iter().map(|address| shown_address(address)).collect()
    }
}

impl Routes {
    fn address(&self, wanted: &str) -> Option<&str> {
        let wanted = shown_address(wanted);
        self.addresses.iter().map(String::as_str).find(|address| shown_address(address) == wanted)
    }
}

#[cfg(test)]
mod tests {
    use posse_model::SecretString;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn models() -> Models {
        let governors = Governors::default();
        let model = |name: &str, address: &str, key: &str| {
            let mut config = ModelConfig::new(name, "big-1", Protocol::Anthropic, address);
            config.api_key = Some(SecretString::from(key.to_string()));
            config.headers = vec![("x-team".into(), key.into())];
            Model::new(config, &governors).unwrap()
        };
        let mut models = Models::new(model("main", "https://cloud.example/v1", "main key"), None);
        models.add(model("other", "https://other.example/v1", "other key"), None);
        let addresses = ["http://gpu:8080/v1", "https://OTHER.example:443/v1/", "http://u:p@box/v1"];
        models.route(Routes {
            addresses: addresses.map(str::to_string).to_vec(),
            governors,
            ..Routes::default()
        });
        models
    }

    #[test]
    fn a_key_goes_only_where_it_belongs() {
        let models = models();
        let cases = [
            ((None, "http://gpu:8080/v1"), ("big-1@http://gpu:8080/v1", "big-1", None)),
            ((Some("tiny"), "http://GPU:8080/v1/"), ("tiny@http://gpu:8080/v1", "tiny", None)),
            ((Some("tiny"), "http://box/v1"), ("tiny@http://box/v1", "tiny", None)),
            ((None, "https://other.example/v1"), ("other", "big-1", Some("other key"))),
            (
                (Some("new"), "https://other.example/v1"),
                ("new@https://other.example/v1", "new", Some("other key")),
            ),
            ((None, "https://cloud.example/v1"), ("main", "big-1", Some("main key"))),
        ];
        assert_eq!(cases.len(), 6);
        for ((model, endpoint), (name, id, key)) in cases {
            let found = models.reach(model, Some(endpoint)).unwrap();
            let config = found.model.config();
            let sent = config.api_key.as_ref().map(|key| key.expose_secret());
            assert_eq!((config.name.as_str(), config.model.as_str(), sent), (name, id, key), "{endpoint}");
            assert_eq!(config.headers.is_empty(), key.is_none(), "{endpoint}");
            // What is on record leads to the same place.
            let again = models.reach(Some(&config.name), None).unwrap();
            assert_eq!(again.model.config().endpoint(), config.endpoint());
        }
        let credentials = models.reach(None, Some("http://box/v1")).unwrap();
        assert_eq!(credentials.model.config().base_url, "http://u:p@box/v1");
    }

    #[test]
    fn no_other_address_can_be_named() {
        let models = models();
        let bad = [
            "http://gpu:8081/v1",
            "https://gpu:8080/v1",
            "http://gpu:8080/v2",
            "http://gpu:8080/v1/../v2",
            "http://evil.example/v1",
            "http://gpu:8080@evil.example/v1",
            "https://cloud.example.evil.example/v1",
            "",
        ];
        assert_eq!(bad.len(), 8);
        for address in bad {
            let error = models.reach(Some("tiny"), Some(address)).unwrap_err();
            assert!(error.contains("Other addresses: http://gpu:8080/v1, "), "{address}: {error}");
            assert!(!error.contains("u:p"), "{error}");
            assert!(models.reach(Some(&format!("tiny@{address}")), None).is_err(), "{address}");
        }
    }
}
