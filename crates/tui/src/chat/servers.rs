//! Servers whose tools agents call: `/mcp` shows how they are, and their prompts are commands.

use posse_engine::outside::{OutsidePrompt, OutsideServer, OutsideState};
use posse_terminal::{Ink, Look, TextLine};
use posse_view::words::counted;

use super::Chat;
use crate::effect::{ChatEffect, ChatQuery};
use crate::limits::SERVER_NAMES_MAX;

/// How the name of a server's prompt begins.
const PROMPT_PREFIX: &str = "mcp__";

impl Chat {
    /// `/mcp`: the servers of the open session; with words behind it, and without a session, what `posse mcp` says.
    pub(super) fn mcp(&mut self, rest: &str) {
        let runs = self.session.as_ref().is_some_and(|session| !session.over);
        match rest {
            "" if runs => self.query(ChatQuery::Servers { show: true }),
            "" => self.posse(&["mcp", "list"], None, ""),
            rest => self.posse(&["mcp"], None, rest),
        }
    }

    /// A prompt of a server; false if it is the name of none.
    pub(super) fn server_prompt(&mut self, name: &str, rest: &str) -> bool {
        if !name.starts_with(PROMPT_PREFIX) {
            return false;
        }
        match &self.session {
            Some(session) if !session.over => {
                let (name, arguments) = (name.to_owned(), words_of(rest));
                self.effect(ChatEffect::ServerPrompt { name, arguments });
            }
            _ => self.say("servers run in a session: say something first, then use their prompts"),
        }
        true
    }

    /// Has the prompts of servers listed when somebody begins to type the name of one.
    pub(super) fn want_prompts(&mut self) {
        let typed = self.composer.editor.text().starts_with("/mcp_");
        let runs = self.session.as_ref().is_some_and(|session| !session.over);
        if typed && runs && !self.prompts_wanted {
            self.query(ChatQuery::Servers { show: false });
        }
        self.prompts_wanted = typed;
    }

    /// Takes in how the servers are, and shows it if somebody asked.
    pub(super) fn servers_found(&mut self, servers: &[OutsideServer], show: bool) {
        let prompts = servers.iter().flat_map(|server| &server.prompts);
        self.server_prompts = prompts.map(|prompt| (prompt.name.clone(), help_of(prompt))).collect();
        self.look();
        if show && servers.is_empty() {
            self.say("this session has no servers; posse mcp add adds one for the next");
        } else if show {
            servers.iter().flat_map(lines_of).for_each(|line| self.print_wrapped(&line, 4));
        }
    }
}

/// What is typed behind a prompt, and what it is for.
fn help_of(prompt: &OutsidePrompt) -> String {
    let arguments = prompt.arguments.iter();
    let arguments = arguments.map(|(name, needed)| if *needed { name.clone() } else { format!("[{name}]") });
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    match (arguments.as_str(), prompt.description.as_str()) {
        ("", description) => description.to_owned(),
        (arguments, "") => arguments.to_owned(),
        (arguments, description) => format!("{arguments} · {description}"),
    }
}

fn lines_of(server: &OutsideServer) -> Vec<TextLine> {
    let (state, ink) = match server.state {
        OutsideState::Waiting => ("not needed yet", Ink::Quiet),
        OutsideState::Starting => ("starting", Ink::Quiet),
        OutsideState::Running => ("running", Ink::Good),
        OutsideState::Failed => ("failed", Ink::Bad),
    };
    let mut head = TextLine::of(&server.name, Look::of(Ink::Accent).bold()).with(&format!("  {state}"), ink);
    for fact in [&server.detail, &server.shown].into_iter().filter(|fact| !fact.is_empty()) {
        head = head.with(&format!(" · {fact}"), Ink::Quiet);
    }
    let tools = names(server.tools.iter().map(|tool| tool.name.clone()).collect());
    let prompts = names(server.prompts.iter().map(|prompt| format!("/{}", prompt.name)).collect());
    let resources = (server.resources > 0).then(|| counted(server.resources as u64, "resource"));
    let parts = [("  tools ", tools), ("  prompts ", prompts), ("  ", resources)];
    let rows = parts.into_iter().filter_map(|(what, text)| Some((what, text?)));
    let rows = rows.map(|(what, text)| TextLine::of(what, Ink::Quiet).with(&text, Look::PLAIN));
    [head].into_iter().chain(rows).collect()
}

/// As many names as are worth reading; none if there are none.
fn names(mut names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(SERVER_NAMES_MAX);
    names.truncate(SERVER_NAMES_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{rest}", names.join(", ")))
}

/// The words of a line; quotes keep blanks in one.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') if word.is_none() => {
                quote = Some(c);
                word = Some(String::new());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn quotes_keep_blanks() {
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            ("a  b", &["a", "b"]),
            ("\"a b\" 'c d'", &["a b", "c d"]),
            ("it's \"\" x", &["it's", "", "x"]),
            ("\"open end", &["open end"]),
        ];
        for (line, expected) in cases {
            assert_eq!(words_of(line), expected, "{line}");
        }
    }
}
