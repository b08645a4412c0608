//! What other programs obey by themselves is left as it is where no mount covers it, by whatever call it is named.

use std::fs;

use posse_sandbox::{CommandExit, Level};

use crate::{names_in, python};

/// Ways to make, change or remove `V`, a protected folder with a file `V/f` in it, or to have something else take its name.
/// `W` is a folder that is not protected, `M` a file.
const WAYS: &[&str] = &[
    "os.mkdir(V)",
    "os.mkdir(V + '/')",
    "os.mkdir('./W/../' + V)",
    "os.mkdir(V, dir_fd=os.open('.', os.O_RDONLY))",
    "os.mkdir('/proc/self/cwd/' + V)",
    "os.mkdir('here/' + V)",
    "os.symlink('/proc/self/cwd', 'own'); os.mkdir('own/' + V)",
    "os.mkdir(os.getcwd() + '/' + V)",
    "os.chdir('W'); os.mkdir('../' + V)",
    "os.rename('W', V)",
    "os.rename('W', V + '/')",
    "os.rename('W', V, src_dir_fd=os.open('.', os.O_RDONLY), dst_dir_fd=os.open('.', os.O_RDONLY))",
    "call(316, -100, b'W', -100, V.encode(), 0) if os.uname().machine == 'x86_64' else os.rename('W', V)",
    "os.symlink('W', V)",
    "os.symlink('/tmp', V)",
    "os.symlink('W', V, dir_fd=os.open('.', os.O_RDONLY))",
    "os.link('M', V)",
    "os.link('M', V, src_dir_fd=os.open('.', os.O_RDONLY), dst_dir_fd=os.open('.', os.O_RDONLY))",
    "os.mkfifo(V)",
    "open(V, 'w')",
    "open(V, 'a')",
    "open(V, 'x')",
    "os.open(V, os.O_RDONLY | os.O_CREAT)",
    "f = os.open('.', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{f}', V, follow_symlinks=True)",
    "os.symlink(V, 'dangling'); open('dangling', 'w')",
    "os.symlink(os.getcwd() + '/' + V + '/f', 'dangling'); open('dangling', 'w')",
    "import subprocess; subprocess.run(['mkdir', '-p', V])",
    "import subprocess; subprocess.run(['cp', '-r', 'W', V])",
    "import subprocess; subprocess.run(['mv', 'W', V])",
    "import subprocess; subprocess.run(['install', '-D', 'M', V + '/f'])",
    "import tarfile; t = tarfile.open('/tmp/t', 'w'); t.add('M', V + '/f'); t.close(); tarfile.open('/tmp/t').extractall('.')",
    "socket.socket(socket.AF_UNIX).bind(V)",
    "libc.prctl(4, 0); os.mkdir(V)",
    "t = threading.Thread(target=os.mkdir, args=(V,)); t.start(); t.join()",
];

/// The same for one that is there.
const CHANGES: &[&str] = &[
    "open(V + '/f', 'w')",
    "open(V + '/f', 'r+')",
    "os.truncate(V + '/f', 0)",
    "os.unlink(V + '/f')",
    "os.rename(V, 'away')",
    "os.rename(V + '/f', 'away')",
    "os.rename('M', V + '/f')",
    "os.rename('M', V + '/g')",
    "os.chmod(V + '/f', 0o777)",
    "os.chmod(os.open(V + '/f', os.O_RDONLY), 0o777)",
    "os.utime(V + '/f', (1, 1))",
    "os.utime(os.open(V + '/f', os.O_RDONLY), (1, 1))",
    "os.setxattr(V + '/f', 'user.a', b'x')",
    "os.setxattr(os.open(V + '/f', os.O_RDONLY), 'user.a', b'x')",
    "os.link(V + '/f', 'other'); open('other', 'w')",
    "os.mkdir(V + '/sub')",
    "os.symlink(V, 'way'); open('way/f', 'w')",
    "f = os.open(V + '/f', os.O_RDONLY); open(f'/dev/fd/{f}', 'w')",
    "f = os.open(V + '/f', os.O_RDONLY); open(f'/proc/thread-self/fd/{f}', 'w')",
    "os.chdir(V); open('f', 'w')",
    "import shutil; shutil.rmtree(V)",
    "import subprocess; subprocess.run(['sed', '-i', 's/x/y/', V + '/f'])",
    "import subprocess; subprocess.run(['ln', '-sfn', 'W', V])",
];

async fn left_as_it_was(way: &str, name: &str, exists: bool) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("W")).unwrap();
    fs::write(at("W/f"), "evil").unwrap();
    fs::write(at("M"), "evil").unwrap();
    std::os::unix::fs::symlink(".", at("here")).unwrap();
    fs::create_dir_all(at(name).parent().unwrap()).unwrap();
    if exists {
        fs::create_dir_all(at(name)).unwrap();
        fs::write(at(name).join("f"), "x").unwrap();
    }
    let program = format!("V = '{name}'\ntry:\n {}\nexcept OSError as e: pass", way.replace("; ", "\n "));
    let mut command = python(Level::Full, folder.path(), &program);
    // No mount stands behind it.
    command.confinement.as_mut().unwrap().protected.clear();
    let finished = posse_sandbox::run(command).await.unwrap();
    let stderr = String::from_utf8_lossy(&finished.stderr.bytes()).into_owned();
    assert_eq!(finished.exit, CommandExit::Code(0), "{way}: {stderr}");
    assert_eq!(at(name).symlink_metadata().is_ok(), exists, "{way}");
    if exists {
        assert_eq!(names_in(&at(name)), ["f"], "{way}");
        assert_eq!(fs::read_to_string(at(name).join("f")).unwrap(), "x", "{way}");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&at(name).join("f").metadata().unwrap().permissions());
        assert_eq!(mode & 0o111, 0, "{way}");
        assert!(
            at(name).join("f").metadata().unwrap().modified().unwrap().elapsed().unwrap().as_secs() < 1000,
            "{way}"
        );
    }
    let notes: Vec<_> = finished.notes.iter().filter(|note| note.contains("was left as it is")).collect();
    assert!(notes.len() == 1 && notes[0].starts_with(name), "{way}: {:?} {stderr}", finished.notes);
}

