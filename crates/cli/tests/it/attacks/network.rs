//! X2: nothing is reached under a grant without network. Real listeners hear nothing; without confinement each
//! attempt reaches the one it names.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use posse_testkit::attacks::{self, Attempt};

use super::player::{Actor, Level, Moment, Play, not_made, play, short};
use super::{ESCAPED, settle};

/// How long an attempt that gets through may take to be heard.
const HEARING: Duration = Duration::from_secs(3);

/// What was heard, by the kind of listener: connections, datagrams and bytes together.
type Heard = Arc<Mutex<BTreeMap<&'static str, usize>>>;

/// Listeners of every kind, open until the test process ends.
struct Listeners {
    heard: Heard,
    words: Vec<(&'static str, String)>,
    /// Short ways to long places.
    short: Mutex<Vec<tempfile::TempDir>>,
}

impl Listeners {
    fn open() -> Self {
        let heard = Heard::default();
        let tcp4 = TcpListener::bind("0.0.0.0:0").unwrap();
        let tcp6 = TcpListener::bind("[::]:0").expect("IPv6 on this machine");
        let udp4 = UdpSocket::bind("0.0.0.0:0").unwrap();
        let udp6 = UdpSocket::bind("[::]:0").expect("IPv6 on this machine");
        let name = format!("posse-attack-{}-{}", std::process::id(), tcp4.local_addr().unwrap().port());
        let address = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let stream = UnixListener::bind_addr(&address(&name)).unwrap();
        let datagram = UnixDatagram::bind_addr(&address(&format!("{name}-d"))).unwrap();
        let ports = [
            ("@TCP4@", tcp4.local_addr()),
            ("@TCP6@", tcp6.local_addr()),
            ("@UDP4@", udp4.local_addr()),
            ("@UDP6@", udp6.local_addr()),
        ];
        let mut words: Vec<_> =
            ports.into_iter().map(|(word, address)| (word, address.unwrap().port().to_string())).collect();
        words.extend([("@ABSTRACT@", name), ("@IP@", own_address())]);
        let listeners = Self { heard, words, short: Mutex::default() };
        listeners.hear("tcp4", move || tcp4.accept().map(|_| 1));
        listeners.hear("tcp6", move || tcp6.accept().map(|_| 1));
        listeners.hear("udp4", move || udp4.recv(&mut [0; 2048]));
        listeners.hear("udp6", move || udp6.recv(&mut [0; 2048]));
        listeners.hear("abstract", move || stream.accept().map(|_| 1));
        listeners.hear("abstract-datagram", move || datagram.recv(&mut [0; 2048]));
        listeners
    }

    /// Listens in a folder of the world.
    fn open_paths(&self, folder: &Path) {
        // The path of a socket may only be short; a link is a short way to any.
        let short = tempfile::tempdir().unwrap();
        let way = short.path().join("way");
        std::os::unix::fs::symlink(folder, &way).unwrap();
        self.short.lock().unwrap().push(short);
        let listener = UnixListener::bind(way.join("listening")).unwrap();
        self.hear("path", move || {
            let (mut stream, _) = listener.accept()?;
            let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
            Ok(1 + stream.read(&mut [0; 64]).unwrap_or(0))
        });
        let datagram = UnixDatagram::bind(way.join("listening-d")).unwrap();
        self.hear("datagram", move || datagram.recv(&mut [0; 2048]));
    }

    fn hear(&self, kind: &'static str, mut next: impl FnMut() -> std::io::Result<usize> + Send + 'static) {
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            while let Ok(count) = next() {
                *heard.lock().unwrap().entry(kind).or_default() += count;
            }
        });
    }
}

/// An address of this machine that is not the loopback's, where it has one.
fn own_address() -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let address = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    address.map_or_else(|_| "127.0.0.1".to_string(), |address| address.ip().to_string())
}

/// Plays these attempts; tells of each what was heard and what it said.
fn listen(
    mut as_whom: Play,
    attempts: Vec<Attempt>,
    mut judge: impl FnMut(&Attempt, &Heard, &str) + Send + 'static,
) -> usize {
    let listeners = Listeners::open();
    as_whom.words = listeners.words.clone();
    as_whom.words.push(("@SOCKET@", "../outside/listening".to_string()));
    as_whom.words.push(("@DATAGRAM@", "../outside/listening-d".to_string()));
    let count = attempts.len();
    let opened = OnceLock::new();
    let played = play(as_whom, attempts, move |world, attempt, moment| match moment {
        Moment::Before => {
            opened.get_or_init(|| listeners.open_paths(&world.at("outside")));
            listeners.heard.lock().unwrap().clear();
        }
        Moment::After(answer, _) => {
            judge(attempt, &listeners.heard, answer);
            let _ = std::fs::remove_file(world.at("workspace/s"));
            let _ = std::fs::remove_file(world.at("workspace/sock"));
        }
    });
    assert_eq!(played.ran.code, Some(0), "{:#?}", played.ran);
    assert_eq!(played.made, count);
    count
}

fn withstand(level: Level, actor: Actor) {
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let made = listen(Play::new(level, actor), attacks::network(), move |attempt, heard, answer| {
        // What is on its way arrives at once on one machine.
        let wait_ms = if attempt.name.starts_with("late") { 700 } else { 10 };
        std::thread::sleep(Duration::from_millis(wait_ms));
        let heard = heard.lock().unwrap();
        if !heard.is_empty() || answer.contains(ESCAPED) {
            noted.lock().unwrap().push(format!("{}: heard {heard:?}: {}", attempt.name, short(answer)));
        }
        if let Some(why) = not_made(answer) {
            noted.lock().unwrap().push(format!("{}: {why}", attempt.name));
        }
    });
    settle(&format!("network, {level:?}, {actor:?}"), made, 40, &faults.lock().unwrap());
}

#[test]
fn no_network_escape_by_full_shell() {
    withstand(Level::Full, Actor::Main);
}

#[test]
fn no_network_escape_by_inspect_shell() {
    withstand(Level::Inspect, Actor::Main);
}

#[test]
fn no_network_escape_at_depth_3() {
    withstand(Level::Verify, Actor::Depth3);
}

/// Without confinement every attempt reaches the listener it names.
#[test]
fn every_network_attempt_is_a_real_one() {
    let attempts: Vec<_> = attacks::network().into_iter().filter(|attempt| attempt.kind != "-").collect();
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let play =
        Play { flags: vec!["--no-sandbox", "--approval", "full"], ..Play::new(Level::Full, Actor::Main) };
    let made = listen(play, attempts, move |attempt, heard, answer| {
        let since = Instant::now();
        let reached = || heard.lock().unwrap().contains_key(attempt.kind);
        while !reached() && since.elapsed() < HEARING {
            std::thread::sleep(Duration::from_millis(5));
        }
        if !reached() {
            noted.lock().unwrap().push(format!(
                "{}: did not reach {}: {}",
                attempt.name,
                attempt.kind,
                short(answer)
            ));
        }
    });
    settle("network attempts without confinement", made, 40, &faults.lock().unwrap());
}
