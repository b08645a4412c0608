//! A question of an agent and how it is answered. Keys that are meant for the composer never answer: answering begins with
//! a key of its own, and ends when the question that it was about is gone.

use posse_protocol::{Answer, Question, Seq, words::counted};
use posse_terminal::diff_lines;
use posse_terminal::{Editor, Ink, Key, KeyCode, Look, TextLine};
use posse_view::{OpenQuestion, SessionView};

use crate::limits::QUESTION_LINES_MAX;

/// What is typed to let something out of the sandbox.
const OUTSIDE: &str = "outside";

/// How far the person is with an answer.
#[derive(Debug)]
pub(crate) struct AnswerDraft {
    /// Which question.
    pub(crate) seq: Seq,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A key chooses.
    Choose,
    /// Words for a refusal.
    No(Box<Editor>),
    /// The rule, as it would be saved.
    Rule(Box<Editor>),
    /// The word that lets it out of the sandbox.
    Outside(Box<Editor>),
    /// Words that answer a free question.
    Free(Box<Editor>),
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(crate) enum AnswerStep {
    /// Nothing yet.
    Stay,
    /// The person goes back to the composer.
    Back,
    /// All of the question is wanted.
    ShowAll,
    /// An answer.
    Give(Answer),
    /// An answer, and the rule is saved for other sessions, too.
    GiveAndSave(Answer, String),
}

impl AnswerDraft {
    /// Begins to answer.
    pub(crate) fn begin(open: &OpenQuestion) -> Self {
        let stage = match &open.question.asks {
            Some(_) => Stage::Free(Box::default()),
            None => Stage::Choose,
        };
        Self { seq: open.seq, stage }
    }

    /// What the person types, if they type.
    pub(crate) fn editor(&self) -> Option<(&'static str, &Editor)> {
        match &self.stage {
            Stage::Choose => None,
            Stage::No(editor) => Some(("no, because ", editor)),
            Stage::Rule(editor) => Some(("rule ", editor)),
            Stage::Outside(editor) => Some(("type outside: ", editor)),
            Stage::Free(editor) => Some(("answer ", editor)),
        }
    }

    /// Whether the person types words now.
    pub(crate) fn takes_words(&self) -> bool {
        self.editor().is_some()
    }

    /// Text that was pasted.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(editor) = self.editor_mut() {
            editor.insert(&text.replace('\n', " "));
        }
    }

    fn editor_mut(&mut self) -> Option<&mut Editor> {
        match &mut self.stage {
            Stage::Choose => None,
            Stage::No(editor) | Stage::Rule(editor) | Stage::Outside(editor) | Stage::Free(editor) => {
                Some(editor)
            }
        }
    }

    /// A key that was pressed for this question.
    pub(crate) fn key(&mut self, key: &Key, question: &Question) -> AnswerStep {
        match (&self.stage, key.code) {
            (_, KeyCode::Char('o')) if key.ctrl => AnswerStep::ShowAll,
            (_, KeyCode::Char('c' | 'd' | 'q')) if key.ctrl => AnswerStep::Back,
            (Stage::Choose | Stage::Free(_), KeyCode::Escape) => AnswerStep::Back,
            (_, KeyCode::Escape) => {
                self.stage = Stage::Choose;
                AnswerStep::Stay
            }
            (Stage::Choose, _) => self.choose(key, question),
            (_, KeyCode::Enter) => self.enter(question),
            _ => {
                if let Some(editor) = self.editor_mut() {
                    edit(editor, key);
                }
                AnswerStep::Stay
            }
        }
    }

    fn choose(&mut self, key: &Key, question: &Question) -> AnswerStep {
        let KeyCode::Char(letter) = key.code else { return AnswerStep::Stay };
        if key.ctrl || key.alt {
            return AnswerStep::Stay;
        }
        match (letter.to_ascii_lowercase(), question.leaves) {
            ('n', _) => self.stage = Stage::No(Box::default()),
            ('?' | 'v', _) => return AnswerStep::ShowAll,
            ('o' | 'y' | 's', true) => self.stage = Stage::Outside(Box::default()),
            ('y', false) => return AnswerStep::Give(Answer::Once),
            ('s', false) => return AnswerStep::Give(Answer::Session),
            ('r' | 'e', _) => {
                let mut editor = Editor::default();
                editor.insert(&question.pattern);
                self.stage = Stage::Rule(Box::new(editor));
            }
            _ => {}
        }
        AnswerStep::Stay
    }

    fn enter(&mut self, question: &Question) -> AnswerStep {
        match &self.stage {
            Stage::Choose => AnswerStep::Stay,
            Stage::No(editor) => AnswerStep::Give(Answer::No { reason: editor.text().trim().to_owned() }),
            Stage::Rule(editor) => {
                let pattern = editor.text().trim().to_owned();
                if pattern.is_empty() {
                    return AnswerStep::Stay;
                }
                AnswerStep::GiveAndSave(Answer::Pattern { pattern: pattern.clone() }, pattern)
            }
            Stage::Outside(editor) => match editor.text().trim() {
                OUTSIDE => AnswerStep::Give(Answer::Once),
                _ => AnswerStep::Stay,
            },
            Stage::Free(editor) => {
                let text = editor.text().trim().to_owned();
                let choices = question.asks.as_ref().map_or(&[][..], |asks| &asks.choices);
                let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match number.and_then(|number| choices.get(number)) {
                    Some(choice) => AnswerStep::Give(Answer::Said { text: choice.clone() }),
                    None if text.is_empty() => AnswerStep::Stay,
                    None => AnswerStep::Give(Answer::Said { text }),
                }
            }
        }
    }
}

