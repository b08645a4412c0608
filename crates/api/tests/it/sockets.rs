//! The socket itself: whose it is, where it can be, and what is left of it.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use posse_api::calls::record::ShowSession;
use posse_api::{CallErrorKind, Client, listen};
use posse_engine::Engine;
use posse_testkit::Turn;

use crate::stage::{Stage, get, rest};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn it_is_the_owners_alone_and_goes_with_its_server() {
    let stage = Stage::new().await;
    assert!(std::fs::metadata(&stage.socket).unwrap().file_type().is_socket());
    assert_eq!((mode(&stage.socket), mode(stage.socket.parent().unwrap())), (0o600, 0o700));
    drop(stage.listening);
    assert!(!stage.socket.exists());
    let mut again = listen(&stage.engine);
    assert_eq!(again.ready().await.unwrap(), stage.socket);
    again.close().await;
    assert!(!stage.socket.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_is_too_long_for_an_address_works() {
    let long = ["a-folder-with-a-long-name-that-adds-up"; 6].join("/");
    let stage = Stage::at(&long).await;
    assert!(stage.socket.as_os_str().len() > 250);
    let session = stage.start([Turn::text("Done.")]).await;
    let [_, elsewhere] = stage.handles(session.id).await;
    assert_eq!(elsewhere.call(session.id, ShowSession {}).await.unwrap().session.id, session.id);
    assert_eq!((mode(&stage.socket), mode(stage.socket.parent().unwrap())), (0o600, 0o700));
    stage.let_go();
    session.report().await.unwrap();
}

#[tokio::test]
async fn what_a_crash_leaves_is_removed_by_the_next_process() {
    let data = tempfile::tempdir().unwrap();
    drop(Engine::open(data.path()).unwrap());
    let processes = data.path().join("processes");
    std::fs::create_dir_all(&processes).unwrap();
    let name = "01890000-0000-7000-8000-000000000001";
    std::fs::write(processes.join(name), "").unwrap();
    let socket = processes.join(format!("{name}.sock"));
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let session: posse_protocol::SessionId = "01890000-0000-7000-8000-000000000002".parse().unwrap();
    let error = Client::new(socket.clone()).call(session, ShowSession {}).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Unreachable);
    let _engine = Engine::open(data.path()).unwrap();
    assert!(!socket.exists() && !processes.join(name).exists());
}

/// Set for the process that a test starts: the socket.
const ORDER: &str = "POSSE_TEST_ORDER";

/// Asks for the sessions and tells how many bytes came back.
fn ask(socket: &Path) {
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let _ = stream.write_all(&get("/api/sessions"));
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    println!("\nSAID {}", heard.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_of_another_user_hears_nothing() {
    if let Some(socket) = std::env::var_os(ORDER) {
        return ask(Path::new(&socket));
    }
    if std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).ok() != Some(0) {
        // Only root can be somebody else.
        return;
    }
    const STRANGER: u32 = 64_322;
    let stage = Stage::new().await;
    // As if modes protected nothing.
    let open = std::fs::Permissions::from_mode(0o777);
    let folders = stage.socket.ancestors().take(3).chain([stage.root.path()]);
    folders.for_each(|path| std::fs::set_permissions(path, open.clone()).unwrap());
    let program = stage.root.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut heard = Vec::new();
    for uid in [0, STRANGER] {
        let mut asking = Command::new(&program);
        asking.args(["--exact", "sockets::a_process_of_another_user_hears_nothing", "--nocapture"]);
        asking.env(ORDER, &stage.socket).uid(uid).gid(uid).current_dir("/");
        let output = tokio::task::spawn_blocking(move || asking.output().unwrap()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let said = text.lines().find_map(|line| line.strip_prefix("SAID ")?.parse::<usize>().ok());
        heard.push(said.unwrap_or_else(|| panic!("it said {text}")) > 0);
    }
    assert_eq!(heard, [true, false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_leave_the_session_alone() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let (mut kept, mut turned_away) = (Vec::new(), 0);
    for _ in 0..1000 {
        // On a busy machine the server may be behind with accepting.
        let mut stream = loop {
            match tokio::net::UnixStream::connect(&stage.socket).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        if kept.len() < posse_api::limits::CONNECTIONS_MAX {
            kept.push(stream);
            continue;
        }
        let said = rest(&mut stream).await;
        assert!(said.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{said}");
        assert!(said.contains("\"kind\":\"too_many\""), "{said}");
        turned_away += 1;
    }
    assert_eq!((kept.len(), turned_away), (256, 744));
    stage.let_go();
    assert_eq!(session.report().await.unwrap().text, "Done.");
    drop(kept);
    // There is room again.
    let there = async {
        while !stage.raw(&get("/api/sessions")).await.starts_with("HTTP/1.1 200") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), there).await.expect("room for another");
}
