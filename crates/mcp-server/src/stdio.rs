//! Serves one client over two streams of lines, such as standard input and output.

use rmcp::ServerHandler;
use rmcp::service::{ServerInitializeError, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::lines::LineTransport;

/// Why a client is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// It did not begin as the protocol wants it.
    #[error("the client does not begin as the protocol wants it: {0}")]
    Beginning(String),
    /// A fault in here.
    #[error("a fault ended the conversation: {0}")]
    Fault(String),
}

/// Serves the client on standard input and output until its input ends. `closing` is cancelled then, so that nobody waits for
/// a task any more.
pub async fn serve_stdio<S: ServerHandler>(service: S, closing: CancellationToken) -> Result<(), StdioError> {
    serve_lines(service, tokio::io::stdin(), tokio::io::stdout(), closing).await
}

async fn serve_lines<S: ServerHandler>(
    service: S,
    read: impl AsyncRead + Unpin + Send + 'static,
    write: impl AsyncWrite + Unpin + Send + 'static,
    closing: CancellationToken,
) -> Result<(), StdioError> {
    let transport = LineTransport::new(read, write, closing);
    let running = match serve_server(service, transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError::Beginning(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError::Fault(error.to_string()))
}
