//! Whether a command runs tests, and whether its exit code is theirs. Pure but for the project's own files, which are
//! looked up by whoever asks. Errs towards not knowing: what is not understood proves nothing.

mod project;
mod runners;
mod script;
mod table;
#[cfg(test)]
mod tests;

use posse_protocol::{RanTests, TestRun};

use self::project::Named;
use self::runners::Ran;
use self::script::{Joint, Part, Script, Step};
pub(crate) use self::table::Family;
use crate::limits::HIDDEN_BY_CHARS_MAX;
use crate::show::one_line;
use crate::test_output::tests_in;

/// Looks up a file of the workspace by its path within it; none if it is not there, or too large.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// A command that runs tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestCommand {
    family: Family,
    /// What keeps its exit code from being that of the tests.
    hidden_by: Option<String>,
    /// What its output is worth.
    output: Worth,
}

/// What the output of a command says about its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// It is the runner's own, all or the end of it.
    Whole,
    /// A selection of the runner's: failures in it are failures, and the rest says nothing.
    Part,
    /// Something else may have written it.
    Nothing,
}

/// The tests that a command line runs, if it runs some.
pub(crate) fn test_command(command: &str, lookup: Lookup<'_>) -> Option<TestCommand> {
    let Some(script) = script::read(command, 0) else { return not_understood(command) };
    let mut place = Place { lookup, folder: String::new(), depth: 0 };
    let judged = judge(&script, &mut place);
    let family = judged.family?;
    Some(TestCommand { family, hidden_by: judged.hidden_by, output: judged.output })
}

/// A text that cannot be read, and seems to run tests: that they ran is all that can be said.
fn not_understood(command: &str) -> Option<TestCommand> {
    let found = command.split(['\n', ';', '&', '|', '(', ')']).find_map(|piece| {
        let words = piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match runners::ran(runners::without_keywords(&words).0, None) {
            Ran::Tests(family) => Some(family),
            _ => None,
        }
    });
    let hidden_by = Some("a shell text that is not understood".to_owned());
    found.map(|family| TestCommand { family, hidden_by, output: Worth::Nothing })
}

impl TestCommand {
    /// What became of the tests. `whole` is whether nothing of the output was left out.
    pub(crate) fn ran(self, output: &str, whole: bool) -> RanTests {
        let failed = |counts: &TestRun| counts.passed < counts.run;
        let counts = match self.output {
            Worth::Whole => tests_in(self.family, output, whole),
            Worth::Part => tests_in(self.family, output, false).filter(failed),
            Worth::Nothing => None,
        };
        RanTests { counts, hidden_by: self.hidden_by }
    }
}

/// Where a command runs, and how deep it was found.
struct Place<'a> {
    lookup: Lookup<'a>,
    folder: String,
    depth: usize,
}

/// What is known of a text so far.
struct Judged {
    family: Option<Family>,
    hidden_by: Option<String>,
    output: Worth,
    /// Whether all of it only says something: `echo`, `true`, `exit`.
    idle: bool,
}

impl Judged {
    const NOTHING: Self = Self { family: None, hidden_by: None, output: Worth::Whole, idle: true };

    /// Adds what was found beside it.
    fn add(&mut self, other: Self) {
        self.family = match (self.family, other.family) {
            (Some(one), Some(another)) if one != another => Some(Family::Any),
            (one, another) => one.or(another),
        };
        self.hidden_by = self.hidden_by.take().or(other.hidden_by);
        self.output = self.output.max(other.output);
        self.idle &= other.idle;
    }

    fn hide(&mut self, by: impl FnOnce() -> String) {
        if self.family.is_some() && self.hidden_by.is_none() {
            self.hidden_by = Some(one_line(&by(), HIDDEN_BY_CHARS_MAX));
        }
    }
}

fn judge(script: &Script, place: &mut Place<'_>) -> Judged {
    let mut all = Judged::NOTHING;
    let mut set = Settings::default();
    let steps = &script.steps;
    for (at, step) in steps.iter().enumerate() {
        set.learn(step);
        let mut judged = judge_step(step, place, &set);
        let chain_begins = steps[..=at].iter().rposition(|step| step.joint == Joint::Next).unwrap_or(0);
        if steps[chain_begins + 1..=at].iter().any(|step| step.joint == Joint::Or) {
            judged.hide(|| "||".to_owned());
        }
        judged_after(&mut judged, &steps[at + 1..], &set);
        all.add(judged);
    }
    all
}

/// Whether what follows a step keeps its failure.
fn judged_after(judged: &mut Judged, later: &[Step], set: &Settings) {
    let chain = later.iter().take_while(|step| step.joint != Joint::Next).count();
    for step in later[..chain].iter().filter(|step| step.joint == Joint::Or) {
        if !fails(step) {
            judged.hide(|| format!("|| {}", first_words(step)));
        }
    }
    // A failure within `a && b` ends nothing, even where a failure should.
    let ends = set.errexit && chain == 0;
    if let Some(next) = later.get(chain).filter(|_| !ends) {
        judged.hide(|| format!("; {}", first_words(next)));
    }
}