/// A key in a line of its own: what is typed, or one of the editor's keys.
fn edit(editor: &mut Editor, key: &Key) {
    if editor.key(key) {
        return;
    }
    if let Some(c) = key.typed() {
        editor.insert(c.encode_utf8(&mut [0; 4]));
    }
}

/// Who wants what, and why it asks.
pub(crate) fn heading(open: &OpenQuestion, view: &SessionView) -> TextLine {
    let question = &open.question;
    let name = view.agents.get(open.agent).map_or("main", |agent| agent.name.as_str());
    let number = crate::transcript::number_of(view, open.agent);
    let line =
        TextLine::of("? ", Look::of(Ink::Warning).bold()).with(name, Look::of(Ink::Agent(number)).bold());
    if question.asks.is_some() {
        return line.with(" asks you", Look::PLAIN.bold());
    }
    let wants = match (question.leaves, question.tool.as_str(), &question.preview) {
        (true, ..) => " wants to run this OUTSIDE the sandbox, with all your rights",
        (_, "shell", _) => " wants to run a command",
        (_, _, Some(_)) => " wants to change a file",
        _ => "",
    };
    let line = match (question.leaves, wants) {
        (true, wants) => line.with(wants, Look::of(Ink::Bad).bold()),
        (_, "") => line.with(&format!(" wants to use {}", question.tool), Look::PLAIN.bold()),
        (_, wants) => line.with(wants, Look::PLAIN.bold()),
    };
    let why = if question.why.is_empty() { String::new() } else { format!(" ({})", question.why) };
    line.with(&why, Ink::Quiet)
}

/// All of what is asked: the command or the diff, what it touches, and the words of a free question with its choices.
pub(crate) fn body(question: &Question, lines_max: usize) -> Vec<TextLine> {
    let (mut lines, hidden) = counted_body(question, lines_max);
    if hidden > 0 {
        lines.push(TextLine::of(&format!("  … {}", counted(hidden as u64, "more line")), Ink::Quiet));
    }
    lines
}

/// The same, and how many lines of the diff are not in it.
fn counted_body(question: &Question, lines_max: usize) -> (Vec<TextLine>, usize) {
    let mut hidden = 0;
    let mut lines: Vec<TextLine> = Vec::new();
    // The head of a diff names the file already.
    let is_named = question.preview.as_ref().is_some_and(|preview| head_of(preview).contains(&question.what));
    let leads_elsewhere = question.real_path.as_ref().is_some_and(|path| !path.ends_with(&question.what));
    if !is_named || leads_elsewhere {
        let what = question.what.lines();
        hidden += what.clone().count().saturating_sub(lines_max);
        let what = what.take(lines_max).map(|line| TextLine::plain("  ").with(line, Ink::Code));
        lines.extend(what);
    }
    if let Some(asks) = &question.asks {
        let numbered = asks.choices.iter().zip(1..);
        lines.extend(
            numbered
                .map(|(choice, n)| TextLine::of(&format!("  {n}  "), Ink::Accent).with(choice, Look::PLAIN)),
        );
    }
    if let Some(path) = question.real_path.as_ref().filter(|_| leads_elsewhere) {
        lines.push(TextLine::of(&format!("  that is {path}"), Ink::Quiet));
    }
    if let Some(preview) = &question.preview {
        let diff = diff_lines(preview, lines_max);
        lines.extend(diff.lines.into_iter().map(|line| {
            let mut row = TextLine::plain("  ");
            row.append(line);
            row
        }));
        hidden += diff.hidden;
    }
    if !question.written.is_empty() {
        let more = if question.written_more > 0 {
            format!(" and {} more", question.written_more)
        } else {
            String::new()
        };
        let text = format!("  written in this session: {}{more}", question.written.join(", "));
        lines.push(TextLine::of(&text, Ink::Warning));
    }
    if !question.writing.is_empty() {
        let text = format!("  still running, and may write: {}", question.writing.join(", "));
        lines.push(TextLine::of(&text, Ink::Warning));
    }
    (lines, hidden)
}

