//! A stranger's bundle, taken apart in a folder of its own: a repository that borrows objects from the real one and lends
//! it none. Only what was found sound moves on.

use std::{fs::File, path::Path};

use super::{
    TakeLimits,
    checks::{Answers, Checks, Strictness, WantedBundle, sound},
    head::BundleHead,
    scratch::Scratch,
    tree_check::{must_have_room, refused},
};
use crate::{
    BundleFault, WorkspaceError,
    git::{GitError, call::Git, flow::FlowInput, plain, series::GitStep},
    limits,
    repository::Repository,
    shadow::{checked, failed},
};

/// A bundle of which only the head was read.
#[derive(Debug)]
pub(super) struct BundleFile {
    file: File,
    bytes: u64,
    head: BundleHead,
}

impl BundleFile {
    /// Looks at what it says of itself: nothing that is too much is opened.
    pub(super) fn read(
        repository: &Repository,
        bundle: &Path,
        taken: &TakeLimits,
    ) -> Result<Self, WorkspaceError> {
        let mut file = plain::open_file(bundle).ok_or(GitError::Bundle(BundleFault::NotABundle))?;
        let bytes = file.metadata().map_err(failed)?.len();
        if bytes > taken.bundle_bytes_max {
            return refused(BundleFault::TooLong { bytes, bytes_max: taken.bundle_bytes_max });
        }
        let head = BundleHead::read(&mut file)?;
        if head.format != repository.format {
            return refused(BundleFault::OtherFormat);
        }
        if head.objects > taken.objects_max {
            let objects_max = taken.objects_max;
            return refused(BundleFault::TooManyObjects { objects: head.objects, objects_max });
        }
        Ok(Self { file, bytes, head })
    }
}

/// A bundle whose objects are in a folder of their own.
#[derive(Debug)]
pub(super) struct IncomingBundle<'a> {
    repository: &'a Repository,
    /// Its git folder; gone when this is dropped.
    scratch: Scratch,
    /// How many objects it brought.
    objects: u64,
}

impl<'a> IncomingBundle<'a> {
    /// Takes it apart in a new folder within `within`, and refuses it unless it brought what is wanted. Git reads the
    /// objects, completes what is only given as a difference, and looks at each of them.
    pub(super) async fn open(
        repository: &'a Repository,
        BundleFile { file, bytes, head }: BundleFile,
        within: &Path,
        strictness: Strictness,
        taken: TakeLimits,
        wanted: WantedBundle<'_>,
    ) -> Result<(Self, Answers), WorkspaceError> {
        let mut checks = Checks::new(repository, &head, bytes, strictness, taken, wanted)?;
        let scratch = Scratch::folder(within)?;
        let incoming = Self { repository, scratch, objects: head.objects };
        let git_dir = incoming.scratch.path();
        bare_repository(git_dir, head.format).map_err(failed)?;
        let time_ms = time_ms_for(bytes);
        let git = || Ok::<_, WorkspaceError>(incoming.joined()?.time_ms_max(time_ms));
        let input = FlowInput::File(file, head.pack_at);
        let asked = checks.steps();
        let heard = git()?.writes(git_dir).series(&asked, input, |_, piece| checks.hear(piece)).await;
        match heard {
            Err(WorkspaceError::Stopped) => {
                let Answers { differing, sizes, .. } = &checks.answers;
                sound(must_have_room(|| incoming.joined(), differing, &taken, sizes).await)?;
                let (asked, nothing) = (checks.steps(), FlowInput::Bytes(Vec::new()));
                let heard = git()?.series(&asked, nothing, |_, piece| checks.hear(piece)).await;
                checks.judged(heard)?;
            }
            heard => checks.judged(heard)?,
        }
        Ok((incoming, checks.answers))
    }

    /// Whether a commit is another one, or before it.
    pub(super) async fn is_ancestor(&self, first: &str, second: &str) -> Result<bool, WorkspaceError> {
        is_ancestor(self.joined()?, first, second).await
    }

