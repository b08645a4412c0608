//! A collector over real sockets, good or bad.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How it treats requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Takes,
    /// Says that it is busy, the first time.
    BusyAtFirst,
    /// Nobody listens.
    Gone,
    /// Takes a request and never answers.
    Hangs,
    /// Does not want it.
    Refuses,
    /// Knows no metrics.
    TracesAlone,
    /// Answers what is no HTTP, without an end.
    Babbles,
    /// Closes in the middle.
    HangsUp,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

pub(crate) struct Collector {
    port: u16,
    taken: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, taken) = (listener.local_addr().unwrap().port(), Arc::default());
        let collector = Self { port, taken: Arc::clone(&taken) };
        if behaviour != Behaviour::Gone {
            std::thread::spawn(move || {
                let mut first = true;
                for stream in listener.incoming().flatten() {
                    let busy = behaviour == Behaviour::BusyAtFirst && std::mem::take(&mut first);
                    let taken = Arc::clone(&taken);
                    std::thread::spawn(move || serve(stream, behaviour, busy, &taken));
                }
            });
        }
        collector
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Those that it took.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let taken = self.taken.lock().unwrap().clone();
        assert!(!taken.is_empty(), "nothing came");
        taken
    }
}

fn serve(stream: TcpStream, behaviour: Behaviour, mut busy: bool, taken: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(request) = read(&mut reader) {
        let answer = match behaviour {
            Behaviour::Hangs => loop {
                std::thread::park();
            },
            Behaviour::HangsUp => return,
            Behaviour::Babbles => {
                while stream.write_all(&[b'x'; 4096]).is_ok() {}
                return;
            }
            Behaviour::TracesAlone if request.path != "/v1/traces" => {
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"
            }
            Behaviour::Refuses => "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
            _ if std::mem::take(&mut busy) => {
                "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n"
            }
            _ => {
                taken.lock().unwrap().push(request);
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
            }
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body })
}
