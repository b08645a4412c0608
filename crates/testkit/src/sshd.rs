//! A real sshd on a free port of the loopback, with keys of its own, that lets in one user: another one than the test's where the test
//! may choose, as on another machine.
//!
//! It knows the server and nothing about who uses it.
#![allow(clippy::disallowed_types)]

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long the server may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);
/// Who logs in where the test is root.
const OTHER: &str = "posse-far";

/// A server, and the folder of the user who logs in. Dropping it ends both.
pub struct Sshd {
    port: u16,
    user: String,
    folder: TempDir,
    process: Child,
}

impl Sshd {
    /// Starts a server.
    ///
    /// # Panics
    /// If there is none, or it does not begin.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let user = user();
        let far = folder.path().join("far");
        std::fs::create_dir(&far).unwrap();
        let id = |flag: &str| crate::run("id", &[flag, &user]).trim().parse::<u32>().unwrap();
        chown(&far, Some(id("-u")), Some(id("-g"))).unwrap();
        for key in ["host", "user"] {
            let file = folder.path().join(key);
            crate::run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", file.to_str().unwrap()]);
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let place = folder.path().display();
        let host_key = std::fs::read_to_string(folder.path().join("host.pub")).unwrap();
        std::fs::write(folder.path().join("known"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        std::fs::copy(folder.path().join("user.pub"), folder.path().join("keys")).unwrap();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile {place}/keys\nPidFile none\nUsePAM \
             no\nStrictModes no\nPasswordAuthentication no\nMaxStartups 100\n"
        );
        std::fs::write(folder.path().join("config"), settings).unwrap();
        // Where it goes as another user before it knows who is there.
        let _ = std::fs::create_dir_all("/run/sshd");
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(program())
            .args(["-D", "-e", "-f"])
            .arg(folder.path().join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let process = process.unwrap_or_else(|error| panic!("sshd cannot be started: {error}"));
        let mut server = Self { port, user, folder, process };
        let begun = Instant::now();
        while !server.answers() {
            let ended = server.process.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "it does not begin: {}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Who is logged in where, for ssh.
    pub fn host(&self) -> String {
        format!("{}@127.0.0.1", self.user)
    }

    /// What ssh has to be told to find it and nothing of the person's own.
    pub fn options(&self) -> Vec<String> {
        let place = self.folder.path().display();
        let known = format!("UserKnownHostsFile={place}/known");
        let (key, port) = (format!("{place}/user"), self.port.to_string());
        ["-F", "/dev/null", "-o", &known, "-o", "IdentitiesOnly=yes", "-i", &key, "-p", &port]
            .map(str::to_owned)
            .to_vec()
    }

    /// What is in the arguments of each ssh that speaks with it.
    pub fn mark(&self) -> String {
        format!("{}/user", self.folder.path().display())
    }

    /// A folder of the user who logs in.
    pub fn far(&self) -> PathBuf {
        self.folder.path().join("far")
    }

    /// Writes a program that this user can run.
    pub fn far_program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// A program where this user can run it: itself, or a copy.
    pub fn reachable(&self, program: &Path) -> PathBuf {
        let is_open =
            |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
        if program.ancestors().all(is_open) {
            return program.to_path_buf();
        }
        let copy = self.folder.path().join("program");
        if !copy.exists() {
            std::fs::copy(program, &copy).unwrap();
            std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
        }
        copy
    }

    /// What it has written about itself.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut first = [0; 4];
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        stream.read_exact(&mut first).is_ok() && &first == b"SSH-"
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The server wants to be called by its whole path.
fn program() -> PathBuf {
    let places = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"];
    let found = places.iter().map(PathBuf::from).find(|path| path.exists());
    found.expect("there is no sshd: install openssh-server")
}

/// Who logs in: another user where the test may make one.
fn user() -> String {
    let own = crate::run("id", &["-un"]).trim().to_owned();
    if own != "root" {
        return own;
    }
    let known = || Command::new("id").arg(OTHER).output().unwrap().status.success();
    if !known() {
        // Two tests may try at the same time. The password is none, which is not the same as a locked account.
        let _ = Command::new("useradd")
            .args(["--shell", "/bin/sh", "--password", "*", "-M", "-d", "/nonexistent", OTHER])
            .output();
    }
    let begun = Instant::now();
    while !known() {
        assert!(begun.elapsed() < PATIENCE, "no user could be made");
        std::thread::sleep(Duration::from_millis(20));
    }
    OTHER.to_owned()
}
