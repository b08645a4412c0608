//! The device of the file that was opened last.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

/// The file systems of this machine's own disks and memory, by the numbers of `statfs`: ext2 to ext4, XFS, Btrfs, F2FS,
/// tmpfs, bcachefs, ZFS.
const OF_THIS_MACHINE: [u32; 7] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0xca45_1a4e, 0x2fc1_2fc1];

/// The device that was found to be of this machine last, plus one. Most files of a workspace are on one device.
#[derive(Debug, Default)]
pub(crate) struct LastDevice(AtomicU64);

impl LastDevice {
    pub(crate) fn is_of_this_machine(&self, file: &File, device: u64) -> bool {
        let known = device.wrapping_add(1);
        if self.0.load(Ordering::Relaxed) == known {
            return true;
        }
        let kind = rustix::fs::fstatfs(file).ok().and_then(|of| u32::try_from(of.f_type).ok());
        let own = kind.is_some_and(|kind| OF_THIS_MACHINE.contains(&kind));
        if own {
            self.0.store(known, Ordering::Relaxed);
        }
        own
    }
}
