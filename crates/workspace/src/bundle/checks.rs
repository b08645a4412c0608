//! What git is asked about a bundle while it is taken apart, and what must be true of its answers. All of it is asked in one
//! confinement, in an order in which no question costs more than the answers before it allow. Nothing here changes a
//! repository.

use std::collections::HashMap;

use super::{
    TakeLimits,
    head::BundleHead,
    tree_check::{DifferingFiles, TreeEntries, refused},
};
use crate::{
    BundleFault, WorkspaceError,
    git::{GitError, flow::Parts, series::GitStep},
    limits,
    repository::{Repository, named},
    shadow::checked,
};

/// How much git finds fault with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// New work: with everything.
    New,
    /// A whole history: not with what old programs wrote and nobody can change any more.
    History,
}

impl Strictness {
    fn word(self) -> &'static str {
        match self {
            Self::New => "--strict=badFilemode=error",
            Self::History => {
                "--strict=zeroPaddedFilemode=ignore,badTimezone=ignore,badDate=ignore,badDateOverflow=ignore,\
                 zeroPaddedDate=ignore,badEmail=ignore,badName=ignore,missingEmail=ignore,\
                 missingNameBeforeEmail=ignore,missingSpaceBeforeEmail=ignore,missingSpaceBeforeDate=ignore,\
                 multipleAuthors=ignore,nulInCommit=ignore"
            }
        }
    }
}

/// What a bundle is to bring.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedBundle<'a> {
    /// A commit whose history is whole with what the repository has.
    pub(super) tip: &'a str,
    /// What it is to descend from.
    pub(super) base: Option<&'a str>,
    /// Commits that the repository has, with all that leads to them.
    pub(super) known: &'a [String],
    /// The branch that it is for: no other may have its name for a folder, or be one in which it would be.
    pub(super) branch: Option<&'a str>,
    /// The commit from which on the difference is shown. With it, the files that differ from `base` are listed.
    pub(super) shown_from: Option<&'a str>,
}

/// What git has said of a bundle, beside that it is sound.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Where the branch is now.
    pub(super) old: Option<String>,
    /// How long the contents are that it brought, unless these are very many.
    pub(super) sizes: HashMap<String, u64>,
    pub(super) differing: DifferingFiles,
    /// The difference as people read it; only its beginning if it is very long.
    pub(super) patch: Vec<u8>,
    /// The files that differ, and by how many lines.
    pub(super) listed: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// What names stand for in the repository.
    Names,
    /// Branches that have the name of this one for a folder.
    Below,
    /// Takes the bundle apart and looks at each object.
    Index,
    /// Which objects it brought.
    Objects,
    /// What its commit would be in a folder.
    Entries,
    /// What of that is different.
    Differing,
    /// Whether its history is whole, and leads to the base.
    History,
    Patch,
    Listed,
}

/// The questions about a bundle, and what was heard so far.
pub(super) struct Checks<'a> {
    wanted: WantedBundle<'a>,
    taken: TakeLimits,
    steps: Vec<(Question, GitStep)>,
    /// How many of them were answered.
    answered: usize,
    /// Which names were asked for: first those of branches.
    above: usize,
    names: usize,
    said: Vec<u8>,
    parts: Parts,
    bytes: u64,
    found: bool,
    entries: TreeEntries,
    pub(super) answers: Answers,
}

