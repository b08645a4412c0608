//! What agents may do without asking, and the questions that wait for a person.

pub(crate) mod approvals;
pub(crate) mod shell_rights;
