//! The checkouts of a depot: a folder for each agent that works there, and a few that wait for the next one.
//!
//! ```text
//!             ┌──────── moved to another commit ───────┐
//! (none) ─► Making ─► Ready ─► finish (any number of times) ─► release ─► Done, in the pool
//!             └── a crash: removed   └── a crash: committed, then removed      └── too many: removed
//! ```
//!
//! A folder keeps its place, so that git's own folder for it stays right. Its record is that of any checkout.

mod left;

pub(super) use left::is_past;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    incoming::is_ancestor,
    index_file::TrackedFiles,
    scrub::{open_up, scrub},
};
use crate::{
    WorkspaceError, WorkspacePath,
    checkpoint::folder::Top,
    git::{GitError, call::settled, plain},
    guard::is_of_git,
    limits,
    repository::Repository,
    shadow::{Shadow, blocking, checked, failed},
    worktree::{
        KNOWN, checkout_view, commit_work, forget_missing, look_at_checkout,
        own::CheckoutFolder,
        record::{CheckoutRecord, CheckoutState, beside, must_be_ours},
        recorded, remove,
    },
};

/// A checkout of a depot, for one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepotCheckout {
    /// What stands for the session's folder within it.
    pub folder: PathBuf,
    /// Its top folder.
    pub top: PathBuf,
    /// The commit that it began at.
    pub base: String,
    /// The name that its result goes by.
    pub name: String,
}

/// What a folder is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SlotUse {
    /// It holds the files of a commit, and waits.
    Free {
        base: String,
    },
    Busy {
        name: String,
    },
    /// It holds work that could not be committed.
    Left,
    /// It is cleared, to wait then.
    Returning,
    /// Nobody knows what it holds.
    Broken,
}

/// See the module.
#[derive(Debug)]
pub(super) struct DepotSlots {
    repository: Repository,
    into: PathBuf,
    uses: Mutex<BTreeMap<usize, SlotUse>>,
}

impl DepotSlots {
    /// Takes over what is there. Nobody else may use it: work that was left is committed, the rest goes.
    pub(super) async fn open(repository: Repository, into: PathBuf) -> Result<Self, WorkspaceError> {
        let slots = Self { repository, into, uses: Mutex::default() };
        settled().await;
        let mut known = Vec::new();
        for top in recorded(&slots.into)? {
            known.push(top.clone());
            let number = number_of(&top);
            match CheckoutRecord::read(&top) {
                Ok(record) if record.state == CheckoutState::Ready => {
                    let name = name_of(&record.branch).to_owned();
                    let checkout = DepotCheckout { folder: top.clone(), top, base: record.base, name };
                    let kept = slots.finish(&checkout, "Work that was left when the worker ended").await;
                    // One that cannot be committed stays as it is, for a person to look at.
                    if kept.is_ok() {
                        slots.remove(&checkout.top, Some(&record.branch)).await?;
                    } else if let Some(number) = number {
                        slots.lock().insert(number, SlotUse::Left);
                    }
                }
                Ok(record) if record.state == CheckoutState::Done && plain::is_folder(&top) => {
                    let state = SlotUse::Free { base: record.base };
                    slots.lock().extend(number.map(|number| (number, state)));
                }
                record => {
                    let branch = record.ok().map(|record| record.branch);
                    slots.remove(&top, branch.as_deref()).await?;
                }
            }
        }
        for entry in fs::read_dir(&slots.into).map_err(failed)?.flatten() {
            let path = entry.path();
            if number_of(&path).is_some() && !known.contains(&path) {
                slots.remove(&path, None).await?;
            }
        }
        forget_missing(&slots.repository, &slots.into);
        slots.clear_references().await?;
        Ok(slots)
    }

