//! The roles that come with Posse, and the texts that go with them.

use posse_protocol::{Role, RoleOrigin};

use crate::parse::parse;
use crate::values::quoted;

/// What every report of a sub-agent looks like, for its prompt.
pub const REPORT_FORMAT: &str = include_str!("../agents/report.md");

/// One more section of it, where whoever asked has a place for that.
pub const REPORT_SUGGESTIONS: &str = include_str!("../agents/suggestions.md");

const TEMPLATE: &str = include_str!("../agents/template.txt");

/// Whether the delegation team is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// Only the standard roles.
    Without,
    /// Also main, planner, coder, tester, reviewer and debugger.
    With,
}

const STANDARD: [(&str, &str); 8] = [
    ("general.md", include_str!("../agents/general.md")),
    ("explore.md", include_str!("../agents/explore.md")),
    ("plan.md", include_str!("../agents/plan.md")),
    ("review.md", include_str!("../agents/review.md")),
    ("implementer.md", include_str!("../agents/implementer.md")),
    ("verifier.md", include_str!("../agents/verifier.md")),
    ("skill.md", include_str!("../agents/skill.md")),
    ("custom.md", include_str!("../agents/custom.md")),
];

const TEAM: [(&str, &str); 6] = [
    ("main.md", include_str!("../agents/team/main.md")),
    ("planner.md", include_str!("../agents/team/planner.md")),
    ("coder.md", include_str!("../agents/team/coder.md")),
    ("tester.md", include_str!("../agents/team/tester.md")),
    ("reviewer.md", include_str!("../agents/team/reviewer.md")),
    ("debugger.md", include_str!("../agents/team/debugger.md")),
];

/// The embedded files as roles. A test holds every one of them to being good.
pub(crate) fn builtin(team: Team) -> impl Iterator<Item = Role> {
    let team: &[(&str, &str)] = if team == Team::With { &TEAM } else { &[] };
    let files = STANDARD.iter().chain(team);
    files.filter_map(|(path, text)| parse(text, path, RoleOrigin::BuiltIn).role.ok())
}

/// A new agent file to fill in, which is good as it is.
pub fn template(name: &str, description: &str) -> String {
    TEMPLATE.replace("{name}", &quoted(name)).replace("{description}", &quoted(description))
}