impl<'a> Checks<'a> {
    pub(super) fn new(
        repository: &Repository,
        head: &BundleHead,
        bytes: u64,
        strictness: Strictness,
        taken: TakeLimits,
        wanted: WantedBundle<'a>,
    ) -> Result<Self, WorkspaceError> {
        let WantedBundle { tip, base, known, branch, shown_from } = wanted;
        for id in [Some(tip), base].into_iter().flatten() {
            if checked(id)?.len() != super::head::id_chars(repository.format) {
                return Err(GitError::NoObjectName.into());
            }
        }
        let parts: Vec<&str> = branch.map_or(Vec::new(), |branch| branch.split('/').collect());
        let above = (1..=parts.len()).rev().map(|count| format!("refs/heads/{}", parts[..count].join("/")));
        let base_apart = base.filter(|base| !head.before.iter().any(|before| before == base));
        let before = head.before.iter().map(String::as_str).chain(base_apart);
        let before = before.filter(|commit| !known.iter().any(|known| known == commit));
        let names: Vec<String> = above.chain(before.map(|commit| format!("{commit}^{{commit}}"))).collect();
        let mut checks = Self {
            wanted,
            taken,
            steps: Vec::new(),
            answered: 0,
            above: parts.len(),
            names: names.len(),
            said: Vec::new(),
            parts: Parts::ending_in(0),
            bytes: 0,
            found: false,
            entries: TreeEntries::default(),
            answers: Answers::default(),
        };
        let of_repository = |step: GitStep| step.variable("GIT_DIR", &repository.common);
        if !names.is_empty() {
            let asked: String = names.iter().map(|name| format!("{name}\n")).collect();
            let step = GitStep::new(&["cat-file", "--batch-check=%(objectname)"]).text(asked);
            checks.steps.push((Question::Names, of_repository(step)?));
        }
        if let Some(branch) = branch {
            let below = format!("refs/heads/{branch}/");
            let step = GitStep::new(&["for-each-ref", "--count=1", "--format=%(refname)", &below]);
            checks.steps.push((Question::Below, of_repository(step)?));
        }
        checks.steps.extend(of_bundle(repository.format, bytes, strictness, (tip, base, known))?);
        if let (Some(began), Some(base)) = (shown_from, base) {
            let plain = ["--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
            let patch = [&["diff-tree", "-r", "-p"], &plain[..], &[checked(began)?, tip]].concat();
            let listed = ["diff-tree", "-r", "--no-renames", "--raw", "--numstat", "-z", base, tip];
            if began != tip {
                checks.steps.push((Question::Patch, GitStep::new(&patch)));
            }
            checks.steps.push((Question::Listed, GitStep::new(&listed)));
        }
        Ok(checks)
    }

    /// What was not answered yet.
    pub(super) fn steps(&self) -> Vec<GitStep> {
        self.steps[self.answered..].iter().map(|(_, step)| step.clone()).collect()
    }

    /// Hears a piece of an answer, or that one is whole. Whether all that is left is to wait for the size of contents that
    /// the repository has: that is [`WorkspaceError::Stopped`].
    pub(super) fn hear(&mut self, piece: Option<&[u8]>) -> Result<(), WorkspaceError> {
        let Some((question, _)) = self.steps.get(self.answered) else { return Ok(()) };
        let question = *question;
        match piece {
            Some(piece) => self.hear_more(question, piece),
            None => {
                self.answered += 1;
                self.parts = Parts::ending_in(match self.steps.get(self.answered) {
                    Some((Question::Entries | Question::Differing, _)) => 0,
                    _ => b'\n',
                });
                self.end(question)
            }
        }
    }

    /// What it means that git failed: mostly, that something is wrong with the bundle.
    pub(super) fn judged(&self, done: Result<(), WorkspaceError>) -> Result<(), WorkspaceError> {
        match self.steps.get(self.answered) {
            Some((Question::Names | Question::Below | Question::Patch | Question::Listed, _)) => done,
            _ => sound(done),
        }
    }

    fn hear_more(&mut self, question: Question, piece: &[u8]) -> Result<(), WorkspaceError> {
        let (taken, wanted) = (&self.taken, &self.wanted);
        match question {
            Question::Names | Question::Below => keep(&mut self.said, piece, limits::GIT_OUTPUT_BYTES_MAX),
            Question::Index => Ok(()),
            Question::Objects => {
                let (bytes, found, sizes) = (&mut self.bytes, &mut self.found, &mut self.answers.sizes);
                self.parts.hear("cat-file", piece, |line| {
                    let object = BroughtObject::parse(line)?;
                    *found |= object.name == wanted.tip && object.kind == "commit";
                    *bytes = bytes.saturating_add(object.bytes);
                    if object.kind == "blob" && sizes.len() < limits::BUNDLE_SIZES_ASKED {
                        sizes.insert(object.name, object.bytes);
                    }
                    taken.room_for(*bytes)
                })
            }
            Question::Entries => {
                self.parts.hear("ls-tree", piece, |record| self.entries.hear(record, taken.entries_max))
            }
            Question::Differing => self
                .parts
                .hear("diff-tree", piece, |record| self.answers.differing.hear(record, taken.entries_max)),
            Question::History => {
                // A commit at the boundary is one that a listed commit has for a parent, so it is before the tip. Nothing
                // else that is listed begins like this.
                let boundary = wanted.base.map(|base| format!("-{base}"));
                self.parts.hear("rev-list", piece, |line| {
                    let first = line.split(|byte| *byte == b' ').next();
                    self.found |= first.is_some() && first == boundary.as_ref().map(String::as_bytes);
                    Ok(())
                })
            }
            Question::Patch => {
                let left = limits::GIT_OUTPUT_BYTES_MAX - self.answers.patch.len();
                self.answers.patch.extend_from_slice(&piece[..piece.len().min(left)]);
                Ok(())
            }
            Question::Listed => keep(&mut self.answers.listed, piece, limits::GIT_LARGE_OUTPUT_BYTES_MAX),
        }
    }

    fn end(&mut self, question: Question) -> Result<(), WorkspaceError> {
        match question {
            Question::Names => self.names_must_fit(),
            Question::Below => match std::mem::take(&mut self.said).is_empty() {
                true => Ok(()),
                false => self.exists(),
            },
            Question::Objects => match std::mem::take(&mut self.found) {
                // The base itself is listed without a boundary.
                true => {
                    self.found = self.wanted.base.is_none_or(|base| base == self.wanted.tip);
                    Ok(())
                }
                false => refused(BundleFault::WithoutTip),
            },
            Question::Differing => {
                let (bytes, unknown) = self.answers.differing.bytes(&self.answers.sizes);
                self.taken.room_for(bytes)?;
                if unknown.is_empty() { Ok(()) } else { Err(WorkspaceError::Stopped) }
            }
            Question::History if !self.found => refused(BundleFault::Unrelated),
            _ => Ok(()),
        }
    }

    fn names_must_fit(&mut self) -> Result<(), WorkspaceError> {
        let said = std::mem::take(&mut self.said);
        let mut found = named(&said, self.names)?;
        let before = found.split_off(self.above);
        let mut above = found.into_iter();
        self.answers.old = above.next().flatten();
        if above.flatten().next().is_some() {
            return self.exists();
        }
        if before.contains(&None) { refused(BundleFault::MissingBefore) } else { Ok(()) }
    }

    fn exists(&self) -> Result<(), WorkspaceError> {
        Err(GitError::BranchExists(self.wanted.branch.unwrap_or_default().to_owned()).into())
    }
}

/// How git takes the bundle apart, and what it is asked about what was in it.
fn of_bundle(
    format: &'static str,
    bytes: u64,
    strictness: Strictness,
    (tip, base, known): (&str, Option<&str>, &[String]),
) -> Result<[(Question, GitStep); 5], WorkspaceError> {
    let longest = format!("--max-input-size={}", bytes.max(1));
    let index = GitStep::new(&["index-pack", "--stdin", "--fix-thin", strictness.word(), &longest]).given();
    let index =
        index.setting("core.bigFileThreshold", limits::BUNDLE_BLOB_MEMORY_BYTES).setting("pack.threads", 2);
    let asked = "--batch-check=%(objectname) %(objecttype) %(objectsize)";
    let objects = GitStep::new(&["cat-file", "--batch-all-objects", "--unordered", asked]);
    // Those of the repository are not among them.
    let objects = objects.variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", "".as_ref())?;
    let entries = GitStep::new(&["ls-tree", "-r", "-t", "-z", "--full-tree", tip]);
    let from = base.unwrap_or(empty_tree(format));
    let differing = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, tip];
    let history = match base {
        Some(base) => GitStep::new(&["rev-list", "--objects", "--boundary", "--stdin"])
            .text(format!("{tip}\n^{base}\n")),
        None => {
            let known: String = known.iter().map(|id| format!("^{id}\n")).collect();
            GitStep::new(&["rev-list", "--objects", "--quiet", "--stdin"]).text(format!("{tip}\n{known}"))
        }
    };
    Ok([
        (Question::Index, index),
        (Question::Objects, objects),
        (Question::Entries, entries),
        (Question::Differing, GitStep::new(&differing)),
        (Question::History, history),
    ])
}

