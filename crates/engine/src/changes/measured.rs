//! What changes say beyond lines and paths: test files that lose something, and commits. Pure; contents are given.

use posse_protocol::{Change, CommitMade, Effect};
use posse_report::test_file_delta;

use crate::limits::COMMIT_SUBJECT_CHARS_MAX;

/// The log of what HEAD has been.
const LOG: &str = ".git/logs/HEAD";
/// What a line of the log says of a new commit.
const COMMITTED: &[&str] = &["commit", "cherry-pick", "revert", "rebase (pick)", "rebase: ", "am: "];

/// Whether the contents of a change are worth looking at.
pub(crate) fn is_telling(change: &Change) -> bool {
    change.path == LOG || !change.path.starts_with(".git/")
}

/// What a change comes to, by its contents before and after.
pub(crate) fn told(change: &Change, before: &[u8], after: &[u8]) -> Vec<Effect> {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        return Vec::new();
    };
    if change.path == LOG {
        return commits(before, after).into_iter().map(Effect::Commit).collect();
    }
    let before = change.before.as_ref().map(|_| before);
    let after = change.after.as_ref().map(|_| after);
    test_file_delta(&change.path, before, after).map(Effect::TestFile).into_iter().collect()
}

/// The commits that a log has gained.
fn commits(before: &str, after: &str) -> Vec<CommitMade> {
    // A log that was written anew has no old part.
    let new = after.strip_prefix(before).unwrap_or(after);
    new.lines().filter_map(commit).collect()
}

/// `OLD NEW NAME <MAIL> TIME ZONE\tcommit (amend): SUBJECT`.
fn commit(line: &str) -> Option<CommitMade> {
    let (who, what) = line.split_once('\t')?;
    let id =
        who.split(' ').nth(1).filter(|id| id.len() >= 40 && id.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let merged = (what.starts_with("merge ") || what.starts_with("pull")) && !what.contains("Fast-forward");
    if !merged && !COMMITTED.iter().any(|begin| what.starts_with(begin)) {
        return None;
    }
    let subject = what.split_once(": ").map_or(what, |(_, subject)| subject);
    let subject = subject.chars().take(COMMIT_SUBJECT_CHARS_MAX).collect();
    Some(CommitMade { id: id.to_string(), subject })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_found_in_what_the_log_gained() {
        let line = |n: u32, what: &str| format!("{:040x} {n:040x} A <a@b> 1700000000 +0000\t{what}\n", n - 1);
        let before = line(1, "commit (initial): one");
        let after = [
            before.clone(),
            line(2, "commit: two: a thing"),
            line(3, "checkout: moving from main to x"),
            line(4, "commit (amend): three"),
            line(5, "merge x: Merge made by the 'ort' strategy."),
            line(6, "merge x: Fast-forward"),
            line(7, "reset: moving to HEAD~1"),
            line(8, "cherry-pick: four"),
        ]
        .concat();
        let found = commits(&before, &after);
        let subjects = found.iter().map(|commit| commit.subject.as_str()).collect::<Vec<_>>();
        assert_eq!(subjects, ["two: a thing", "three", "Merge made by the 'ort' strategy.", "four"]);
        assert_eq!(found[0].id, format!("{:040x}", 2));
        assert_eq!(commits("", &before).len(), 1, "the first of a repository");
        assert_eq!(commits("", "nonsense\n\t\n").len(), 0);
    }
}
