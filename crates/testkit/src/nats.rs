//! A real nats-server on a free port of the loopback, with a folder of its own, that tests kill, start again and rob of its data.
//!
//! It knows the server and nothing about who uses it.
#![allow(clippy::disallowed_types)]

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long the server may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server. Dropping it kills it and removes what it has stored.
pub struct NatsServer {
    program: PathBuf,
    port: u16,
    folder: TempDir,
    process: Option<Child>,
}

impl NatsServer {
    /// Starts a server with these lines added to its configuration.
    ///
    /// # Panics
    /// If it cannot be fetched, or does not begin.
    pub fn start(configuration: &str) -> Self {
        let mut server = Self::new();
        server.configure(configuration);
        server.restart();
        server
    }

    /// Starts a server with a whole configuration, which is made from its port and its folder.
    ///
    /// # Panics
    /// If it cannot be fetched, or does not begin.
    pub fn start_with(configuration: impl FnOnce(u16, &Path) -> String) -> Self {
        let mut server = Self::new();
        let text = configuration(server.port, server.folder());
        std::fs::write(server.folder().join("server.conf"), text).unwrap();
        server.restart();
        server
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { program: program(), port, folder, process: None }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A folder that lasts as long as the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes other lines into its configuration, for the next start.
    pub fn configure(&self, lines: &str) {
        let store = self.folder.path().join("store");
        let text = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: {store:?}, sync_interval: always }}\n{lines}\n",
            self.port
        );
        std::fs::write(self.folder.path().join("server.conf"), text).unwrap();
    }

    /// Kills it at once, as a power failure would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Removes all that it has stored. It must not run.
    pub fn wipe(&self) {
        assert!(self.process.is_none(), "it runs");
        let _ = std::fs::remove_dir_all(self.folder.path().join("store"));
    }

    /// Kills it if it runs, and starts it on the same port.
    ///
    /// # Panics
    /// If it does not begin.
    pub fn restart(&mut self) {
        self.kill();
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let process = Command::new(&self.program)
            .arg("--config")
            .arg(self.folder.path().join("server.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.process = Some(process.unwrap_or_else(|error| panic!("nats-server cannot be started: {error}")));
        let begun = Instant::now();
        while !self.answers() {
            let ended = self.process.as_mut().and_then(|process| process.try_wait().unwrap());
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "it does not begin: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it has written about itself since its start.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut first = [0; 5];
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        stream.read_exact(&mut first).is_ok() && &first == b"INFO "
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where the server is, fetched once for all tests.
fn program() -> PathBuf {
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/python-parts");
    let fetched = Command::new(fetch).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim()).join("nats-server")
}

/// Files of a certificate authority that exists for one test: its certificate, and those of a server at `127.0.0.1`.
pub struct NatsCertificates {
    /// Who vouches for the server.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl NatsCertificates {
    /// Makes them in a folder.
    ///
    /// # Panics
    /// If there is no openssl.
    pub fn make(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        let run = |arguments: &[&str]| {
            let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let own = ["req", "-x509", "-subj", "/CN=tests", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem"];
        run(&[&own[..], &key].concat());
        let asks = ["req", "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr"];
        run(&[&asks[..], &key].concat());
        std::fs::write(file("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        run(&[
            "x509",
            "-req",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            "server.pem",
        ]);
        Self { authority: file("ca.pem"), certificate: file("server.pem"), key: file("server.key") }
    }

    /// The lines of a server's configuration that use them.
    pub fn configuration(&self) -> String {
        format!("tls {{ cert_file: {:?}, key_file: {:?} }}\n", self.certificate, self.key)
    }
}
