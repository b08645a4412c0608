//! What is done for a command is what the kernel would have done: the same results, errors, modes and descriptors.

use std::fs;

use posse_sandbox::{CommandExit, Level};

use crate::python;

/// What a case may use: `result(f)` is the error's name or what `f` gives, `seen(path)` what is there.
const BEFORE: &str = "
import errno, fcntl, resource, stat, subprocess
def seen(path):
    try: s = os.lstat(path)
    except OSError as e: return errno.errorcode[e.errno]
    return oct(s.st_mode), s.st_nlink, s.st_size
def opened(path, flags, mode=0o666, **more):
    f = os.open(path, flags, mode, **more)
    try: return fcntl.fcntl(f, fcntl.F_GETFD), oct(fcntl.fcntl(f, fcntl.F_GETFL)), oct(os.fstat(f).st_mode), f
    finally: os.close(f)
def result(f):
    try: return f()
    except OSError as e: return errno.errorcode[e.errno]
def raw(*words):
    done = call(*words)
    return errno.errorcode[-done] if done < 0 else done
def with_room_for(count, f):
    # The next number that is free.
    free = os.open('.', os.O_RDONLY); os.close(free)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + count, hard))
    try: return f()
    finally: resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def reads(path): threading.Thread(target=lambda: open(path).read(), daemon=True).start()
O, C, W, R = os, os.O_CREAT, os.O_WRONLY, os.O_RDONLY
D = os.open('.', os.O_RDONLY)
RENAME, LINK, OPEN = (316, 265, 257) if os.uname().machine == 'x86_64' else (276, 37, 56)
";

