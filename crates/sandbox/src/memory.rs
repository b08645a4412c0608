//! How this process deals with memory it has freed. It is here because it takes `unsafe`.

/// Freed memory at the end of the heap that is kept for the next allocation.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 8 * 1024 * 1024;
/// How much is taken from the kernel at a time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TAKEN_BYTES: i32 = 512 * 1024;
/// From this size on memory is taken from the kernel, and given back, by itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const APART_BYTES: i32 = 4 * 1024 * 1024;

/// Keeps a few megabytes of freed memory. By default the C library gives 128 KiB at the end of a heap back to the kernel, to take
/// them again, page by page, at the next turn of an agent. To be called once, before there are threads.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (what, bytes) in [
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
        (libc::M_TOP_PAD, TAKEN_BYTES),
        (libc::M_MMAP_THRESHOLD, APART_BYTES),
    ] {
        // SAFETY: `mallopt` takes two numbers and changes nothing but later decisions of the allocator. What it does not
        // know it refuses, which changes nothing.
        unsafe { libc::mallopt(what, bytes) };
    }
}