    /// Moves all that it brought into the repository, and then references, as `update-ref --stdin` reads it.
    pub(super) async fn move_into_repository(self, references: String) -> Result<(), WorkspaceError> {
        let packs = self.scratch.path().join("objects/pack");
        let name = pack_name(&packs).ok_or(GitError::Bundle(BundleFault::Unsound))?;
        let few = self.objects <= limits::BUNDLE_LOOSE_OBJECTS_MAX;
        let mut steps = match few {
            true => vec![GitStep::new(&["unpack-objects", "-q"]).given()],
            false if moved(&packs, &name, self.repository) => Vec::new(),
            false => vec![GitStep::new(&["index-pack", "--stdin"]).given()],
        };
        let input = match steps.is_empty() {
            true => FlowInput::Bytes(Vec::new()),
            false => {
                let pack = plain::open_file(&packs.join(format!("{name}.pack")));
                FlowInput::File(pack.ok_or(GitError::Bundle(BundleFault::Unsound))?, 0)
            }
        };
        if !references.is_empty() {
            steps.push(GitStep::new(&["update-ref", "--stdin"]).text(references));
        }
        let git = self.repository.writing().large().time_ms_max(limits::BUNDLE_TIME_MS_MAX);
        git.series_through(steps, input).await
    }

    /// Git that sees its objects only.
    fn alone(&self) -> Result<Git, WorkspaceError> {
        let git_dir = self.scratch.path();
        Git::at(git_dir).large().sees(git_dir).variable("GIT_DIR", git_dir)
    }

    /// Git that sees those of the repository, too.
    fn joined(&self) -> Result<Git, WorkspaceError> {
        let common = &self.repository.common;
        let borrowed = quoted(&common.join("objects"))?;
        self.alone()?.sees(common).variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", Path::new(&borrowed))
    }
}

/// How long git may take with a bundle: one that is short and takes long was made to.
fn time_ms_for(bundle_bytes: u64) -> u64 {
    let by_size = bundle_bytes / limits::BUNDLE_BYTES_PER_MS_MIN;
    (limits::BUNDLE_TIME_MS_MIN + by_size).min(limits::BUNDLE_TIME_MS_MAX)
}

/// An empty repository, as git makes one: asking git takes longer than writing three lines.
fn bare_repository(git_dir: &Path, format: &str) -> std::io::Result<()> {
    let settings = match format {
        "sha256" => "\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n",
        _ => "\trepositoryformatversion = 0\n\tbare = true\n",
    };
    for folder in ["objects/info", "objects/pack", "refs/heads"] {
        std::fs::create_dir_all(git_dir.join(folder))?;
    }
    std::fs::write(git_dir.join("config"), format!("[core]\n{settings}"))?;
    std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/posse\n")
}

/// Whether a commit is another one, or before it.
pub(super) async fn is_ancestor(git: Git, first: &str, second: &str) -> Result<bool, WorkspaceError> {
    match git.text(&["merge-base", "--is-ancestor", checked(first)?, checked(second)?]).await {
        Ok(_) => Ok(true),
        Err(WorkspaceError::Git(GitError::Failed { code: 1, .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A list of folders may hold any character if each is quoted.
fn quoted(path: &Path) -> Result<String, WorkspaceError> {
    let path = path.to_str().ok_or(GitError::UnusableName)?;
    Ok(format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")))
}

/// The name of the one pack in a folder of ours.
fn pack_name(packs: &Path) -> Option<String> {
    let names =
        std::fs::read_dir(packs).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".pack").map(str::to_owned)).next()
}

/// Moves a pack to those of the repository, through open folders; says whether that could be done. Git takes it for there
/// when its index is, so that comes last.
#[cfg(unix)]
fn moved(packs: &Path, name: &str, repository: &Repository) -> bool {
    use crate::checkpoint::folder::Top;
    let from = Top::open(packs).and_then(|packs| packs.folder(b""));
    let to = Top::open(&repository.common).and_then(|common| common.make_folder(b"objects/pack"));
    let (Ok(from), Ok(to)) = (from, to) else { return false };
    ["pack", "rev", "idx"].iter().all(|end| {
        let name = format!("{name}.{end}");
        let there = from.look(name.as_bytes()).is_ok_and(|seen| seen.is_some());
        (!there && *end == "rev") || rustix::fs::renameat(&from.fd, &*name, &to.fd, &*name).is_ok()
    })
}

#[cfg(not(unix))]
fn moved(_packs: &Path, _name: &str, _repository: &Repository) -> bool {
    false
}