const CASES: &[&str] = &[
    // Files that are made and files that are there.
    "opened('new', C | W)",
    "opened('new', C | W, 0o755), seen('new')",
    "opened('new', C | os.O_RDWR | os.O_APPEND | os.O_NONBLOCK)",
    "opened('new', C | W | os.O_SYNC, 0o600)",
    "opened('file', C | W | os.O_EXCL)",
    "opened('file', W | os.O_TRUNC), seen('file')",
    "opened('file', R | os.O_TRUNC), seen('file')",
    "opened('file', R | C)",
    "opened('missing', W)",
    "opened('missing', os.O_RDWR)",
    "opened('no/such', C | W)",
    "opened('file/x', C | W)",
    "opened('dir', W)",
    "opened('dir', C | W)",
    "opened('dir', C | R)",
    "opened('new/', C | W)",
    "opened('dir/', C | W)",
    "opened('dir/.', C | W)",
    "opened('.', C | W)",
    "opened('..', os.O_RDWR)",
    "opened('/', C | W)",
    "opened('dir/../dir//inner', C | W)",
    "opened('inner', C | W, dir_fd=D)",
    "opened('flink', C | W), seen('dir/inner')",
    "opened('flink', C | W | os.O_NOFOLLOW)",
    "opened('flink', C | W | os.O_EXCL)",
    "opened('dangling', C | W), seen('dir/made')",
    "opened('dangling', W)",
    "opened('loop', C | W)",
    "opened('link/new', C | W), seen('dir/new')",
    "opened('closed', C | W)",
    "opened('closed', R | C)",
    "opened('shut/x', C | W)",
    "opened('x (deleted)', C | W), seen('x (deleted)')",
    "opened(b'odd\\xff\\n', C | W), seen(b'odd\\xff\\n')",
    "opened('n' * 256, C | W)",
    "opened('', C | W)",
    "raw(OPEN, -100, 0, C | W, 0o600)",
    "raw(OPEN, -100, 1, C | W, 0o600)",
    "raw(OPEN, -5, b'file', W, 0)",
    "raw(OPEN, -5, b'/proc/self/cwd/file', W, 0) > 0",
    "raw(OPEN, -100, b'file', 0o3, 0) > 0",
    "raw(OPEN, -100, b'new', C | W | 0x40000000, 0o600) > 0",
    "raw(OPEN, D, b'/proc/thread-self/cwd/new', C | W, 0o600) > 0, seen('new')",
    // Modes and masks.
    "os.umask(0o077), opened('new', C | W), seen('new'), os.umask(0o22)",
    "os.umask(0), os.mkdir('new', 0o777), seen('new'), os.umask(0o22)",
    "os.umask(0o777), opened('new', C | W, 0o777), seen('new'), os.umask(0o22)",
    "os.mkdir('new', 0o1777), seen('new')",
    "subprocess.run('umask 027; : > new; mkdir made', shell=True).returncode, seen('new'), seen('made')",
    // Folders, links and other things.
    "os.mkdir('new'), seen('new')",
    "os.mkdir('new/'), seen('new')",
    "os.mkdir('dir')",
    "os.mkdir('file')",
    "os.mkdir('flink')",
    "os.mkdir('dangling')",
    "os.mkdir('dir/.')",
    "os.mkdir('no/such')",
    "os.mkdir('/')",
    "os.mkdir('/usr')",
    "os.mkdir('sub', dir_fd=D), seen('dir/sub')",
    "os.symlink('any/thing', 'new'), os.readlink('new')",
    "os.symlink('', 'new')",
    "os.symlink('x', 'file')",
    "os.symlink('x', 'new/')",
    "os.symlink('x' * 4095, 'new'), len(os.readlink('new'))",
    "os.symlink('x' * 4096, 'new')",
    "os.mknod('new', 0o10640), seen('new')",
    "os.mknod('new', 0o100640), seen('new')",
    "os.mknod('new', 0o20640, 0x103)",
    "os.mknod('file', 0o10600)",
    "os.link('file', 'new'), seen('new')",
    "os.link('flink', 'new', follow_symlinks=False), seen('new')",
    "os.link('flink', 'new', follow_symlinks=True), seen('new')",
    "os.link('dir', 'new')",
    "os.link('missing', 'new')",
    "os.link('file', 'dir/inner')",
    "os.link('file', '/tmp/other')",
    "os.link('inner', 'hard', src_dir_fd=D, dst_dir_fd=D), seen('dir/hard')",
    "(f := os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640)), os.write(f, b'x'), raw(LINK, -100, b'/proc/self/fd/%d' % f, -100, b'new', 0x400), seen('new')",
    "(f := os.open('file', R)), os.unlink('file'), raw(LINK, -100, b'/proc/self/fd/%d' % f, -100, b'new', 0x400)",
    // Names that change.
    "os.rename('file', 'new'), seen('new'), seen('file')",
    "os.rename('file', 'dir/inner'), seen('dir/inner')",
    "os.rename('dir', 'new'), seen('new')",
    "os.rename('dir/', 'new/'), seen('new')",
    "os.rename('file/', 'new')",
    "os.rename('file', 'new/')",
    "os.rename('dir', 'empty'), seen('empty')",
    "os.rename('empty', 'dir')",
    "os.rename('file', 'dir')",
    "os.rename('dir', 'file')",
    "os.rename('dir', 'dir/sub')",
    "os.rename('missing', 'new')",
    "os.rename('.', 'new')",
    "os.rename('dir', '..')",
    "os.rename('file', '/tmp/other')",
    "os.rename('/usr/bin/env', 'new')",
    "os.rename('flink', 'new'), seen('new')",
    "os.rename('link/inner', 'link/outer'), seen('dir/outer')",
    "raw(RENAME, -100, b'file', -100, b'dir', 2), seen('file'), seen('dir')",
    "raw(RENAME, -100, b'file', -100, b'dir/inner', 1)",
    "raw(RENAME, -100, b'file', -100, b'new', 1), seen('new')",
    "raw(RENAME, -100, b'file', -100, b'new', 3)",
    "raw(RENAME, -100, b'file', -100, b'new', 64)",
    // What has no name, and what is no file.
    "opened('/dev/null', C | W | os.O_TRUNC)",
    "opened('/dev/null', os.O_RDWR)",
    "opened('/dev/zero', W)",
    "opened('/dev/full', C | W)",
    "opened('/dev/tty', C | W)",
    "opened('/dev/tty', os.O_RDWR)",
    "(p := os.pipe()), os.write(f := os.open(f'/dev/fd/{p[1]}', C | W | os.O_TRUNC), b'hi'), os.read(p[0], 9)",
    "(p := os.pipe()), opened(f'/proc/self/fd/{p[1]}', W)[1]",
    "(s := socket.socket()), opened(f'/dev/fd/{s.fileno()}', C | W)",
    "(f := os.open('file', os.O_RDWR)), os.unlink('file'), opened(f'/dev/fd/{f}', C | W | os.O_APPEND)",
    "(f := os.open('file', R)), opened(f'/dev/fd/{f}', W)",
    "(f := os.memfd_create('x')), opened(f'/proc/self/fd/{f}', os.O_RDWR)",
    "os.mkfifo('pipe'), reads('pipe'), os.write(os.open('pipe', C | W), b'x'), seen('pipe')",
    "os.mkfifo('pipe'), opened('pipe', W | os.O_NONBLOCK)",
    "os.mkfifo('pipe'), opened('pipe', os.O_RDWR)",
    "opened('/proc/self/comm', W)",
    "opened('/proc/self/nothing', C | W)",
    "opened('/proc/1/mem', R | C)",
    "opened('/tmp/new', C | W)",
    "opened('/usr/lib/os-release', R | C)",
    "opened('/usr/lib/os-release', W)",
    "opened('/usr/lib/os-release', W | C | os.O_TRUNC)",
    "opened('/usr/new', C | W)",
    "opened('/usr', C | W)",
    "opened('/usr', W)",
    "os.mkdir('/usr/new')",
    "os.symlink('x', '/usr/new')",
    "os.symlink('x', '/usr/bin')",
    "os.link('/usr/bin/env', '/usr/bin/env2')",
    "os.rename('/usr/bin/env', '/usr/bin/env2')",
    "os.link('/usr/bin/env', 'new')",
    "os.link('/proc/self/comm', 'new')",
    "os.mkdir('/proc/new')",
    "os.mkdir('/nowhere/new')",
    // Room for one more, and none.
    "with_room_for(0, lambda: opened('new', C | W))",
    "with_room_for(1, lambda: opened('new', C | W)[:3])",
    "with_room_for(0, lambda: raw(OPEN, -100, b'file', W, 0))",
    // What whole programs do.
    "subprocess.run('mkdir -p a/b/c && echo x > a/b/c/d && cp -a a e && mv e g && ln -s g h && install -m 750 file i && tar cf t a dir && mkdir k && tar xf t -C k && rm -rf a && echo x | tee /dev/stderr > j && sed -i s/x/y/ file && touch -d @1 l && find . | sort', shell=True, capture_output=True).stdout",
];

