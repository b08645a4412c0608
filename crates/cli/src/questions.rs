//! Questions of agents to the person at the terminal: one at a time, in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead as _, IsTerminal as _};

use posse_engine::approving::explain;
use posse_protocol::{AgentId, Answer, Event, EventKind, Question};
use tokio::sync::mpsc;

use crate::output::{self, Style, harmless, one_line};

/// Whether there is somebody who can be asked: a terminal to read from, and one to show the question on.
pub(crate) fn person_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether a command of the person's is to be done, on the terminal it was typed in.
pub(crate) fn person_agrees(question: &str, what: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        anyhow::bail!("nobody is there to ask; give --yes to {what}");
    }
    output::print(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// One open question and who asks it.
#[derive(Clone, Debug)]
struct Open {
    agent: AgentId,
    name: String,
    title: String,
    question: Question,
}

/// What the person typed, or that there is nothing more to come.
type Typed = (u64, Option<String>);

/// All open questions; the first is the one that is shown.
#[derive(Default)]
pub(crate) struct Questions {
    open: VecDeque<Open>,
    /// Names and titles of sub-agents, to say who asks.
    names: HashMap<AgentId, (String, String)>,
    reader: Option<Reader>,
    /// Which reading the shown question waits for.
    asked: Option<u64>,
}

/// Reads lines on a thread of its own, each only when it is asked for.
struct Reader {
    wanted: std::sync::mpsc::Sender<u64>,
    typed: mpsc::UnboundedReceiver<Typed>,
    next: u64,
}

/// What a line came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// Send this to the agent.
    Answer(AgentId, Box<Question>, Answer),
    /// Tell the person this, and ask again.
    Again(&'static str),
}

impl Questions {
    /// Takes in what happened. True if another question has to be shown now, or none.
    pub(crate) fn event(&mut self, event: &Event) -> bool {
        let first = self.open.front().map(|open| (open.agent, open.question.call.clone()));
        match &event.kind {
            EventKind::AgentAdmitted { name, title, .. } => {
                self.names.insert(event.agent, (one_line(name, 60), one_line(title, 100)));
            }
            EventKind::PersonNeeded { question } => {
                let (name, title) =
                    self.names.get(&event.agent).cloned().unwrap_or_else(|| ("main".into(), String::new()));
                let question = question.clone();
                self.open.push_back(Open { agent: event.agent, name, title, question });
            }
            EventKind::PersonAnswered { call, .. } => {
                self.open.retain(|open| (open.agent, &open.question.call) != (event.agent, call));
            }
            // It was stopped with its question open.
            EventKind::AgentSettled { .. } => self.open.retain(|open| open.agent != event.agent),
            _ => return false,
        }
        first != self.open.front().map(|open| (open.agent, open.question.call.clone()))
    }

    /// Takes in what happened before this process: who the agents are. Questions of then are asked again.
    pub(crate) fn recall(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::AgentAdmitted { .. }) {
            self.event(event);
        }
    }

    /// The question to show, if there is one; from now on a line is read for it.
    pub(crate) fn show(&mut self, style: Style) -> Option<String> {
        let mut text = shown(style, self.open.front()?);
        // The person may be in the middle of a line for a question that has gone meanwhile.
        if self.asked.is_some() {
            text.insert_str(0, "\n  (that question is gone)\n");
        }
        self.read();
        Some(text)
    }

    /// Reads another line for the same question.
    pub(crate) fn again(&mut self, hint: &str) -> Option<String> {
        self.open.front()?;
        self.read();
        Some(format!("  {hint}\n> "))
    }

    /// Has a line read for the question in front. One that is still being read was meant for another.
    fn read(&mut self) {
        let reader = self.reader.get_or_insert_with(Reader::start);
        reader.next += 1;
        let _ = reader.wanted.send(reader.next);
        self.asked = Some(reader.next);
    }

    /// Waits for the next line that was typed for the question that is shown; for ever if none is.
    pub(crate) async fn typed(&mut self) -> Reply {
        loop {
            let Some(reader) = &mut self.reader else { return std::future::pending().await };
            let Some((number, line)) = reader.typed.recv().await else { return std::future::pending().await };
            let Some(open) = self.open.front() else { continue };
            if self.asked != Some(number) {
                return Reply::Again("that was for a question that is gone; this is another");
            }
            self.asked = None;
            let Some(line) = line else {
                let no = Answer::No { reason: "the person's input has ended".to_string() };
                return Reply::Answer(open.agent, Box::new(open.question.clone()), no);
            };
            return match answer(&line, &open.question) {
                Ok(answer) => Reply::Answer(open.agent, Box::new(open.question.clone()), answer),
                Err(hint) => Reply::Again(hint),
            };
        }
    }
}