    /// Makes a folder with the files of a commit, from one in the pool if there is one.
    pub(super) async fn check_out(
        &self,
        base: &str,
        inside: &str,
        name: &str,
    ) -> Result<DepotCheckout, WorkspaceError> {
        let branch = branch_of(name)?;
        let inside = match inside {
            "" => WorkspacePath::root(),
            inside => WorkspacePath::exactly(inside)
                .filter(|path| !is_of_git(path.as_path()))
                .ok_or_else(|| WorkspaceError::Outside { path: inside.to_owned() })?,
        };
        let (taken, before) = self.take(base, name)?;
        let top = self.into.join(taken.number.to_string());
        let record = CheckoutRecord {
            state: CheckoutState::Making,
            branch,
            base: base.to_owned(),
            repository: self.repository.top.clone(),
        };
        let folder = async {
            let moved = match before {
                Some(SlotUse::Free { base: held }) => self.reuse(&top, &record, &held).await.is_ok(),
                _ => false,
            };
            if moved {
                return Ok(());
            }
            // One that was called off may be on its way to its end.
            settled().await;
            self.remove(&top, None).await?;
            self.make(&top, &record).await
        };
        tokio::try_join!(folder, self.begin_branch(&record))?;
        self.arm(&top, base, Some(&record.branch))?;
        // What the commit holds there may be a link: whoever works in it must not work somewhere else.
        let within = if inside.is_root() { "" } else { inside.as_str() };
        Top::open(&top).and_then(|top| top.make_folder(within.as_bytes())).map_err(failed)?;
        CheckoutRecord { state: CheckoutState::Ready, ..record }.write(&top)?;
        taken.keep();
        Ok(DepotCheckout { folder: top.join(within), top, base: base.to_owned(), name: name.to_owned() })
    }

    /// Commits all work, which stays until the result is forgotten. None if nothing was changed.
    pub(super) async fn finish(
        &self,
        checkout: &DepotCheckout,
        message: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        let record = self.record_of(checkout)?;
        let view = checkout_view(&self.repository, &checkout.top)?;
        let reference = format!("refs/heads/{}", record.branch);
        let base = record.base.as_str();
        let names =
            [format!("{reference}^{{commit}}"), format!("{reference}^{{tree}}"), format!("{base}^{{tree}}")];
        let names = names.each_ref().map(String::as_str);
        let (found, seen) = look_at_checkout(&self.repository, &view, &names).await?;
        let mut found = found.into_iter();
        let (known, tree, base_tree) =
            (found.next().flatten(), found.next().flatten(), found.next().flatten());
        let before = known.clone().unwrap_or_else(|| base.to_owned());
        let tree = if known.is_some() { tree } else { base_tree };
        let apart = self.committed_apart(&checkout.top, &reference).await?.filter(|head| *head != before);
        let mut tip = commit_work(&view, seen, (&before, tree), apart.as_deref(), message).await?;
        if tip == base {
            return Ok(None);
        }
        // An agent may have left the history that it began with. What was committed just now on the base has not.
        let on_base = before == base && apart.is_none();
        if !on_base && !is_ancestor(self.repository.git().large(), base, &tip).await? {
            let tree = self.repository.names(&[&format!("{tip}^{{tree}}")]).await?.pop().flatten();
            let tree = tree.ok_or(GitError::NoSuchCommit)?;
            tip = view.commit(&tree, &[base, &tip], message).await?;
        }
        let result = format!("refs/posse/results/{}", name_of(&record.branch));
        for reference in [&result, &reference] {
            plain::remove_lock(&self.repository.common, reference);
        }
        let both = format!("update {result} {tip}\nupdate {reference} {tip}\n");
        self.repository.move_references(both).await?;
        // So that git within the checkout sees what is there, should somebody go on.
        self.put_index(&checkout.top, &view)?;
        Ok(Some(tip))
    }