async fn results(guarded: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut program = BEFORE.to_owned();
    for (index, case) in CASES.iter().enumerate() {
        let place = folder.path().join(index.to_string());
        fs::create_dir_all(place.join("dir")).unwrap();
        for name in ["empty", "shut"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        for (name, text) in [("file", "xx"), ("dir/inner", "x"), ("closed", "x")] {
            fs::write(place.join(name), text).unwrap();
        }
        let links = [("dir", "link"), ("dir/inner", "flink"), ("dir/made", "dangling"), ("loop", "loop")];
        links.iter().for_each(|(to, link)| std::os::unix::fs::symlink(to, place.join(link)).unwrap());
        program += &format!(
            "os.chdir('{}'); f = os.open('dir', R); os.dup2(f, D); os.close(f); os.chmod('closed', 0o400); os.chmod('shut', 0)\n\
             print('RESULT', {index}, result(lambda: ({case})))\n",
            place.display()
        );
    }
    let mut command = python(Level::Full, folder.path(), &program);
    let profile = command.confinement.as_mut().unwrap();
    profile.protected.clear();
    profile.guard_names = guarded;
    let finished = posse_sandbox::run(command).await.unwrap();
    let said = String::from_utf8_lossy(&finished.output.bytes()).into_owned();
    let errors = String::from_utf8_lossy(&finished.stderr.bytes()).into_owned();
    assert_eq!(finished.exit, CommandExit::Code(0), "{said}{errors}");
    said.lines().filter_map(|line| line.strip_prefix("RESULT ")).map(str::to_owned).collect()
}

/// A program that was just written is run at once: nobody else has it open for writing by then.
#[tokio::test]
async fn what_was_just_written_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let line = "for n in $(seq 300); do cp /bin/true ./run && ./run || exit 1; rm run; done";
    let command = crate::confined_shell(Level::Full, folder.path(), line, |_| {});
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!(finished.exit, CommandExit::Code(0), "{finished:?}");
}

#[tokio::test]
async fn what_is_done_for_a_command_is_what_the_kernel_does() {
    let (by_kernel, for_command) = (results(false).await, results(true).await);
    assert_eq!(by_kernel.len(), CASES.len(), "{by_kernel:#?}");
    let differ = by_kernel.iter().zip(&for_command).zip(CASES).filter(|((kernel, done), _)| kernel != done);
    let differ: Vec<String> =
        differ.map(|((kernel, done), case)| format!("{case}\n  kernel {kernel}\n  done   {done}")).collect();
    assert!(differ.is_empty() && for_command.len() == CASES.len(), "{}", differ.join("\n"));
}
