//! Ways round the guard of names that need no race: by folders too deep or too closed to be looked at, and by links and
//! exchanges that are made before there is anything to see. Each does its damage where nothing is guarded.

use std::{fs, path::Path, process};

use posse_sandbox::{CommandExit, Level};

use crate::python;

/// What none of them may bring about, as a program would look for it: through links.
const OBEYED: &[&str] = &[
    ".zed",
    "app/.zed",
    ".cargo/config.toml",
    ".jj/repo/config.toml",
    ".local/share/nvim",
    "conf/cargo/config.toml",
    "scripts/hooks",
    "extra.inc",
];

/// `ROOT` is the workspace, `down(n)` enters new folders until the path has about so many bytes.
const BEFORE: &str = "
ROOT = os.getcwd()
def down(bytes):
    left = bytes - len(os.getcwd())
    while left > 1:
        name = 'd' * min(200, left - 1)
        os.mkdir(name); os.chdir(name)
        left -= len(name) + 1
def put(path, text='evil'):
    if os.path.dirname(path): os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file: file.write(text)
def exchange(a, b): return call(316 if os.uname().machine == 'x86_64' else 276, -100, a.encode(), -100, b.encode(), 2)
";

const WAYS: &[&str] = &[
    // Deeper than a path is long.
    "down(4300); os.mkdir('.zed')",
    "down(4300); put('.zed')",
    "down(4300); os.makedirs('sub/.git/refs'); os.makedirs('sub/.git/objects'); put('sub/.git/HEAD'); put('sub/.git/config')",
    "down(4300); put('x'); os.rename('x', ROOT + '/.zed')",
    "down(4300); put('W/config.toml'); os.rename('W', ROOT + '/.cargo')",
    "down(4300); put('x'); os.link('x', ROOT + '/.zed')",
    "down(4090); put('f'); put('long-name'); os.rename('long-name', '.zed')",
    "down(4085); os.mkdir('W'); os.rename('W', '.zed-and-more'); os.mkdir('.zed')",
    "put('W/repo/config.toml'); down(4085); os.rename(ROOT + '/W', 'W'); D = os.open('.', os.O_RDONLY); os.chdir(ROOT); \
     os.rename('W', '.jj', src_dir_fd=D)",
    // In folders that cannot be entered any more.
    "os.makedirs('P/F/W'); D = os.open('P/F', os.O_RDONLY); os.chmod('P', 0); os.rename('W', '.zed', src_dir_fd=D, dst_dir_fd=D); \
     os.chmod('P', 0o755); os.rename('P/F', 'app')",
    "os.makedirs('P/F'); D = os.open('P/F', os.O_RDONLY); os.symlink(ROOT + '/.zed', 'P/F/a'); os.chmod('P', 0); \
     os.open('a', os.O_CREAT | os.O_WRONLY, dir_fd=D)",
    "os.makedirs('P/F'); D = os.open('P/F', os.O_RDONLY); os.symlink(ROOT, 'P/F/a'); os.chmod('P', 0); os.mkdir('a/.zed', dir_fd=D)",
    "put('W/repo/config.toml'); os.chmod('W/repo', 0); os.rename('W', '.jj'); os.chmod('.jj/repo', 0o755)",
    "put('W/repo/config.toml'); os.chmod('W', 0o300); os.rename('W', '.jj'); os.chmod('.jj', 0o755)",
    "put('W/s/config.toml'); os.chmod('W/s', 0); os.symlink('W/s', '.cargo'); os.chmod('W/s', 0o755)",
    // Links that are there before what they lead to.
    "os.mkdir('s'); os.symlink('s', '.cargo'); put('.cargo/config.toml')",
    "os.symlink('s', '.cargo'); put('s/config.toml')",
    "os.symlink(ROOT + '/s', '.cargo'); put('s/config.toml')",
    "os.symlink('s', 'l'); os.rename('l', '.cargo'); put('s/config.toml')",
    "os.symlink('s', 'l'); os.link('l', '.cargo', follow_symlinks=False); put('s/config.toml')",
    "os.mkdir('.local'); os.symlink('../s', '.local/share'); put('s/nvim/x')",
    "os.mkdir('W'); os.symlink('../s', 'W/share'); os.rename('W', '.local'); put('s/nvim/x')",
    "os.symlink('s', 'l'); os.mkdir('.cargo'); exchange('l', '.cargo'); put('s/config.toml')",
    "os.symlink('node_modules/x', 'app'); put('node_modules/x/.zed/f')",
    "os.symlink('node_modules/x', 'l'); os.rename('l', 'app'); put('node_modules/x/.zed/f')",
    "os.mkdir('node_modules'); os.symlink('node_modules/x', 'node_modules/l'); os.rename('node_modules/l', 'app'); \
     put('node_modules/x/.zed/f')",
    // Packages that are moved to where their settings count.
    "put('node_modules/x/.zed/f'); os.rename('node_modules/x', 'app')",
    "put('node_modules/x/.zed/f'); os.chmod('node_modules/x', 0o300); os.rename('node_modules/x', 'app'); os.chmod('app', 0o755)",
    "os.mkdir('app'); put('node_modules/x/.zed/f'); exchange('node_modules/x', 'app')",
    "os.mkdir('app'); put('node_modules/x/.zed/f'); exchange('app', 'node_modules/x')",
    // The other way round.
    "os.mkdir('.cargo'); put('evil/config.toml'); exchange('evil', '.cargo')",
    "os.mkdir('.cargo'); put('evil/config.toml'); exchange('.cargo', 'evil')",
    // What settings of git or links in the repository name, and is not there.
    "put('scripts/hooks/pre-commit')",
    "os.symlink('s', 'scripts'); put('s/hooks/pre-commit')",
    "put('W/hooks/pre-commit'); os.rename('W', 'scripts')",
    "put('W/hooks/pre-commit'); os.mkdir('scripts'); exchange('scripts', 'W')",
    "put('W'); os.rename('W', 'extra.inc')",
    "put('W'); os.link('W', 'extra.inc')",
    "os.symlink('W', 'extra.inc'); put('W')",
    "put('conf/cargo/config.toml')",
    "put('W/cargo/config.toml'); os.rename('W', 'conf')",
    "os.symlink('s', 'conf'); put('s/cargo/config.toml')",
];

