//! Where a part of the confinement is missing, a confined command is refused with the reason and never runs (X4).

use std::{os::unix::process::CommandExt, path::Path};

use posse_sandbox::{Level, SandboxError};

use crate::{again, confined_shell, said_lines};

/// What is taken away, as system call numbers, and a word of the reason.
const WAYS: [(&str, &[libc::c_long], &str); 6] = [
    ("namespaces", &[libc::SYS_unshare], "namespaces"),
    ("Landlock", &[libc::SYS_landlock_create_ruleset], "Landlock"),
    ("seccomp", &[libc::SYS_seccomp], "seccomp"),
    ("mount", &[libc::SYS_mount], "mounts"),
    ("mount attributes", &[libc::SYS_mount_setattr], "read-only root"),
    ("pivot_root", &[libc::SYS_pivot_root], "read-only root"),
];

/// A filter that answers these calls with "not permitted".
fn filter(refused: &[libc::c_long]) -> Vec<libc::sock_filter> {
    let statement = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for number in refused {
        filter.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, *number as u32));
        filter.push(statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | 1));
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    filter
}

/// Has a process started without these calls.
fn take_away(process: &mut std::process::Command, calls: &[libc::c_long]) {
    let mut filter = filter(calls);
    // SAFETY: the closure makes two system calls with data that was made before the fork.
    unsafe {
        process.pre_exec(move || {
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

#[test]
fn whatever_is_missing_the_command_is_refused_with_the_reason() {
    let mut refused = 0;
    for (way, calls, word) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let me = std::env::current_exe().unwrap();
        let value = folder.path().to_str().unwrap();
        let mut process = again(&me, "missing::stands_in_for_a_program", "POSSE_TEST_MISSING", value);
        take_away(&mut process, calls);
        let said = said_lines(process);
        assert_eq!(said.len(), 4, "{way}: {said:?}");
        said.iter().for_each(|line| assert!(line.contains(word), "{way}: {line}"));
        assert_eq!(crate::names_in(folder.path()), Vec::<String>::new(), "{way}");
        refused += 1;
    }
    assert_eq!(refused, 6);
}

/// Says how it is refused; only of interest when started by the test above.
#[tokio::test]
async fn stands_in_for_a_program() {
    let Ok(folder) = std::env::var("POSSE_TEST_MISSING") else { return };
    if let Err(reason) = posse_sandbox::available() {
        println!("SAID {reason}");
    }
    for level in [Level::Inspect, Level::Verify, Level::Full] {
        let command = confined_shell(level, Path::new(&folder), "touch ran", |_| {});
        if let Err(SandboxError::NotConfined(reason)) = posse_sandbox::run(command).await {
            println!("SAID {reason}");
        }
    }
}

#[test]
fn without_word_of_changes_they_are_looked_for() {
    let test = "outside::what_is_replaced_from_outside_is_covered_again";
    let mut refused = 0;
    for call in [libc::SYS_inotify_init1, libc::SYS_inotify_add_watch] {
        let mut process = again(&std::env::current_exe().unwrap(), test, "POSSE_TEST_UNWATCHED", "1");
        take_away(&mut process, &[call]);
        let output = process.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        refused += 1;
    }
    assert_eq!(refused, 2);
}
