//! Roles from files: agent files in folders, and roles files of settings.

pub(crate) mod files;
mod reading;
pub(crate) mod settings;

pub use files::{LoadedRoles, Problem, RoleHooks, RolePlace, RoleServers, load_roles, project_role_places};
pub use settings::{PromptFile, RolesFile, RolesFileAt};
