//! Goes through a text as a shell would, without running anything: which step decides the exit code, what is set for
//! those that follow, and what never runs.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::judged::Judged;
use super::looked::LookedFiles;
use super::script::{Joint, Part, Pipeline, ShellScript, read};
use super::word::{ShellWord, WordPiece};
use super::{command, environment};
use crate::limits::TEST_SCRIPT_TEXTS_MAX;

/// Whether the text goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    No,
    /// It may have ended here, and well.
    Maybe(&'static str),
    Yes {
        /// Whether it ends with a failure.
        fails: bool,
        /// Whether only a function ends.
        returns: bool,
    },
}

/// What a shell knows at one point of a text.
#[derive(Clone)]
pub(super) struct ShellState<'a> {
    pub(super) files: &'a LookedFiles<'a>,
    /// How many more steps are looked at.
    left: &'a Cell<usize>,
    /// What on the command line itself may have written files.
    wrote: &'a RefCell<Option<String>>,
    /// How many texts it is within.
    depth: usize,
    /// How many programs stand around the command: `env timeout …`.
    pub(super) wraps: usize,
    /// What was assigned; none where the value is not known.
    pub(super) variables: BTreeMap<String, Option<String>>,
    pub(super) functions: BTreeMap<String, Rc<Part>>,
    /// Names that stand for something else: aliases and the like.
    pub(super) strange: BTreeSet<String>,
    /// Where it is in the workspace, if that is known.
    pub(super) folder: Option<String>,
    /// `$1` and the others, if they are known.
    pub(super) arguments: Option<Vec<String>>,
    /// The file that the text is in.
    pub(super) file: Option<String>,
    /// Folders of the workspace that programs are looked for in, before all others.
    pub(super) path: Vec<String>,
    pub(super) errexit: bool,
    pub(super) pipefail: bool,
    /// Whether a failure can end it here: not in a condition.
    heeds: bool,
    pub(super) over: Over,
    /// What may make other programs run under the names that follow.
    pub(super) distrusted: Option<String>,
    /// What is not known to be harmless for those that follow.
    pub(super) doubted: Option<String>,
}

impl<'a> ShellState<'a> {
    pub(super) fn new(
        files: &'a LookedFiles<'a>,
        left: &'a Cell<usize>,
        wrote: &'a RefCell<Option<String>>,
    ) -> Self {
        Self {
            files,
            left,
            wrote,
            depth: 0,
            wraps: 0,
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            strange: BTreeSet::new(),
            folder: Some(String::new()),
            arguments: Some(Vec::new()),
            file: None,
            path: Vec::new(),
            errexit: false,
            pipefail: false,
            heeds: true,
            over: Over::No,
            distrusted: None,
            doubted: None,
        }
    }

    /// A command of the line itself may have written files. The project's own scripts do what they do every time.
    pub(super) fn writes(&self, by: &str) {
        if self.depth == 0 && self.wrote.borrow().is_none() {
            *self.wrote.borrow_mut() = Some(by.to_owned());
        }
    }

    /// What may have been written before.
    pub(super) fn written_by(&self) -> Option<String> {
        self.wrote.borrow().clone()
    }

    /// The same in another folder.
    pub(super) fn within(&self, folder: &str) -> Self {
        Self { folder: Some(folder.to_owned()), ..self.clone() }
    }

    /// Another shell that this one starts.
    fn started(&self) -> Self {
        Self {
            depth: self.depth + 1,
            wraps: 0,
            functions: BTreeMap::new(),
            strange: BTreeSet::new(),
            errexit: false,
            pipefail: false,
            heeds: true,
            over: Over::No,
            ..self.clone()
        }
    }

    /// Judges a text in another shell.
    pub(super) fn nested(&self, text: &str, arguments: Option<Vec<String>>, file: Option<String>) -> Judged {
        let Some(script) = self.read(text) else { return not_read(text) };
        let mut inside = Self { arguments, file, ..self.started() };
        judge(&script, &mut inside)
    }

    /// Judges a text in this shell: `eval`, `source`.
    pub(super) fn inline(&mut self, text: &str) -> Option<Judged> {
        let script = self.read(text)?;
        self.depth += 1;
        let judged = judge(&script, self);
        self.depth -= 1;
        Some(judged)
    }

    fn read(&self, text: &str) -> Option<ShellScript> {
        if self.depth >= TEST_SCRIPT_TEXTS_MAX { None } else { read(text, 0) }
    }

