//! The rights that go with a set of tools, and what explicit keys leave of them.

use std::collections::BTreeSet;

use posse_policy::{clean_path, passes};
use posse_protocol::{Approval, Files, Isolation, NameRules, Network, ReportForm, Shell, place};

use crate::name::{folded, shortened};
use crate::values::Value;

/// What tools need. A role has no right that none of its tools could use.
const FILE_TOOLS: [(&str, Files); 6] = [
    ("read_file", Files::Read),
    ("list_files", Files::Read),
    ("glob", Files::Read),
    ("grep", Files::Read),
    ("edit_file", Files::Write),
    ("write_file", Files::Write),
];

/// Files, shell and network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) files: Files,
    pub(crate) shell: Shell,
    pub(crate) network: Network,
}

impl Rights {
    /// As much as these tools can use.
    pub(crate) fn of_tools(tools: &NameRules) -> Self {
        let files = FILE_TOOLS.iter().filter(|(tool, _)| passes(tools, tool)).map(|(_, files)| *files);
        Self {
            files: files.max().unwrap_or(Files::None),
            shell: if passes(tools, "shell") { Shell::Full } else { Shell::None },
            network: if passes(tools, "web_fetch") { Network::Full } else { Network::None },
        }
    }

    pub(crate) fn limit_files(&mut self, most: Files) {
        self.files = self.files.min(most);
    }

    pub(crate) fn limit_shell(&mut self, most: Shell) {
        self.shell = self.shell.min(most);
    }

    pub(crate) fn limit_network(&mut self, most: Network) {
        if self.network != Network::None {
            self.network = most;
        }
    }
}

/// `none`, `full`, or hosts.
pub(crate) fn network(value: &Value) -> Option<Network> {
    match value.text().to_ascii_lowercase().as_str() {
        "none" | "no" | "false" => return Some(Network::None),
        "full" | "yes" | "true" => return Some(Network::Full),
        _ => {}
    }
    let is_host = |host: &String| {
        host.contains('.') && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    };
    let hosts = value.entries();
    let all_good = !hosts.is_empty() && hosts.iter().all(is_host);
    all_good.then(|| Network::Hosts(BTreeSet::from_iter(hosts)))
}

/// What it does without asking, by our words and those of other programs. It is an upper bound.
pub(crate) fn approval(value: &Value) -> Option<Approval> {
    match folded(&value.text()).as_str() {
        "plan" => Some(Approval::Plan),
        "ask" | "default" => Some(Approval::Ask),
        "edit" | "acceptedits" | "autoedit" => Some(Approval::Edit),
        "auto" => Some(Approval::Auto),
        "full" | "bypasspermissions" | "yolo" => Some(Approval::Full),
        _ => None,
    }
}

/// `shared` or `worktree`.
pub(crate) fn isolation(value: &Value) -> Option<Isolation> {
    match folded(&value.text()).as_str() {
        "shared" => Some(Isolation::Shared),
        "worktree" => Some(Isolation::Worktree),
        _ => None,
    }
}

/// The machine that it runs on; labels may be a list.
pub(crate) fn on(value: &Value) -> Option<String> {
    place(&value.entries().join(" "))
}

/// What its last words look like.
pub(crate) fn report(value: &Value) -> Option<ReportForm> {
    match folded(&value.text()).as_str() {
        "sections" | "true" | "yes" => Some(ReportForm::Sections),
        "answer" | "false" | "no" | "none" => Some(ReportForm::Answer),
        _ => None,
    }
}

/// Paths for rules about writing, and those that are none.
pub(crate) fn paths(value: &Value) -> (BTreeSet<String>, Vec<String>) {
    let mut good = BTreeSet::new();
    let mut bad = Vec::new();
    for written in value.entries() {
        match clean_path(&written) {
            Some(path) => drop(good.insert(path)),
            None => bad.push(shortened(&written)),
        }
    }
    (good, bad)
}
