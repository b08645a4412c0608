//! Messages as lines, bounded both ways. What is not a message is answered with an error and passed over; a client that does
//! not read its answers is not read from either.

use std::io;
use std::sync::Arc;

use posse_api::{BoundedLine, BoundedLines};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::listening::carry_tasks;

/// The client's side of a connection over two streams of lines.
pub(crate) struct LineTransport<R, W> {
    read: BoundedLines<R>,
    /// Whether a request has come. Before, anything else would end the conversation before it begins.
    begun: bool,
    write: Arc<Mutex<W>>,
    /// Places for answers that the client has not taken.
    room: Arc<Semaphore>,
    /// Cancelled at the end of what the client sends.
    ended: CancellationToken,
}

/// What is wrong with a line, and the request that this answers.
type Complaint = Box<(ErrorData, Option<RequestId>)>;

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> LineTransport<R, W> {
    pub(crate) fn new(read: R, write: W, ended: CancellationToken) -> Self {
        Self {
            read: BoundedLines::new(read, limits::MESSAGE_BYTES_MAX),
            begun: false,
            write: Arc::new(Mutex::new(write)),
            room: Arc::new(Semaphore::new(limits::ANSWERS_WAITING_MAX)),
            ended,
        }
    }

    /// The message in a line, or what is wrong with it and the request that it answers.
    fn message(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Complaint> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let mut value: Value = serde_json::from_slice(line).map_err(|error| {
            complaint(
                ErrorData::new(ErrorCode::PARSE_ERROR, format!("This is no JSON: {error}."), None),
                None,
            )
        })?;
        if !value.is_object() {
            return Err(complaint(ErrorData::invalid_request("A message is one JSON object.", None), None));
        }
        let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let is_request = value.get("method").is_some();
        if is_request && id.is_none() && value.get("id").is_some() {
            return Err(complaint(
                ErrorData::invalid_request("An id is a text or a whole number.", None),
                None,
            ));
        }
        carry_tasks(&mut value);
        match serde_json::from_value(value) {
            Ok(message) => Ok(Some(message)),
            // An answer to something that was never asked, or a notification of another version: nobody waits for a reply.
            Err(_) if !is_request || id.is_none() => Ok(None),
            Err(error) => Err(complaint(
                ErrorData::invalid_params(format!("The request is not understood: {error}."), None),
                id,
            )),
        }
    }
}

fn complaint(error: ErrorData, id: Option<RequestId>) -> Complaint {
    Box::new((error, id))
}

/// Writes one message as a line.
async fn write<W: AsyncWrite + Unpin>(to: &Mutex<W>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut to = to.lock().await;
    to.write_all(&line).await?;
    to.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (to, place) = (Arc::clone(&self.write), Arc::clone(&self.room).try_acquire_owned());
        async move {
            let written = write(&to, &item).await;
            drop(place);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Waits while the client does not take its answers.
            drop(Arc::clone(&self.room).acquire_owned().await);
            let understood = match self.read.next().await {
                Ok(Some(BoundedLine::Whole(line))) => Self::message(&line),
                Ok(Some(BoundedLine::TooLong)) => {
                    let text = format!("A message has at most {} MiB.", limits::MESSAGE_BYTES_MAX >> 20);
                    Err(complaint(ErrorData::invalid_request(text, None), None))
                }
                Ok(None) | Err(_) => {
                    self.ended.cancel();
                    return None;
                }
            };
            match understood {
                Ok(Some(message)) if self.begun || matches!(message, ClientJsonRpcMessage::Request(_)) => {
                    self.begun = true;
                    return Some(message);
                }
                Ok(_) => {}
                Err(complaint) => {
                    let (error, id) = *complaint;
                    let to = Arc::clone(&self.write);
                    if write(&to, &ServerJsonRpcMessage::error(error, id)).await.is_err() {
                        self.ended.cancel();
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.lock().await.shutdown().await
    }
}
