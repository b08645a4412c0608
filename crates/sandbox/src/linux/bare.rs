//! What a program of our own sees: an empty root with the system's programs and libraries, and the few folders that this
//! call needs. Looks at the system as it is; changes nothing.
//!
//! Nothing is hidden here because nothing is shown: a link that leads out of the folders leads nowhere.

use std::path::{Path, PathBuf};

use super::{
    FailedStep, NamedStep,
    plan::Plan,
    view::{Cover, FileView, home_of_this_user},
};

/// Where programs and libraries are; most of them are links into the first.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Where the loader finds libraries that are somewhere else.
const LOADER: &str = "/etc/ld.so.cache";
/// Where every program of a system may need every other.
const STORES: &[&str] = &["/nix/store", "/gnu/store"];

/// The view for a plan of ours.
pub(crate) fn view(plan: &Plan) -> Result<FileView, FailedStep> {
    let mut view = FileView::default();
    for name in SYSTEM.iter().map(Path::new) {
        match name.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                let says = name.read_link().step_at("reading", name)?;
                view.links.push((name.to_owned(), says));
            }
            Ok(_) => view.covers.push(Cover::ReadOnly(name.to_owned())),
            Err(_) => {}
        }
    }
    let loader = Path::new(LOADER);
    if loader.symlink_metadata().is_ok_and(|found| found.is_file()) {
        view.covers.push(Cover::ReadOnly(loader.to_owned()));
    }
    let program = Path::new(&plan.program);
    view.covers.extend(around(program).map(Cover::ReadOnly));
    view.covers.push(Cover::Empty("/tmp".into()));
    let writable = paths(&plan.writable);
    for path in &writable {
        must_be_itself(path)?;
        view.covers.push(Cover::Writable(path.clone()));
    }
    let open = |path: &PathBuf| writable.iter().any(|open| path.starts_with(open));
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let readable = paths(&plan.readable).into_iter().filter(|path| !open(path) && there(path));
    for path in readable.chain(paths(&plan.read_only).into_iter().filter(there)) {
        must_be_itself(&path)?;
        view.covers.push(Cover::ReadOnly(path));
    }
    // What is above comes first, so that what is below is put into it.
    view.covers.sort_by_cached_key(|cover| (cover.path().components().count(), cover.clone()));
    view.covers.dedup();
    view.writable = writable;
    view.writable.extend([PathBuf::from("/tmp"), "/dev".into()]);
    view.sealed.push("/".into());
    view.env.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name, "/tmp".into())));
    // What is shown are mounts, at which git would stop looking for its folder.
    view.env.push(("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".into()));
    Ok(view)
}

fn paths(raw: &[std::ffi::OsString]) -> Vec<PathBuf> {
    raw.iter().map(PathBuf::from).collect()
}

/// What a link leads to is not what was asked for. Links above it are refused when it is mounted.
fn must_be_itself(path: &Path) -> Result<(), FailedStep> {
    let found = path.symlink_metadata().step_at("looking at", path)?;
    if found.is_symlink() {
        return Err(FailedStep::new(format!("showing {}", path.display()), "it is a link"));
    }
    Ok(())
}

/// What a program that is not one of the system's brings along: the folder it was installed to.
fn around(program: &Path) -> Option<PathBuf> {
    if SYSTEM.iter().any(|folder| program.starts_with(folder)) {
        return None;
    }
    if let Some(store) = STORES.iter().find(|store| program.starts_with(store)) {
        return Some(PathBuf::from(store));
    }
    let folder = program.parent()?;
    let whole = folder.parent().filter(|_| folder.ends_with("bin")).filter(|whole| !holds_homes(whole));
    Some(whole.unwrap_or(folder).to_owned())
}

/// Whether a folder is a home, or homes are in it.
fn holds_homes(folder: &Path) -> bool {
    let homes = [Some(PathBuf::from("/root")), Some("/home".into()), home_of_this_user()];
    let of_somebody = folder.parent() == Some(Path::new("/home"));
    of_somebody || homes.into_iter().flatten().any(|home| home.starts_with(folder))
}