/// What `set` and the like have switched on.
#[derive(Default)]
struct Settings {
    errexit: bool,
    pipefail: bool,
}

impl Settings {
    fn learn(&mut self, step: &Step) {
        let [Part::Simple { words, .. }] = step.parts.as_slice() else { return };
        if words.first().map(String::as_str) != Some("set") {
            return;
        }
        for (at, word) in words.iter().enumerate().skip(1) {
            let on = word.starts_with('-');
            if word.starts_with(['-', '+']) && word.contains('e') {
                self.errexit = on;
            }
            if word == "pipefail" && at > 0 {
                self.pipefail = words[at - 1].starts_with('-');
            }
        }
    }
}

fn judge_step(step: &Step, place: &mut Place<'_>, set: &Settings) -> Judged {
    let mut all = Judged::NOTHING;
    for inner in &step.within {
        let mut judged = judge(inner, place);
        // What it prints goes into a word, not to whoever reads.
        judged.hide(|| "$(…)".to_owned());
        if judged.family.is_some() {
            judged.output = Worth::Nothing;
        }
        all.add(judged);
    }
    let last = step.parts.len().saturating_sub(1);
    for (at, part) in step.parts.iter().enumerate() {
        let mut judged = match part {
            Part::Group(script) => judge(script, place),
            Part::Simple { words, fed } => judge_words(words, fed.as_deref(), place, at > 0),
        };
        if at < last && !set.pipefail {
            judged.hide(|| format!("| {}", part_words(&step.parts[last])));
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

/// One command. `piped` is whether it reads what another one writes.
fn judge_words(words: &[String], fed: Option<&str>, place: &mut Place<'_>, piped: bool) -> Judged {
    let (words, keyword) = runners::without_keywords(words);
    let mut judged = match runners::ran(words, fed) {
        Ran::Tests(family) => Judged { family: Some(family), idle: false, ..Judged::NOTHING },
        Ran::Text(text) => nested(text, place),
        Ran::Project(named) => project(&named, place),
        Ran::Nothing => beside(words, place, piped),
    };
    if let Some(keyword) = keyword {
        judged.hide(|| keyword.to_owned());
        judged.idle = false;
    }
    judged
}

fn nested(text: &str, place: &mut Place<'_>) -> Judged {
    let Some(script) = script::read(text, place.depth + 1) else {
        return Judged { output: Worth::Nothing, idle: false, ..Judged::NOTHING };
    };
    // A folder that it enters is left with it.
    let mut inside = Place { lookup: place.lookup, folder: place.folder.clone(), depth: place.depth + 1 };
    judge(&script, &mut inside)
}

/// What the project calls tests, by what that runs.
fn project(named: &Named, place: &mut Place<'_>) -> Judged {
    let unknown = Judged { output: Worth::Nothing, idle: false, ..Judged::NOTHING };
    let by_name = |family| Judged { family: Some(family), idle: false, ..Judged::NOTHING };
    match project::text_of(named, &place.folder, place.lookup) {
        project::Found::Shell(text) => {
            let judged = nested(&text, place);
            match judged {
                Judged { family: Some(_), .. } => Judged { output: Worth::Whole, ..judged },
                // Its name says so, and it does more than say something.
                Judged { idle: false, .. } if named.tests => by_name(Family::Any),
                _ => unknown,
            }
        }
        project::Found::Other if named.tests => by_name(Family::Any),
        project::Found::Missing if named.table => by_name(Family::Any),
        project::Found::Other | project::Found::Missing | project::Found::Idle => unknown,
    }
}

/// A command that runs no tests: what it may add to the output of one that does.
fn beside(words: &[String], place: &mut Place<'_>, piped: bool) -> Judged {
    let Some(program) = words.first().map(String::as_str) else { return Judged::NOTHING };
    if let ("cd", Some(folder)) = (program, words.get(1)) {
        place.folder = project::joined(&place.folder, folder);
    }
    let output = match runners::adds(words, piped) {
        runners::Adds::Nothing => Worth::Whole,
        runners::Adds::Selects => Worth::Part,
        runners::Adds::Anything => Worth::Nothing,
    };
    Judged { output, idle: runners::is_idle(words), ..Judged::NOTHING }
}

/// Whether a step that follows `||` fails as well.
fn fails(step: &Step) -> bool {
    let [Part::Simple { words, .. }] = step.parts.as_slice() else { return false };
    let words = words.iter().map(String::as_str).collect::<Vec<_>>();
    match words.as_slice() {
        ["false"] | ["exit" | "return"] => true,
        ["exit" | "return", code] => code.parse::<u32>().is_ok_and(|code| code % 256 != 0) || *code == "$?",
        _ => false,
    }
}

fn first_words(step: &Step) -> String {
    step.parts.first().map(part_words).unwrap_or_default()
}

fn part_words(part: &Part) -> String {
    match part {
        Part::Simple { words, .. } => words.first().cloned().unwrap_or_default(),
        Part::Group(_) => "(…)".to_owned(),
    }
}
