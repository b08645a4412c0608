//! Work of sub-agents that is on branches and not in the folder, so that the end does not say otherwise.

use posse_view::SessionView;

use crate::limits::BRANCHES_SHOWN_MAX;
use crate::output::{Style, one_line};

/// Where the work is that is not in the folder, and how it comes in.
pub(super) fn told(style: Style, view: &SessionView) -> String {
    let branches = view.agents.iter().filter_map(|agent| Some((agent, agent.branch.as_ref()?)));
    let open = branches.filter(|(_, branch)| branch.is_open()).collect::<Vec<_>>();
    let mut text = String::new();
    for (agent, branch) in open.iter().take(BRANCHES_SHOWN_MAX) {
        let (name, branch) = (one_line(&agent.name, 60), one_line(&branch.name, 100));
        text.push_str(&style.yellow(&format!("  branch   {branch} is not merged: posse merge {name}\n")));
    }
    if let Some(more @ 1..) = open.len().checked_sub(BRANCHES_SHOWN_MAX) {
        text.push_str(&style.yellow(&format!("  branch   and {more} more\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use posse_protocol::{Branch, Ending, EventKind};

    use super::super::sample::{admitted, event, id, report, view};
    use super::*;

    fn settled(name: &str) -> EventKind {
        let mut report = report(Ending::Completed, "");
        let (base, tip) = ("a".into(), "b".into());
        report.receipt.branch = Some(Branch { name: name.into(), base, tip, diff: String::new() });
        EventKind::AgentSettled { report }
    }

    #[test]
    fn branches_that_are_not_merged_are_named_up_to_a_number() {
        let mut events = Vec::new();
        for n in 2..17 {
            events.push(event(n, 1, admitted(&format!("coder-{n}"), 1, "mend it")));
            events.push(event(n, 1, settled(&format!("posse/coder-{n}"))));
        }
        let (branch, changes, conflicts) = ("posse/coder-2".into(), Vec::new(), Vec::new());
        let merged = EventKind::Merged { from: id(2), branch, changes, conflicts };
        events.push(event(2, 1, merged));
        let told = told(Style::plain(), &view(events));
        let lines = told.lines().collect::<Vec<_>>();
        assert_eq!(lines.len(), BRANCHES_SHOWN_MAX + 1);
        assert_eq!(lines[0], "  branch   posse/coder-3 is not merged: posse merge coder-3");
        assert_eq!(lines[BRANCHES_SHOWN_MAX], "  branch   and 2 more");
        assert_eq!(super::told(Style::plain(), &SessionView::default()), "");
    }
}
