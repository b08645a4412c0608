//! Drives agents: commands in, events out.
//!
//! The only crate that brings everything together: it makes the model calls the `agent` machine asks for, runs the
//! tools it wants, appends every step to the `store` and publishes it. Faces see what is public here and nothing
//! below. It must not know flags, the environment, the terminal, or any wire format.
#![forbid(unsafe_code)]

mod bus;
mod driver;
mod engine;
mod error;
mod journal;
pub mod limits;
mod project;
mod prompt;
mod receipt;
mod session;
mod stage;
mod tool_calls;

pub use bus::Updates;
pub use engine::Engine;
pub use error::EngineError;
pub use project::{ProjectContext, project_context, project_folders};
pub use session::{Session, SessionRequest};

/// What faces need to set up models, without knowing the crate behind.
pub mod models {
    pub use posse_model::{
        CassetteError, Governors, ListedModel, Model, ModelConfig, Protocol, Recorder, Retry, SetupError,
        Timeouts, ToolCallMode, list_models,
    };
    pub use secrecy::SecretString;
}

/// What faces need to tell about the record, without knowing the crate behind.
pub mod record {
    pub use posse_store::{AgentRow, DATABASE_FILE, Health, SessionRow, prepare_data_dir};
}

/// What faces need to tell about the machine and the workspace.
pub mod machine {
    pub use posse_sandbox::{Support, support};
    pub use posse_workspace::{Workspace, WorkspaceError, git};
}

pub use posse_tools::ToolSettings;
