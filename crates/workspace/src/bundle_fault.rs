//! What can be wrong with a bundle that somebody sent, in our own words. Knows no git.

/// Why a bundle was refused. Nothing of it is in the repository then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum BundleFault {
    #[error("it has {bytes} bytes, more than the {bytes_max} that are taken")]
    TooLong { bytes: u64, bytes_max: u64 },
    #[error("it is no bundle of git, or a part of it is missing")]
    NotABundle,
    #[error("it names its objects in another way than the repository does")]
    OtherFormat,
    #[error("it holds {objects} objects, more than the {objects_max} that are taken")]
    TooManyObjects { objects: u64, objects_max: u64 },
    #[error("unpacked it has more than the {bytes_max} bytes that are taken")]
    TooMuchUnpacked { bytes_max: u64 },
    #[error("it builds on commits that the repository does not have")]
    MissingBefore,
    #[error("something in it is damaged, unsafe or incomplete")]
    Unsound,
    #[error("it took too long to look at")]
    TookTooLong,
    #[error("the commit that it was sent for is not in it")]
    WithoutTip,
    #[error("its commit does not descend from the one that the work began at")]
    Unrelated,
    #[error("its commit has more than {entries_max} files and folders")]
    TooManyEntries { entries_max: u64 },
    #[error("a path in it is longer than {bytes_max} bytes")]
    PathTooLong { bytes_max: usize },
    #[error("a path or an entry in it is none that a folder can have")]
    BadPath,
}
