//! What a session can be set to: approval modes, the model, the surface; each as a mode or an option of the protocol. Pure.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use posse_protocol::Approval;
use posse_surface::Surface;

/// The value that leaves the choice to the configuration.
pub(crate) const AS_CONFIGURED: &str = "default";

/// The options of a session, by their ids.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const SURFACE: &str = "surface";

/// What a session is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionSettings {
    /// What runs without asking.
    pub(crate) mode: Approval,
    /// Whether the client has said so.
    pub(crate) mode_chosen: bool,
    /// The model, by its configured name; none: as configured.
    pub(crate) model: Option<String>,
    /// The models there are.
    pub(crate) models: Vec<String>,
    /// The tools that models delegate with; none: as configured.
    pub(crate) surface: Option<Surface>,
    /// Whether the session has begun: its surface stays as it is.
    pub(crate) begun: bool,
}

impl SessionSettings {
    /// The modes, for clients that know only those.
    pub(crate) fn modes(&self) -> SessionModeState {
        let mode = |mode: Approval| {
            let (name, description) = mode_words(mode);
            SessionMode::new(mode.word(), name).description(description)
        };
        SessionModeState::new(self.mode.word(), Approval::ALL.map(mode).to_vec())
    }

    /// Everything, for clients that know options.
    pub(crate) fn options(&self) -> Vec<SessionConfigOption> {
        let modes = Approval::ALL.map(|mode| {
            let (name, description) = mode_words(mode);
            SessionConfigSelectOption::new(mode.word(), name).description(description)
        });
        let model = self.model.as_deref().unwrap_or(AS_CONFIGURED);
        let surface = self.surface.map_or_else(|| AS_CONFIGURED.to_owned(), |surface| surface.to_string());
        vec![
            SessionConfigOption::select(MODE, "Approval", self.mode.word(), modes.to_vec())
                .description("What is done without asking you")
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(MODEL, "Model", model.to_owned(), self.model_choices())
                .description("The model of the main agent, from its next turn on")
                .category(SessionConfigOptionCategory::Model),
            SessionConfigOption::select(SURFACE, "Delegation", surface, self.surface_choices())
                .description("The tools that agents delegate with; fixed from the first prompt on"),
        ]
    }

    fn model_choices(&self) -> Vec<SessionConfigSelectOption> {
        // Once a session has a model, there is no way back to none.
        let configured = self.model.is_none() || !self.begun;
        let first = configured.then(|| SessionConfigSelectOption::new(AS_CONFIGURED, "As configured"));
        let current = self.model.iter().filter(|model| !self.models.contains(model));
        let named = self.models.iter().chain(current);
        first.into_iter().chain(named.map(|name| choice(name))).collect()
    }

    fn surface_choices(&self) -> Vec<SessionConfigSelectOption> {
        let current = self.surface.map_or_else(|| AS_CONFIGURED.to_owned(), |surface| surface.to_string());
        if self.begun {
            return vec![choice(&current)];
        }
        let all = Surface::ALL.map(|surface| choice(&surface.to_string()));
        let first = SessionConfigSelectOption::new(AS_CONFIGURED, "As configured");
        std::iter::once(first).chain(all).collect()
    }
}

fn choice(name: &str) -> SessionConfigSelectOption {
    SessionConfigSelectOption::new(name.to_owned(), name)
}

/// A mode by its id.
pub(crate) fn mode_of(id: &str) -> Option<Approval> {
    Approval::ALL.into_iter().find(|mode| mode.word() == id)
}

fn mode_words(mode: Approval) -> (&'static str, &'static str) {
    match mode {
        Approval::Plan => ("Plan", "Reads and thinks; changes nothing and asks nothing"),
        Approval::Ask => ("Ask", "Asks before it changes files, runs commands or uses the network"),
        Approval::Edit => ("Edit", "Edits files; asks before commands and the network"),
        Approval::Auto => ("Auto", "Does everything inside the sandbox; asks before it leaves it"),
        Approval::Full => ("Full", "Never asks"),
    }
}
