//! Finds what prose says about commands: that they were run, and that a build or a linter was content.

use posse_protocol::CommandWork;

use super::{
    doubt, phrases,
    tokens::{CODE, Sentence, Token, TokenKind},
    words::{self, is},
};
use crate::limits;

/// What is said about commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    /// What is said to have been run, in the agent's words.
    pub(crate) ran: Vec<String>,
    /// What is said to have gone well.
    pub(crate) went_well: Vec<ClaimedWork>,
}

/// A kind of work that commands are said to have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimedWork {
    Build,
    Lint,
    Types,
}

impl ClaimedWork {
    pub(crate) const ALL: [Self; 3] = [Self::Build, Self::Lint, Self::Types];

    /// What a warning calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Build => "the build",
            Self::Lint => "the linter",
            Self::Types => "the type check",
        }
    }

    /// The same as it is measured.
    pub(crate) fn measured(self) -> CommandWork {
        match self {
            Self::Build => CommandWork::Build,
            Self::Lint => CommandWork::Lint,
            Self::Types => CommandWork::Types,
        }
    }

    /// One of them is in each of its patterns.
    fn stems(self) -> &'static [&'static str] {
        match self {
            Self::Build => &["buil", "compil", "kompil", "baut"],
            Self::Lint => &["lint", "clippy", "ruff", "flake8"],
            Self::Types => &["type", "mypy", "pyright"],
        }
    }

    fn patterns(self) -> &'static [&'static str] {
        match self {
            Self::Build => &[
                "build|compilation|kompilierung|compilación .. succeeds|succeeded|passes|passed|successful|clean|green|erfolgreich|durch|fehlerfrei|exitosa|exitoso",
                "builds|compiles|compiled|built cleanly|successfully|fine|without|ok",
                "build|compilation finished|completed|runs|ran .. successfully|cleanly|without",
                "kompiliert|baut .. fehlerfrei|sauber|ohne|erfolgreich",
            ],
            Self::Lint => &[
                "linter|lint|linting|clippy|eslint|ruff|flake8|pylint .. clean|passes|passed|green|happy|content|sauber|fehlerfrei",
                "linter|lint|linting|clippy|eslint|ruff|flake8|pylint .. no|zero|0|keine|keinen|without|ohne|sin .. errors|warnings|issues|problems|complaints|findings|fehler|warnungen|errores",
            ],
            Self::Types => &[
                "mypy|pyright|typecheck|type-check|type-checker .. clean|passes|passed|succeeds|green",
                "type|types check|checks|checker|checking .. clean|passes|passed|succeeds|green",
                "mypy|pyright|typecheck|type-checker .. no|zero|0|keine|without|ohne .. errors|issues|problems|fehler",
            ],
        }
    }
}

/// What can be run, by name. Tools that look and search are not here: an agent has tools of that name.
const RUNNABLE: &str = "\
    linter linters tests test suite testsuite build formatter typechecker type-checker script command commands program app application benchmark \
    benchmarks migration migrations cargo npm yarn pnpm pytest make go eslint clippy mypy ruff flake8 pylint tsc jest vitest gradle maven mvn \
    docker prettier rustfmt rspec phpunit tox nox server \
    tests. skript befehl befehle programm anwendung testsuite pruebas comando";
const PROGRAMS: &str = "\
    cargo npm npx yarn pnpm pytest python python3 make go eslint mypy ruff flake8 pylint tsc jest vitest gradle mvn docker git sh bash node deno bun \
    rustc gcc g++ clang cmake ninja pip pip3 uv poetry tox nox ruby bundle rake rspec php composer phpunit dotnet swift java javac curl wget \
    kubectl terraform ansible just bazel mix prettier black rustfmt shellcheck sqlite3 psql alembic";

/// Adds what one sentence says.
pub(crate) fn read(sentence: &Sentence<'_>, commands: &mut Commands) {
    if sentence.asks_or_depends || commands.ran.len() >= limits::CLAIMS_MAX {
        return;
    }
    let tokens = &sentence.tokens;
    for work in ClaimedWork::ALL {
        let found = phrases::any(sentence, work.stems(), work.patterns());
        let said = found
            .is_some_and(|(_, end)| !phrases::has_object(tokens, end) && !phrases::taken_back(tokens, end));
        if (said || well_in_chinese(sentence, work)) && !commands.went_well.contains(&work) {
            commands.went_well.push(work);
        }
    }
    for at in 0..tokens.len() {
        let what =
            ran(tokens, at).filter(|_| !doubt::doubted(tokens, at) && !phrases::taken_back(tokens, at + 1));
        what.into_iter().for_each(|what| add(commands, what));
    }
    chinese(sentence, commands);
}

/// What a verb says was run.
fn ran(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let verb = &tokens[at];
    if verb.is_word_in("ran executed reran re-ran") {
        return spoken(tokens, at).then(|| runnable(&tokens[at + 1..])).flatten();
    } else if verb.is_word_in("verified tested checked confirmed validated") {
        let by =
            tokens[at + 1..].iter().take(8).position(|token| token.is_word_in("with running via using"))?;
        let what = runnable(&tokens[at + 2 + by..])
            .filter(|what| !is("script app application program command server", what));
        return what.filter(|_| spoken(tokens, at) || all_was(tokens, at));
    } else if !verb.is_word_in("ausgeführt laufen gestartet ejecutado ejecuté") {
        return None;
    }
    let clause = &tokens[doubt::clause_start(tokens, at)..at];
    let mine = clause.iter().any(|t| t.is_word_in("ich wir habe haben wurde wurden he")) || clause.len() < 4;
    let all = if verb.is_word_in("ejecutado ejecuté") { &tokens[at + 1..] } else { clause };
    let lets = !verb.is_word_in("laufen") || tokens.get(at + 1).is_some_and(|t| t.is_word_in("lassen"));
    let found = || all.iter().enumerate().find_map(|(at, _)| runnable(&all[at..]));
    (mine && lets).then(found).flatten()
}

