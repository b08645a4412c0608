//! What a confined command is to see, as a list of mounts to be made in order. Looks at the system as it is; changes
//! nothing.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{FailedStep, lock, placeholders::Placeholders, plan::Plan};
use crate::Level;

/// One mount. Each shows, at its path, ...
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    /// an empty private folder.
    Empty(PathBuf),
    /// what is there, as it is.
    Writable(PathBuf),
    /// what is there, read-only.
    ReadOnly(PathBuf),
    /// a view of what is there, read-only, in which pipes and sockets lead to nobody outside; where there is no such
    /// view, what is there, read-only.
    Apart(PathBuf),
    /// a throw-away view of what is there; read-only where there is no such thing.
    ThrowAway(PathBuf),
    /// the same, but where there is no such thing it is read-only with private build folders, and a note says so.
    Verify(PathBuf),
    /// an empty file that cannot be written.
    Nothing(PathBuf),
}

impl Cover {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Empty(path)
            | Self::Writable(path)
            | Self::ReadOnly(path)
            | Self::Apart(path)
            | Self::ThrowAway(path)
            | Self::Verify(path)
            | Self::Nothing(path) => path,
        }
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct FileView {
    /// In the order in which they are made.
    pub(crate) covers: Vec<Cover>,
    /// Where the command may write, for the second layer.
    pub(crate) writable: Vec<PathBuf>,
    /// Private folders that nobody has to write into once all is mounted.
    pub(crate) sealed: Vec<PathBuf>,
    /// Links to be made where everything is missing: where each is, and what it says.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Files below /run that are kept.
    pub(crate) kept_in_run: Vec<PathBuf>,
    /// Added to the command's environment.
    pub(crate) env: Vec<(&'static str, OsString)>,
    /// What the reader of the result should know.
    pub(crate) notes: Vec<String>,
}

/// Not homes, whoever says so.
const SYSTEM: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/media", "/mnt", "/nix", "/opt", "/proc",
    "/run", "/sbin", "/srv", "/sys", "/usr", "/var",
];

/// What is only for the system's own user, and of no use to a command.
const KEYS_OF_THE_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
];

