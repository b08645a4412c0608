//! How home and the processes of workers reach each other: a socket for each worker, or a broker.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use posse_cluster::{
    BlobShelf, BlobShelves, HomeCourier, LeaseTimes, NatsAddress, NatsHome, NatsWorker, OwnerName, PipeHome,
    PipeWorker, WhenFull, WorkerCourier, WorkerName,
};
use posse_testkit::nats::NatsServer;
use tokio::net::{UnixListener, UnixStream};

/// Room for blobs on either side.
const SHELF_BYTES: u64 = 8 << 30;

/// How messages travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// A Unix socket for each worker, with the frames of the courier that ssh uses.
    Pipe,
    /// A broker at this address.
    Nats(String),
}

impl Transport {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Pipe => "sockets",
            Self::Nats(_) => "NATS",
        }
    }

    /// As the person says it; a broker is started if one is needed, and lasts as long as what is returned.
    pub(super) fn chosen(text: &str) -> anyhow::Result<(Self, Option<NatsServer>)> {
        if text != "nats" {
            return Ok((Self::parse(text)?, None));
        }
        let broker = NatsServer::start("max_payload: 8MB");
        Ok((Self::Nats(broker.url()), Some(broker)))
    }

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        match text {
            "pipe" => Ok(Self::Pipe),
            url if url.starts_with("nats://") => Ok(Self::Nats(url.to_owned())),
            other => anyhow::bail!("there is no courier {other}"),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Pipe => "pipe".to_owned(),
            Self::Nats(url) => url.clone(),
        }
    }

    /// Home's side. `begin` starts a worker's process, which may connect from then on.
    pub(super) async fn home(
        &self,
        place: &Path,
        owner: &OwnerName,
        workers: &[WorkerName],
        mut begin: impl FnMut(&WorkerName) -> anyhow::Result<()>,
    ) -> anyhow::Result<Arc<dyn HomeCourier>> {
        match self {
            Self::Pipe => {
                let home = PipeHome::new(BlobShelves::new(place.join("shelves"), SHELF_BYTES));
                for name in workers {
                    let listener = UnixListener::bind(place.join(format!("{name}.sock")))?;
                    begin(name)?;
                    let (stream, _) = listener.accept().await?;
                    let (reader, writer) = stream.into_split();
                    home.add(name, reader, writer)?;
                }
                Ok(Arc::new(home))
            }
            Self::Nats(url) => {
                let home = NatsHome::connect(&address(url), owner, LeaseTimes::default()).await?;
                workers.iter().try_for_each(begin)?;
                Ok(Arc::new(home))
            }
        }
    }

    /// A worker's side.
    pub(super) async fn worker(
        &self,
        place: &Path,
        owner: &OwnerName,
        name: &WorkerName,
    ) -> anyhow::Result<Arc<dyn WorkerCourier>> {
        let shelf = place.join(format!("{name}-shelf"));
        let shelf = Arc::new(BlobShelf::open(&shelf, SHELF_BYTES, WhenFull::DropOldest).await?);
        match self {
            Self::Pipe => {
                let socket = place.join(format!("{name}.sock"));
                let stream = UnixStream::connect(socket).await.context("no home")?;
                let (reader, writer) = stream.into_split();
                Ok(Arc::new(PipeWorker::start(name, shelf, reader, writer)))
            }
            Self::Nats(url) => Ok(Arc::new(NatsWorker::connect(&address(url), owner, name, shelf).await?)),
        }
    }
}

fn address(url: &str) -> NatsAddress {
    NatsAddress { url: url.to_owned(), ..NatsAddress::default() }
}
