//! Finds what prose says about tests: that they pass, and how many.

use super::{
    doubt, phrases,
    tokens::{Sentence, Token, TokenKind},
    words::is,
};

/// What is said about tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    /// Whether tests are said to pass.
    pub(crate) pass: bool,
    /// Whether all of them are.
    pub(crate) all: bool,
    /// How many, where it says so; the most.
    pub(crate) count: Option<u32>,
    /// Whether something is said to fail.
    pub(crate) admits_failure: bool,
}

const PASS: &[&str] = &[
    "tests|test|specs|testcases|suite|testsuite|pytest|jest|vitest|checks .. pass|passes|passed|passing|green|succeed|succeeds|succeeded",
    "passes|passed all|the|every .. tests|test|suite|specs",
    "tests|test|suite .. bestanden|grün|durchgelaufen|erfolgreich|fehlerfrei",
    "tests|test|suite .. laufen|läuft|liefen|lief .. durch|erfolgreich|fehlerfrei",
    "testsuite|testsuiten .. grün|bestanden|durch|erfolgreich|fehlerfrei",
    "alle tests .. ok",
    "tests|pruebas|suite .. pasan|pasaron|pasa|pasó|verde|verdes|pasado|exitosas|exitosos",
    "tests|test|suite ran|run|completed|finish|finished .. successfully",
    "no test failures|failures",
];
/// One of them is in each of these patterns, as it stands without spaces.
const STEMS: &[&str] = &["test", "spec", "suite", "checks", "prueba", "jest"];
/// Before "tests": they stand for all of them.
const WHOLE: &str = "all the alle sämtliche every todas todos die las los whole entire full complete gesamte";
/// Between those and "tests".
const OF_ALL: &str = "unit of existing die the las los our my test cargo automated";

/// Adds what one sentence says.
pub(crate) fn read(sentence: &Sentence<'_>, tests: &mut Tests) {
    let tokens = &sentence.tokens;
    tests.admits_failure |= admits_failure(tokens) || admits_failure_chinese(&sentence.masked);
    if sentence.asks_or_depends {
        return;
    }
    if let Some((start, end)) = phrases::any(sentence, STEMS, PASS)
        && !phrases::has_object(tokens, end)
        && !phrases::taken_back(tokens, end)
        && !partial(&tokens[start.saturating_sub(3)..(end + 3).min(tokens.len())])
    {
        tests.pass = true;
        tests.all |= means_all(tokens, start);
        tests.count = tests.count.max(count(&tokens[start.saturating_sub(2)..end]));
    }
    counted(tokens, tests);
    chinese(sentence, tests);
}

/// Whether nothing before the word for tests says which of them are meant.
fn means_all(tokens: &[Token<'_>], noun: usize) -> bool {
    let start = doubt::clause_start(tokens, noun);
    let narrows = |token: &&Token<'_>| !token.is_word_in(OF_ALL) && token.lower.parse::<u32>().is_err();
    let first = tokens[start..noun].iter().rev().find(narrows);
    first.is_none_or(|token| token.is_word_in(WHOLE) || token.is_word_in("now jetzt nun again also and"))
}

/// "12/12 tests", "12 passed": the numbers alone say it.
fn counted(tokens: &[Token<'_>], tests: &mut Tests) {
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|next| next.lower.as_str()).unwrap_or_default();
        let whole = fraction(&token.lower).filter(|(some, all)| some == all);
        let whole =
            whole.filter(|_| is("tests test passed pass passing green bestanden ok pruebas grün", next));
        let passed = token.lower.parse::<u32>().ok().filter(|_| is("passed bestanden", next));
        let after_tests = tokens[..at]
            .iter()
            .rev()
            .take(6)
            .any(|token| token.is_word_in("tests test suite pytest testsuite"));
        let found = whole.map(|(some, _)| some).or(passed.filter(|_| after_tests));
        if let Some(found) = found.filter(|_| !doubt::doubted(tokens, at)) {
            tests.pass = true;
            tests.all |= whole.is_some();
            tests.count = tests.count.max(Some(found));
        }
    }
}

