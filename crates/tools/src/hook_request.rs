//! The request that an http hook is: the same JSON that a command would read, and a bounded response.

use std::{error::Error, sync::Arc, time::Duration};

use posse_protocol::Network;
use posse_protocol::visible::one_line;
use reqwest::{Client, Url, header, redirect};

use crate::limits;
use crate::web_address::{PublicNames, check};

/// Where a hook may send its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReach {
    /// Anywhere: the person's own settings name it.
    Anywhere,
    /// Where agents may fetch pages from.
    Within(Network),
}

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct HookRequest {
    /// The address.
    pub url: String,
    /// Headers beside the usual ones.
    pub headers: Vec<(String, String)>,
    /// The body, which is JSON.
    pub body: String,
    /// The most that is read of the response.
    pub bytes_max: usize,
    /// When it is given up.
    pub deadline: Duration,
    /// Where it may go.
    pub reach: HookReach,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookResponse {
    /// The status.
    pub status: u16,
    /// The body, or the start of it.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
}

/// Sends it. `None` if the time was over; the error says what was wrong.
pub async fn post_hook(request: HookRequest) -> Result<Option<HookResponse>, String> {
    match tokio::time::timeout(request.deadline, send(&request)).await {
        Ok(sent) => sent.map(Some),
        Err(_) => Ok(None),
    }
}

async fn send(request: &HookRequest) -> Result<HookResponse, String> {
    let url = Url::parse(&request.url).map_err(|error| format!("its address is none: {error}"))?;
    // Fails if another part of the program was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
        // A response that leads elsewhere could lead anywhere.
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(Duration::from_millis(limits::WEB_CONNECT_TIMEOUT_MS));
    if let HookReach::Within(network) = &request.reach {
        check(network, &url)?;
        client = client.dns_resolver(Arc::new(PublicNames(network.clone())));
    }
    let client = client.build().map_err(|error| format!("no client could be made: {error}"))?;
    let mut post = client.post(url).header(header::CONTENT_TYPE, "application/json");
    for (name, value) in &request.headers {
        post = post.header(name, value);
    }
    let mut response = post.body(request.body.clone()).send().await.map_err(|error| told(&error))?;
    let status = response.status().as_u16();
    let (mut body, mut is_cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(|error| told(&error))? {
        let room = request.bytes_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(HookResponse { status, body, is_cut })
}

fn told(error: &reqwest::Error) -> String {
    let (mut reason, mut cause) = (error.to_string(), error.source());
    // The innermost cause is the one that tells.
    while let Some(inner) = cause {
        (reason, cause) = (inner.to_string(), inner.source());
    }
    format!("its address could not be reached: {}", one_line(&reason, 300))
}
