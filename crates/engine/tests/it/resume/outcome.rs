//! What a session came to, in a form in which two runs can be compared.

use std::collections::BTreeMap;

use posse_protocol::{Event, EventKind, Sender};

/// What the model is told of a call of which nobody knows what it did.
pub(super) const UNKNOWN: &str = "Interrupted, result unknown";

/// What a session came to, without what differs from run to run: who there was, under whom, how each ended with which
/// words, which calls ran with which result, and what each was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome(BTreeMap<String, AgentOutcome>);

#[derive(Clone, Debug, Default, PartialEq)]
struct AgentOutcome {
    parent: Option<String>,
    role: String,
    ending: String,
    words: String,
    turns: u32,
    /// By turn and call: those of one turn may come in any order.
    results: BTreeMap<(u32, String), String>,
    told: Vec<(Sender, String)>,
    delivered: usize,
}

impl Outcome {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut names = BTreeMap::new();
        for event in events {
            match &event.kind {
                EventKind::AgentAdmitted { name, .. } => drop(names.insert(event.agent, name.clone())),
                EventKind::SessionStarted { .. } => drop(names.insert(event.agent, "main".to_string())),
                _ => {}
            }
        }
        let mut agents: BTreeMap<String, AgentOutcome> = BTreeMap::new();
        for event in events {
            if let EventKind::ReportsDelivered { agents: told } = &event.kind {
                for id in told {
                    agents.entry(names[id].clone()).or_default().delivered += 1;
                }
            }
            let agent = agents.entry(names[&event.agent].clone()).or_default();
            agent.parent = event.parent.map(|parent| names[&parent].clone());
            agent.take_in(&event.kind);
        }
        Self(agents)
    }

    /// Without what depends on who is quicker: in which turn a report is told, and in which way.
    pub(super) fn at_any_pace(mut self) -> Self {
        for agent in self.0.values_mut() {
            agent.turns = 0;
            agent.results = BTreeMap::new();
            agent.told.retain(|(from, _)| *from != Sender::Reports);
        }
        self
    }

    /// Without what Posse has to say about the crash itself.
    pub(super) fn without_news(mut self) -> Self {
        self.0.values_mut().for_each(|agent| agent.told.retain(|(from, _)| *from != Sender::Posse));
        self
    }

    /// Who there was and what each came to.
    pub(super) fn ends(self) -> Self {
        let mut ends = self.at_any_pace();
        for agent in ends.0.values_mut() {
            (agent.told, agent.delivered) = (Vec::new(), 0);
        }
        ends
    }

    /// Takes results that nobody can know from a run in which they were known. Gives back how many there were.
    pub(super) fn complete_from(&mut self, known: &Self) -> usize {
        let mut unknown = 0;
        for (name, agent) in &mut self.0 {
            for (call, result) in &mut agent.results {
                if result.contains(UNKNOWN) {
                    unknown += 1;
                    if let Some(known) = known.0.get(name).and_then(|agent| agent.results.get(call)) {
                        result.clone_from(known);
                    }
                }
            }
        }
        unknown
    }
}

impl AgentOutcome {
    fn take_in(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AgentStarted { role, .. } => self.role.clone_from(role),
            EventKind::TurnStarted { turn, .. } => self.turns = *turn,
            EventKind::ToolFinished { call, text, .. } => {
                self.results.insert((self.turns, call.to_string()), timeless(text));
            }
            EventKind::Told { from, text, .. } => self.told.push((*from, timeless(text))),
            EventKind::AgentSettled { report } => {
                self.ending = format!("{}{}", self.ending, report.ending.word());
                self.words.clone_from(&report.text);
                self.turns = report.receipt.turns;
            }
            _ => {}
        }
    }
}

/// A text without what depends on who is quicker: seconds, and the order in which files were changed.
pub(super) fn timeless(text: &str) -> String {
    const FILES: &str = " changed (+";
    let (mut sorted, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(FILES) {
        let begins = rest[at..].find("): ").map_or(FILES.len(), |begins| begins + 3);
        let (before, list) = rest.split_at(at + begins);
        // In JSON the end of a line is written as two characters.
        let end = list.find(".\\n").into_iter().chain(list.find(".\n")).min().unwrap_or(list.len());
        let mut files = list[..end].split("), ").map(|file| file.trim_end_matches(')')).collect::<Vec<_>>();
        files.sort_unstable();
        sorted = format!("{sorted}{before}{}", files.join("), "));
        rest = &list[end..];
    }
    without_seconds(&format!("{sorted}{rest}"))
}

fn without_seconds(text: &str) -> String {
    let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let text = text.replace("\\n", " \\n ").replace('\n', " \n ");
    let mut words = text.split(' ').map(str::to_string).collect::<Vec<_>>();
    for at in 0..words.len() {
        let (word, end) = (words[at].trim_end_matches([',', '.', ';', ')']).to_string(), words[at].clone());
        let bare = word.strip_suffix("ms").or_else(|| word.strip_suffix('s'));
        if bare == Some("") && at > 0 && number(&words[at - 1]) {
            words[at - 1] = "T".to_string();
        } else if bare.is_some_and(number) {
            words[at] = end.replace(&word, "T");
        }
    }
    words.join(" ")
}
