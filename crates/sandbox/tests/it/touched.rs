//! What a command named in order to change it is known afterwards, by whatever call it did that.

use std::{
    collections::BTreeSet, fs, os::unix::ffi::OsStrExt, os::unix::fs::symlink, path::Path, time::Duration,
};

use posse_sandbox::{Came, CommandExit, CommandOutcome, Level, Touched, limits};

use crate::{confined_shell, python};

const NEW: &[(&str, i64)] = &[
    ("fchmodat2", 452),
    ("setxattrat", 463),
    ("removexattrat", 466),
    ("file_setattr", 469),
    ("openat", libc::SYS_openat),
    ("truncate", libc::SYS_truncate),
    ("unlinkat", libc::SYS_unlinkat),
    ("renameat", libc::SYS_renameat),
    ("renameat2", libc::SYS_renameat2),
    ("linkat", libc::SYS_linkat),
    ("symlinkat", libc::SYS_symlinkat),
    ("mkdirat", libc::SYS_mkdirat),
    ("mknodat", libc::SYS_mknodat),
    ("fchmod", libc::SYS_fchmod),
    ("fchmodat", libc::SYS_fchmodat),
    ("fchown", libc::SYS_fchown),
    ("fchownat", libc::SYS_fchownat),
    ("utimensat", libc::SYS_utimensat),
    ("setxattr", libc::SYS_setxattr),
    ("lsetxattr", libc::SYS_lsetxattr),
    ("fsetxattr", libc::SYS_fsetxattr),
    ("removexattr", libc::SYS_removexattr),
    ("lremovexattr", libc::SYS_lremovexattr),
    ("fremovexattr", libc::SYS_fremovexattr),
];

