//! Several calls of git in one confinement, one after the other: to make a confinement takes longer than most calls. What
//! each of them says is told apart by a mark that nobody can guess. The shell that starts them gets words of ours only.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use posse_sandbox::{Command, Program, SYSTEM_FOLDERS, start_talking};
use tokio::io::AsyncReadExt as _;

use super::{
    GitError,
    call::{Git, going_on, not_run, text_of},
    flow::{FlowInput, feed},
    plain,
};
use crate::{WorkspaceError, limits};

/// Folders that whatever runs in a confinement sees.
const SEEN: &[&str] = &["/usr", "/bin", "/sbin"];

/// One of the calls.
#[derive(Clone, Debug)]
pub(crate) struct GitStep {
    words: Vec<String>,
    variables: Vec<(&'static str, String)>,
    settings: Vec<(&'static str, String)>,
    input: StepInput,
    /// Whether what it says is kept for later ones.
    keeps: bool,
    /// Whether what was kept is its last word.
    with_kept: bool,
    may_fail: bool,
}

#[derive(Clone, Debug)]
enum StepInput {
    Nothing,
    /// What the series was given.
    Given,
    Text(String),
    File(PathBuf),
}

impl GitStep {
    pub(crate) fn new(words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let (variables, settings, input) = (Vec::new(), Vec::new(), StepInput::Nothing);
        Self { words, variables, settings, input, keeps: false, with_kept: false, may_fail: false }
    }

    /// Reads a short text.
    pub(crate) fn text(self, text: String) -> Self {
        Self { input: StepInput::Text(text), ..self }
    }

    /// Reads what the series is given. One of a series may.
    pub(crate) fn given(self) -> Self {
        Self { input: StepInput::Given, ..self }
    }

    /// Reads a file that the series sees.
    pub(crate) fn file(self, path: &Path) -> Self {
        Self { input: StepInput::File(path.to_owned()), ..self }
    }

    /// Says one word, which later ones can have for their last.
    pub(crate) fn keeps(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// With the word that an earlier one has said.
    pub(crate) fn with_kept(self) -> Self {
        Self { with_kept: true, ..self }
    }

    /// The others go on if it fails.
    pub(crate) fn may_fail(self) -> Self {
        Self { may_fail: true, ..self }
    }

    /// With another value of a variable than the others.
    pub(crate) fn variable(mut self, name: &'static str, value: &Path) -> Result<Self, WorkspaceError> {
        self.variables.push((name, value.to_str().ok_or(GitError::UnusableName)?.to_owned()));
        Ok(self)
    }

    /// With a setting that the others do not have.
    pub(crate) fn setting(mut self, name: &'static str, value: u64) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }

    fn name(&self) -> String {
        self.words.first().cloned().unwrap_or_default()
    }

    fn line(&self, git: &str) -> Option<String> {
        let mut line = match &self.input {
            StepInput::Text(text) => format!("printf %s {} | ", quoted(text)),
            _ => String::new(),
        };
        for (name, value) in &self.variables {
            line.push_str(&format!("{name}={} ", quoted(value)));
        }
        line.push_str(&quoted(git));
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let settings = settings.flat_map(|setting| ["-c".to_owned(), setting]);
        let fixed = Git::WORDS.iter().map(|word| (*word).to_owned());
        for word in fixed.chain(settings).chain(self.words.iter().cloned()) {
            line.push(' ');
            line.push_str(&quoted(&word));
        }
        if self.with_kept {
            line.push_str(" \"$kept\"");
        }
        match &self.input {
            StepInput::Nothing => line.push_str(" </dev/null"),
            StepInput::File(path) => line.push_str(&format!(" <{}", quoted(path.to_str()?))),
            StepInput::Given | StepInput::Text(_) => {}
        }
        Some(match (self.keeps, self.may_fail) {
            (true, _) => format!("kept=$({line}) && printf '%s\\n' \"$kept\""),
            (false, true) => format!("{{ {line} 2>/dev/null || :; }}"),
            (false, false) => line,
        })
    }
}

/// One word for a shell, whatever it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Git {
    /// Makes all of these calls, until one fails. `take` hears which one says what, piece by piece, and `None` when it has
    /// ended well. An error of it ends all of them at once, and this call.
    pub(crate) async fn series(
        self,
        steps: &[GitStep],
        input: FlowInput,
        mut take: impl FnMut(usize, Option<&[u8]>) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let Some(command) = self.clone().in_one(steps).await? else {
            return self.one_by_one(steps, input, take).await;
        };
        let (command, mark) = command;
        let mut marked = Marked { mark, held: Vec::new(), step: 0 };
        // They end when this is dropped.
        let (shell, mut streams) = start_talking(command).await.map_err(not_run)?;
        let (into, output) = (streams.input, &mut streams.output);
        let reading = async {
            let mut piece = vec![0; limits::COPY_BYTES];
            loop {
                match output.read(&mut piece).await {
                    Ok(count @ 1..) => marked.hear(&piece[..count], &mut take)?,
                    // An error on a pipe is its end.
                    _ => return Ok(()),
                }
            }
        };
        tokio::try_join!(feed(input, into), reading)?;
        let call = steps.get(marked.step).or(steps.last()).map(GitStep::name).unwrap_or_default();
        text_of(&call, shell.wait().await)?;
        match marked.step == steps.len() {
            true => Ok(()),
            false => Err(GitError::Unexpected { call }.into()),
        }
    }

    /// Makes all of them, and gives back all that each of them says.
    pub(crate) async fn say(self, steps: &[GitStep]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
        let (mut said, mut sum) = (vec![Vec::new(); steps.len()], 0);
        let bytes_max = self.output_bytes_max();
        self.series(steps, FlowInput::Bytes(Vec::new()), |step, piece| {
            let piece = piece.unwrap_or_default();
            sum += piece.len();
            if sum > bytes_max {
                return Err(GitError::TooMuch { call: steps[step].name() }.into());
            }
            said[step].extend_from_slice(piece);
            Ok(())
        })
        .await?;
        Ok(said)
    }

    /// Makes all of them even if nobody waits for it any more. What they say is of no interest.
    pub(crate) async fn series_through(
        self,
        steps: Vec<GitStep>,
        input: FlowInput,
    ) -> Result<(), WorkspaceError> {
        let going = going_on().await;
        let running = tokio::spawn(async move {
            let _going = going;
            self.series(&steps, input, |_, _| Ok(())).await
        });
        running.await.map_err(|_| WorkspaceError::Stopped)?
    }

    /// The command that makes all calls, and the mark between them; none where there is no such shell, or git is where that
    /// shell does not see it.
    async fn in_one(self, steps: &[GitStep]) -> Result<Option<(Command, Vec<u8>)>, WorkspaceError> {
        let (Some(shell), true) = (shell(), steps.len() > 1) else { return Ok(None) };
        let git = super::program()?;
        let Some(git) = git.to_str().filter(|_| SEEN.iter().any(|seen| git.starts_with(seen))) else {
            return Ok(None);
        };
        let random = || RandomState::new().build_hasher().finish();
        let mark = format!("{:016x}{:016x}", random(), random());
        let says = format!(" && printf %s {mark}");
        let lines: Option<Vec<String>> = steps.iter().map(|step| Some(step.line(git)? + &says)).collect();
        let script = lines.map(|lines| lines.join(" && "));
        let Some(script) = script.filter(|script| script.len() <= limits::GIT_SERIES_BYTES_MAX) else {
            return Ok(None);
        };
        let command = self.prepared_as(shell, &["-c".to_owned(), script]).await?;
        Ok(Some((command, mark.into_bytes())))
    }

    async fn one_by_one(
        self,
        steps: &[GitStep],
        input: FlowInput,
        mut take: impl FnMut(usize, Option<&[u8]>) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let (mut given, mut kept) = (Some(input), Vec::new());
        for (number, step) in steps.iter().enumerate() {
            let mut git = self.clone();
            for (name, value) in &step.variables {
                git = git.variable(name, Path::new(value))?;
            }
            let own = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
            let git = git.settings(&step.settings.iter().map(own).collect::<Vec<_>>());
            let nothing = || FlowInput::Bytes(Vec::new());
            let input = match &step.input {
                StepInput::Nothing => nothing(),
                StepInput::Text(text) => FlowInput::Bytes(text.clone().into_bytes()),
                StepInput::File(path) => {
                    plain::open_file(path).map_or_else(nothing, |file| FlowInput::File(file, 0))
                }
                StepInput::Given => given.take().unwrap_or_else(nothing),
            };
            let last = String::from_utf8_lossy(&kept).trim_end().to_owned();
            let last = step.with_kept.then_some(last.as_str());
            let words: Vec<&str> = step.words.iter().map(String::as_str).chain(last).collect();
            let mut said = Vec::new();
            let ran = git.flow(&words, input, |piece| {
                if step.keeps {
                    said.extend_from_slice(piece);
                }
                take(number, Some(piece))
            });
            match ran.await {
                Err(WorkspaceError::Git(GitError::Failed { .. })) if step.may_fail => {}
                ran => ran?,
            }
            if step.keeps {
                kept = said;
            }
            take(number, None)?;
        }
        Ok(())
    }
}

/// The shell of this system.
fn shell() -> Option<&'static Program> {
    static SHELL: OnceLock<Option<Program>> = OnceLock::new();
    let find = || {
        let found = SYSTEM_FOLDERS
            .iter()
            .rev()
            .find_map(|folder| Program::at(&Path::new(folder).join("sh"), &[]).ok());
        found.filter(|shell| SEEN.iter().any(|seen| shell.path().starts_with(seen)))
    };
    SHELL.get_or_init(find).as_ref()
}

/// Takes what several calls say apart.
struct Marked {
    mark: Vec<u8>,
    /// What may be the beginning of a mark.
    held: Vec<u8>,
    /// Which one says what comes now.
    step: usize,
}

impl Marked {
    fn hear(
        &mut self,
        piece: &[u8],
        take: &mut impl FnMut(usize, Option<&[u8]>) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        self.held.extend_from_slice(piece);
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&self.held[from..], &self.mark) {
            take(self.step, Some(&self.held[from..from + at]))?;
            take(self.step, None)?;
            (from, self.step) = (from + at + self.mark.len(), self.step + 1);
        }
        let until = self.held.len() - (self.held.len() - from).min(self.mark.len() - 1);
        if until > from {
            take(self.step, Some(&self.held[from..until]))?;
        }
        self.held.drain(..until);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_told_apart_wherever_it_is_cut() {
        let said = b"one\nMARKMARtwoMARKMAMARK";
        let mut tried = 0;
        for bytes in 1..=said.len() {
            let mut marked = Marked { mark: b"MARK".to_vec(), held: Vec::new(), step: 0 };
            let (mut heard, mut ended) = (vec![Vec::new(); 4], Vec::new());
            for piece in said.chunks(bytes) {
                let take = &mut |step: usize, piece: Option<&[u8]>| {
                    match piece {
                        Some(piece) => heard[step].extend_from_slice(piece),
                        None => ended.push(step),
                    }
                    Ok(())
                };
                marked.hear(piece, take).unwrap();
            }
            assert_eq!(heard, [b"one\n".to_vec(), b"MARtwo".to_vec(), b"MA".to_vec(), Vec::new()]);
            assert_eq!((ended, marked.step), (vec![0, 1, 2], 3));
            tried += 1;
        }
        assert_eq!(tried, said.len());
    }

    #[test]
    fn words_stay_words() {
        let step = GitStep::new(&["cat-file", "it's; $(x) \"`y`\n"]).text("-a\\n'b".to_owned());
        let line = step.line("/usr/bin/git").unwrap();
        assert!(line.starts_with(r"printf %s '-a\n'\''b' | '/usr/bin/git' '--no-pager' "), "{line}");
        assert!(line.ends_with("'cat-file' 'it'\\''s; $(x) \"`y`\n'"), "{line}");
    }

    #[tokio::test]
    async fn a_series_says_what_single_calls_say_and_ends_where_one_fails() {
        let hash = GitStep::new(&["hash-object", "--stdin"]);
        let steps = [
            hash.clone().text("it's\n".to_owned()),
            hash.given(),
            GitStep::new(&["var", "GIT_COMMITTER_IDENT"])
                .variable("GIT_COMMITTER_DATE", "1700000000 +0000".as_ref())
                .unwrap(),
            GitStep::new(&["hash-object", "--stdin"]).keeps(),
            GitStep::new(&["cat-file", "-e", "HEAD"]).may_fail(),
            GitStep::new(&["check-ref-format", "--branch"]).with_kept(),
            GitStep::new(&["cat-file", "-e", "HEAD"]),
            GitStep::new(&["version"]),
        ];
        assert!(Git::at(Path::new("/")).in_one(&steps).await.unwrap().is_some());
        let mut tried = 0;
        for together in [true, false] {
            let (mut said, mut ended) = (vec![String::new(); steps.len()], Vec::new());
            let take = |step: usize, piece: Option<&[u8]>| {
                match piece {
                    Some(piece) => said[step].push_str(&String::from_utf8_lossy(piece)),
                    None => ended.push(step),
                }
                Ok(())
            };
            let (git, input) = (Git::at(Path::new("/")), FlowInput::Bytes(b"given\n".to_vec()));
            let done = match together {
                true => git.series(&steps, input, take).await,
                false => git.one_by_one(&steps, input, take).await,
            };
            let failed = matches!(&done, Err(WorkspaceError::Git(GitError::Failed { call, code: 128, .. })) if call == "cat-file");
            assert!(failed, "{done:?}");
            let expected = [
                "a6550f6c573189fecf1308da518355568657635f\n",
                "f64ece19492634a7cf604d5b3c3aac62c1d268c8\n",
                "Posse <posse@localhost> 1700000000 +0000\n",
                "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
                "",
                "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
                "",
                "",
            ];
            assert_eq!(said, expected);
            assert_eq!(ended, [0, 1, 2, 3, 4, 5]);
            tried += 1;
        }
        assert_eq!(tried, 2);
    }
}