    /// Runs a function that the text defines.
    pub(super) fn call(&mut self, body: &Part, arguments: &[String]) -> Judged {
        if self.depth >= TEST_SCRIPT_TEXTS_MAX {
            return Judged::unknown();
        }
        let before = self.over;
        let arguments = self.arguments.replace(arguments.to_vec());
        self.depth += 1;
        let judged = judge_part(body, self, false);
        self.depth -= 1;
        self.arguments = arguments;
        if matches!(self.over, Over::Maybe("return") | Over::Yes { returns: true, .. }) {
            self.over = before;
        }
        judged
    }

    pub(super) fn assign(&mut self, name: &str, value: Option<String>) {
        environment::assigned(name, value.as_deref(), self);
        self.variables.insert(name.to_owned(), value);
    }

    /// Steps behind `&&` or `||` may have run, for all that comes behind them.
    fn chain_ends(&mut self, before: Option<Self>) {
        if let Some(before) = before {
            let after = std::mem::replace(self, before);
            self.over = after.over;
            self.maybe(after);
        }
    }

    /// What may have happened to it in something that may not have run.
    fn maybe(&mut self, other: Self) {
        for (name, value) in other.variables {
            if self.variables.get(&name) != Some(&value) {
                self.variables.insert(name, None);
            }
        }
        for (name, body) in other.functions {
            if self.functions.get(&name) != Some(&body) {
                self.strange.insert(name);
            }
        }
        self.strange.extend(other.strange);
        if self.folder != other.folder {
            self.folder = None;
        }
        if self.path != other.path {
            self.distrusted = self.distrusted.take().or(Some("PATH=…".to_owned()));
        }
        self.errexit &= other.errexit;
        self.pipefail &= other.pipefail;
        self.distrusted = self.distrusted.take().or(other.distrusted);
        self.doubted = self.doubted.take().or(other.doubted);
        if self.arguments != other.arguments {
            self.arguments = None;
        }
    }
}

/// A text that cannot be read may do anything. What its lines seem to run is not for certain.
pub(super) fn not_read(text: &str) -> Judged {
    let mut judged = Judged::unknown();
    judged.family = command::seems_to_test(text);
    judged.distrust(|| "a shell text that is not understood".to_owned());
    judged
}

pub(super) fn judge(script: &ShellScript, shell: &mut ShellState<'_>) -> Judged {
    let mut all = Judged::NOTHING;
    let steps = &script.steps;
    // What was known before the first step of a chain that may not have run.
    let mut before_chain: Option<ShellState<'_>> = None;
    for (at, step) in steps.iter().enumerate() {
        if step.joint == Joint::Next {
            shell.chain_ends(before_chain.take());
        } else if before_chain.is_none() {
            before_chain = Some(shell.clone());
        }
        if matches!(shell.over, Over::Yes { .. }) {
            break;
        }
        let Some(left) = shell.left.get().checked_sub(1) else {
            all.add(Judged::unknown());
            all.distrust(|| "a shell text that is too long".to_owned());
            break;
        };
        shell.left.set(left);
        let (before, heeds) = (shell.over, shell.heeds);
        let later = &steps[at + 1..];
        // A failure within `a && b` ends nothing, even where a failure should.
        shell.heeds &= !step.negated && later.first().is_none_or(|next| next.joint == Joint::Next);
        let mut judged = judge_step(step, shell);
        shell.heeds = heeds;
        if let Over::Maybe(by) = before {
            judged.hide(|| by.to_owned());
        }
        let chain_begins = steps[..=at].iter().rposition(|step| step.joint == Joint::Next).unwrap_or(0);
        if steps[chain_begins + 1..=at].iter().any(|step| step.joint == Joint::Or) {
            judged.hide(|| "||".to_owned());
        }
        if step.joint == Joint::Or && fails(step) {
            shell.over = before;
        } else if step.joint != Joint::Next {
            shell.over = perhaps(shell.over, before);
        }
        if !matches!(shell.over, Over::Yes { .. }) {
            judged_after(&mut judged, later, shell);
        }
        all.add(judged);
    }
    shell.chain_ends(before_chain);
    all
}

/// How far a text is over after something that may not have run. An end with a failure is one that is seen.
fn perhaps(after: Over, before: Over) -> Over {
    match after {
        Over::Yes { fails: true, .. } => before,
        Over::Yes { returns, .. } => Over::Maybe(if returns { "return" } else { "exit" }),
        other => other,
    }
}

