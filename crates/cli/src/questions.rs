//! Questions of agents to the person at the terminal: one at a time, in the order in which they came.
//!
//! Only a terminal is asked. What was typed before a question was on it is thrown away, so that it answers nothing; where
//! there is no terminal, what would be asked is denied, whatever is piped in.

mod page;

use std::io::{self, BufRead as _};

use posse_protocol::{AgentId, Answer, FreeQuestion, Question, Seq};
use posse_view::{OpenQuestion, SessionView};
use tokio::sync::mpsc;

use self::page::{Asked, DECLINE, View, drawn};
use crate::output::{self, Style, one_line};

/// Whether there is somebody who can be asked: a terminal to read from, and one to show the question on.
pub(crate) fn person_is_there() -> bool {
    output::stdin_is_terminal() && output::stderr_is_terminal()
}

/// Asks whether a command of the person's is to be done, on the terminal it was typed in.
pub(crate) fn person_agrees(question: &str, what: &str) -> anyhow::Result<bool> {
    if !output::stdin_is_terminal() {
        anyhow::bail!("there is no terminal to ask on; give --yes to {what}");
    }
    output::print(question)?;
    output::forget_typed();
    output::print(" [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The question that is shown, and who asks it.
#[derive(Clone, Debug)]
struct Open {
    seq: Seq,
    agent: AgentId,
    name: String,
    title: String,
    question: Question,
}

impl Open {
    fn of(view: &SessionView, open: &OpenQuestion) -> Self {
        let agent = view.agents.get(open.agent);
        let title = agent.and_then(|agent| agent.title.as_deref()).unwrap_or_default();
        Self {
            seq: open.seq,
            agent: open.agent,
            name: one_line(agent.map_or("main", |agent| &agent.name), 60),
            title: one_line(title, 100),
            question: open.question.clone(),
        }
    }
}

/// What the person typed, or that there is nothing more to come.
type Typed = (u64, Option<String>);

/// The first of all open questions, which is the one that is shown.
#[derive(Default)]
pub(crate) struct Questions {
    open: Option<Open>,
    reader: Option<Reader>,
    /// Which reading the shown question waits for.
    asked: Option<u64>,
    /// What is in sight of it, and what one more key shows.
    view: Option<View>,
    next: Option<View>,
}

/// All of an open question, for a list: who asks, the whole command or diff, why, and the choices.
pub(crate) fn whole(style: Style, view: &SessionView, open: &OpenQuestion, columns: usize) -> String {
    let Open { name, title, question, .. } = Open::of(view, open);
    let asked = Asked { name: &name, title: &title, question: &question };
    drawn(style, asked, (columns, usize::MAX), View::Ends, "").text
}

/// What a line means as an answer to a question; a hint where it is none.
pub(crate) fn answer_in(line: &str, question: &Question) -> Result<Answer, &'static str> {
    match &question.asks {
        Some(asks) => words(line, asks),
        None => answer(line, question),
    }
}

/// Reads lines on a thread of its own, each only when it is asked for.
struct Reader {
    wanted: std::sync::mpsc::Sender<u64>,
    typed: mpsc::UnboundedReceiver<Typed>,
    next: u64,
}

/// What a line came to.
#[derive(Debug, PartialEq)]
pub(crate) enum TypedReply {
    /// Send this to the agent.
    Answer(AgentId, Box<Question>, Answer),
    /// Tell the person this, and ask again.
    Again(&'static str),
    /// Show more of the question.
    More,
}

impl Questions {
    /// Looks which question is the first now. True if another has to be shown, or none.
    pub(crate) fn look(&mut self, view: &SessionView) -> bool {
        let first = view.questions.first();
        if first.map(|open| open.seq) == self.open.as_ref().map(|open| open.seq) {
            return false;
        }
        self.open = first.map(|open| Open::of(view, open));
        true
    }

    /// Whether a question is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.open.is_some()
    }

    /// The question to show, if there is one, drawn for a terminal of this size.
    pub(crate) fn show(&mut self, style: Style, size: (usize, usize)) -> Option<String> {
        self.view = None;
        // The person may be in the middle of a line for a question that has gone meanwhile.
        let gone = self.asked.take().is_some_and(|_| self.reader.is_some());
        self.draw(style, size, if gone { "the question before this one is gone" } else { "" })
    }

    /// The same question with a hint.
    pub(crate) fn again(&mut self, style: Style, size: (usize, usize), hint: &str) -> Option<String> {
        self.draw(style, size, hint)
    }

    /// More of the same question.
    pub(crate) fn more(&mut self, style: Style, size: (usize, usize)) -> Option<String> {
        self.view = self.next;
        self.draw(style, size, "")
    }

    fn draw(&mut self, style: Style, size: (usize, usize), hint: &str) -> Option<String> {
        let Open { name, title, question, .. } = self.open.as_ref()?;
        let drawn =
            drawn(style, Asked { name, title, question }, size, self.view.unwrap_or(View::Ends), hint);
        self.next = drawn.next;
        Some(drawn.text)
    }

    /// Has a line read for the question in front, unless one is. One that is still being read for another was meant for
    /// that.
    pub(crate) fn read(&mut self) {
        if self.open.is_none() || self.asked.is_some() {
            return;
        }
        let reader = self.reader.get_or_insert_with(Reader::start);
        reader.next += 1;
        let _ = reader.wanted.send(reader.next);
        self.asked = Some(reader.next);
    }

    /// Waits for the next line that was typed for the question that is shown; for ever if none is.
    pub(crate) async fn typed(&mut self) -> TypedReply {
        loop {
            let Some(reader) = &mut self.reader else { return std::future::pending().await };
            let Some((number, line)) = reader.typed.recv().await else { return std::future::pending().await };
            let Some(open) = &self.open else { continue };
            if self.asked != Some(number) {
                return TypedReply::Again("that was for a question that is gone; this is another");
            }
            self.asked = None;
            let Some(line) = line else {
                let no = Answer::No { reason: "the person's input has ended".to_string() };
                return TypedReply::Answer(open.agent, Box::new(open.question.clone()), no);
            };
            // To a question in words, every word is an answer.
            let asks_more = match open.question.asks {
                Some(_) => line.trim().is_empty(),
                None => matches!(line.trim(), "" | "m" | "more"),
            };
            if self.next.is_some() && asks_more {
                return TypedReply::More;
            }
            return match answer_in(&line, &open.question) {
                Ok(answer) => TypedReply::Answer(open.agent, Box::new(open.question.clone()), answer),
                Err(hint) => TypedReply::Again(hint),
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

/// What a line says to a question in words: the number of a choice, the person's own words, or that there is no answer.
fn words(line: &str, asks: &FreeQuestion) -> Result<Answer, &'static str> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if line.is_empty() {
        return Err("type your answer, or /decline");
    } else if word.eq_ignore_ascii_case(DECLINE) {
        return Ok(Answer::No { reason: rest.trim().to_string() });
    }
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let chosen = number.and_then(|number| asks.choices.get(number));
    Ok(Answer::Said { text: chosen.map_or(line, String::as_str).to_string() })
}

/// What a line means. Leaving the sandbox takes a whole word.
fn answer(line: &str, question: &Question) -> Result<Answer, &'static str> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    if matches!(word.as_str(), "n" | "no") {
        return Ok(Answer::No { reason: rest.to_string() });
    }
    let (word, rest) = match (question.leaves, word.as_str()) {
        (true, "outside") => {
            let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (if word.is_empty() { "once".to_string() } else { word.to_lowercase() }, rest.trim())
        }
        (true, _) => return Err("type the whole word outside to let it out of the sandbox, or n"),
        (false, _) => (word, rest),
    };
    let own = |letter: &str| !question.leaves && word == letter;
    match word.as_str() {
        "once" => Ok(Answer::Once),
        "session" => Ok(Answer::Session),
        "pattern" if rest.is_empty() => Ok(Answer::Pattern { pattern: question.pattern.clone() }),
        "pattern" => Ok(Answer::Pattern { pattern: rest.to_string() }),
        _ if own("y") || own("yes") || own("o") => Ok(Answer::Once),
        _ if own("s") => Ok(Answer::Session),
        _ if own("p") && rest.is_empty() => Ok(Answer::Pattern { pattern: question.pattern.clone() }),
        _ if own("p") => Ok(Answer::Pattern { pattern: rest.to_string() }),
        _ if question.leaves => Err("type outside, outside session, outside pattern or n"),
        _ => Err("type y, s, p or n"),
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{CallId, EventKind};

    use super::*;
    use crate::display::sample::{admitted, event, id, report, started, view};

    fn question(call: &str) -> Question {
        Question {
            leaves: true,
            why: "in mode auto, leaving the sandbox asks first".to_string(),
            pattern: "leave(cargo fetch)".to_string(),
            ..Question::new(CallId(call.to_string()), "shell", "cargo fetch\x1b[2J")
        }
    }

    fn asks(call: &str) -> EventKind {
        EventKind::PersonNeeded { question: question(call) }
    }

    #[test]
    fn answers_are_read_leniently_and_nothing_is_guessed() {
        let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_string() };
        let no = |reason: &str| Answer::No { reason: reason.to_string() };
        let inside = Question { leaves: false, pattern: "shell(cargo fetch)".to_string(), ..question("c") };
        let good = [
            ("y", Answer::Once),
            (" Yes \n", Answer::Once),
            ("s", Answer::Session),
            ("p", pattern("shell(cargo fetch)")),
            ("p edit_file(src/*)", pattern("edit_file(src/*)")),
            ("n", no("")),
            ("no use the vendored one", no("use the vendored one")),
        ];
        for (line, want) in good {
            assert_eq!(answer(line, &inside), Ok(want), "{line:?}");
        }
        for line in ["", "\n", "yep", "maybe", "1", "outside"] {
            assert!(answer(line, &inside).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_question_in_words_takes_a_number_or_any_words() {
        let asks = FreeQuestion { choices: vec!["this".to_string(), "that, too".to_string()] };
        let said = |text: &str| Answer::Said { text: text.to_string() };
        let no = |reason: &str| Answer::No { reason: reason.to_string() };
        let good = [
            ("1\n", said("this")),
            (" 2 ", said("that, too")),
            ("3", said("3")),
            ("0", said("0")),
            ("y", said("y")),
            ("no", said("no")),
            ("m", said("m")),
            ("outside session", said("outside session")),
            ("1 and 2", said("1 and 2")),
            ("/decline", no("")),
            ("/Decline  ask me later ", no("ask me later")),
            ("/declined", said("/declined")),
        ];
        assert_eq!(good.len(), 12);
        for (line, want) in good {
            assert_eq!(words(line, &asks), Ok(want), "{line:?}");
        }
        assert!(words(" \n", &asks).is_err());
    }

    #[test]
    fn leaving_the_sandbox_takes_a_word() {
        let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_string() };
        let good = [
            ("outside\n", Answer::Once),
            (" Outside once ", Answer::Once),
            ("outside session", Answer::Session),
            ("outside pattern", pattern("leave(cargo fetch)")),
            ("outside pattern leave(x y)", pattern("leave(x y)")),
            ("n", Answer::No { reason: String::new() }),
            ("n outside", Answer::No { reason: "outside".to_string() }),
        ];
        for (line, want) in good {
            assert_eq!(answer(line, &question("c")), Ok(want), "{line:?}");
        }
        let bad =
            ["", "y", "yes", "s", "session", "p", "o", "once", "pattern", "out", "outside y", "outside s"];
        for line in bad {
            assert!(answer(line, &question("c")).is_err(), "{line:?}");
        }
    }

    #[test]
    fn questions_come_one_at_a_time_and_go_with_their_agent() {
        let mut questions = Questions::default();
        let mut events = vec![event(1, 0, started(0, None)), event(2, 1, admitted("coder-1", 1, "mend it"))];
        let mut after = |questions: &mut Questions, event| {
            events.push(event);
            questions.look(&view(events.clone()))
        };
        assert!(!after(&mut questions, event(2, 1, started(1, None))));
        assert!(after(&mut questions, event(2, 1, asks("a"))), "the first is shown");
        assert!(!after(&mut questions, event(1, 0, asks("b"))), "the second waits");
        let text = questions.show(Style::plain(), (80, 24)).unwrap();
        assert!(
            text.contains("? coder-1 wants to run this outside the sandbox, with all your rights:\n"),
            "{text}"
        );
        assert!(text.starts_with("    cargo fetch\\u{1b}[2J\n"), "{text}");
        let settled = EventKind::AgentSettled { report: report(posse_protocol::Ending::Cancelled, "") };
        assert!(after(&mut questions, event(2, 1, settled)), "it was stopped, so the second is shown");
        assert_eq!(questions.open.as_ref().map(|open| open.agent), Some(id(1)));
        let answered = EventKind::PersonAnswered { call: CallId("b".into()), answer: Answer::Once };
        assert!(after(&mut questions, event(1, 0, answered)));
        assert!(questions.open.is_none());
    }
}
