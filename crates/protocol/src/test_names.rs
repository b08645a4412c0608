//! Which names say that something is about tests. One place for all who ask: whether a script runs tests, and whether a file
//! that was changed is one.

/// Whether the name of a file, a target or a script says that it is about tests. Of a path only the last part counts.
pub fn is_test_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let about = |word: String| {
        matches!(
            word.as_str(),
            "test" | "tests" | "testing" | "check" | "checks" | "spec" | "specs" | "runtests" | "selftest"
        )
    };
    let lower = name.to_ascii_lowercase();
    words.flat_map(camel_words).any(about) || lower.starts_with("test") && !lower.starts_with("testimon")
}

/// `runTests` are two words.
fn camel_words(word: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = false;
    for c in word.chars() {
        if c.is_ascii_uppercase() && before {
            words.push(String::new());
        }
        before = c.is_ascii_lowercase();
        if let Some(last) = words.last_mut() {
            last.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// Folders that hold tests.
const FOLDERS: &[&str] = &["test", "tests", "__tests__", "spec", "specs", "testing", "e2e", "t", "testsuite"];
/// Ends of the names of scripts; a name without any is one, too.
const SCRIPTS: &[&str] = &["", "sh", "bash", "zsh", "bat", "cmd", "ps1"];

/// Whether a path is that of a test file. A source that is called `check` is none; a script of that name is.
pub fn is_test_path(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, end) = name.split_once('.').unwrap_or((name, ""));
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let camel =
        ["Test", "Tests", "Spec", "TestCase"].iter().any(|end| stem.len() > end.len() && stem.ends_with(end));
    folder.split('/').any(|part| FOLDERS.contains(&part.to_ascii_lowercase().as_str()))
        || words.any(|word| matches!(word, "test" | "tests" | "spec" | "specs" | "conftest"))
        || camel
        || (stem.starts_with("Test") && stem.chars().nth(4).is_some_and(char::is_uppercase))
        || (SCRIPTS.contains(&end) && is_test_name(name))
}
