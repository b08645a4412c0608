//! What outlives a session: notes and skills, as agents read and write them.

pub(crate) mod library;
pub(crate) mod session_digest;
pub(crate) mod skill_drafts;
pub(crate) mod skill_files;
