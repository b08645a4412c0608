//! The models of a session: which ones there are, which one an agent gets, and where tasks may be sent besides.

pub(crate) mod choice;
pub(crate) mod family;
pub(crate) mod routes;

pub use choice::Models;
pub use family::{KnownModel, meant};
pub use posse_model::{
    CassetteError, Governors, ListedModel, Model, ModelConfig, Profile, Protocol, Recorder, Retry,
    SetupError, Timeouts, ToolCallMode, address_fault, list_models, list_models_of, missing_model,
    shown_address,
};
pub use routes::Routes;
pub use secrecy::SecretString;
