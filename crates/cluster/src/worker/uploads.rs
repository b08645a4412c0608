//! What a run puts for home as blobs: items that do not fit into a letter, one at a time and in order, and its result. All of it is kept
//! until home has it, and put again where a courier has lost it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::WorkerInner;
use crate::courier::once_connected_within;
use crate::limits;
use crate::names::{BlobId, RunId};

/// See the module.
pub(super) struct Uploads {
    inner: Arc<WorkerInner>,
    run: RunId,
    count: u64,
    item: Option<ItemUpload>,
    kept: Vec<KeptUpload>,
    again: Option<JoinHandle<()>>,
}

/// An item that is being put.
struct ItemUpload {
    path: PathBuf,
    bytes: usize,
    put: JoinHandle<Result<BlobId, String>>,
}

/// A file that home may ask for again.
struct KeptUpload {
    blob: BlobId,
    path: PathBuf,
    /// The number of the item; none of the result, which is kept to the end.
    item: Option<u64>,
}

/// An item whose blob was put.
pub(super) struct PutItem {
    pub(super) blob: BlobId,
    /// How long it is.
    pub(super) bytes: usize,
    path: PathBuf,
}

impl Uploads {
    pub(super) fn new(inner: Arc<WorkerInner>, run: RunId) -> Self {
        Self { inner, run, count: 0, item: None, kept: Vec::new(), again: None }
    }

    /// Whether an item is being put: nothing that comes after it is told before.
    pub(super) fn is_busy(&self) -> bool {
        self.item.is_some()
    }

    /// Whether something is being put again: what names it waits.
    pub(super) fn is_mending(&self) -> bool {
        self.again.as_ref().is_some_and(|again| !again.is_finished())
    }

    /// Begins to put an item.
    pub(super) fn begin(&mut self, item: &[u8]) -> Result<(), String> {
        self.count += 1;
        let path = self.inner.depots.passing_file(&format!("{}-item-{}", self.run, self.count))?;
        std::fs::write(&path, item).map_err(|error| error.to_string())?;
        let put = tokio::spawn(put(Arc::clone(&self.inner), path.clone()));
        self.item = Some(ItemUpload { path, bytes: item.len(), put });
        Ok(())
    }

    /// Waits for the item that is being put. What is not awaited to the end can be awaited again.
    pub(super) async fn next(&mut self) -> Result<PutItem, String> {
        let Some(item) = &mut self.item else { return std::future::pending().await };
        let put = (&mut item.put).await;
        let Some(ItemUpload { path, bytes, .. }) = self.item.take() else {
            return Err("nothing was put".to_owned());
        };
        match put {
            Ok(Ok(blob)) => Ok(PutItem { blob, bytes, path }),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("a fault in Posse".to_owned()),
        }
    }

    /// Keeps an item's file until home has the item.
    pub(super) fn keep_item(&mut self, item: PutItem, number: u64) {
        self.kept.push(KeptUpload { blob: item.blob, path: item.path, item: Some(number) });
    }

    /// Keeps the file of the result.
    pub(super) fn keep_result(&mut self, blob: BlobId, path: PathBuf) {
        self.kept.push(KeptUpload { blob, path, item: None });
    }

    /// Home has all items up to this number.
    pub(super) fn acked(&mut self, upto: u64) {
        self.kept.retain(|kept| {
            let needed = kept.item.is_none_or(|number| number > upto);
            if !needed {
                let _ = std::fs::remove_file(&kept.path);
            }
            needed
        });
    }

    /// Puts a blob again that the courier has lost.
    pub(super) fn put_again(&mut self, blob: BlobId) {
        let Some(kept) = self.kept.iter().find(|kept| kept.blob == blob).filter(|_| !self.is_mending())
        else {
            return;
        };
        let (inner, path) = (Arc::clone(&self.inner), kept.path.clone());
        self.again = Some(tokio::spawn(async move {
            if let Err(why) = put(inner, path).await {
                tracing::warn!(why, "a blob that was lost could not be put again");
            }
        }));
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        if let Some(item) = &self.item {
            item.put.abort();
            let _ = std::fs::remove_file(&item.path);
        }
        self.again.iter().for_each(JoinHandle::abort);
        for kept in &self.kept {
            let _ = std::fs::remove_file(&kept.path);
        }
    }
}

/// Puts a file, and waits for the courier where it is away, as long as a run is kept whose home is silent.
async fn put(inner: Arc<WorkerInner>, path: PathBuf) -> Result<BlobId, String> {
    let put = once_connected_within(limits::ORPHAN_MS_MAX, || inner.parts.courier.put_blob(&path)).await;
    put.map_err(|error| error.to_string())
}
