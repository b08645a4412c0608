//! Sockets of others are out of reach, however they are named; a command's own work.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::{Child, ChildStdin, Stdio},
};

use posse_sandbox::{CommandExit, Level};

use crate::python;

const LEVELS: [Level; 3] = [Level::Inspect, Level::Verify, Level::Full];

/// Somebody outside who has sockets, and counts who talks to them.
struct Service {
    child: Child,
    input: ChildStdin,
}

/// Binds what it is told to and listens; says how many it heard when its input ends.
const SERVICE: &str = "
import os, select, socket, sys
heard, open_ones = 0, []
for line in sys.stdin:
    kind, folder, name = line.rstrip('\\n').split('|')
    one = socket.socket(socket.AF_UNIX, int(kind))
    if folder: os.chdir(folder)
    one.bind('\\0' + name[1:] if name.startswith('@') else name)
    if int(kind) != socket.SOCK_DGRAM: one.listen(64)
    open_ones.append(one)
    print('bound', flush=True)
while True:
    ready = select.select(open_ones, [], [], 0.2)[0]
    if not ready: break
    for one in ready:
        heard += 1
        one.recv(1) if one.type == socket.SOCK_DGRAM else one.accept()
print('heard', heard, flush=True)
";

impl Service {
    fn start(words: &[&str]) -> Self {
        let mut words = words.to_vec();
        words.extend(["python3", "-c", SERVICE]);
        let mut process = std::process::Command::new(words[0]);
        process.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        Self { child, input }
    }

    fn bind(&mut self, kind: i32, folder: &str, name: &str) {
        writeln!(self.input, "{kind}|{folder}|{name}").unwrap();
        let mut said = [0; 6];
        self.child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"bound\n");
    }

    /// How many it has heard.
    fn end(mut self) -> usize {
        drop(self.input);
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.wait().unwrap();
        said.trim().strip_prefix("heard ").unwrap().parse().unwrap()
    }
}

/// Tries every kind of socket on every name; says what it reached.
fn talk(names: &[String]) -> String {
    format!(
        "for name in {names:?}:\n \
         for kind in (1, 2, 3, 5):\n  \
          for how in ('connect', 'sendto', 'sendmsg'):\n   \
           try:\n    \
            one = socket.socket(socket.AF_UNIX, kind); one.settimeout(2)\n    \
            name = name.replace('@', '\\0')\n    \
            if how == 'connect': one.connect(name); one.send(b'x')\n    \
            elif how == 'sendto': one.sendto(b'x', name)\n    \
            else: one.sendmsg([b'x'], [], 0, name)\n    \
            print(how, kind, repr(name))\n   \
           except OSError: pass\n"
    )
}

async fn said(command: posse_sandbox::Command) -> (CommandExit, String) {
    let finished = posse_sandbox::run(command).await.unwrap();
    let bytes = [finished.output.bytes(), finished.stderr.bytes()].concat();
    (finished.exit, String::from_utf8_lossy(&bytes).into_owned())
}

const KINDS: [(i32, &str); 3] =
    [(libc::SOCK_STREAM, "stream"), (libc::SOCK_DGRAM, "dgram"), (libc::SOCK_SEQPACKET, "packet")];

/// Sockets of somebody outside in and beside the workspace, by every kind of name. Returns the names to be tried.
fn sockets_around(service: &mut Service, beside: &Path, workspace: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for (kind, word) in KINDS {
        for folder in [beside, workspace] {
            let folder = folder.to_str().unwrap();
            service.bind(kind, "", &format!("{folder}/{word}"));
            service.bind(kind, folder, &format!("relative-{word}"));
            service.bind(kind, "", &format!("{folder}/before-{word}"));
            fs::rename(format!("{folder}/before-{word}"), format!("{folder}/renamed-{word}")).unwrap();
            fs::hard_link(format!("{folder}/{word}"), format!("{folder}/hard-{word}")).unwrap();
            names.extend(["", "relative-", "renamed-", "hard-"].map(|way| format!("{folder}/{way}{word}")));
        }
        std::os::unix::fs::symlink(beside.join(word), workspace.join(format!("link-{word}"))).unwrap();
        names.extend(["link-", "relative-", ""].map(|way| format!("{way}{word}")));
        names.push(format!("/proc/self/cwd/{word}"));
        names.push(format!("../{}/{word}", workspace.file_name().unwrap().to_str().unwrap()));
    }
    names
}

