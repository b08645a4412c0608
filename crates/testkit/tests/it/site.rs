//! A web server for the tests of the browser: a few files by their paths.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A path, headers beyond the usual, and what is there.
pub(crate) type Served = (&'static str, &'static str, &'static str);

/// Serves until the test's process ends.
pub(crate) struct Site {
    address: SocketAddr,
}

impl Site {
    pub(crate) fn start(files: &'static [Served]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, files).ok());
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn serve(mut stream: TcpStream, files: &[Served]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let known = files.iter().find(|file| file.0 == path.split('?').next().unwrap_or_default());
    let (status, headers, body) = match known {
        Some((_, headers, body)) => ("200 OK", *headers, *body),
        None => ("404 Not Found", "", "nothing here"),
    };
    let kind = if path.ends_with(".js") { "text/javascript" } else { "text/html" };
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\nconnection: close\r\n{headers}");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())
}
