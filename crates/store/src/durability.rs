//! What a commit outlives. It must not know who asks for it.

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It outlives the process, however that ends. After a power cut the last moments may be missing, but never
    /// something in the middle.
    #[default]
    Process,
    /// It outlives a power cut as well: each commit waits for the disk.
    Power,
}

impl Durability {
    /// The word for SQLite's `synchronous` in WAL mode.
    pub(crate) fn synchronous(self) -> &'static str {
        match self {
            Self::Process => "NORMAL",
            Self::Power => "FULL",
        }
    }
}