    /// Ends a checkout: what is not committed is lost. Its folder waits for the next agent, or goes; so does its result, if
    /// that is not needed any more.
    pub(super) async fn release(
        &self,
        checkout: &DepotCheckout,
        forget_result: bool,
    ) -> Result<(), WorkspaceError> {
        let record = self.record_of(checkout)?;
        let number = number_of(&checkout.top).ok_or(GitError::DamagedRecord)?;
        let record = CheckoutRecord { state: CheckoutState::Making, ..record };
        record.write(&checkout.top)?;
        let taken = Taken { slots: self, number, kept: false };
        let clean = self.has_room(number) && self.scrub(&checkout.top).await.is_ok();
        let clean = clean && self.arm(&checkout.top, &record.base, None).is_ok();
        let branch = format!("delete refs/heads/{}\n", record.branch);
        let result = format!("delete refs/posse/results/{}\n", name_of(&record.branch));
        let gone = if forget_result { branch + &result } else { branch };
        self.repository.move_references(gone).await?;
        if clean {
            CheckoutRecord { state: CheckoutState::Done, ..record.clone() }.write(&checkout.top)?;
            taken.keep();
            self.lock().insert(number, SlotUse::Free { base: record.base });
        } else {
            self.remove(&checkout.top, None).await?;
            taken.keep();
            self.lock().remove(&number);
        }
        self.clear_references().await
    }

    /// Whether a folder may wait in the pool; if so, its place there is kept.
    fn has_room(&self, number: usize) -> bool {
        let mut uses = self.lock();
        let waits = |used: &&SlotUse| matches!(used, SlotUse::Free { .. } | SlotUse::Returning);
        let room = uses.values().filter(waits).count() < limits::DEPOT_POOL_MAX;
        if room {
            uses.insert(number, SlotUse::Returning);
        }
        room
    }

    /// Whether anybody works here, or has left work.
    pub(super) fn in_use(&self) -> bool {
        let in_use =
            |used: &SlotUse| matches!(used, SlotUse::Busy { .. } | SlotUse::Left | SlotUse::Returning);
        self.lock().values().any(in_use)
    }

