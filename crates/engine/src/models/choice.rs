//! The models a session may use, by name. Which one an agent gets is decided here; names that are not known fail loudly.

use std::collections::BTreeMap;

use posse_delegate::Endpoint;
use posse_model::{Model, shown_address};
use posse_protocol::Prices;

use crate::models::family::{KnownModel, meant};
use crate::models::routes::Routes;

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
}

impl Models {
    /// The main agent's model; the only one until others are added.
    pub fn new(model: Model, prices: Option<Prices>) -> Self {
        let main = PricedModel { model, prices };
        let by_name = BTreeMap::from([(main.name().to_string(), main.clone())]);
        Self { main, by_name, left_out: BTreeMap::new(), routes: Routes::default() }
    }

    /// Adds a model that sub-agents may use. One of the same name is replaced, but never the main agent's.
    pub fn add(&mut self, model: Model, prices: Option<Prices>) {
        let name = model.config().name.clone();
        if name != self.main.name() {
            self.by_name.insert(name, PricedModel { model, prices });
        }
    }

    /// Says why a model that is configured cannot be used.
    pub fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.insert(name.to_string(), reason.to_string());
    }

    /// Lets tasks name these addresses, too.
    pub fn route(&mut self, routes: Routes) {
        self.routes = routes;
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
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

    /// Whether a task could ask for that.
    pub fn check(&self, model: Option<&str>, endpoint: Option<&str>) -> Result<(), String> {
        self.find(model, endpoint).map(|_| ())
    }
}
