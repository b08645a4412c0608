//! Prepares sessions: the surroundings of a process as a value, configuration, models, roles, and what is trusted.
//!
//! It must not know flags, the terminal or exit codes: errors and warnings are values, and the interface shows them.
#![forbid(unsafe_code)]

mod config;
mod data_folder;
mod detect;
mod error;
mod homes;
mod own_git;
mod paths;
mod providers;
mod role_fit;
mod roles;
mod sharing;
mod skill_places;
mod surroundings;
mod trust;
mod warning;
mod wishes;

pub use config::{
    Config, PROJECT_FILE, Time, Trusted, parse_age_ms, parse_approval, parse_time_ms, project_file,
};
pub use data_folder::{try_writing, writing_advice};
pub use detect::{ModelChoice, choose, probe};
pub use error::{ConfigError, ModelChoiceError, PrepareError, RolesError};
pub use homes::{check as check_workspace, hidden_in};
pub use own_git::settle_git;
pub use paths::{Paths, append_private, create_new_private};
pub use providers::{PROVIDERS, Provider};
pub use role_fit::RoleFit;
pub use roles::{RoleSources, own_role_folder};
pub use sharing::{Sharing, add_models, main_model};
pub use skill_places::{own_skill_folder, skill_folders};
pub use surroundings::{NoFolder, ShownPath, Surroundings};
pub use trust::is_trusted;
pub use trust::{TrustItem, trust_items};
pub use warning::SetupWarning;
pub use wishes::Wishes;
