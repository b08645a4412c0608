//! The tools an agent can call, one file each.
//!
//! A tool's input struct makes its schema, and its doc comments are the text a model reads. A [`Toolbox`] checks a call
//! against both the schema and the agent's grant before anything runs. This crate must not know agents, turns, events
//! or the terminal.
#![forbid(unsafe_code)]

mod all;
mod arguments;
mod ask_person;
mod confine;
mod context;
mod denied_files;
mod edit_file;
mod failure;
mod glob;
mod grep;
mod hook_request;
mod html;
mod job_tool;
mod jobs;
mod knowledge;
mod lean;
pub mod limits;
mod list_files;
mod lookup;
mod mcp_read;
mod output_text;
mod outside;
mod picture;
mod preview;
mod read_file;
mod recall;
mod remember;
mod rewrite;
mod runner_family;
mod running;
mod schema;
mod seen;
mod settings;
mod shell;
mod show;
mod skill_load;
mod skill_save;
mod test_output;
mod tests_run;
mod todo;
mod tool;
mod tool_call;
mod toolbox;
mod tools_find;
mod web_address;
mod web_fetch;
mod write_file;

pub use ask_person::NOBODY_HERE;
pub use confine::{LinkedFolders, Sandbox};
pub use hook_request::{HookReach, HookRequest, HookResponse, post_hook};
pub use jobs::{Job, JobNews, Jobs, MoveError};
pub use knowledge::{
    Knowledge, Library, LoadedSkill, NewSkill, SavedSkill, SkillFile, SkillLine, valid_skill_key,
};
pub use outside::{
    OutsideAnswer, OutsideCall, OutsideFuture, OutsideHandle, OutsideLine, OutsideOffer, OutsidePlace,
    OutsidePrompt, OutsideQuestion, OutsideQuestions, OutsideResult, OutsideServer, OutsideState,
    OutsideTool, OutsideTools,
};
pub use preview::Preview;
pub use rewrite::{Rewrite, Rewrites};
pub use running::{LiveOutput, RunningCommand};
pub use settings::ToolSettings;
pub use shell::background_run;
pub use toolbox::{Prepared, Toolbox};
