//! A record, a model that answers when it is told to, and a process that runs sessions and listens. Another process is
//! another engine on the same record: it has its own lock, and sees the first one only through its socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_api::{Handle, Listening, listen};
use posse_engine::{Engine, Session};
use posse_protocol::SessionId;
use posse_setup::{Paths, SessionPlan, Surroundings, Wishes};
use posse_testkit::{FakeModel, Turn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

pub(crate) struct Stage {
    pub(crate) root: tempfile::TempDir,
    pub(crate) model: FakeModel,
    /// The process that runs sessions.
    pub(crate) engine: Engine,
    pub(crate) listening: Listening,
    pub(crate) socket: PathBuf,
    /// Lets the model answer.
    pub(crate) go: Arc<AtomicBool>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::at("data").await
    }

    /// With a data directory of this name.
    pub(crate) async fn at(data: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let model = FakeModel::start().await;
        let config = format!(
            "model = \"fake\"\n[models.fake]\nendpoint = \"{}\"\nmodel = \"fake-model\"\n",
            model.base_url()
        );
        let home = root.path().join("home/.config/posse");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), config).unwrap();
        std::fs::create_dir(root.path().join("project")).unwrap();
        let engine = Engine::open(&root.path().join(data)).unwrap();
        let mut listening = listen(&engine);
        let socket = listening.ready().await.unwrap();
        Self { root, model, engine, listening, socket, go: Arc::default() }
    }

    pub(crate) fn data(&self) -> &Path {
        self.socket.parent().unwrap().parent().unwrap()
    }

    /// Another process with the same record.
    pub(crate) fn other(&self) -> Engine {
        Engine::open(self.data()).unwrap()
    }

    /// A session that answers with these turns; the first of them waits until the model is let go.
    pub(crate) async fn start(&self, turns: impl IntoIterator<Item = Turn>) -> Session {
        self.start_with(Wishes::default(), turns).await
    }

    pub(crate) async fn start_with(&self, wishes: Wishes, turns: impl IntoIterator<Item = Turn>) -> Session {
        for (nth, turn) in turns.into_iter().enumerate() {
            self.model.push(if nth == 0 { turn.after(&self.go) } else { turn });
        }
        let home = self.root.path().join("home");
        let project = self.root.path().join("project").canonicalize().unwrap();
        let surroundings = Surroundings::new(&project).with_home(home);
        let paths = Paths::find(surroundings, None, None).unwrap();
        let plan = SessionPlan::read(&paths, &project, wishes).unwrap();
        let choice = plan.choose_model().await.unwrap();
        let request = plan.terms(choice).unwrap().request("Do it.".to_owned(), None).unwrap();
        let session = self.engine.start(request).unwrap();
        // On record, so that others find it.
        let id = session.id;
        let mut updates = loop {
            if let Ok(updates) = self.engine.follow(id, posse_protocol::Seq(0)).await {
                break updates;
            }
            tokio::task::yield_now().await;
        };
        assert!(updates.next().await.is_some());
        session
    }

    pub(crate) fn let_go(&self) {
        self.go.store(true, Ordering::Release);
    }

    /// Both handles of a session: of this process, and of another.
    pub(crate) async fn handles(&self, session: SessionId) -> [Handle; 2] {
        let (here, there) =
            (Handle::of(&self.engine, session).await, Handle::of(&self.other(), session).await);
        let handles = [here.unwrap(), there.unwrap()];
        assert!(matches!(handles, [Handle::Here(_), Handle::Elsewhere(_)]));
        handles
    }

    /// Sends bytes as they are. Gives back what comes until the connection is closed.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        // The other side may have heard enough before all is sent.
        let _ = stream.write_all(bytes).await;
        rest(&mut stream).await
    }
}

pub(crate) async fn rest(stream: &mut UnixStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// A request that closes its connection.
pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: posse\r\nconnection: close\r\n\r\n").into_bytes()
}

pub(crate) fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: posse\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
