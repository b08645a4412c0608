//! Queries as a stranger may write them: what means something to the full-text index, and what means nothing.

/// How many there are.
pub(crate) const HOSTILE_QUERIES: usize = 40;

pub(crate) fn hostile_queries() -> Vec<String> {
    let short = [
        "",
        " ",
        "\0",
        "a\0b",
        "\"",
        "\"\"",
        "'",
        "''; DROP TABLE memory; --",
        "\"plain",
        "plain\"",
        "*",
        "plain*",
        "*plain",
        "(",
        ")",
        "(plain",
        "plain)",
        "AND",
        "OR",
        "NOT",
        "plain AND",
        "NOT plain",
        "OR OR OR",
        "NEAR",
        "NEAR(plain words, 2)",
        "NEAR(",
        "^plain",
        "text:plain",
        "{text} : plain",
        "-plain",
        "+plain + words",
        "plain~2",
        "\\\"",
        "🦀",
        "🦀 \"🦀\" plain",
        "\u{202e}plain\u{feff}",
    ];
    let long = [
        "plain ".repeat(2_000),
        "x".repeat(10_240),
        "\"(".repeat(5_000),
        (0..2_000).map(|n| format!("w{n} OR ")).collect(),
    ];
    short.into_iter().map(str::to_owned).chain(long).collect()
}
