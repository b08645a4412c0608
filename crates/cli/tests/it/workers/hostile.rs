//! `posse worker --stdio` and whoever speaks to it: what is no home ends it, and costs it little.

use std::io::Write as _;
use std::process::Stdio;

use posse_testkit::Turn;

use crate::posse::{Person, Ran};

const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";
/// What a pipe begins with.
const MAGIC: &[u8] = b"\0posse pipe 1\n";

/// What it is, what is written first, what is written again and how often, and how the worker ends.
type HostileCase<'a> = (&'a str, Vec<u8>, &'a [u8], usize, i32, &'a str);

/// Runs a worker that reads this, again and again, until it ends by itself.
fn worker(person: &Person, begin: &[u8], again: &[u8], times: usize) -> Ran {
    let args = ["worker", "--stdio", "--name", "far", "--owner", "me"];
    // More memory than this it cannot have.
    let mut command = std::process::Command::new("sh");
    let own = person.command(&args);
    command
        .args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""])
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(person.project.path())
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (begin, again) = (begin.to_vec(), again.to_vec());
    let writes = std::thread::spawn(move || {
        let _ = input.write_all(&begin);
        for _ in 0..times {
            if input.write_all(&again).is_err() {
                break;
            }
        }
    });
    let ran = Ran::from(child.wait_with_output().unwrap());
    writes.join().unwrap();
    ran
}

#[test]
fn strangers_end_it_and_fill_nothing() {
    let person = Person::new([] as [Turn; 0]);
    let noise: Vec<u8> =
        (0..64_u32 << 10).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    let secret = SECRET.as_bytes();
    let framed = |bytes: &[u8]| [secret, MAGIC, bytes].concat();
    let cases: [HostileCase<'_>; 8] = [
        ("nothing", Vec::new(), b"", 0, 2, "home ended before it said the secret"),
        ("a short secret", b"0123\n".to_vec(), b"", 0, 2, "home ended before it said the secret"),
        ("an endless line", Vec::new(), &[b'a'; 65_536], 4_000, 2, "home did not begin with a secret"),
        ("noise", Vec::new(), &noise, 1_000, 2, "home did not begin with a secret"),
        ("no frames", secret.to_vec(), &noise, 1_000, 1, "does not speak this protocol"),
        ("a frame without end", framed(&[0xff; 16]), b"", 0, 1, "a frame has a bad length"),
        ("an unknown frame", framed(&[0, 0, 0, 1, 99]), b"", 0, 1, "a frame has an unknown kind"),
        ("a worker's frame", framed(&[0, 0, 0, 1, 4]), b"", 0, 1, "home sent a frame of a worker's"),
    ];
    let mut count = 0;
    for (what, begin, again, times, code, says) in cases {
        let ran = worker(&person, &begin, again, times);
        assert_eq!(ran.code, Some(code), "{what}: {ran:#?}");
        assert!(ran.stderr.contains(says), "{what}: {says:?} is not in {ran:#?}");
        assert!(ran.stderr.len() < 1_000, "{what}: {}", ran.stderr.len());
        assert!(!ran.stderr.contains("0123456789abcdef"), "{what}: the secret is told");
        count += 1;
    }
    assert_eq!(count, 8);
}

#[test]
fn messages_that_nobody_signed_change_nothing_and_its_end_ends_it() {
    let person = Person::new([] as [Turn; 0]);
    let message = [&[0, 0, 1, 1, 2], &[7; 256][..]].concat();
    let ran = worker(&person, &[SECRET.as_bytes(), MAGIC].concat(), &message, 10_000);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    assert!(ran.stdout.starts_with("\0posse pipe 1\n"), "its first words are frames");
    assert!(!person.data_dir().join("posse.db").exists(), "the person's record is another one");
}
