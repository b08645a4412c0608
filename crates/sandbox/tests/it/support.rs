//! What is said about the kernel is what was tried.

#[test]
fn every_finding_has_a_reason_and_trying_changes_nothing_here() {
    let before = std::fs::read_to_string("/proc/self/status").unwrap();
    let support = posse_sandbox::support();
    let after = std::fs::read_to_string("/proc/self/status").unwrap();
    let marks = |status: &str| -> Vec<String> {
        let wanted = ["NoNewPrivs", "Seccomp:", "Uid:", "CapEff"];
        status.lines().filter(|line| wanted.iter().any(|w| line.starts_with(w))).map(str::to_owned).collect()
    };
    assert_eq!(marks(&before), marks(&after));
    for finding in [&support.user_namespaces, &support.landlock, &support.seccomp] {
        assert!(!finding.reason.is_empty() && !finding.reason.contains('\n'), "{finding:?}");
    }
    assert_eq!(support, posse_sandbox::support());
}
