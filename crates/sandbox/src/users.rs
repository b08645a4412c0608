//! Asks the system who somebody is, wherever it keeps its users: in a list, or in a directory on the network.

use std::{
    ffi::{CStr, OsStr},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    ptr,
};

use crate::limits;

/// The home folder of a user, if the system knows the user.
pub fn home_of(user: u32) -> Option<PathBuf> {
    let mut record = MaybeUninit::<libc::passwd>::uninit();
    let mut text = vec![0; limits::USER_BYTES_MAX];
    let mut found = ptr::null_mut();
    // SAFETY: the record and the room for its texts outlive the call, and its length is given.
    let failed =
        unsafe { libc::getpwuid_r(user, record.as_mut_ptr(), text.as_mut_ptr(), text.len(), &raw mut found) };
    if failed != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call has filled the record in, whose texts are in `text` and terminated.
    let home = unsafe {
        let home = record.assume_init().pw_dir;
        if home.is_null() {
            return None;
        }
        CStr::from_ptr(home)
    };
    let home = PathBuf::from(OsStr::from_bytes(home.to_bytes()));
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_home_that_the_system_says() {
        let listed = std::fs::read_to_string("/etc/passwd").unwrap();
        let mut asked = 0;
        for fields in listed.lines().map(|line| line.split(':').collect::<Vec<_>>()) {
            let (Some(Ok(user)), Some(home)) = (fields.get(2).map(|user| user.parse()), fields.get(5)) else {
                continue;
            };
            let first = listed.lines().find(|line| line.split(':').nth(2) == Some(fields[2])).unwrap();
            if home.starts_with('/') && first.split(':').nth(5) == Some(home) {
                assert_eq!(home_of(user), Some(PathBuf::from(home)));
                asked += 1;
            }
        }
        assert!(asked > 0);
        assert_eq!(home_of(u32::MAX - 7), None);
    }
}
