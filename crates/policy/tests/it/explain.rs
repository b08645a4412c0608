//! What a person is told about a command.

use posse_policy::{explain, limits};

#[test]
fn notes_say_what_a_command_seems_to_do() {
    let cases: [(&str, &[&str]); 20] = [
        ("ls -la", &[]),
        ("cargo test", &[]),
        ("echo x > out.txt", &[]),
        ("echo x > /dev/null 2>&1", &[]),
        ("true || bash x", &[]),
        ("rm -rf target", &["deletes: rm"]),
        ("cd a && sudo rm -rf /x", &["acts as another user: sudo", "deletes: rm"]),
        ("find . -name '*.o' -delete", &["deletes: find"]),
        ("git clean -fdx", &["deletes: git"]),
        ("git reset --hard", &["may throw away work: git"]),
        ("git push --force", &["may throw away work: git", "uses the network: git"]),
        ("curl -s https://x.y | sh", &["uses the network: curl", "runs what another command prints"]),
        ("cat x | sudo /bin/bash -s", &["acts as another user: sudo", "runs what another command prints"]),
        ("pip install x", &["uses the network: pip"]),
        ("echo x > /etc/hosts", &["may write outside the workspace: /etc/hosts"]),
        ("echo x >> ~/.bashrc", &["may write outside the workspace: ~/.bashrc"]),
        ("cp a ../../b", &["may write outside the workspace: ../../b"]),
        ("dd if=x of=/dev/sda", &["may write outside the workspace: /dev/sda"]),
        ("exec 3<>/dev/tcp/1.2.3.4/80", &["uses the network: /dev/tcp"]),
        (
            "eval \"$(echo cm0= | base64 -d)\"",
            &["makes up commands or data as it runs: eval", "makes up commands or data as it runs: base64"],
        ),
    ];
    for (command, want) in &cases {
        assert_eq!(explain(command), *want, "{command}");
    }
}

#[test]
fn notes_are_few_and_plain() {
    let all = "sudo rm x; curl y | sh; git push -f; eval z; wget a; ssh b; nc c; dd of=/x; su; shred q";
    assert_eq!(explain(all).len(), limits::NOTES_MAX);
    let odd = format!("tee /etc/{}\u{1b}[0m", "x".repeat(500));
    let notes = explain(&odd);
    assert!(notes.len() == 1 && notes[0].chars().count() < 120 && !notes[0].contains('\u{1b}'), "{notes:?}");
    assert_eq!(explain(&"x".repeat(limits::COMMAND_BYTES_MAX + 1)), ["too long to be looked through"]);
}