fn fraction(word: &str) -> Option<(u32, u32)> {
    let (some, all) = word.split_once('/')?;
    Some((some.parse().ok()?, all.parse().ok()?))
}

/// "11/12 tests pass", "11 of 12 tests pass".
fn partial(tokens: &[Token<'_>]) -> bool {
    let number = |at: usize| tokens.get(at).and_then(|token: &Token<'_>| token.lower.parse::<u32>().ok());
    (0..tokens.len()).any(|at| {
        let of = tokens.get(at + 1).is_some_and(|token| token.is_word_in("of von out de"));
        let pair =
            fraction(&tokens[at].lower).or_else(|| Some((number(at)?, number(at + 2)?)).filter(|_| of));
        pair.is_some_and(|(some, all)| some < all)
    })
}

fn count(tokens: &[Token<'_>]) -> Option<u32> {
    tokens.iter().filter(|token| token.kind == TokenKind::Word).find_map(|token| {
        let whole = fraction(&token.lower).filter(|(some, all)| some == all).map(|(some, _)| some);
        whole.or_else(|| token.lower.parse().ok())
    })
}

/// "所有测试均已通过", "测试全绿", "通过了全部测试".
fn chinese(sentence: &Sentence<'_>, tests: &mut Tests) {
    let masked = &sentence.masked;
    for clause in masked.split(['，', ',']) {
        let Some(noun) = clause.find("测试").or_else(|| clause.find("用例")) else { continue };
        let after = &clause[noun..];
        let passes = ["通过", "全绿", "绿色", "成功"].iter().any(|word| after.contains(word))
            && !after.contains("通过率");
        let passed =
            ["通过了", "已通过", "全部通过", "都通过"].iter().any(|word| clause[..noun].contains(word));
        let except = ["除了", "之外", "除外", "以外"].iter().any(|word| masked.contains(word));
        if !(passes || passed) || except || doubt::doubted_chinese(clause) || sentence.asks {
            continue;
        }
        tests.pass = true;
        tests.all |=
            ["所有", "全部", "都", "均", "套件"].iter().any(|word| clause.contains(word)) || noun == 0;
        let digits: String =
            clause.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        tests.count = tests.count.max(digits.parse().ok());
    }
}

/// Whether a sentence says that something fails, and not that it did before or that nothing does.
pub(crate) fn admits_failure(tokens: &[Token<'_>]) -> bool {
    const FAILS: &str = "fail fails failed failing failure failures broken red fehlgeschlagen schlägt schlagen fehlschlägt fehlschlag rot scheitert \
                         scheitern falla fallan falló fallaron error errors fehler crashes except außer apart aside besides excepto salvo";
    const TAKEN_BACK: &str = "0 no zero without never not fixed fix fixes resolved repaired previously was were longer earlier initially ohne keine \
                              kein null behoben vorher zuvor ningún ninguna sin nothing none";
    tokens.iter().enumerate().any(|(at, token)| {
        let start = doubt::clause_start(tokens, at);
        token.is_word_in(FAILS)
            && !tokens[start..].iter().take(at - start + 4).any(|near| near.is_word_in(TAKEN_BACK))
    })
}

fn admits_failure_chinese(masked: &str) -> bool {
    masked.split(['，', ',']).any(|clause| {
        let fails = ["失败", "未通过", "没通过", "没有通过", "不通过", "报错"]
            .iter()
            .any(|word| clause.contains(word));
        fails
            && ![
                "修复",
                "无失败",
                "没有失败",
                "没有任何",
                "0个失败",
                "0失败",
                "没有报错",
                "无报错",
                "之前",
                "不再",
            ]
            .iter()
            .any(|word| clause.contains(word))
    })
}
