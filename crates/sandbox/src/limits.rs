//! Every number of this crate.

/// How long a command may clean up between SIGTERM and SIGKILL once its deadline has passed.
pub const TERM_GRACE_MS: u64 = 250;
/// How long output is still read after a command has ended, when something holds its pipes open.
pub const DRAIN_MS: u64 = 150;
/// How long a killed process may take to be gone before it is left to the runtime.
pub const REAP_MS: u64 = 200;
/// How many processes below a command are looked for.
pub const DESCENDANTS_MAX: usize = 4096;
/// How often processes below a command are looked for again because new ones appeared.
pub const DESCENDANTS_LOOKS_MAX: usize = 4;
/// One read from a child's pipe.
pub const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Output kept from the start, unless told otherwise.
pub const OUTPUT_HEAD_BYTES: usize = 16 * 1024;
/// Output kept from the end, unless told otherwise.
pub const OUTPUT_TAIL_BYTES: usize = 16 * 1024;
/// The most that can be asked for on either side.
pub const OUTPUT_SIDE_BYTES_MAX: usize = 16 * 1024 * 1024;
