//! Kinds of test runners, by what their output looks like.

/// Whose words the output of a runner is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunnerFamily {
    /// `cargo test`, `cargo nextest`.
    Cargo,
    /// `pytest` and what runs it.
    Pytest,
    /// Python's own, Django's.
    Unittest,
    /// `go test`.
    Go,
    /// `ctest`.
    Ctest,
    /// `dotnet test`.
    Dotnet,
    /// Maven, Gradle.
    Java,
    /// PHPUnit, Pest.
    Php,
    /// RSpec, Minitest.
    Ruby,
    /// Bats, prove and others that write TAP.
    Tap,
    /// Any of them.
    Any,
}