impl FileView {
    pub(crate) fn new(plan: &Plan, placeholders: &Placeholders) -> Result<Self, FailedStep> {
        let mut view = Self { notes: plan.notes.clone(), ..Self::default() };
        let workspace = plan.workspace();
        view.hide_homes(plan);
        view.hide_shared_folders();
        view.show_toolchains(plan);
        let readable = plan.readable.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        view.covers.extend(readable.filter(|path| !path.starts_with(workspace)).map(Cover::ReadOnly));
        view.hide(plan, |path| !path.starts_with(workspace));
        view.hide_keys_of_the_system();
        view.show_workspace(plan);
        // What is above comes first, so that what is below is put into it. At one path, what shows something wins.
        view.covers.sort_by_cached_key(|cover| (cover.path().components().count(), cover.clone()));
        view.covers.dedup();
        // Each of these shows a part of the workspace as it is, so what is hidden in there comes after them.
        let below = |cover: &mut Cover| cover.path().starts_with(workspace) && cover.path() != workspace;
        let hidden: Vec<Cover> = view.covers.extract_if(.., below).collect();
        view.open_workspace(plan);
        let mut guards: Vec<Cover> = placeholders.pinned.iter().cloned().map(Cover::Writable).collect();
        // Only where the workspace is writable to begin with: a pin shows what is there as it is.
        let excepted = |pin: &Path| placeholders.guarded.iter().any(|guarded| pin.starts_with(guarded));
        guards.retain(|pin| plan.writable.iter().any(|open| pin.path().starts_with(open)));
        guards.retain(|pin| !excepted(pin.path()));
        guards.extend(placeholders.guarded.iter().cloned().map(Cover::ReadOnly));
        guards.sort_by_cached_key(|guard| guard.path().components().count());
        view.covers.extend(guards);
        view.covers.extend(hidden);
        view.hide(plan, |path| path.starts_with(workspace));
        view.env.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name, OsString::from("/tmp"))));
        // Covers are mounts, at which git would stop looking for its folder.
        view.env.push(("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".into()));
        view.writable.push("/dev".into());
        // A home that is the workspace is no private folder any more.
        view.sealed.retain(|path| path != workspace);
        view.tell_of_another_owner(plan);
        Ok(view)
    }

    /// Hides every home, and gives the command one of its own: that of the plan, or an empty one.
    fn hide_homes(&mut self, plan: &Plan) {
        let (own, homes) = homes(plan);
        for home in &homes {
            self.covers.push(Cover::Empty(home.clone()));
            if own.as_ref() != Some(home) || plan.home.is_some() {
                self.sealed.push(home.clone());
            }
        }
        let kept = plan.home.as_ref().map(PathBuf::from);
        self.covers.extend(kept.clone().map(Cover::Writable));
        let own = kept.or(own).unwrap_or_else(|| "/tmp".into());
        self.writable.push(own.clone());
        self.env.push(("HOME", own.into()));
    }

    /// Folders that all users share, and where services put their sockets.
    fn hide_shared_folders(&mut self) {
        for (name, writable) in [("/tmp", true), ("/var/tmp", true), ("/run", false), ("/var/run", false)] {
            let Some(path) = Path::new(name).canonicalize().ok().filter(|path| path.is_dir()) else {
                continue;
            };
            let list = if writable { &mut self.writable } else { &mut self.sealed };
            if !list.contains(&path) {
                list.push(path.clone());
            }
            self.covers.push(Cover::Empty(path));
        }
        // How names are looked up, and on some systems where every program is.
        let kept =
            ["/etc/resolv.conf", "/run/current-system"].iter().filter_map(|path| fs::canonicalize(path).ok());
        self.kept_in_run.extend(kept.filter(|path| path.starts_with("/run")));
    }

    fn show_toolchains(&mut self, plan: &Plan) {
        // What is in the workspace is part of the work, and shown as that is.
        let outside = |path: &PathBuf| !path.starts_with(&plan.workspace);
        for folder in plan.toolchains.iter().map(PathBuf::from).filter(outside) {
            if plan.level == Level::Inspect {
                self.covers.push(Cover::ReadOnly(folder));
            } else {
                self.writable.push(folder.clone());
                self.covers.push(Cover::ThrowAway(folder));
            }
        }
        let secrets = plan.secrets.iter().map(PathBuf::from);
        secrets.filter(outside).for_each(|path| self.hide_one(path));
    }

    /// What only the system's own user can read is out of everybody else's sight anyway.
    fn hide_keys_of_the_system(&mut self) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let keys = fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|entry| entry.path());
        let keys = keys.filter(|path| path.as_os_str().as_encoded_bytes().ends_with(b"_key"));
        let all = KEYS_OF_THE_SYSTEM.iter().map(PathBuf::from).chain(keys);
        all.filter_map(|path| path.canonicalize().ok()).for_each(|path| self.hide_one(path));
    }

    fn hide(&mut self, plan: &Plan, which: impl Fn(&Path) -> bool) {
        let hidden = plan.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        // The folder of locks is out of sight unless the workspace is around it.
        let places = lock::folders().into_iter().filter_map(|path| path.canonicalize().ok());
        let places = places.filter(|path| path.starts_with(&plan.workspace));
        hidden.chain(places).filter(|path| which(path)).for_each(|path| self.hide_one(path));
    }

    fn hide_one(&mut self, path: PathBuf) {
        if path.is_dir() {
            self.sealed.push(path.clone());
            self.covers.push(Cover::Empty(path));
        } else {
            self.covers.push(Cover::Nothing(path));
        }
    }

    fn show_workspace(&mut self, plan: &Plan) {
        let workspace = plan.workspace().to_owned();
        self.covers.push(match plan.level {
            Level::Inspect => Cover::Apart(workspace),
            Level::Verify => Cover::Verify(workspace),
            Level::Full if is_writable(plan) => {
                self.writable.push(workspace.clone());
                Cover::Writable(workspace)
            }
            Level::Full => Cover::ReadOnly(workspace),
        });
    }

    /// What else is writable in the workspace, unless an exception covers it.
    fn open_workspace(&mut self, plan: &Plan) {
        if plan.level != Level::Full || is_writable(plan) {
            return;
        }
        let excepted = |path: &Path| plan.read_only.iter().any(|exception| path.starts_with(exception));
        let mut open: Vec<PathBuf> = plan.writable.iter().map(PathBuf::from).collect();
        open.retain(|path| !excepted(path) && path.exists());
        open.sort();
        self.writable.extend(open.iter().cloned());
        self.covers.extend(open.into_iter().map(Cover::Writable));
    }

    /// Without privileges even the system's own user is a stranger in the folder of another.
    fn tell_of_another_owner(&mut self, plan: &Plan) {
        let me = rustix::process::geteuid().as_raw();
        let owner = plan.workspace().metadata().map_or(me, |found| found.uid());
        if plan.level != Level::Inspect && owner != me {
            let note = "the workspace belongs to another user: a confined command may write there only \
                        what that user lets everybody write";
            self.notes.push(note.to_owned());
        }
    }
}

/// Whether the workspace is writable as a whole.
fn is_writable(plan: &Plan) -> bool {
    plan.writable.iter().any(|path| Path::new(path) == plan.workspace())
}

/// The command's own home, and every home there is.
pub(crate) fn homes(plan: &Plan) -> (Option<PathBuf>, Vec<PathBuf>) {
    let own = plan.env("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    let own = own.filter(|home| !SYSTEM.iter().any(|folder| home == Path::new(folder)));
    let listed = [Some("/root".into()), Some("/home".into()), home_of_this_user()];
    let listed = listed.into_iter().flatten().filter_map(|home: PathBuf| home.canonicalize().ok());
    let mut homes: Vec<PathBuf> = listed.chain(own.clone()).filter(|home| home.is_dir()).collect();
    homes.retain(|home| !SYSTEM.iter().any(|folder| home == Path::new(folder)));
    homes.sort();
    homes.dedup();
    (own, homes)
}

/// As the user list has it, which is not always what the environment says.
pub(crate) fn home_of_this_user() -> Option<PathBuf> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let fields = list.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = fields.into_iter().find(|fields| fields.get(2) == Some(&uid.as_str()))?;
    own.get(5).map(PathBuf::from)
}
