//! Agent files become roles: lenient front matter, the built-in roles, aliases. Skill files become skills, files of
//! user commands become prompts.
//!
//! A role is a Markdown file whose front matter says what it may do and whose body is its prompt; the built-in ones
//! are such files. Files of other programs load as they are, as far as they can be understood, and what cannot be
//! enforced is not given. This crate must not know folders, tools or models: it turns text into roles and skills.
#![forbid(unsafe_code)]

mod agent_roles;
mod agent_servers;
mod builtin;
mod completed;
mod error;
mod field;
mod fields;
mod front_hooks;
mod given;
mod json_text;
mod keys;
mod lenient;
pub mod limits;
mod lookalike;
mod name;
mod parse;
mod registry;
mod rights;
mod search;
mod skill;
mod strict;
mod tools;
mod user_command;
mod values;
mod warning;

pub use agent_roles::{AgentRoles, AgentRolesError};
pub use agent_servers::servers_in;
pub use builtin::{REPORT_FORMAT, REPORT_SUGGESTIONS, Team, template};
pub use error::{Accepted, NameFault, RoleError, UnknownRole};
pub use front_hooks::front_matter_hooks;
pub use given::Given;
pub use name::valid_name;
pub use parse::{INHERIT, Lines, Parsed, parse, read};
pub use registry::{DEFAULT_ROLE, Roles};
pub use skill::{Skill, parse_skill, skill_text};
pub use tools::likely_tool;
pub use user_command::{CommandPrompt, parse_command};
pub use warning::{Audience, Warning};
