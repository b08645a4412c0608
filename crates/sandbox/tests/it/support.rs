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
    let posse_sandbox::Support { user_namespaces, processes, network, landlock, seccomp, overlay, cgroup } =
        &support;
    for finding in [user_namespaces, processes, network, landlock, seccomp, overlay, cgroup] {
        assert!(!finding.reason.is_empty() && !finding.reason.contains('\n'), "{finding:?}");
    }
    let needed = [user_namespaces, processes, network, landlock, seccomp];
    let all = needed.iter().all(|finding| finding.usable);
    assert_eq!(posse_sandbox::available().is_ok(), all, "{support:?} {:?}", posse_sandbox::available());
    assert_eq!(support, posse_sandbox::support());
}
