//! A private git folder with a view on files somewhere else: its own index, settings and attributes, so that nothing of
//! the person's repository has a say in what is stored, and every byte is kept as it is.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use posse_protocol::{Change, Saved};

use crate::{
    Entry, Mode, WorkspaceError,
    git::{GitError, call::Git, flow::FlowInput, series::GitStep},
    limits,
    staging::{self, Chosen, Staging},
    text::cut,
};

/// Above all attributes of the tree: no filter, no conversion, no driver.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n";
/// What keeps the contents of single changes reachable.
const KEPT: &str = "refs/posse/kept";

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    /// Its own folder.
    pub(crate) git_dir: PathBuf,
    /// The files that are looked at.
    pub(crate) work_tree: PathBuf,
    /// Remembers what was seen of them.
    pub(crate) index: PathBuf,
    /// Where contents go, if not into its own folder.
    pub(crate) objects: Option<PathBuf>,
}

/// What the files are, as git sees them at one moment.
#[derive(Debug, Default)]
pub(crate) struct SeenTree {
    /// What differs from the index.
    status: Vec<u8>,
    /// The tree of the index; empty if there cannot be one.
    tree: String,
}

/// A commit that is to be made of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCommit<'a> {
    pub(crate) parents: &'a [&'a str],
    pub(crate) message: &'a str,
}

/// What [`Shadow::stage`] came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) tree: String,
    /// Where anything differed from the index: the commit that was asked for.
    pub(crate) commit: Option<String>,
}

impl Shadow {
    /// Makes the folder if it is not there yet, and brings its rules up to date.
    pub(crate) async fn prepare(&self, format: &str, excludes: &str) -> Result<(), WorkspaceError> {
        let attributes = self.git_dir.join("info/attributes");
        if !attributes.exists() {
            fs::create_dir_all(&self.git_dir).map_err(failed)?;
            let format = format!("--object-format={format}");
            let init = ["init", "--quiet", "--bare", "--initial-branch=posse", &format, "."];
            Git::at(&self.git_dir).writes(&self.git_dir).run_through(&init).await?;
        }
        let info = self.git_dir.join("info");
        fs::create_dir_all(&info).map_err(failed)?;
        replace(&info.join("exclude"), &format!("{excludes}.posse-*.tmp\n"))?;
        // Last: it says that all is there.
        replace(&attributes, ATTRIBUTES)
    }

    /// Git that stores what these files are: it writes its own folder and contents, and sees the files.
    pub(crate) fn git(&self) -> Result<Git, WorkspaceError> {
        let git = self.reader()?.sees(&self.work_tree).writes(&self.git_dir);
        Ok(self.objects.iter().fold(git, |git, objects| git.writes(objects)))
    }

    /// Git that makes the files what is stored.
    pub(crate) fn filler(&self) -> Result<Git, WorkspaceError> {
        Ok(self.git()?.writes(&self.work_tree))
    }

    /// Git that looks at what is stored.
    fn reader(&self) -> Result<Git, WorkspaceError> {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let settings =
            [("core.bare", "false"), ("core.logAllRefUpdates", "false"), ("fastimport.unpackLimit", "1000")];
        // Contents can be had when the files are gone.
        let there = if self.work_tree.is_dir() { &self.work_tree } else { &self.git_dir };
        let mut git = Git::at(there)
            .large()
            .sees(&self.git_dir)
            .settings(&settings.map(own))
            .variable("GIT_DIR", &self.git_dir)?
            .variable("GIT_WORK_TREE", there)?
            .variable("GIT_INDEX_FILE", &self.index)?
            // The index is ours alone: what was seen is to be remembered.
            .variable("GIT_OPTIONAL_LOCKS", Path::new("1"))?;
        // Ours alone: no command writes there.
        let others = fs::read_to_string(self.git_dir.join("objects/info/alternates")).unwrap_or_default();
        for other in others.lines().map(Path::new).filter(|other| other.is_absolute()) {
            git = git.sees(other);
        }
        match &self.objects {
            Some(objects) => git.sees(objects).variable("GIT_OBJECT_DIRECTORY", objects),
            None => Ok(git),
        }
    }