#[tokio::test]
async fn sockets_of_others_are_out_of_reach_by_every_name() {
    let mut tried = 0;
    // Services in this network namespace, and in another one.
    for way in [&[][..], &["unshare", "-rn"]] {
        let beside = tempfile::tempdir_in("/var").unwrap();
        let workspace = tempfile::tempdir_in("/var").unwrap();
        let mut service = Service::start(way);
        let mut names = sockets_around(&mut service, beside.path(), workspace.path());
        let unique = format!("posse-test-{}-{}", std::process::id(), way.len());
        for (kind, word) in KINDS {
            service.bind(kind, "", &format!("@{unique}-{word}"));
            names.push(format!("@{unique}-{word}"));
        }
        for level in LEVELS {
            for (network, without_overlay) in [(false, false), (true, true)] {
                let mut command = python(level, workspace.path(), &talk(&names));
                let profile = command.confinement.as_mut().unwrap();
                (profile.network, profile.without_overlay) = (network, without_overlay);
                assert_eq!(said(command).await, (CommandExit::Code(0), String::new()), "{level:?} {network}");
                tried += 1;
            }
        }
        assert_eq!(service.end(), 0, "{way:?}");
        // Without confinement each of them is reached, or this would prove nothing.
        let mut service = Service::start(&[]);
        service.bind(libc::SOCK_STREAM, "", beside.path().join("again").to_str().unwrap());
        let mut command = python(
            Level::Full,
            workspace.path(),
            &talk(&[beside.path().join("again").to_str().unwrap().to_owned()]),
        );
        command.confinement = None;
        assert!(said(command).await.1.contains("connect 1"));
        assert_eq!(service.end(), 1);
    }
    assert_eq!(tried, 12);
}