/// "Everything was verified with".
fn all_was(tokens: &[Token<'_>], at: usize) -> bool {
    let before = &tokens[doubt::clause_start(tokens, at)..at];
    before.iter().any(|t| t.is_word_in("was were been"))
        && before.iter().all(|t| {
            t.is_word_in(
                "everything it this all the change changes fix code was were has have been also then",
            )
        })
}

fn add(commands: &mut Commands, what: String) {
    if !commands.ran.contains(&what) {
        commands.ran.push(what);
    }
}

/// Whether nothing but fillers and the speaker stands before the verb.
fn spoken(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let mut before = tokens[start..at].iter().rev();
    let joined = before.clone().take(3).any(|token| token.is_word_in("and then"))
        && tokens[start..at].iter().any(|token| token.is_word_in(words::SPEAKERS));
    before.all(|token| token.is_word_in(words::LEADS) || token.is_word_in(words::SPEAKERS)) || joined
}

/// What is named as run in the next few words.
fn runnable(tokens: &[Token<'_>]) -> Option<String> {
    for token in tokens.iter().take(limits::PHRASE_GAP_TOKENS_MAX) {
        match token.kind {
            TokenKind::Code => {
                let first = token.lower.split_whitespace().next().unwrap_or_default();
                return is(PROGRAMS, first).then(|| token.text.to_owned());
            }
            TokenKind::Word if is(RUNNABLE, &token.lower) => return Some(token.text.to_owned()),
            TokenKind::Word
                if is(
                    "into out through a the full whole all new unit existing my our also of over again entire den die das alle el la",
                    &token.lower,
                ) =>
            {
                if is("into out through over", &token.lower) {
                    return None;
                }
            }
            TokenKind::Word if tokens.len() > 1 => {}
            TokenKind::Word | TokenKind::Mark | TokenKind::Path | TokenKind::Quote => return None,
        }
    }
    None
}

/// "运行了 `cargo test`", "已执行构建".
fn chinese(sentence: &Sentence<'_>, commands: &mut Commands) {
    let masked = &sentence.masked;
    let codes: Vec<&Token<'_>> =
        sentence.tokens.iter().filter(|token| token.kind == TokenKind::Code).collect();
    let mut passed = 0;
    for clause in masked.split(['，', ',']) {
        let here = clause.matches(CODE).count();
        let mine = codes.get(passed..passed + here).unwrap_or_default();
        passed += here;
        for verb in ["运行", "执行", "跑"] {
            let Some((left, right)) = clause.split_once(verb) else { continue };
            let done = left.ends_with("已")
                || left.ends_with("已经")
                || right.starts_with('了')
                || right.starts_with("过");
            if !done || doubt::doubted_chinese(clause) || !super::files::only_leads(left) {
                continue;
            }
            let right = right.trim_start_matches(['了', '过', ' ']);
            let named = ["测试", "构建", "编译", "命令", "lint", "代码检查", "静态检查", "脚本"]
                .iter()
                .find(|noun| right.contains(**noun));
            let code = if right.starts_with(CODE) { mine.last() } else { None };
            let program = code
                .filter(|code| code.lower.split_whitespace().next().is_some_and(|first| is(PROGRAMS, first)));
            let ascii: String = right.chars().take_while(char::is_ascii_alphanumeric).collect();
            let known = (is(PROGRAMS, &ascii) || is(RUNNABLE, &ascii)).then_some(ascii);
            let what = program
                .map(|code| code.text.to_owned())
                .or(known)
                .or(named.filter(|_| code.is_none()).map(|noun| (*noun).to_owned()));
            what.into_iter().for_each(|what| add(commands, what));
        }
    }
}

fn well_in_chinese(sentence: &Sentence<'_>, work: ClaimedWork) -> bool {
    let nouns: &[&str] = match work {
        ClaimedWork::Build => &["构建", "编译"],
        ClaimedWork::Lint => &["lint", "代码检查", "静态检查", "clippy", "linter", "eslint"],
        ClaimedWork::Types => &["类型检查"],
    };
    let masked = &sentence.masked;
    !sentence.asks
        && masked.split(['，', ',']).any(|clause| {
            let Some(noun) = nouns.iter().find_map(|noun| clause.find(noun)) else { return false };
            let after = &clause[noun..];
            let clean = ["没有错误", "没有警告", "没有报错", "无错误", "无警告", "无报错", "零错误"]
                .iter()
                .find(|word| after.contains(**word));
            let well = clean.is_some()
                || ["成功", "通过", "没问题"].iter().any(|word| after.contains(word))
                || clause[..noun].ends_with("成功");
            let rest = clean.map_or(clause.to_owned(), |word| clause.replace(word, ""));
            let chinese = clause.chars().any(super::tokens::is_spaceless);
            chinese && well && !doubt::doubted_chinese(&rest)
        })
}
