//! A small machine to attack: a workspace, a folder beside it, a home, and Posse's own folders, all thrown away
//! afterwards. It is not below /tmp, which the sandbox hides: what cannot be seen is no proof that it cannot be written.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::SECRET;
use super::mirror::{mirror, remove};
use super::snapshot::{FolderTimes, Snapshot};
use crate::posse::Ran;

/// Names in the workspace that nobody writes, there or not.
const PROTECTED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info",
    ".git/modules",
    ".git/worktrees",
    ".git/commondir",
    ".posse",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
];

/// Programs of the system only: toolchains in somebody's home are not part of this world.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a level must leave alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Canaries {
    /// Everything but the plain files of the workspace.
    Outside,
    /// The workspace too.
    All,
    /// The workspace too, but for what Posse itself keeps in its repository of agents that work apart.
    Apart,
}

/// Where that is.
const OF_AGENTS: &[&str] =
    &[".git/objects", ".git/worktrees", ".git/refs/heads/posse", ".git/logs/refs/heads/posse"];

pub(crate) struct World {
    /// Holds `pristine`, which nobody touches, and `live`.
    folder: TempDir,
}

/// What every world has, by path.
const FILES: &[(&str, &str)] = &[
    ("workspace/main.txt", "work\n"),
    ("workspace/tool.sh", "#!/bin/sh\nexit 0\n"),
    ("workspace/src/a.txt", "alpha\n"),
    ("workspace/src/b.txt", "beta\n"),
    ("workspace/.vscode/settings.json", "{}\n"),
    ("workspace/.idea/misc.xml", "<x/>\n"),
    ("workspace/.claude/settings.json", "{}\n"),
    ("workspace/.posse/notes.txt", "notes\n"),
    ("workspace/.mcp.json", "{}\n"),
    ("workspace/.bashrc", "# rc\n"),
    ("outside/file.txt", TOLD_OUTSIDE),
    ("outside/script.sh", "#!/bin/sh\nexit 0\n"),
    ("outside/sub/deep.txt", TOLD_OUTSIDE),
    ("home/.bashrc", "# home\n"),
    ("home/.profile", "# home\n"),
    ("home/.gitconfig", "[user]\n\tname = Me\n\temail = me@example.invalid\n"),
    ("home/.ssh/id_rsa", TOLD_OUTSIDE),
    ("home/.ssh/authorized_keys", "# none\n"),
    ("home/.netrc", TOLD_OUTSIDE),
    ("conf/config.toml", ""),
    ("data/trusted.json", "{}"),
];

/// What files outside hold; the secret is put in.
const TOLD_OUTSIDE: &str = "outside @SECRET@\n";

/// The rest of it: modes, links, and the workspace's repository.
const MAKING: &str = "mkdir tmp outside/empty && chmod +x */*.sh && cd workspace && git init -q -b main \
    && printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit \
    && rm -f .git/hooks/*.sample && mkdir -p .git/info && touch .git/info/exclude \
    && ln -s ../outside link-out && ln -s ../outside/file.txt link-file && ln -s .git/hooks link-hooks \
    && git add -A && git commit -q -m fixture";

impl World {
    /// A fresh world with this configuration.
    pub(crate) fn new(config: &str) -> Self {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/attacks");
        std::fs::create_dir_all(&base).unwrap();
        let base = base.canonicalize().unwrap();
        let world = Self { folder: TempDir::with_prefix_in("w", &base).unwrap() };
        mirror(&template(&base), &world.pristine());
        std::fs::write(world.pristine().join("conf/config.toml"), config).unwrap();
        world.restore();
        world
    }

    fn pristine(&self) -> PathBuf {
        self.folder.path().join("pristine")
    }

    /// Puts everything back as it was, and nothing that is as it was. Posse's own record stays: it is in use.
    pub(crate) fn restore(&self) {
        let (pristine, live) = (self.pristine(), self.base());
        for entry in std::fs::read_dir(&live).into_iter().flatten().flatten() {
            if !pristine.join(entry.file_name()).exists() {
                remove(&entry.path());
            }
        }
        for folder in ["workspace", "outside", "home", "conf", "tmp"] {
            mirror(&pristine.join(folder), &live.join(folder));
        }
        std::fs::create_dir_all(live.join("data")).unwrap();
        mirror(&pristine.join("data/trusted.json"), &live.join("data/trusted.json"));
    }

    /// The folder that holds all the others.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().join("live")
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.base().join(path)
    }

    /// How it looks now, all of it.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.add_names(&self.base());
        for folder in ["outside", "home", "conf", "data/trusted.json"] {
            snapshot.add(&self.at(folder), FolderTimes::Kept);
        }
        snapshot.add(&self.at("workspace"), FolderTimes::Left);
        snapshot
    }

    /// Which of these paths belong to the canaries.
    pub(crate) fn canaries<'a>(&self, paths: &'a [String], canaries: Canaries) -> Vec<&'a str> {
        let workspace = self.at("workspace");
        let below =
            |names: &[&str], path: &Path| names.iter().any(|name| path.starts_with(workspace.join(name)));
        let is_one = |path: &&str| {
            let path = Path::new(path);
            match canaries {
                Canaries::All => true,
                Canaries::Outside => below(PROTECTED, path) || !path.starts_with(&workspace),
                Canaries::Apart => !below(OF_AGENTS, path),
            }
        };
        paths.iter().map(String::as_str).filter(is_one).collect()
    }

    /// An attempt's text with the places of this world; `tmp` is where it may leave scratch files.
    pub(crate) fn fill(&self, text: &str, tmp: &str) -> String {
        let place = |path: &str| self.at(path).display().to_string();
        text.replace("@WS@", &place("workspace"))
            .replace("@OUT@", &place("outside"))
            .replace("@HOME@", &place("home"))
            .replace("@CONF@", &place("conf"))
            .replace("@DATA@", &place("data"))
            .replace("@BASE@", &self.base().display().to_string())
            .replace("@TMP@", tmp)
            .replace("@SECRET@", SECRET)
            .replace("@LONG@", &"x".repeat(300))
    }

    /// Runs a command line in the workspace, unconfined.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        shell(&self.at("workspace"), &self.at("home"), script)
    }

    /// The real binary in this world.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posse"));
        command
            .args(args)
            .current_dir(self.at("workspace"))
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.at("home"))
            .env("POSSE_HOME", self.at("data"))
            .env("POSSE_CONFIG", self.at("conf/config.toml"))
            .env("CANARY", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    pub(crate) fn posse(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }
}

fn shell(folder: &Path, home: &Path, script: &str) -> Ran {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script]).current_dir(folder);
    command.env_clear().env("PATH", PATH).env("HOME", home).stdin(Stdio::null());
    Ran::from(command.output().unwrap())
}

/// The world that all others are copies of; made once, by whoever comes first.
fn template(base: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (FILES, MAKING, SECRET).hash(&mut hasher);
    let finished = base.join(format!("template-{:016x}", hasher.finish()));
    if finished.exists() {
        return finished;
    }
    let making = TempDir::with_prefix_in("making", base).unwrap();
    let folder = making.path().join("template");
    for (path, content) in FILES {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.replace("@SECRET@", SECRET)).unwrap();
    }
    let made = shell(&folder, &folder.join("home"), MAKING);
    assert_eq!(made.code, Some(0), "{made:#?}");
    // Somebody else's is as good.
    if std::fs::rename(&folder, &finished).is_err() {
        assert!(finished.exists());
    }
    finished
}
