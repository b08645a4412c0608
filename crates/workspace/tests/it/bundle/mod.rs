//! Sessions that travel to a worker and back, between two folders of one machine.

mod hostile;
mod pool;
mod travel;

use std::{
    fs,
    path::{Path, PathBuf},
};

use posse_workspace::{
    WorkspaceError,
    bundle::{Depot, DepotCheckout, Sent, TakeLimits, pack, snapshot, take_in},
};

use crate::{Fixture, shell};

const BRANCH: &str = "posse/s1/far";

impl Fixture {
    fn file(&self, name: &str) -> PathBuf {
        self.outside().join(name)
    }

    /// The session's files as they are, at the worker's.
    async fn send(&self, depot: &Depot, folder: &Path) -> (Sent, u64) {
        let has = depot.has().await.unwrap();
        let sent = snapshot(folder, &self.checkouts(), BRANCH, &has).await.unwrap();
        let bundle = self.file("sent.bundle");
        let bytes = sent.pack(&sent.sent.base, &bundle).await.unwrap();
        // As it is for a worker that comes later.
        let later = self.file("later.bundle");
        assert_eq!(pack(folder, &sent.sent.base, &has, &later).await.unwrap(), bytes);
        let _ = fs::remove_file(later);
        let sent = sent.sent;
        assert_eq!(bytes > 0, bundle.exists());
        if bytes > 0 {
            assert_eq!(bytes, fs::metadata(&bundle).unwrap().len());
            depot.receive(&bundle, &sent.base, TakeLimits::default()).await.unwrap();
            fs::remove_file(&bundle).unwrap();
        }
        (sent, bytes)
    }

    /// The worker's result, at home. None if nothing was changed.
    async fn fetch(
        &self,
        depot: &Depot,
        checkout: &DepotCheckout,
        base: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        let Some(tip) = depot.finish(checkout, "work").await? else { return Ok(None) };
        let bundle = self.file("result.bundle");
        depot.pack_result(&checkout.base, &tip, &bundle).await?;
        take_in(&self.at("."), &bundle, base, &tip, BRANCH, TakeLimits::default()).await?;
        fs::remove_file(&bundle).unwrap();
        Ok(Some(tip))
    }

    async fn depot(&self, sha256: bool) -> Depot {
        Depot::open(&self.file("depot"), sha256).await.unwrap()
    }
}

/// All references of a repository, its HEAD, and all objects that it has.
async fn state(repository: &Path) -> String {
    let line = "git for-each-ref; git symbolic-ref HEAD; \
                git cat-file --batch-all-objects --batch-check | sort; find .git/objects -type f | sort";
    shell(repository, line).await
}