    /// Looks at what the files are now. It is to be said in this order to [`SeenTree::new`].
    pub(crate) fn looking(&self) -> [GitStep; 2] {
        // Whoever holds our lock is the only one here: what is left of one that was killed counts for nothing.
        let _ = fs::remove_file(PathBuf::from(format!("{}.lock", self.index.display())));
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
        let more = ["--ignored=no", "--ignore-submodules=all"];
        // Contents that are only in the index may be gone; they count if nothing comes in their place.
        [GitStep::new(&[&status[..], &more[..]].concat()), GitStep::new(&["write-tree"]).may_fail()]
    }

    /// Brings the index up to what the files are now, or were when they were `seen`, and stores that as a tree.
    pub(crate) async fn stage(
        &self,
        staging: &Staging,
        mut seen: Option<SeenTree>,
        commit: Option<NewCommit<'_>>,
    ) -> Result<Staged, WorkspaceError> {
        if !self.work_tree.is_dir() {
            return Err(WorkspaceError::NotAFolder { path: self.work_tree.display().to_string() });
        }
        let mut tries = 0;
        loop {
            let SeenTree { status, tree } = match seen.take() {
                Some(seen) => seen,
                None => SeenTree::new(self.git()?.say(&self.looking()).await?),
            };
            let (work_tree, wanted) = (self.work_tree.clone(), staging.clone());
            let chosen = blocking(move || staging::choose(&work_tree, &status, &wanted)).await?;
            let same = chosen.paths.is_empty() && chosen.gone.is_empty() && staging.submodules.is_empty();
            if same && !tree.is_empty() {
                return Ok(Staged { tree, commit: None });
            }
            match self.store(chosen, staging, commit).await {
                // Files come and go while they are read.
                Err(_) if tries < 2 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(limits::LOCK_POLL_MS)).await;
                }
                stored => return stored,
            }
        }
    }

    async fn store(
        &self,
        chosen: Chosen,
        staging: &Staging,
        commit: Option<NewCommit<'_>>,
    ) -> Result<Staged, WorkspaceError> {
        let submodules: String =
            staging.submodules.iter().map(|(path, commit)| format!("160000 {commit}\t{path}\0")).collect();
        let mut steps = Vec::new();
        let gone = Listed::new(&self.git_dir, &chosen.gone)?;
        let remove = ["update-index", "-z", "--force-remove", "--stdin"];
        steps.extend(gone.as_ref().map(|gone| GitStep::new(&remove).file(&gone.0)));
        if !chosen.paths.is_empty() {
            let update = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            steps.push(GitStep::new(&update).given());
        }
        let nested = Listed::new(&self.git_dir, submodules.as_bytes())?;
        let update = ["update-index", "-z", "--replace", "--index-info"];
        steps.extend(nested.as_ref().map(|nested| GitStep::new(&update).file(&nested.0)));
        steps.push(GitStep::new(&["write-tree"]).keeps());
        if let Some(NewCommit { parents, message }) = commit {
            let mut words = vec!["commit-tree", "-F", "-"];
            parents.iter().for_each(|parent| words.extend(["-p", *parent]));
            steps.push(GitStep::new(&words).text(message.to_owned()).with_kept());
        }
        let mut said = vec![Vec::new(); steps.len()];
        let heard = self.git()?.series(&steps, FlowInput::Bytes(chosen.paths), |step, piece| {
            said[step].extend_from_slice(piece.unwrap_or_default());
            Ok(())
        });
        heard.await?;
        let mut said = said.iter().rev().map(|said| String::from_utf8_lossy(said).trim_end().to_owned());
        let commit = commit.and_then(|_| said.next());
        Ok(Staged { tree: said.next().unwrap_or_default(), commit })
    }

    /// Makes a commit of a tree.
    pub(crate) async fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, WorkspaceError> {
        let mut arguments = vec!["commit-tree", tree, "-F", "-"];
        parents.iter().for_each(|parent| arguments.extend(["-p", *parent]));
        self.git()?.stdin(message.as_bytes().to_vec()).text(&arguments).await
    }

    /// The difference of two trees as people read it.
    pub(crate) async fn patch(
        &self,
        from: &str,
        to: &str,
        bytes_max: usize,
    ) -> Result<String, WorkspaceError> {
        patch(self.reader()?, from, to, bytes_max).await
    }
}

