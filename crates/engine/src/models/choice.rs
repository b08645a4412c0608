//! The models a session may use, by name. Which one an agent gets is decided here; names that are not known fail loudly.

use std::collections::BTreeMap;

use posse_delegate::Endpoint;
use posse_model::{Governors, Model, ModelConfig, Protocol, shown_address};
use posse_protocol::Prices;

use crate::models::family::{KnownModel, meant};
use crate::models::routes::Routes;

/// Between a model's id and the address in the name of a model that is not configured.
const AT: char = '@';

/// One model and what it costs.
#[derive(Clone, Debug)]
pub(crate) struct PricedModel {
    pub(crate) model: Model,
    /// What it costs, if known.
    pub(crate) prices: Option<Prices>,
}

impl PricedModel {
    pub(crate) fn name(&self) -> &str {
        &self.model.config().name
    }

    /// Whether it is told and offered little.
    pub(crate) fn is_lean(&self) -> bool {
        self.model.config().is_lean()
    }

    /// The model with a limit for its replies. Half of its window stays for the conversation.
    pub(crate) fn replying_within(&self, max_output_tokens: Option<u32>) -> Model {
        let window = self.model.config().context_window;
        let half = window.map(|window| u32::try_from(window / 2).unwrap_or(u32::MAX).max(1));
        match max_output_tokens {
            None => self.model.clone(),
            Some(max) => self.model.clone().replying_within(half.map_or(max, |half| max.min(half))),
        }
    }

    /// Where it is, and how many agents that place takes at the same time.
    pub(crate) fn endpoint(&self) -> Endpoint {
        let config = self.model.config();
        let name = if config.base_url.is_empty() { config.name.clone() } else { config.endpoint() };
        // One request at a time means one agent at a time: two that take turns would each lose the server's cache.
        Endpoint { name, agents_max: (config.max_concurrent == 1).then_some(1) }
    }
}

/// All models of a session.
#[derive(Clone, Debug)]
pub struct Models {
    main: PricedModel,
    by_name: BTreeMap<String, PricedModel>,
    /// Models that are configured and cannot be used, with the reason.
    left_out: BTreeMap<String, String>,
    routes: Routes,
    /// Shared by all models that are called at addresses that tasks name.
    governors: Governors,
}

impl Models {
    /// The main agent's model; the only one until others are added.
    pub fn new(model: Model, prices: Option<Prices>) -> Self {
        let main = PricedModel { model, prices };
        let by_name = BTreeMap::from([(main.name().to_string(), main.clone())]);
        Self {
            main,
            by_name,
            left_out: BTreeMap::new(),
            routes: Routes::default(),
            governors: Governors::new(),
        }
    }

    /// Adds a model that sub-agents may use. One of the same name is replaced, but never the main agent's.
    pub fn add(&mut self, model: Model, prices: Option<Prices>) {
        let name = model.config().name.clone();
        if name != self.main.name() {
            self.by_name.insert(name, PricedModel { model, prices });
        }
    }

    /// The same models under the governors of the process: an endpoint has one queue, whichever session calls it.
    pub(crate) fn governed_by(mut self, governors: &Governors) -> Self {
        for one in std::iter::once(&mut self.main).chain(self.by_name.values_mut()) {
            one.model = one.model.governed_by(governors);
        }
        self.governors = governors.clone();
        self
    }