#[tokio::test]
async fn a_socket_that_is_made_while_a_command_runs_is_out_of_reach() {
    let beside = tempfile::tempdir_in("/var").unwrap();
    let workspace = tempfile::tempdir_in("/var").unwrap();
    for level in [Level::Inspect, Level::Full] {
        let place = if level == Level::Full { &workspace } else { &beside };
        let path = place.path().join(format!("late-{level:?}"));
        // It had the name before, and gave it up.
        let own = if level == Level::Full {
            format!(
                "s = socket.socket(socket.AF_UNIX); s.bind('{0}'); s.listen()\nsocket.socket(socket.AF_UNIX).connect('{0}'); os.unlink('{0}')\n",
                path.display()
            )
        } else {
            String::new()
        };
        let program = format!(
            "{own}print('ready', flush=True)\nwhile not os.path.exists('{0}'): time.sleep(0.01)\n{1}",
            path.display(),
            talk(&[path.display().to_string(), path.file_name().unwrap().to_str().unwrap().to_owned()])
        );
        let job = posse_sandbox::start(python(level, workspace.path(), &program)).await.unwrap();
        while !job.output().bytes().starts_with(b"ready") {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let mut service = Service::start(&[]);
        service.bind(libc::SOCK_STREAM, "", path.to_str().unwrap());
        let finished = job.wait().await;
        assert_eq!(String::from_utf8_lossy(&finished.output.bytes()), "ready\n", "{finished:?}");
        assert_eq!((finished.exit, service.end()), (CommandExit::Code(0), 0));
    }
}

#[tokio::test]
async fn own_sockets_work() {
    let folder = tempfile::tempdir().unwrap();
    let program = "
import stat
def serve(path, kind=1, at=None):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path); server.listen(1)
    assert path.startswith('/proc') or server.getsockname() in (path, path.encode()), server.getsockname()
    def answer():
        one = server.accept()[0]; one.send(b'hello'); one.close()
    thread = threading.Thread(target=answer); thread.start()
    for timeout in (None,):
        client = socket.socket(socket.AF_UNIX, kind); client.settimeout(timeout)
        client.connect(at or path)
        assert client.recv(9) == b'hello'
    thread.join()
for place in PLACES:
    os.umask(0o027)
    serve(place + '/one'); serve(place + '/two', 5)
    assert stat.S_IMODE(os.stat(place + '/one').st_mode) == 0o750
    os.symlink(place + '/three', '/tmp/link' + str(len(place))); serve(place + '/three', 1, '/tmp/link' + str(len(place)))
    os.chdir(place); serve('four'); serve('five', 1, place + '/five'); serve(place + '/six', 1, 'six')
    serve('seven', 1, '/proc/self/cwd/seven')
    D = os.open('.', os.O_RDONLY); serve(f'/proc/self/fd/{D}/eight', 1, 'eight')
    os.makedirs('deep/' + 'x' * 100, exist_ok=True); E = os.open('deep/' + 'x' * 100, os.O_RDONLY)
    serve(f'/proc/self/fd/{E}/nine'); os.unlink(f'/proc/self/fd/{E}/nine')
    os.rename('one', 'two'); os.unlink('two'); serve('two')
    threading.Thread(target=serve, args=(place + '/thread',)).start()
for client in (socket.socket(socket.AF_UNIX),):
    client.setblocking(False)
    try: client.connect('/tmp/nobody')
    except FileNotFoundError: pass
    open('/tmp/file', 'w')
    try: client.connect('/tmp/file')
    except ConnectionRefusedError: pass
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
";
    for level in LEVELS {
        let mut places = vec!["/tmp", "/dev/shm"];
        let workspace = folder.path().to_str().unwrap();
        if level != Level::Inspect {
            places.push(workspace);
        }
        let program = program.replace("PLACES", &format!("{places:?}"));
        let program =
            format!("{program}serve('\\0own')\nlibc.prctl(4, 0); serve('/tmp/hidden')\nprint('done')");
        let done = said(python(level, folder.path(), &program)).await;
        assert_eq!(done, (CommandExit::Code(0), "done\n".to_owned()), "{level:?}");
        for name in ["one", "two", "three", "four", "five", "six", "seven", "eight", "thread"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
    }
}

/// Exchanges what a call names while it is being looked at.
#[tokio::test]
async fn nobody_is_quick_enough_to_reach_others() {
    let beside = tempfile::tempdir_in("/var").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = beside.path().join("service");
    let mut service = Service::start(&[]);
    service.bind(libc::SOCK_STREAM, "", path.to_str().unwrap());
    let program = format!(
        "
theirs = struct.pack('H108s', 1, b'{0}')
own = struct.pack('H108s', 1, b'/tmp/own')
inet = struct.pack('!HHI8x', 0, port := 9, 0x7f000001); inet = struct.pack('H', 2) + inet[2:]
server = socket.socket(socket.AF_UNIX); server.bind('/tmp/own'); server.listen(4096)
buffer = ctypes.create_string_buffer(112)
over = False; kept = []
local = socket.socket(socket.AF_UNIX); net = socket.socket(); number = os.dup(net.fileno())
def swap():
    while not over:
        ctypes.memmove(buffer, own, 110); os.dup2(local.fileno(), number)
        ctypes.memmove(buffer, theirs, 110)
        ctypes.memmove(buffer, inet, 16); os.dup2(net.fileno(), number)
        ctypes.memmove(buffer, theirs, 110)
def link():
    while not over:
        for to in ('/tmp/own', '{0}'):
            os.symlink(to, '/tmp/new'); os.rename('/tmp/new', '/tmp/link')
threads = [threading.Thread(target=t) for t in (swap, link)]
[t.start() for t in threads]
for n in range(400):
    call(42 if os.uname().machine == 'x86_64' else 203, number, ctypes.byref(buffer), 110)
    one = socket.socket(socket.AF_UNIX); one.setblocking(n % 2)
    try: one.connect('/tmp/link')
    except OSError: pass
    if n % 10 == 0: kept.append(local); local = socket.socket(socket.AF_UNIX)
over = True
[t.join() for t in threads]
# A thread with descriptors of its own: its number means something else to its process.
def apart():
    global number
    assert libc.unshare(0x400) == 0
    os.dup2(local.fileno(), number)
    call(42 if os.uname().machine == 'x86_64' else 203, number, theirs, 110)
os.dup2(net.fileno(), number)
t = threading.Thread(target=apart); t.start(); t.join()
print('done')
",
        path.display()
    );
    for level in [Level::Inspect, Level::Full] {
        let done = said(python(level, folder.path(), &program)).await;
        assert_eq!(done, (CommandExit::Code(0), "done\n".to_owned()), "{level:?}");
    }
    assert_eq!(service.end(), 0);
}

#[tokio::test]
async fn the_internet_and_long_waits_work_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let program = "
server = socket.create_server(('127.0.0.1', 0))
for n in range(300):
    client = socket.socket(); client.setblocking(n % 2)
    try: client.connect(server.getsockname())
    except BlockingIOError: pass
    server.accept()[0].close(); client.close()
udp = socket.socket(2, 2); udp.bind(('127.0.0.1', 0))
other = socket.socket(2, 2); other.connect(udp.getsockname()); other.send(b'x'); other.sendto(b'y', udp.getsockname())
assert udp.recv(1) + udp.recv(1) == b'xy'
six = socket.socket(10); six.bind(('::1', 0)); six.listen(); socket.create_connection(six.getsockname()[:2]).close()
for address in (('127.0.0.1', 1),):
    try: socket.socket().connect(address); print('reached')
    except ConnectionRefusedError: pass
try: os.close(9); socket.socket(fileno=9)
except OSError: pass
assert call(CONNECT, 999, b'x' * 16, 16) == -9 and call(CONNECT, 0, b'x' * 16, 16) in (-88, -9), 'kinds of errors'
# One who waits does not keep others waiting.
full = socket.socket(socket.AF_UNIX); full.bind('/tmp/full'); full.listen(0)
first = socket.socket(socket.AF_UNIX); first.connect('/tmp/full')
def wait():
    waiting = socket.socket(socket.AF_UNIX); waiting.connect('/tmp/full'); print('came in', flush=True)
thread = threading.Thread(target=wait); thread.start(); time.sleep(0.1)
quick = socket.socket(socket.AF_UNIX); quick.setblocking(False)
try: quick.connect('/tmp/full'); print('too early')
except BlockingIOError: pass
open('written', 'w').close()
print('goes on', flush=True)
full.accept(); full.accept(); thread.join()
";
    let program = program.replace("CONNECT", &libc::SYS_connect.to_string());
    let done = said(python(Level::Full, folder.path(), &program)).await;
    assert_eq!(done, (CommandExit::Code(0), "goes on\ncame in\n".to_owned()));
}

/// Services of others are no reason to refuse, however many there are.
#[tokio::test]
async fn any_number_of_services_may_be_there() {
    let place = tempfile::tempdir_in("/var").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let held: Vec<_> = (0..800)
        .map(|number| std::os::unix::net::UnixListener::bind(place.path().join(number.to_string())).unwrap())
        .collect();
    let names: Vec<String> =
        [0, 400, 799].map(|number: i32| place.path().join(number.to_string()).display().to_string()).into();
    let done = said(python(Level::Inspect, folder.path(), &talk(&names))).await;
    assert_eq!(done, (CommandExit::Code(0), String::new()));
    drop(held);
}
