//! What of a session's folder does not travel, in sentences for whoever works on it elsewhere. A look, with limits: what is
//! not found is not told.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{
    WorkspaceError,
    git::{flow::FlowInput, plain, series::GitStep},
    limits,
    repository::Repository,
    shadow::{Shadow, checked, read_blobs, replace},
    worktree::{SessionFiles, session_view},
};

/// How a file begins that stands for one which git LFS keeps elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Finds what does not travel, besides what git ignores, which is known.
pub(super) async fn unsent(
    repository: &Repository,
    into: &Path,
    files: &SessionFiles,
    ignored: &[String],
    whole_history: bool,
) -> Result<Vec<String>, WorkspaceError> {
    let mut told = Vec::new();
    let view = session_view(repository, into);
    let own = into.strip_prefix(&view.work_tree).ok().map(|inside| format!("{}/", inside.display()));
    let ours = |path: &String| own.as_ref().is_some_and(|own| path.starts_with(own));
    let ignored = ignored.iter().filter(|path| !ours(path) && !path.ends_with(".tmp"));
    let ignored: Vec<String> = ignored.cloned().collect();
    if !ignored.is_empty() {
        told.push(format!("Files that git ignores are not here: {}.", listed(&ignored)));
    }
    if !files.submodules.is_empty() {
        let paths: Vec<String> = files.submodules.keys().cloned().collect();
        told.push(format!("The folders of submodules are empty: {}.", listed(&paths)));
    }
    let pointers = lfs_of_tree(repository, &view, &files.tree).await?;
    if !pointers.is_empty() {
        told.push(format!("Git LFS keeps the contents of these files elsewhere: {pointers}."));
    }
    if !whole_history {
        told.push("The history before this commit is not here.".to_owned());
    }
    Ok(told)
}

fn listed(paths: &[String]) -> String {
    let some = &paths[..paths.len().min(limits::UNSENT_NAMED_MAX)];
    let shown = |path: &String| posse_protocol::clip::clipped(path, limits::SHOWN_PATH_CHARS_MAX);
    let names = some.iter().map(shown).collect::<Vec<_>>().join(", ");
    if paths.len() > some.len() { format!("{names} and more") } else { names }
}

/// Asks for files and folders that git ignores, and how many are enough. Each of our own may be one that is not told.
pub(super) fn ignored() -> (GitStep, usize) {
    let words = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    (GitStep::new(&words), limits::UNSENT_NAMED_MAX + limits::UNSENT_OWN_MAX)
}

/// Some files whose content is only a pointer, in words. The same tree has the same ones, so the last answer is kept.
async fn lfs_of_tree(repository: &Repository, view: &Shadow, tree: &str) -> Result<String, WorkspaceError> {
    let kept = view.git_dir.join("lfs");
    let said = plain::bytes(&kept, limits::SETTINGS_BYTES_MAX).and_then(|said| String::from_utf8(said).ok());
    if let Some((of, pointers)) = said.as_deref().and_then(|said| said.split_once('\n'))
        && of == tree
    {
        return Ok(pointers.to_owned());
    }
    let pointers = listed(&lfs_pointers(repository, view).await?);
    replace(&kept, &format!("{tree}\n{pointers}"))?;
    Ok(pointers)
}

/// Files whose content is only a pointer. The files of attributes are read first: mostly they name no such filter.
async fn lfs_pointers(repository: &Repository, view: &Shadow) -> Result<Vec<String>, WorkspaceError> {
    let mut attributes = BTreeSet::new();
    view.git()?
        .each_record(&["ls-files", "--stage", "-z"], |record| {
            if record.ends_with(b".gitattributes") {
                attributes.extend(content_of(record));
            }
            Ok(())
        })
        .await?;
    let names = attributes.iter().map(String::as_str).collect();
    let texts = read_blobs(|| view.git(), &names).await?;
    if !texts.values().any(|text| memchr::memmem::find(text, b"filter=lfs").is_some()) {
        return Ok(Vec::new());
    }
    let mut contents: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    view.git()?
        .each_record(&["ls-files", "--stage", "-z"], |record| {
            let path = memchr::memchr(b'\t', record).map(|at| record[at + 1..].to_vec());
            contents.extend(path.zip(content_of(record)));
            Ok(())
        })
        .await?;
    let mut paths = Vec::new();
    for path in contents.keys() {
        paths.extend_from_slice(path);
        paths.push(0);
    }
    // Asked of the repository itself: the view has no filters at all. In its answer paths, names and values take turns.
    let git = repository.git().large().sees(&view.git_dir).variable("GIT_INDEX_FILE", &view.index)?;
    let (mut answer, mut filtered) = (Vec::new(), Vec::new());
    git.flow(&["check-attr", "--cached", "-z", "--stdin", "filter"], FlowInput::Bytes(paths), |piece| {
        answer.extend_from_slice(piece);
        Ok(())
    })
    .await?;
    let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    for fields in fields.chunks_exact(3).filter(|fields| fields[2] == b"lfs").take(limits::LFS_FILES_MAX) {
        filtered.extend(contents.get(fields[0]).map(|content| (fields[0], content)));
    }
    let small = small(view, filtered.iter().map(|(_, content)| content.as_str())).await?;
    let texts = read_blobs(|| view.git(), &small.iter().map(String::as_str).collect()).await?;
    let is_pointer = |content: &str| texts.get(content).is_some_and(|text| text.starts_with(LFS_POINTER));
    let pointers = filtered.iter().filter(|(_, content)| is_pointer(content));
    Ok(pointers.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Those of some contents that are short enough for a pointer.
async fn small(
    view: &Shadow,
    contents: impl Iterator<Item = &str>,
) -> Result<BTreeSet<String>, WorkspaceError> {
    let asked: String = contents.map(|content| format!("{content}\n")).collect();
    let words = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let said = view.git()?.stdin(asked.into_bytes()).text(&words).await?;
    let sized = said.lines().filter_map(|line| line.split_once(' '));
    let small =
        sized.filter(|(_, size)| size.parse::<u64>().is_ok_and(|size| size <= limits::LFS_POINTER_BYTES_MAX));
    Ok(small.map(|(content, _)| content.to_owned()).collect())
}

/// The content that a record of the index names.
fn content_of(record: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(record.split(|byte| *byte == b'\t').next()?).ok()?;
    checked(head.split(' ').nth(1)?).ok().map(str::to_owned)
}