impl SeenTree {
    /// From what the steps of [`Shadow::looking`] have said.
    pub(crate) fn new(said: Vec<Vec<u8>>) -> Self {
        let mut said = said.into_iter();
        let status = said.next().unwrap_or_default();
        let tree = String::from_utf8_lossy(&said.next().unwrap_or_default()).trim_end().to_owned();
        Self { status, tree }
    }
}

/// A list for git, as a file that is gone when this is dropped.
struct Listed(PathBuf);

impl Listed {
    /// None of nothing.
    fn new(within: &Path, bytes: &[u8]) -> Result<Option<Self>, WorkspaceError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let listed = Self(within.join(crate::expect::temporary_name()));
        fs::write(&listed.0, bytes).map_err(failed)?;
        Ok(Some(listed))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Reads contents by name, a bounded number of bytes at a time.
pub(crate) async fn read_blobs(
    git: impl Fn() -> Result<Git, WorkspaceError>,
    blobs: &BTreeSet<&str>,
) -> Result<HashMap<String, Vec<u8>>, WorkspaceError> {
    let mut found = HashMap::new();
    if blobs.is_empty() {
        return Ok(found);
    }
    let mut names = String::new();
    for blob in blobs {
        names.push_str(checked(blob)?);
        names.push('\n');
    }
    let sizes = git()?.stdin(names.into_bytes()).bytes(&["cat-file", "--batch-check"]).await?;
    let (mut batch, mut batch_bytes) = (String::new(), 0);
    let sizes = String::from_utf8_lossy(&sizes).into_owned();
    let mut lines = sizes.lines().peekable();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [name, "blob", size] = words[..] {
            let bytes = size.parse().unwrap_or(u64::MAX);
            if bytes <= limits::CHECKPOINT_FILE_BYTES_MAX {
                if batch_bytes + bytes > limits::BLOBS_BYTES_MAX {
                    read_batch(git()?, std::mem::take(&mut batch), &mut found).await?;
                    batch_bytes = 0;
                }
                batch_bytes += bytes + 100;
                batch.push_str(name);
                batch.push('\n');
            }
        }
        if lines.peek().is_none() && !batch.is_empty() {
            read_batch(git()?, std::mem::take(&mut batch), &mut found).await?;
        }
    }
    Ok(found)
}

async fn read_batch(
    git: Git,
    names: String,
    into: &mut HashMap<String, Vec<u8>>,
) -> Result<(), WorkspaceError> {
    let bytes = git.stdin(names.into_bytes()).bytes(&["cat-file", "--batch"]).await?;
    let mut rest = bytes.as_slice();
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        let words: Vec<&str> = header.split(' ').collect();
        let [name, "blob", size] = words[..] else { break };
        let size: usize = size.parse().unwrap_or(usize::MAX);
        let Some(content) = rest.get(end + 1..).and_then(|after| after.get(..size)) else { break };
        into.insert(name.to_owned(), content.to_vec());
        rest = rest.get(end + 1 + size + 1..).unwrap_or_default();
    }
    Ok(())
}