/// That git could not deal with it is the bundle's fault.
pub(super) fn sound(done: Result<(), WorkspaceError>) -> Result<(), WorkspaceError> {
    match done {
        Err(WorkspaceError::Git(GitError::Failed { why, .. })) if !why.is_of_system() => {
            refused(BundleFault::Unsound)
        }
        Err(WorkspaceError::Git(GitError::Ended { .. } | GitError::TooMuch { .. })) => {
            refused(BundleFault::Unsound)
        }
        Err(WorkspaceError::Git(GitError::TookTooLong { .. })) => refused(BundleFault::TookTooLong),
        done => done,
    }
}

fn empty_tree(format: &str) -> &'static str {
    match format {
        "sha256" => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
}

/// An object that a bundle brought.
struct BroughtObject {
    name: String,
    kind: String,
    bytes: u64,
}

impl BroughtObject {
    fn parse(line: &[u8]) -> Result<Self, WorkspaceError> {
        let line = String::from_utf8_lossy(line);
        match line.split(' ').collect::<Vec<_>>()[..] {
            [name, kind, bytes] => Ok(Self {
                name: name.to_owned(),
                kind: kind.to_owned(),
                bytes: bytes.parse().unwrap_or(u64::MAX),
            }),
            _ => refused(BundleFault::Unsound),
        }
    }
}

fn keep(said: &mut Vec<u8>, piece: &[u8], bytes_max: usize) -> Result<(), WorkspaceError> {
    said.extend_from_slice(piece);
    match said.len() <= bytes_max {
        true => Ok(()),
        false => Err(GitError::TooMuch { call: "a question about a bundle".to_owned() }.into()),
    }
}