/// The lines of a diff before its first hunk.
fn head_of(diff: &str) -> &str {
    diff.split_once("@@").map_or("", |(head, _)| head)
}

/// Keys and what they mean, in rows that fit; no row breaks between a key and its meaning.
pub(crate) fn key_rows(keys: &[(&str, String)], width: usize) -> Vec<TextLine> {
    let mut rows: Vec<TextLine> = Vec::new();
    for (key, means) in keys {
        let gap = if key.is_empty() { "" } else { " " };
        let item = TextLine::of(key, Look::of(Ink::Accent).bold()).with(&format!("{gap}{means}"), Ink::Quiet);
        match rows.last_mut().filter(|row| row.columns() + 2 + item.columns() <= width) {
            Some(row) => {
                row.push("  ", Look::PLAIN);
                row.append(item);
            }
            None => {
                let mut row = TextLine::plain("  ");
                row.append(item);
                rows.push(row.cut(width));
            }
        }
    }
    rows
}

/// The keys that answer. What matters most comes first, for screens where not all fit.
fn choices(
    question: &Question,
    answering: Option<&AnswerDraft>,
    others: usize,
) -> Vec<(&'static str, String)> {
    let mut keys: Vec<(&'static str, String)> = Vec::new();
    let mut key = |key, means: &str| keys.push((key, means.to_owned()));
    match (answering.map(|answering| &answering.stage), question.asks.is_some(), question.leaves) {
        (None, ..) => key("Ctrl+Q", "answers"),
        (Some(Stage::Outside(_)), ..) => key("Enter", "lets it out, once"),
        (Some(Stage::Rule(_)), ..) => key("Enter", "allows and saves it"),
        (Some(Stage::No(_)), ..) => key("Enter", "says no"),
        (_, true, _) => key("Enter", "sends your answer"),
        (_, false, true) => {
            key("o", "let it out, once");
            key("n", "no");
        }
        (_, false, false) => {
            key("y", "once");
            key("n", "no");
            key("s", "for the session");
            key("r", &format!("always: {}", question.pattern));
        }
    }
    if answering.is_some() {
        key("Esc", "back");
    }
    if others > 0 {
        key("", &format!("+{others} more waiting"));
    }
    keys
}

/// The question in the live region: its heading, as much of its body as there is room for, and the keys.
pub(crate) fn drawn(
    open: &OpenQuestion,
    view: &SessionView,
    answering: Option<&AnswerDraft>,
    width: usize,
    rows_max: usize,
) -> Vec<TextLine> {
    let others = view.questions.len().saturating_sub(1);
    let mut keys = key_rows(&choices(&open.question, answering, others), width);
    keys.truncate(rows_max.saturating_sub(2).max(1));
    let heading = heading(open, view).wrapped(width, 2);
    // No more than can be shown is looked at: this is drawn again and again.
    let (body, hidden) = counted_body(&open.question, rows_max.min(QUESTION_LINES_MAX));
    let chars_max = rows_max.saturating_mul(width);
    let rows = body.iter().flat_map(|line| line.cut(chars_max).wrapped(width, 4)).collect::<Vec<_>>();
    // What is asked matters more than all of why, but not more than that it leaves the sandbox.
    let most = rows_max.saturating_sub(keys.len() + 1).clamp(1, 2);
    let fits = hidden == 0 && rows.len() + most + keys.len() <= rows_max;
    let heading_max = if fits || open.question.leaves { most } else { 1 };
    let is_cut = heading.len() > heading_max;
    let mut lines: Vec<TextLine> = heading.into_iter().take(heading_max).collect();
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        *last = last.cut(width.saturating_sub(1));
        if !last.text().ends_with('…') {
            last.push("…", Ink::Quiet);
        }
    }
    let room = rows_max.saturating_sub(lines.len() + keys.len());
    if rows.len() <= room && hidden == 0 {
        lines.extend(rows);
    } else {
        let shown = room.saturating_sub(1).min(rows.len());
        let hidden = rows.len() - shown + hidden;
        lines.extend(rows.into_iter().take(shown));
        if room > 0 {
            let more = counted(hidden as u64, "more row");
            lines.push(TextLine::of(&format!("  +{more} (Ctrl+O shows all)"), Ink::Warning));
        }
    }
    lines.extend(keys);
    lines
}