/// What is left of it in a folder, if anything.
fn left(root: &Path) -> Vec<String> {
    let mut left: Vec<String> =
        OBEYED.iter().filter(|name| root.join(name).exists()).map(|name| (*name).to_owned()).collect();
    // Also where no path leads any more.
    let found =
        process::Command::new("find").arg(root).args(["-name", ".zed", "-o", "-name", ".git"]).output();
    let found = String::from_utf8_lossy(&found.unwrap().stdout).into_owned();
    let places = found.lines().filter(|line| !line.contains("/node_modules/"));
    left.extend(places.map(|line| line.rsplit('/').take(2).collect::<Vec<_>>().join(" in ")));
    left
}

/// Takes one of them, and says how it ended and what is left.
async fn take(way: &str, guarded: bool) -> (CommandExit, Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let program = format!("{BEFORE}\ntry:\n {}\nexcept OSError as e: print(e)", way.replace("; ", "\n "));
    let mut command = python(Level::Full, &root, &program);
    let profile = command.confinement.as_mut().unwrap();
    // No mount stands behind it.
    profile.protected.clear();
    profile.guard_names = guarded;
    profile.covered =
        ["scripts/hooks", "extra.inc", "conf/cargo/config.toml"].map(|name| root.join(name)).to_vec();
    let finished = posse_sandbox::run(command).await.unwrap();
    let said = String::from_utf8_lossy(&finished.output.bytes()).into_owned();
    let left = left(&root);
    // The deepest are beyond what a library removes.
    let _ = process::Command::new("chmod").arg("-R").arg("u+rwx").arg(&root).status();
    let _ = process::Command::new("rm").arg("-rf").arg(&root).status();
    fs::create_dir_all(&root).unwrap();
    (finished.exit, left, said)
}

#[tokio::test]
async fn no_way_round_leaves_a_protected_name() {
    let mut faults = Vec::new();
    for way in WAYS {
        let (exit, left, said) = take(way, true).await;
        if exit != CommandExit::Code(0) || !left.is_empty() {
            faults.push(format!("{way}: {exit:?} {left:?} {said}"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), WAYS.len(), faults.join("\n"));
    assert!(WAYS.len() >= 42);
}

#[tokio::test]
async fn every_way_round_is_a_real_one() {
    for way in WAYS {
        let (exit, left, said) = take(way, false).await;
        assert!(exit == CommandExit::Code(0) && !left.is_empty(), "{way}: {exit:?} {said}");
    }
}
