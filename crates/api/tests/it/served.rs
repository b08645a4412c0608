//! A server as others reach it: a real socket, raw requests, and a record that another process works on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_api::{
    AccessToken, BackgroundProgram, HubStart, Listen, ServeError, Serving, TlsFiles, WebStart, serve,
};
use posse_engine::Engine;
use posse_setup::{Paths, Surroundings};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A server, and what one needs to ask it.
pub(crate) struct Served {
    pub(crate) serving: Serving,
    pub(crate) token: AccessToken,
}

/// How it is started.
pub(crate) struct Options {
    pub(crate) read_only: bool,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) listen: Listen,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) allowed_hosts: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read_only: false,
            folders: Vec::new(),
            listen: Listen::Loopback(0),
            tls: None,
            allowed_hosts: Vec::new(),
        }
    }
}

impl Served {
    /// A server on the record of a data directory, for the person with this home.
    pub(crate) async fn start(root: &Path, data: &Path, options: Options) -> Self {
        Self::try_start(root, data, options).await.unwrap()
    }

    pub(crate) async fn try_start(root: &Path, data: &Path, options: Options) -> Result<Self, ServeError> {
        let token = AccessToken::random().unwrap();
        let folder = root.canonicalize().unwrap();
        let surroundings = Surroundings::new(&folder).with_home(folder.join("home"));
        let paths = Paths::find(surroundings, Some(data), None).unwrap();
        let start = WebStart {
            hub: HubStart {
                engine: Engine::open(data).unwrap(),
                paths: Arc::new(paths),
                folders: options.folders,
                program: BackgroundProgram::default(),
                read_only: options.read_only,
                version: "test".to_owned(),
            },
            listen: options.listen,
            tls: options.tls,
            allowed_hosts: options.allowed_hosts,
            token: token.clone(),
            others: None,
        };
        Ok(Self { serving: serve(start).await?, token })
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.serving.port)
    }

    /// Sends a request as it is, with what comes back until the connection is closed.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).await.unwrap();
        let _ = stream.write_all(request.as_bytes()).await;
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        String::from_utf8_lossy(&all).into_owned()
    }

    /// A request with these headers instead of, or beside, the usual ones. An empty value leaves one out.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> String {
        let bearer = format!("Bearer {}", self.token.reveal());
        let (host, length) = (self.host(), body.len().to_string());
        let mut all = vec![("host", host.as_str()), ("connection", "close"), ("authorization", &bearer)];
        if method == "POST" {
            all.extend([("content-type", "application/json"), ("content-length", &length)]);
        }
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        let lines: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{method} {path} HTTP/1.1\r\n{lines}\r\n{body}")
    }

    /// The status of a request.
    pub(crate) async fn status(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        status(
            &self.raw(&self.request(method, path, if method == "POST" { "{}" } else { "" }, headers)).await,
        )
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(&self.raw(&self.request("GET", path, "", &[])).await)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answer(&self.raw(&self.request("POST", path, &body.to_string(), &[])).await)
    }

    /// An event stream that is being read.
    pub(crate) async fn stream(&self, path: &str) -> Stream {
        let mut stream = TcpStream::connect(self.host()).await.unwrap();
        stream.write_all(self.request("GET", path, "", &[]).as_bytes()).await.unwrap();
        Stream { stream, pending: String::new(), bytes: Vec::new() }
    }
}

pub(crate) fn status(response: &str) -> u16 {
    response.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// The status and the JSON of a response.
pub(crate) fn answer(response: &str) -> (u16, Value) {
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status(response), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// One frame of a stream.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// An event stream that is being read. Bodies come in chunks; their sizes are not looked at, because no frame has a line that
/// is a number.
pub(crate) struct Stream {
    stream: TcpStream,
    pending: String,
    bytes: Vec<u8>,
}

impl Stream {
    /// The next frame; none once the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.frame() {
                return Some(frame);
            }
            let mut some = [0; 16 << 10];
            match self.stream.read(&mut some).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.bytes.extend_from_slice(&some[..count]),
            }
            let whole = std::str::from_utf8(&self.bytes).map_or_else(|error| error.valid_up_to(), str::len);
            let text: Vec<u8> = self.bytes.drain(..whole).collect();
            self.pending.push_str(&String::from_utf8(text).unwrap());
        }
    }

    fn frame(&mut self) -> Option<Frame> {
        loop {
            let (head, rest) = self.pending.split_once("\n\n")?;
            let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let found = line("event: ").zip(line("data: ")).map(|(event, data)| Frame {
                id: line("id: ").and_then(|id| id.parse().ok()),
                event,
                data: serde_json::from_str(&data).unwrap(),
            });
            self.pending = rest.to_owned();
            if found.is_some() {
                return found;
            }
        }
    }

    /// Reads until a frame fits.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut all = Vec::new();
        while let Some(frame) = self.next().await {
            let done = fits(&frame);
            all.push(frame);
            if done {
                return all;
            }
        }
        panic!("the stream ended first: {all:#?}");
    }
}