/// Stores contents, keeps them reachable by a ref, and says their names: all in one call.
pub(crate) async fn store_blobs(
    git: Git,
    kept_before: bool,
    contents: &[&[u8]],
) -> Result<Vec<String>, WorkspaceError> {
    if contents.is_empty() {
        return Ok(Vec::new());
    }
    let mut stream = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        stream.extend_from_slice(format!("blob\nmark :{}\ndata {}\n", at + 1, content.len()).as_bytes());
        stream.extend_from_slice(content);
        stream.push(b'\n');
    }
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |past| past.as_secs());
    stream.extend_from_slice(
        format!("commit {KEPT}\ncommitter Posse <posse@localhost> {now} +0000\ndata 4\nkept\n").as_bytes(),
    );
    if kept_before {
        stream.extend_from_slice(format!("from {KEPT}^0\ndeleteall\n").as_bytes());
    }
    for mark in 1..=contents.len() {
        stream.extend_from_slice(format!("M 100644 :{mark} {mark}\n").as_bytes());
    }
    stream.push(b'\n');
    for mark in 1..=contents.len() {
        stream.extend_from_slice(format!("get-mark :{mark}\n").as_bytes());
    }
    stream.extend_from_slice(b"done\n");
    let names = git.stdin(stream).text(&["fast-import", "--quiet", "--done"]).await?;
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    if names.len() == contents.len() {
        Ok(names)
    } else {
        Err(GitError::Unexpected { call: "fast-import".to_owned() }.into())
    }
}

/// What differs between two trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Differences {
    pub(crate) changes: Vec<Change>,
    /// Paths that have no name as text, and nested repositories that changed.
    pub(crate) others: Vec<String>,
}

pub(crate) fn parse_raw(raw: &[u8]) -> Differences {
    let mut found = Differences::default();
    let mut fields = raw.split(|byte| *byte == 0);
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, _] = words[..] else { continue };
        let side = |mode: &str, blob: &str| match mode {
            "000000" => Some(None),
            mode => Mode::parse(mode)
                .map(|mode| Some(Saved { mode: mode.as_str().to_owned(), blob: blob.to_owned() })),
        };
        match (std::str::from_utf8(path), side(old_mode, old), side(new_mode, new)) {
            (Ok(path), Some(before), Some(after)) => {
                found.changes.push(Change { path: path.to_owned(), before, after });
            }
            _ => found.others.push(String::from_utf8_lossy(path).into_owned()),
        }
    }
    found
}

/// A side of a change with its content, as it is to be written; `Err` with the reason if it cannot be had.
pub(crate) fn entry_of(
    saved: Option<&Saved>,
    contents: &HashMap<String, Vec<u8>>,
) -> Result<Option<Entry>, &'static str> {
    let Some(saved) = saved else { return Ok(None) };
    let mode = Mode::parse(&saved.mode).ok_or("it is neither a file nor a link")?;
    let bytes = contents.get(&saved.blob).ok_or("its content is too large or not kept any more")?;
    Ok(Some(Entry { mode, bytes: bytes.clone() }))
}

/// The difference of two trees that a git knows, as people read it.
pub(crate) async fn patch(
    git: Git,
    from: &str,
    to: &str,
    bytes_max: usize,
) -> Result<String, WorkspaceError> {
    let arguments = ["diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
    let finished = git.run(&[&arguments[..], &[checked(from)?, checked(to)?]].concat()).await?;
    let left_out = finished.output.left_out_bytes() > 0;
    let head = finished.output.head.clone();
    let whole = finished.output.bytes();
    crate::git::call::text_of(arguments[0], finished)?;
    let bytes = if left_out { head } else { whole };
    Ok(cut(String::from_utf8_lossy(&bytes).into_owned(), bytes_max))
}

/// Names of contents and trees come from records: nothing else may reach a command line.
pub(crate) fn checked(name: &str) -> Result<&str, WorkspaceError> {
    let hex = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex { Ok(name) } else { Err(GitError::NoObjectName.into()) }
}

/// Writes a small file of ours as a whole, unless it says so already.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let temporary = path.with_file_name(crate::expect::temporary_name());
    fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path)).map_err(failed)
}

pub(crate) fn failed(error: std::io::Error) -> WorkspaceError {
    WorkspaceError::Io { path: "Posse's own folder".to_owned(), source: error }
}

/// File work off the threads that must not wait.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkspaceError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| WorkspaceError::Stopped)
}