    /// Removes all that waits.
    pub(super) async fn empty_pool(&self) -> Result<(), WorkspaceError> {
        let waiting: Vec<usize> = {
            let mut uses = self.lock();
            let waiting =
                uses.iter().filter(|(_, used)| matches!(used, SlotUse::Free { .. } | SlotUse::Broken));
            let waiting: Vec<usize> = waiting.map(|(number, _)| *number).collect();
            waiting
                .iter()
                .for_each(|number| drop(uses.insert(*number, SlotUse::Busy { name: String::new() })));
            waiting
        };
        for number in waiting {
            let taken = Taken { slots: self, number, kept: false };
            self.remove(&self.into.join(number.to_string()), None).await?;
            taken.keep();
            self.lock().remove(&number);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, SlotUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A folder for an agent: one that holds the commit already, else any that waits, else a new one.
    fn take(&self, base: &str, name: &str) -> Result<(Taken<'_>, Option<SlotUse>), WorkspaceError> {
        let mut uses = self.lock();
        let same = |used: &SlotUse| matches!(used, SlotUse::Busy { name: other } if other == name);
        if uses.values().any(same) {
            return Err(GitError::CheckedOut(name.to_owned()).into());
        }
        let rank = |used: &SlotUse| match used {
            SlotUse::Free { base: held } if held == base => Some(0),
            SlotUse::Free { .. } => Some(1),
            SlotUse::Broken => Some(2),
            SlotUse::Busy { .. } | SlotUse::Left | SlotUse::Returning => None,
        };
        let waiting = uses.iter().filter_map(|(number, used)| Some((rank(used)?, *number))).min();
        let number = match waiting {
            Some((_, number)) => number,
            None => (1..).find(|number| !uses.contains_key(number)).unwrap_or(usize::MAX),
        };
        if uses.len() >= limits::DEPOT_CHECKOUTS_MAX && waiting.is_none() {
            return Err(WorkspaceError::Busy { what: "every checkout of the depot".to_owned() });
        }
        let before = uses.insert(number, SlotUse::Busy { name: name.to_owned() });
        drop(uses);
        Ok((Taken { slots: self, number, kept: false }, before))
    }

    fn record_of(&self, checkout: &DepotCheckout) -> Result<CheckoutRecord, WorkspaceError> {
        let record = CheckoutRecord::read(&checkout.top)?;
        let same = checkout.top.parent() == Some(&*self.into)
            && record.state == CheckoutState::Ready
            && name_of(&record.branch) == checkout.name;
        if same { Ok(record) } else { Err(GitError::DamagedRecord.into()) }
    }

    /// Makes a new folder and fills it.
    async fn make(&self, top: &Path, record: &CheckoutRecord) -> Result<(), WorkspaceError> {
        record.write(top)?;
        fs::create_dir(top).map_err(failed)?;
        settled().await;
        let known = KNOWN.of(&self.repository.common);
        let turn = known.lock().await;
        CheckoutFolder::make(&self.repository, top, checked(&record.base)?).map_err(failed)?;
        drop(turn);
        let view = checkout_view(&self.repository, top)?;
        let _ = fs::remove_file(&view.index);
        self.fill(&view, top, &record.base).await
    }

    /// Takes a folder that waited with the files of `held`, and writes only what differs.
    async fn reuse(&self, top: &Path, record: &CheckoutRecord, held: &str) -> Result<(), WorkspaceError> {
        record.write(top)?;
        if self.scrub(top).await? && held == record.base {
            return Ok(());
        }
        self.fill(&checkout_view(&self.repository, top)?, top, &record.base).await
    }

    async fn fill(&self, view: &Shadow, top: &Path, base: &str) -> Result<(), WorkspaceError> {
        let git = view.filler()?.keeps(&top.join(".git")).time_ms_max(limits::BUNDLE_TIME_MS_MAX);
        git.text(&["read-tree", "--reset", "-u", checked(base)?]).await?;
        // What git wrote, apart from what it will see of the agent's work.
        let index = fs::read(&view.index).map_err(failed)?;
        fs::write(beside(top, "pristine")?, index).map_err(failed)
    }

    /// Removes all traces of work, and brings the index back to what was checked out. Says whether no file of that is missing.
    async fn scrub(&self, top: &Path) -> Result<bool, WorkspaceError> {
        let pristine = fs::read(beside(top, "pristine")?).map_err(failed)?;
        let view = checkout_view(&self.repository, top)?;
        let id_bytes = if self.repository.format == "sha256" { 32 } else { 20 };
        let tracked = TrackedFiles::parse(&pristine, id_bytes).ok_or(GitError::DamagedRecord)?;
        let _ = fs::remove_file(beside(top, "index.lock")?);
        fs::write(&view.index, pristine).map_err(failed)?;
        let (top, like) = (top.to_owned(), self.into.clone());
        blocking(move || scrub(&top, &tracked, &like)).await?.map_err(failed)
    }

    /// Makes the branch that an agent works on.
    async fn begin_branch(&self, record: &CheckoutRecord) -> Result<(), WorkspaceError> {
        let reference = format!("refs/heads/{}", record.branch);
        plain::remove_lock(&self.repository.common, &reference);
        self.repository.move_references(format!("update {reference} {}\n", checked(&record.base)?)).await
    }

    /// Makes git's own folder for a checkout what it is for a new one.
    fn arm(&self, top: &Path, base: &str, branch: Option<&str>) -> Result<(), WorkspaceError> {
        let own = CheckoutFolder::of(&self.repository, top).ok_or(GitError::DamagedRecord)?;
        let leads =
            [self.repository.common.as_os_str().as_encoded_bytes(), b"/worktrees/", own.name()].concat();
        let said = Top::open(top).and_then(|top| top.folder(b"")).map_err(failed)?;
        let said = said.small(b".git", limits::GIT_POINTER_BYTES_MAX).unwrap_or_default();
        let said = said.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
        if said != Some(&leads) || own.text(b"commondir").as_deref() != Some("../..") {
            return Err(GitError::Elsewhere.into());
        }
        for (name, _) in own.folder.names().map_err(failed)? {
            let kept = [&b"gitdir"[..], b"commondir"].contains(&&*name);
            let seen = own.folder.look(&name).map_err(failed)?.filter(|_| !kept);
            let removed = match seen {
                None => Ok(()),
                Some(seen) if seen.is_folder() => own.folder.remove_all(&name),
                Some(_) => own.folder.remove(&name),
            };
            removed.map_err(failed)?;
        }
        let head = branch.map_or_else(|| format!("{base}\n"), |branch| format!("ref: refs/heads/{branch}\n"));
        own.folder.put(b"HEAD", head.as_bytes(), 0o666).map_err(failed)?;
        self.put_index(top, &checkout_view(&self.repository, top)?)
    }

    fn put_index(&self, top: &Path, view: &Shadow) -> Result<(), WorkspaceError> {
        let own = CheckoutFolder::of(&self.repository, top).ok_or(GitError::DamagedRecord)?;
        let index = fs::read(&view.index).map_err(failed)?;
        own.folder.put(b"index", &index, 0o666).map_err(failed)
    }

    /// What an agent committed on no branch, or on another one than its own.
    async fn committed_apart(&self, top: &Path, reference: &str) -> Result<Option<String>, WorkspaceError> {
        let head = CheckoutFolder::of(&self.repository, top).and_then(|own| own.text(b"HEAD"));
        let Some(head) = head else { return Ok(None) };
        let other = match head.strip_prefix("ref: ") {
            Some(other) if other == reference => return Ok(None),
            Some(other) => must_be_plain(other),
            None => checked(&head).ok(),
        };
        match other {
            Some(other) => self.repository.commit_of(other).await,
            None => Ok(None),
        }
    }

    /// Removes a folder, what git knows of it, and its branch.
    async fn remove(&self, top: &Path, branch: Option<&str>) -> Result<(), WorkspaceError> {
        if remove(&self.repository, top, None).await.is_err() {
            // An agent can close folders.
            let _ = open_up(top);
            remove(&self.repository, top, None).await?;
        }
        let _ = fs::remove_file(beside(top, "pristine")?);
        if let Some(branch) = branch {
            self.repository.move_references(format!("delete refs/heads/{branch}\n")).await?;
        }
        Ok(())
    }

    /// When nobody works here, branches and tags that agents made go: the next one finds none but its own.
    async fn clear_references(&self) -> Result<(), WorkspaceError> {
        if self.in_use() {
            return Ok(());
        }
        let listed = self.repository.git().text(&["for-each-ref", "--format=%(refname)"]).await?;
        let ours = ["refs/posse/bases/", "refs/posse/results/"];
        let others = listed.lines().filter(|name| !ours.iter().any(|ours| name.starts_with(ours)));
        let delete: String = others.map(|name| format!("delete {name}\n")).collect();
        if !delete.is_empty() {
            let git = self.repository.writing().stdin(delete.into_bytes());
            git.run_through(&["update-ref", "--no-deref", "--stdin"]).await?;
        }
        Ok(())
    }
}

/// A folder that somebody is at. If that comes to no end, nobody knows what it holds.
struct Taken<'a> {
    slots: &'a DepotSlots,
    number: usize,
    kept: bool,
}

impl Taken<'_> {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.slots.lock().insert(self.number, SlotUse::Broken);
        }
    }
}

/// The number that a folder is named by.
fn number_of(top: &Path) -> Option<usize> {
    top.file_name()?.to_str()?.parse().ok()
}

fn branch_of(name: &str) -> Result<String, WorkspaceError> {
    let branch = format!("posse/work/{name}");
    if name.contains('/') { Err(GitError::NotOurs.into()) } else { must_be_ours(&branch).map(str::to_owned) }
}

/// The name that a result goes by; checks nothing, as it comes from a branch of ours.
fn name_of(branch: &str) -> &str {
    branch.trim_start_matches("posse/work/")
}

/// Whether this is the name of a reference that can be asked for as it is.
fn must_be_plain(reference: &str) -> Option<&str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '+' | '@' | '#');
    (reference.starts_with("refs/") && reference.chars().all(plain)).then_some(reference)
}