    /// Says why a model that is configured cannot be used.
    pub fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.insert(name.to_string(), reason.to_string());
    }

    /// Lets tasks name these addresses, too.
    pub fn route(&mut self, routes: Routes) {
        self.routes = routes;
    }

    /// A configured model at an address.
    pub(crate) fn at(&self, address: &str) -> Option<&PricedModel> {
        let wanted = shown_address(address);
        self.by_name.values().find(|one| one.model.config().endpoint() == wanted)
    }

    /// The main agent's.
    pub(crate) fn main(&self) -> &PricedModel {
        &self.main
    }

    /// One by its configured name.
    pub(crate) fn named(&self, name: &str) -> Option<&PricedModel> {
        self.by_name.get(name)
    }

    /// The names of all of them.
    pub fn all_names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// Their names, where there is a choice.
    pub(crate) fn names(&self) -> Vec<String> {
        let choice = self.by_name.len() > 1;
        self.by_name.keys().filter(|_| choice).cloned().collect()
    }

    /// What a task asks for, by the model's configured name, its provider's name, or its endpoint's address.
    pub(crate) fn find(&self, model: Option<&str>, endpoint: Option<&str>) -> Result<&PricedModel, String> {
        let at = |one: &PricedModel, wanted: &str| {
            // Credentials make no other endpoint, and are no business of whoever asks.
            let address = one.model.config().endpoint();
            (!address.is_empty() && address == wanted.trim_end_matches('/')) || one.name() == wanted
        };
        let shown = endpoint.map(shown_address);
        let endpoint = shown.as_deref();
        let mut there = self.by_name.values().filter(|one| endpoint.is_none_or(|wanted| at(one, wanted)));
        let found = match model {
            None if endpoint.is_none_or(|wanted| at(&self.main, wanted)) => Some(&self.main),
            None => there.next(),
            Some(name) => {
                let exact = there.clone().find(|one| one.name().eq_ignore_ascii_case(name));
                exact.or_else(|| there.find(|one| one.model.config().model.eq_ignore_ascii_case(name)))
            }
        };
        found.ok_or_else(|| {
            let wanted = match (model, endpoint) {
                (Some(model), Some(endpoint)) => format!("no model {model} at {endpoint}"),
                (Some(model), None) => format!("no model {model}"),
                (None, endpoint) => format!("no model at {}", endpoint.unwrap_or_default()),
            };
            let known = [model, endpoint].into_iter().flatten();
            if let Some((name, reason)) = known.filter_map(|name| self.left_out.get_key_value(name)).next() {
                return format!(
                    "{name} is configured and cannot be used: {reason}. The models are: {}.",
                    self.listed()
                );
            }
            format!(
                "There is {wanted}. The models are: {}. Leave it out to use the usual one.",
                self.listed()
            )
        })
    }

    fn listed(&self) -> String {
        let line = |one: &PricedModel| format!("{} ({})", one.name(), one.endpoint().name);
        self.by_name.values().map(line).collect::<Vec<_>>().join(", ")
    }

    /// What a role's file asks for, or else one of the same family, the main agent's first. Where there is neither, the
    /// usual one is meant: whoever wrote the file had other models.
    pub(crate) fn for_role(&self, wanted: &str) -> Option<&PricedModel> {
        let all = std::iter::once(&self.main).chain(self.by_name.values()).collect::<Vec<_>>();
        let known = all.iter().map(|one| KnownModel { name: one.name(), id: &one.model.config().model });
        meant(wanted, &known.collect::<Vec<_>>()).map(|at| all[at])
    }

    /// What a task asks for, and where: a configured model, or any model at an address that may be named.
    pub(crate) fn reach(&self, model: Option<&str>, endpoint: Option<&str>) -> Result<PricedModel, String> {
        let unknown = match self.find(model, endpoint) {
            Ok(found) => return Ok(found.clone()),
            Err(unknown) => unknown,
        };
        // By this name it is on record.
        let named = model.filter(|_| endpoint.is_none()).and_then(|name| name.split_once(AT));
        let (model, endpoint) = named.map_or((model, endpoint), |(id, at)| (Some(id), Some(at)));
        let routes = &self.routes;
        let Some(address) = endpoint.and_then(|wanted| routes.address(wanted)) else {
            let shown = self.endpoints();
            if endpoint.is_none() || shown.is_empty() {
                return Err(unknown);
            }
            return Err(format!("{unknown} Other addresses: {}.", shown.join(", ")));
        };
        let id = model.unwrap_or(&self.main.model.config().model);
        let name = format!("{id}{AT}{}", shown_address(address));
        let sibling = self.at(address).map(|there| ModelConfig {
            name: name.clone(),
            model: id.to_string(),
            ..there.model.config().clone()
        });
        let config = sibling.unwrap_or_else(|| ModelConfig::new(name, id, Protocol::Chat, address));
        Ok(PricedModel { model: routes.model(config, &self.governors)?, prices: None })
    }

    /// The addresses that may be named beside those of configured models, without credentials.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.routes.addresses.iter().map(|address| shown_address(address)).collect()
    }

    /// Whether a task could ask for that.
    pub fn check(&self, model: Option<&str>, endpoint: Option<&str>) -> Result<(), String> {
        self.find(model, endpoint).map(|_| ())
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
        models.route(Routes { addresses: addresses.map(str::to_string).to_vec(), ..Routes::default() });
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