#[cfg(target_arch = "x86_64")]
const OLD: &[(&str, i64)] = &[
    ("open", libc::SYS_open),
    ("creat", libc::SYS_creat),
    ("unlink", libc::SYS_unlink),
    ("rmdir", libc::SYS_rmdir),
    ("rename", libc::SYS_rename),
    ("link", libc::SYS_link),
    ("symlink", libc::SYS_symlink),
    ("mkdir", libc::SYS_mkdir),
    ("mknod", libc::SYS_mknod),
    ("chmod", libc::SYS_chmod),
    ("chown", libc::SYS_chown),
    ("lchown", libc::SYS_lchown),
    ("utime", libc::SYS_utime),
    ("utimes", libc::SYS_utimes),
    ("futimesat", libc::SYS_futimesat),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[(&str, i64)] = &[];

/// The call with its arguments (`D` is the folder `dir`, opened; `F` the file `file`, opened for reading; `H` is here), and
/// what of the workspace it names.
const CASES: &[(&str, &str, &[&str])] = &[
    ("openat", "H, b'link/new', os.O_WRONLY | os.O_CREAT, 0o644", &["dir/new"]),
    ("openat", "D, b'inner', os.O_RDWR", &["dir/inner"]),
    ("openat", "D, b'../file', os.O_WRONLY", &["file"]),
    ("openat", "H, b'flink', os.O_WRONLY | os.O_APPEND", &["dir/inner"]),
    ("openat", "H, b'flink', os.O_RDONLY | os.O_TRUNC", &["dir/inner"]),
    ("openat", "H, b'flink', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600", &["flink!"]),
    ("openat", "H, b'flink', os.O_WRONLY | os.O_NOFOLLOW", &["flink"]),
    ("openat", "H, b'dangling', os.O_WRONLY | os.O_CREAT, 0o600", &["dir/made"]),
    ("openat", "H, b'dir//./../dir/inner', os.O_WRONLY", &["dir/inner"]),
    ("openat", "H, b'/proc/self/cwd/link/inner', os.O_WRONLY", &["dir/inner"]),
    ("openat", "H, b'/proc/thread-self/cwd/file', os.O_WRONLY", &["file"]),
    ("openat", "H, b'/proc/%d/root%s/file' % (os.getpid(), os.getcwdb()), os.O_WRONLY", &["file"]),
    ("openat", "H, b'/proc/self/fd/%d/inner' % D, os.O_WRONLY", &["dir/inner"]),
    ("openat", "H, b'/dev/fd/%d' % F, os.O_WRONLY", &["file"]),
    ("openat", "H, b'own/file', os.O_WRONLY", &["file"]),
    ("openat", "H, os.getcwdb() + b'/link/new', os.O_WRONLY | os.O_CREAT, 0o600", &["dir/new"]),
    ("openat", "D, os.getcwdb() + b'/file', os.O_WRONLY", &["file"]),
    ("openat", "H, b'odd\\xff\\n', os.O_WRONLY | os.O_CREAT, 0o600", &["odd\u{fffd}\n"]),
    ("truncate", "b'flink', 0", &["dir/inner"]),
    ("unlinkat", "D, b'inner', 0", &["dir/inner"]),
    ("unlinkat", "H, b'flink', 0", &["flink"]),
    ("unlinkat", "H, b'empty/', 0x200", &["empty"]),
    ("renameat", "H, b'file', D, b'moved'", &["file/", "dir/moved/"]),
    ("renameat2", "H, b'file', H, b'flink', 2", &["file/", "flink/"]),
    ("renameat2", "H, b'dir', H, b'dir2', 0", &["dir/", "dir2/"]),
    ("renameat2", "H, b'dir/', H, b'empty/', 0", &["dir/", "empty/"]),
    ("linkat", "H, b'file', D, b'hard', 0", &["file", "dir/hard"]),
    ("linkat", "H, b'flink', H, b'hard', 0", &["flink", "hard"]),
    ("linkat", "H, b'flink', H, b'hard', 0x400", &["dir/inner", "hard"]),
    (
        "linkat",
        "H, b'/proc/self/fd/%d' % os.open('dir', os.O_TMPFILE | os.O_RDWR), H, b'named', 0x400",
        &["named"],
    ),
    ("symlinkat", "b'anything', D, b'sym'", &["dir/sym"]),
    ("mkdirat", "D, b'sub/'", &["dir/sub"]),
    ("mknodat", "D, b'pipe', 0o10600, 0", &["dir/pipe"]),
    ("fchmod", "F, 0o600", &["file!"]),
    ("fchmodat", "H, b'flink', 0o600", &["dir/inner!"]),
    ("fchmodat2", "H, b'flink', 0o600, 0x100", &["flink!"]),
    ("fchmodat2", "F, b'', 0o600, 0x1000", &["file!"]),
    ("fchown", "F, -1, -1", &["file!"]),
    ("fchownat", "H, b'flink', -1, -1, 0", &["dir/inner!"]),
    ("fchownat", "H, b'flink', -1, -1, 0x100", &["flink!"]),
    ("fchownat", "D, b'', -1, -1, 0x1000", &["dir!"]),
    ("utimensat", "H, b'flink', 0, 0", &["dir/inner!"]),
    ("utimensat", "H, b'flink', 0, 0x100", &["flink!"]),
    ("utimensat", "F, 0, 0, 0", &["file!"]),
    ("setxattr", "b'flink', b'user.a', b'x', 1, 0", &["dir/inner!"]),
    ("lsetxattr", "b'flink', b'user.a', b'x', 1, 0", &["flink!"]),
    ("fsetxattr", "F, b'user.a', b'x', 1, 0", &["file!"]),
    ("removexattr", "b'flink', b'user.a'", &["dir/inner!"]),
    ("lremovexattr", "b'flink', b'user.a'", &["flink!"]),
    ("fremovexattr", "F, b'user.a'", &["file!"]),
    ("setxattrat", "D, b'inner', 0, b'user.a', bytes(16), 16", &["dir/inner!"]),
    ("removexattrat", "D, b'inner', 0, b'user.a'", &["dir/inner!"]),
    ("file_setattr", "D, b'inner', bytes(24), 24, 0", &["dir/inner!"]),
    ("open", "b'link/new', os.O_RDWR | os.O_CREAT, 0o600", &["dir/new"]),
    ("creat", "b'dangling', 0o600", &["dir/made"]),
    ("unlink", "b'link/inner'", &["dir/inner"]),
    ("rmdir", "b'link/../empty'", &["empty"]),
    ("rename", "b'file', b'link/moved'", &["file/", "dir/moved/"]),
    ("rename", "b'empty', b'link/full'", &["empty/", "dir/full/"]),
    ("rename", "b'link', b'link2'", &["link/", "link2/"]),
    ("link", "b'file', b'link/hard'", &["file", "dir/hard"]),
    ("symlink", "b'x', b'link/sym'", &["dir/sym"]),
    ("mkdir", "b'link/sub'", &["dir/sub"]),
    ("mknod", "b'pipe', 0o10600, 0", &["pipe"]),
    ("chmod", "b'flink', 0o600", &["dir/inner!"]),
    ("chown", "b'flink', -1, -1", &["dir/inner!"]),
    ("lchown", "b'flink', -1, -1", &["flink!"]),
    ("lchown", "b'link/', -1, -1", &["dir!"]),
    ("utime", "b'flink', 0", &["dir/inner!"]),
    ("utimes", "b'flink', 0", &["dir/inner!"]),
    ("futimesat", "D, b'inner', 0", &["dir/inner!"]),
    ("futimesat", "F, 0, 0", &["file!"]),
    // What fails by itself.
    ("openat", "H, b'missing', os.O_WRONLY", &["missing!"]),
    ("openat", "H, b'file', os.O_RDONLY | os.O_CREAT, 0o600", &["file!"]),
    ("truncate", "b'missing', 0", &["missing!"]),
    ("unlinkat", "H, b'missing', 0", &["missing!"]),
    ("renameat", "H, b'missing', H, b'file'", &["missing!", "file!"]),
    ("renameat2", "H, b'file', H, b'flink', 1", &["file!", "flink!"]),
    ("renameat2", "H, b'file', H, b'missing', 2", &["file!", "missing!"]),
    ("renameat", "H, b'empty', H, b'dir'", &["empty!", "dir!"]),
    ("linkat", "H, b'file', H, b'flink', 0", &["file!", "flink!"]),
    ("symlinkat", "b'anything', D, b'inner'", &["dir/inner!"]),
    ("mkdirat", "H, b'dir'", &["dir!"]),
    ("mknodat", "H, b'file', 0o10600, 0", &["file!"]),
    // Nothing of the workspace.
    ("openat", "H, b'file', os.O_RDONLY", &[]),
    ("openat", "H, b'dir', os.O_PATH", &[]),
    ("openat", "H, b'dir', os.O_TMPFILE | os.O_RDWR, 0o600", &[]),
    ("openat", "H, b'/tmp/x', os.O_WRONLY | os.O_CREAT, 0o600", &[]),
    ("openat", "H, b'/dev/null', os.O_RDWR", &[]),
    ("openat", "H, b'/dev/stdout', os.O_WRONLY", &[]),
    ("openat", "H, 0, os.O_WRONLY", &[]),
    ("openat", "-5, b'file', os.O_WRONLY", &[]),
];

fn fill(folder: &Path) {
    let at = |name: &str| folder.join(name);
    fs::create_dir_all(at("dir")).unwrap();
    fs::create_dir_all(at("empty")).unwrap();
    fs::write(at("file"), "x").unwrap();
    fs::write(at("dir/inner"), "x").unwrap();
    symlink("dir", at("link")).unwrap();
    symlink("dir/inner", at("flink")).unwrap();
    symlink("dir/made", at("dangling")).unwrap();
    symlink("/proc/self/cwd", at("own")).unwrap();
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    folder
}

/// Relative to the workspace; what moved with all that is in it ends in `/`, and what holds what it held in `!`.
fn names(touched: &Touched, workspace: &Path) -> BTreeSet<String> {
    let shown =
        |path: &Path, end: &str| format!("{}{end}", path.strip_prefix(workspace).unwrap().to_string_lossy());
    let moved = touched.moved.keys().cloned().collect();
    let kinds = [(&touched.paths, ""), (&moved, "/"), (&touched.marked, "!")];
    kinds.iter().flat_map(|(paths, end)| paths.iter().map(|path| shown(path, end))).collect()
}

async fn ran(command: posse_sandbox::Command) -> CommandOutcome {
    posse_sandbox::run(command).await.unwrap()
}

#[tokio::test]
async fn every_call_is_seen_with_its_real_path() {
    let numbers: Vec<_> = NEW.iter().chain(OLD).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut program = "H = -100\n".to_owned();
    let mut tried = BTreeSet::new();
    let mut expected = BTreeSet::new();
    for (index, (name, arguments, paths)) in CASES.iter().enumerate() {
        let Some((_, number)) = numbers.iter().find(|(known, _)| known == name) else { continue };
        let place = index.to_string();
        fill(&folder.path().join(&place));
        let path = folder.path().join(&place);
        program += &format!(
            "os.chdir('{}'); D = os.open('dir', os.O_RDONLY); F = os.open('file', os.O_RDONLY)\ncall({number}, {arguments})\n",
            path.display()
        );
        expected.extend(paths.iter().map(|path| format!("{place}/{path} by {name}({arguments})")));
        tried.insert(*name);
    }
    let finished = ran(python(Level::Full, folder.path(), &program)).await;
    assert_eq!((finished.exit, finished.touched.complete), (CommandExit::Code(0), true), "{finished:?}");
    let found: BTreeSet<String> = names(&finished.touched, folder.path())
        .into_iter()
        .map(|path| {
            let index: usize = path.split('/').next().unwrap().parse().unwrap();
            let (name, arguments, _) = CASES[index];
            format!("{path} by {name}({arguments})")
        })
        .collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    let wrong: Vec<_> = found.difference(&expected).collect();
    assert_eq!((missing, wrong), (vec![], vec![]));
    assert_eq!(tried.len(), numbers.len());
}

#[tokio::test]
async fn reading_is_not_seen_and_other_levels_leave_nothing() {
    let folder = workspace();
    let reads = "cat file dir/inner flink >/dev/null; ls -lR . >/tmp/list; grep -r x . | wc -l; cd dir; stat ../file; \
                 cp -r .. /tmp/copy; git status; test -w file; : </dev/null; true";
    let finished = ran(confined_shell(Level::Full, folder.path(), reads, |_| {})).await;
    assert_eq!(finished.touched, Touched { complete: true, ..Touched::default() });
    for level in [Level::Inspect, Level::Verify] {
        let line = "echo x > file; mkdir new; rm -rf dir; true";
        let finished = ran(confined_shell(level, folder.path(), line, |_| {})).await;
        assert_eq!(finished.touched, Touched { complete: true, ..Touched::default() }, "{level:?}");
    }
    let unconfined = crate::shell_in(folder.path(), "echo x > file", 20_000).await;
    assert_eq!(unconfined.touched, Touched::default());
}

#[tokio::test]
async fn ordinary_work_is_seen_whoever_does_it() {
    let folder = workspace();
    fs::write(
        folder.path().join("s.c"),
        "#include <fcntl.h>\nint main(){return open(\"dir/static\",O_CREAT|O_WRONLY,0600)<0;}",
    )
    .unwrap();
    let line = "cc -static -o /tmp/s s.c && /tmp/s; (cd dir && (echo x > sub; :) & wait); setsid sh -c 'echo x > far'; \
                sed -i s/x/y/ file; python3 -c \"import subprocess as s; s.run(['touch', 'spawned'])\"; \
                chmod 600 dir/inner; mv empty full; cp file copy";
    let finished = ran(confined_shell(Level::Full, folder.path(), line, |_| {})).await;
    let found = names(&finished.touched, folder.path());
    for name in ["dir/static", "dir/sub", "far", "file", "spawned", "dir/inner!", "empty/", "full/", "copy"] {
        assert!(found.contains(name), "{name}: {finished:?}");
    }
    assert!(finished.touched.complete && !found.contains("s.c"), "{found:?}");
    let at = |name: &str| folder.path().join(name);
    assert!(finished.touched.names(&at("full/anything")) && finished.touched.names(&at("copy")));
    assert!(!finished.touched.names(&at("dir/other")) && !finished.touched.names(&at("dir")));
}

/// What is renamed holds what it held: only what is written counts as that, wherever it is moved.
#[tokio::test]
async fn what_is_moved_about_is_told_from_what_is_written() {
    // What is written, and what is where that was elsewhere: `to<from`, or nothing if it is gone.
    let cases: &[(&str, &str, &str)] = &[
        ("mv -T dir away && mv -T away dir", "", "away< dir<dir"),
        ("mv -T dir a && mv -T a b && mv -T b dir", "", "a< b< dir<dir"),
        ("mv file away && mv away file", "", "away< file<file"),
        ("mv file a && mv a b", "", "a< b<file file<"),
        ("mv dir d && mkdir dir && mv d/inner dir/inner", "dir", "d/inner< d<dir dir/inner<dir/inner dir<"),
        ("mv file dir/file && mv dir d", "", "d/file<file d<dir dir/file< dir< file<"),
        (
            "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'file', -100, b'dir', 2)\"",
            "",
            "dir<file file<dir",
        ),
        ("echo y > new && mv new file", "file new", ""),
        ("mkdir made && echo y > made/x && mv made full", "full full/x made made/x", "full<made made<"),
        ("echo y > dir/inner && mv dir d && mv d dir", "d/inner dir/inner", "d< dir<dir"),
        (
            "mv file empty/x && mv empty/x x && rmdir empty && mkdir e && mv dir/inner e/x && mv e empty",
            "e empty",
            "dir/inner< e/x< e< empty/x<dir/inner empty<e file< x<file",
        ),
        ("touch file; chmod 600 file; mkdir -p dir; touch -c missing", "", ""),
    ];
    let mut seen = 0;
    for (line, written, moved) in cases {
        let folder = workspace();
        let finished = ran(confined_shell(Level::Full, folder.path(), line, |_| {})).await;
        assert_eq!(finished.exit, CommandExit::Code(0), "{line}: {finished:?}");
        let shown = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
        let paths: Vec<String> = finished.touched.paths.iter().map(|path| shown(path)).collect();
        let came = |came: &Came| match came {
            Came::Gone => String::new(),
            Came::Outside => "outside".to_owned(),
            Came::From(origin) => shown(origin),
        };
        let mut names: Vec<String> = finished
            .touched
            .moved
            .iter()
            .map(|(path, from)| format!("{}<{}", shown(path), came(from)))
            .collect();
        names.sort();
        assert_eq!(
            (paths.join(" "), names.join(" ")),
            ((*written).to_owned(), (*moved).to_owned()),
            "{line}"
        );
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[tokio::test]
async fn threads_and_signals_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = "import signal\n\
        signal.signal(signal.SIGALRM, lambda *a: None)\n\
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n\
        def work(n):\n for i in range(100): os.close(os.open(f'{n}-{i}', os.O_CREAT | os.O_WRONLY))\n\
        all = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n\
        [t.start() for t in all]; [t.join() for t in all]\n\
        signal.setitimer(signal.ITIMER_REAL, 0)";
    let finished = ran(python(Level::Full, folder.path(), program)).await;
    assert_eq!(finished.exit, CommandExit::Code(0), "{finished:?}");
    assert_eq!((finished.touched.paths.len(), finished.touched.complete), (800, true));
}

#[tokio::test]
async fn many_are_kept_and_too_many_are_said_to_be_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let make = |count: usize| {
        format!(
            "for n in range({count}): os.close(os.open('/tmp/x', 65))\nfor n in range({count}): os.mkfifo(f'file-{{n}}')"
        )
    };
    let finished = ran(python(Level::Full, folder.path(), &make(20_000))).await;
    assert_eq!(
        (finished.touched.paths.len(), finished.touched.complete),
        (20_000, true),
        "{:?}",
        finished.exit
    );
    let name = "for n in range(60_000): call(87, b'name-%d' % n)";
    let name =
        name.replace("87, b'", &format!("{}, -100, b'", libc::SYS_unlinkat)).replace("% n)", "% n, 0)");
    let finished = ran(python(Level::Full, folder.path(), &name)).await;
    assert_eq!((finished.touched.marked.len(), finished.touched.complete), (limits::TOUCHED_MAX, false));
}

#[tokio::test]
async fn what_a_command_touched_is_known_when_it_is_ended() {
    let cases = [
        ("touch one two; sleep 60", true),
        ("trap '' TERM; touch one two; while :; do sleep 60; done", false),
    ];
    for (line, complete) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut command = confined_shell(Level::Full, folder.path(), line, |_| {});
        command.deadline = Duration::from_millis(1_500);
        let finished = ran(command).await;
        assert_eq!(finished.exit, CommandExit::DeadlineExceeded);
        let found = names(&finished.touched, folder.path());
        assert_eq!(found, ["one".to_owned(), "two".to_owned()].into(), "{line}: {finished:?}");
        assert_eq!(finished.touched.complete, complete, "{line}");
    }
}

#[tokio::test]
async fn nobody_hides() {
    let folder = workspace();
    // A process that hides its memory is looked into all the same.
    let program = "assert libc.prctl(4, 0) == 0\nD = os.open('dir', os.O_RDONLY)\nos.close(os.open('inner', os.O_WRONLY, dir_fd=D))";
    let finished = ran(python(Level::Full, folder.path(), program)).await;
    assert_eq!(names(&finished.touched, folder.path()), ["dir/inner".to_owned()].into(), "{finished:?}");
    // And so is a program that may not be read.
    let line = "cp $(command -v touch) /tmp/t && chmod 111 /tmp/t && /tmp/t new";
    let finished = ran(confined_shell(Level::Full, folder.path(), line, |_| {})).await;
    assert_eq!(names(&finished.touched, folder.path()), ["new".to_owned()].into(), "{finished:?}");
}

#[tokio::test]
async fn odd_bytes_arrive_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let finished = ran(python(
        Level::Full,
        folder.path(),
        "os.close(os.open(b'a\\xff\\n\"', os.O_CREAT | os.O_WRONLY))",
    ))
    .await;
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff\n\""));
    assert_eq!(finished.touched.paths, [path].into());
}