impl Reader {
    fn start() -> Self {
        let (wanted, wishes) = std::sync::mpsc::channel::<u64>();
        let (told, typed) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while let Ok(number) = wishes.recv() {
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then_some(line);
                if told.send((number, line)).is_err() {
                    return;
                }
            }
        });
        Self { wanted, typed, next: 0 }
    }
}

/// What a line means.
fn answer(line: &str, question: &Question) -> Result<Answer, &'static str> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim().to_string();
    match word.to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" => Ok(Answer::Once),
        "s" | "session" => Ok(Answer::Session),
        "p" | "pattern" if rest.is_empty() => Ok(Answer::Pattern { pattern: question.pattern.clone() }),
        "p" | "pattern" => Ok(Answer::Pattern { pattern: rest }),
        "n" | "no" => Ok(Answer::No { reason: rest }),
        _ => Err("type y, s, p or n"),
    }
}

fn shown(style: Style, open: &Open) -> String {
    let Open { name, title, question, .. } = open;
    let title = if title.is_empty() { String::new() } else { format!(" ({title})") };
    let tool = one_line(&question.tool, 60);
    let outside = question.pattern.starts_with("leave(");
    let (head, mark) = (style.bold(name), style.yellow("?"));
    let mut text = if outside {
        format!("{mark} {head}{title} wants to run this outside the sandbox, with all your rights:\n")
    } else {
        format!("{mark} {head}{title} wants to use {tool} ({}):\n", harmless(&question.why))
    };
    for line in harmless(&question.what).lines() {
        text.push_str(&format!("    {line}\n"));
    }
    if let Some(path) = &question.real_path {
        text.push_str(&style.dim(&format!("    that is {}\n", harmless(path))));
    }
    let command = question.tool == "shell";
    for note in explain(&question.what).iter().filter(|_| command) {
        text.push_str(&style.dim(&format!("    {}\n", harmless(note))));
    }
    let always =
        if outside { "every command outside the sandbox".to_string() } else { format!("every {tool}") };
    let pattern = if command { "this very command".to_string() } else { one_line(&question.pattern, 80) };
    text.push_str(&format!(
        "  y  yes, once\n  s  yes, and {always} until the session ends\n  p  yes, and {pattern} until the session ends\n  \
         n  no; you may say why after it\n> "
    ));
    text
}

#[cfg(test)]
mod tests {
    use posse_protocol::CallId;

    use super::*;
    use crate::display::sample::{admitted, event, id, report};

    fn question(call: &str) -> Question {
        Question {
            call: CallId(call.to_string()),
            tool: "shell".to_string(),
            what: "cargo fetch\x1b[2J".to_string(),
            real_path: None,
            why: "in mode auto, leaving the sandbox asks first".to_string(),
            pattern: "leave(cargo fetch)".to_string(),
        }
    }

    fn asks(call: &str) -> EventKind {
        EventKind::PersonNeeded { question: question(call) }
    }

    #[test]
    fn answers_are_read_leniently_and_nothing_is_guessed() {
        let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_string() };
        let no = |reason: &str| Answer::No { reason: reason.to_string() };
        let good = [
            ("y", Answer::Once),
            (" Yes \n", Answer::Once),
            ("s", Answer::Session),
            ("p", pattern("leave(cargo fetch)")),
            ("p edit_file(src/*)", pattern("edit_file(src/*)")),
            ("n", no("")),
            ("no use the vendored one", no("use the vendored one")),
        ];
        for (line, want) in good {
            assert_eq!(answer(line, &question("c")), Ok(want), "{line:?}");
        }
        for line in ["", "\n", "yep", "maybe", "1"] {
            assert!(answer(line, &question("c")).is_err(), "{line:?}");
        }
    }

    #[test]
    fn questions_come_one_at_a_time_and_go_with_their_agent() {
        let mut questions = Questions::default();
        assert!(!questions.event(&event(2, 1, admitted("coder-1", 1, "mend it"))));
        assert!(questions.event(&event(2, 1, asks("a"))), "the first is shown");
        assert!(!questions.event(&event(1, 0, asks("b"))), "the second waits");
        let text = shown(Style::plain(), &questions.open[0]);
        assert!(text.starts_with("? coder-1 (mend it) wants to run this outside the sandbox"), "{text}");
        assert!(text.contains("    cargo fetch\\u{1b}[2J\n") || text.contains("    cargo fetch\n"), "{text}");
        assert!(!text.contains('\x1b'), "{text:?}");
        let settled = EventKind::AgentSettled { report: report(posse_protocol::Ending::Cancelled, "") };
        assert!(questions.event(&event(2, 1, settled)), "it was stopped, so the second is shown");
        assert_eq!(questions.open[0].agent, id(1));
        let answered = EventKind::PersonAnswered { call: CallId("b".into()), answer: Answer::Once };
        assert!(questions.event(&event(1, 0, answered)));
        assert!(questions.open.is_empty());
    }
}