/// Whether what follows a step keeps its failure.
fn judged_after(judged: &mut Judged, later: &[Pipeline], shell: &ShellState<'_>) {
    let chain = later.iter().take_while(|step| step.joint != Joint::Next).count();
    for step in later[..chain].iter().filter(|step| step.joint == Joint::Or) {
        if !fails(step) {
            judged.hide(|| format!("|| {}", first_word(&step.parts)));
        }
    }
    let gives_up =
        |step: &Pipeline| step.joint == Joint::Or && fails(step) && first_word(&step.parts) == "exit";
    let ends = match later[..chain].last() {
        None => shell.errexit && shell.heeds,
        Some(last) => gives_up(last),
    };
    if let Some(next) = later.get(chain).filter(|_| !ends) {
        judged.hide(|| format!("; {}", first_word(&next.parts)));
    }
}

fn judge_step(step: &Pipeline, shell: &mut ShellState<'_>) -> Judged {
    let mut all = Judged::NOTHING;
    let last = step.parts.len().saturating_sub(1);
    for (at, part) in step.parts.iter().enumerate() {
        let mut judged = if last > 0 || step.beside {
            judge_part(part, &mut shell.clone(), at > 0)
        } else {
            judge_part(part, shell, false)
        };
        if at < last && !shell.pipefail {
            judged.hide(|| format!("| {}", first_word(&step.parts[last..])));
        }
        if step.negated {
            judged.hide(|| "!".to_owned());
        }
        if step.beside {
            judged.hide(|| "&".to_owned());
        }
        all.add(judged);
    }
    all
}

fn judge_part(part: &Part, shell: &mut ShellState<'_>, piped: bool) -> Judged {
    match part {
        Part::Simple(simple) => command::simple(simple, shell, piped),
        Part::Group { script, apart: true } => judge(script, &mut shell.clone()),
        Part::Group { script, apart: false } => judge(script, shell),
        Part::Maybe { keyword, scripts } => {
            let (mut all, before) = (Judged::NOTHING, shell.over);
            let mut inside = shell.clone();
            for script in scripts {
                inside.over = before;
                all.add(judge(script, &mut inside));
                shell.over = match perhaps(inside.over, shell.over) {
                    Over::No => shell.over,
                    over => over,
                };
            }
            all.hide(|| (*keyword).to_owned());
            shell.maybe(inside);
            all
        }
        Part::Function { name, body } => {
            if name.starts_with("command_not_found") {
                shell.distrusted = Some(name.clone());
            }
            shell.functions.insert(name.clone(), Rc::new((**body).clone()));
            Judged::NOTHING
        }
        Part::Condition => Judged::NOTHING,
    }
}

/// The words of a command as they stand, if that is all it is.
pub(super) fn written(part: &Part) -> Option<Vec<String>> {
    let Part::Simple(simple) = part else { return None };
    Some(simple.words.iter().map(as_written).collect())
}

fn as_written(word: &ShellWord) -> String {
    let piece = |piece: &WordPiece| match piece {
        WordPiece::Text(text) => text.clone(),
        WordPiece::Variable { name, .. } => format!("${name}"),
        WordPiece::Runs { .. } | WordPiece::Unknown { .. } => "$(…)".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}

/// Whether a step that follows `||` fails as well.
pub(super) fn fails(step: &Pipeline) -> bool {
    let [part] = step.parts.as_slice() else { return false };
    let words = written(part).unwrap_or_default();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        _ if step.negated || step.beside => false,
        ["false"] | ["exit" | "return"] => true,
        ["exit" | "return", code] => fails_with(code),
        _ => false,
    }
}

/// Whether an exit code is that of a failure. That of the command before is one where only a failure leads here.
pub(super) fn fails_with(code: &str) -> bool {
    code.parse::<u32>().is_ok_and(|code| code % 256 != 0) || code == "$?"
}

fn first_word(parts: &[Part]) -> String {
    match parts.first() {
        Some(Part::Simple(simple)) => simple.words.first().map(as_written).unwrap_or_default(),
        Some(Part::Maybe { keyword, .. }) => (*keyword).to_owned(),
        Some(Part::Function { name, .. }) => format!("{name}()"),
        Some(Part::Group { .. } | Part::Condition) | None => "(…)".to_owned(),
    }
}