#[tokio::test]
async fn protected_names_are_not_made_in_any_way() {
    for (index, way) in WAYS.iter().enumerate() {
        // At the root, and as deep as a package or a setting of its own is.
        let name = [".vscode", "packages/app/.vscode", "a/b/c/.cargo/config.toml"][index % 3];
        left_as_it_was(way, name, false).await;
    }
    assert!(WAYS.len() >= 30);
}

#[tokio::test]
async fn protected_names_are_not_changed_in_any_way() {
    for way in CHANGES {
        left_as_it_was(way, "packages/app/.vscode", true).await;
    }
    assert!(CHANGES.len() >= 20);
}

#[tokio::test]
async fn what_is_no_danger_gets_the_usual_answers() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("app/.vscode")).unwrap();
    fs::create_dir_all(folder.path().join(".vscode")).unwrap();
    let program = "
def error(what):
    try: what(); return 0
    except OSError as e: return e.errno
import errno
found = [error(w) for w in (
    lambda: os.mkdir('.vscode'), lambda: os.unlink('.envrc'), lambda: os.rename('.nothing', '.envrc'), lambda: os.open('.envrc', os.O_WRONLY),
    lambda: os.listdir('.vscode'), lambda: os.rename('app', 'app2'), lambda: os.mkdir('vscode'), lambda: os.makedirs('.vscode', exist_ok=True),
    lambda: os.mkdir('.vscode/x'))]
assert found == [errno.EEXIST, errno.ENOENT, errno.ENOENT, errno.ENOENT, 0, 0, 0, 0, errno.EPERM], found
";
    let mut command = python(Level::Full, folder.path(), program);
    command.confinement.as_mut().unwrap().protected.clear();
    let finished = posse_sandbox::run(command.clone()).await.unwrap();
    assert_eq!(finished.exit, CommandExit::Code(0), "{finished:?}");
    assert_eq!(finished.notes.len(), 1, "{finished:?}");
    // Where nobody asked for it, nothing is guarded.
    let program = "os.mkdir('.vscode/x'); open('.envrc', 'w')";
    let mut command = python(Level::Full, folder.path(), program);
    let profile = command.confinement.as_mut().unwrap();
    profile.protected.clear();
    profile.guard_names = false;
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!((finished.exit, finished.notes), (CommandExit::Code(0), vec![]));
}

#[tokio::test]
async fn names_and_repositories_do_not_come_to_be_by_their_parts() {
    let ways = [
        "os.mkdir('W/hooks'); os.rename('W', 'sub/.git')",
        "os.rename('M', 'W/config.toml'); os.rename('W', 'sub/.cargo')",
        "os.rename('M', 'W/config.toml'); os.symlink('../W', 'sub/.cargo')",
        "os.rename('M', 'W/config.toml'); os.symlink('W', 'l'); os.rename('l', '.cargo')",
        "os.mkdir('W/refs'); os.mkdir('W/objects'); os.rename('M', 'W/HEAD')",
        "os.mkdir('W/refs'); os.mkdir('W/objects'); open('W/HEAD', 'w')",
        "os.rename('M', 'W/HEAD'); os.mkdir('W/refs'); os.symlink('/tmp', 'W/objects')",
        "os.rename('M', 'W/HEAD'); os.mkdir('W/objects'); os.rename('sub', 'W/refs')",
        "import subprocess; subprocess.run(['git', 'init', '-q', 'sub'], stderr=-3)",
        "import subprocess; subprocess.run(['git', 'init', '-q', '--bare', 'sub'], stderr=-3)",
    ];
    for way in ways {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("W")).unwrap();
        fs::create_dir_all(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("M"), "").unwrap();
        let program = format!("try:\n {}\nexcept OSError: pass", way.replace("; ", "\n "));
        let mut command = python(Level::Full, folder.path(), &program);
        command.confinement.as_mut().unwrap().protected.clear();
        let finished = posse_sandbox::run(command).await.unwrap();
        assert!(finished.notes.iter().any(|note| note.contains("left as it is")), "{way}: {finished:?}");
        let whole = |place: &str| {
            ["HEAD", "refs", "objects"].iter().all(|part| folder.path().join(place).join(part).exists())
        };
        let made = ["sub/.git", "sub/.cargo/config.toml", ".cargo/config.toml"]
            .map(|name| folder.path().join(name).exists());
        assert_eq!((made, whole("W"), whole("sub")), ([false; 3], false, false), "{way}");
    }
}

/// Requests that make a name without a call that names one; whether a file system has them or not.
#[tokio::test]
async fn no_file_system_is_asked_to_make_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = format!(
        "
import errno
names = [0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f, 0x4020bc10, 0x4020bc11, 0x40186f04]
here = os.open('.', os.O_RDONLY)
found = {{call({}, here, name, bytes(4096)) for name in names}}
assert found == {{-errno.EPERM}}, found
",
        libc::SYS_ioctl
    );
    let finished = posse_sandbox::run(python(Level::Full, folder.path(), &program)).await.unwrap();
    assert_eq!(finished.exit, CommandExit::Code(0), "{finished:?}");
}
