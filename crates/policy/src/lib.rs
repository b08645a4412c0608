//! Pure decisions about rights: what two grants have in common, and whether a call may run.
//!
//! One grant makes both the list of tools a model sees (`offers`) and the gate at dispatch (`decide`), so the two
//! cannot disagree. What a grant lets through still has to pass the approval mode and the rules of the person
//! (`judge`). This crate must not know files, clocks, runtimes or what a tool does.
//!
//! Shell text is read to explain or to deny, never to grant: the sandbox is the boundary.
#![forbid(unsafe_code)]

mod address;
mod approval;
mod command;
mod decide;
mod destroys;
mod explain;
mod hidden;
mod invoked;
mod layers;
pub mod limits;
mod meet;
mod paths;
mod pattern;
mod reach;
mod rules;
mod shell_text;
mod tool_names;
mod wish;

pub use approval::{Undo, judge, judge_with, pattern_for, session_pattern};
pub use decide::{Decision, decide, decide_outside, delegates_to, offers, passes, reaches, shell_level};
pub use destroys::destroys;
pub use explain::explain;
pub use hidden::HiddenPaths;
pub use invoked::{Invoked, invoked};
pub use layers::{child_grant, for_child, from_project_file, in_background, not_asking};
pub use meet::meet;
pub use paths::{clean_path, may_write, writable_roots};
pub use pattern::matches as name_matches;
pub use reach::{Reach, Target, fits, is_pattern, reach};
pub use rules::{RuleError, Rules};
pub use tool_names::{TOOLS, is_tool, own_name, suggested_name};
pub use wish::{Act, Wish};
