//! Finds what looks like a path in an agent's words. Looks at text only: whether there is such a file is for others to
//! say. Rather misses one than takes an address, a time or a field for a file.

use crate::limits;

/// Ends of names that are files even without a folder before them.
const EXTENSIONS: &str = "\
    adoc asm astro bash bat bicep c cc cfg cjs clj cmake conf cpp cs csproj css csv cts cu cxx dart \
    diff dockerfile ejs elm env erb erl ex exs fish fs fsx gemspec gleam go gql gradle graphql groovy h \
    haml hbs hcl hpp hrl hs htm html hxx ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less \
    lock log lua m make md mdx mjs mk ml mli mm mod mts nim nix patch php pl plist pm po prisma \
    properties proto ps1 pug py pyi pyx r rake rb rego rkt rs rst s sass scala scm scss sh sln snap sol \
    sql styl sum sv svelte svg swift tcl tex tf tfvars thrift toml tpl ts tsv tsx txt v vb vhd vim vue \
    wasm wat wgsl xml xsd xsl yaml yml zig zsh";

/// Names that are files without any end.
const NAMES: &str = "\
    BUILD CODEOWNERS Dockerfile Gemfile Jenkinsfile Justfile LICENSE Makefile Procfile README Rakefile \
    Vagrantfile WORKSPACE justfile makefile";

/// What has the name of a file and is none: people speak of them all the time.
const PRODUCTS: &str = "\
    alpine.js angular.js asp.net chart.js d3.js deno.js discord.js discord.py ember.js express.js moment.js nest.js next.js node.js nuxt.js \
    p5.js react.js socket.io three.js vue.js web.py";

/// One word of a text that may be a path with something behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextWord<'a> {
    pub(crate) text: &'a str,
    /// Whether it stands in backticks.
    pub(crate) code: bool,
}

/// The words of a line, without the punctuation around them.
pub(crate) fn words(line: &str) -> impl Iterator<Item = TextWord<'_>> {
    // Every second piece between backticks is code.
    line.split('`').enumerate().flat_map(|(at, piece)| {
        let code = at % 2 == 1;
        let parts = piece.split(|c: char| {
            c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '|' | '<' | '>') || is_wide(c)
        });
        let parts = parts.flat_map(|part| part.split("]("));
        // A path and a place in it; longer words would only cost time.
        let parts = parts.filter(|part| part.len() <= limits::WORD_BYTES_MAX);
        parts.map(bare).filter(|text| !text.is_empty()).map(move |text| TextWord { text, code })
    })
}

/// Punctuation of scripts without spaces.
fn is_wide(c: char) -> bool {
    matches!(
        c,
        '，' | '。'
            | '；'
            | '：'
            | '、'
            | '（'
            | '）'
            | '！'
            | '？'
            | '“'
            | '”'
            | '「'
            | '」'
            | '《'
            | '》'
    )
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    let end = word.trim_end_matches(['.', ':', '!', '?', '*', '…', '~']);
    let mut text = end.trim_start_matches(['*', '!', '~', '…']);
    if text.len() < end.len() && text.starts_with(['.', '/']) && end.starts_with('*') {
        // A pattern such as `*.rs`, not an emphasis.
        return end;
    }
    loop {
        let inner = match (text.chars().next(), text.chars().next_back()) {
            (Some('(' | '[' | '{'), _) if !closed(text) => &text[1..],
            (_, Some(')' | ']' | '}')) if !closed(text) => &text[..text.len() - 1],
            (Some('('), Some(')')) | (Some('['), Some(']')) if text.len() > 1 => &text[1..text.len() - 1],
            _ => return text.trim_end_matches(['.', ':', '*', '_']),
        };
        text = inner.trim_end_matches(['.', ':', '*', '_']).trim_start_matches('*');
    }
}

/// Whether every bracket that opens also closes.
fn closed(text: &str) -> bool {
    let count = |open: char, close: char| text.matches(open).count() == text.matches(close).count();
    count('(', ')') && count('[', ']') && count('{', '}')
}

/// The path that a word, or the part of it before a line number, stands for.
pub(crate) fn path(word: TextWord<'_>) -> Option<&str> {
    // `call(src/a.rs` and `[see](a.rs` leave a bracket open in front of the path.
    let text = if closed(word.text) { word.text } else { word.text.rsplit(['(', '[', '{']).next()? };
    let odd = |c: char| {
        c.is_control() || matches!(c, '*' | '{' | '}' | '\\' | '=' | '&' | '?' | '#' | ':' | '…' | '^')
    };
    let refused = text.len() > limits::PATH_BYTES_MAX || text.contains(odd) || text.contains("...");
    if refused || text.starts_with("//") || text.starts_with('-') || text.ends_with('/') {
        return None;
    }
    let name = text.rsplit('/').next()?;
    let folder = name.len() < text.len();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let lettered =
        extension.filter(|e| !e.is_empty() && e.len() <= 12 && e.chars().all(char::is_alphanumeric));
    let lettered = lettered.filter(|e| e.starts_with(|c: char| c.is_alphabetic()));
    let known = lettered.is_some_and(|e| is_in(EXTENSIONS, &e.to_ascii_lowercase()));
    let letters = text.chars().any(char::is_alphabetic);
    // A host with a path, `example.com/a`, begins with something that has a known end of its own: none of ours.
    let host = text.split_once('/').is_some_and(|(first, _)| is_host(first));
    let product = !folder && !word.code && is_in(PRODUCTS, &text.to_ascii_lowercase());
    let named = is_in(NAMES, name) && (folder || word.code);
    let file = known || named || (folder && (lettered.is_some() || word.code));
    (letters && file && !host && !product).then_some(text)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

fn is_host(part: &str) -> bool {
    const ENDS: &[&str] = &["ai", "app", "cloud", "co", "com", "dev", "edu", "gov", "io", "net", "org", "rs"];
    let end = part.trim_start_matches('.').rsplit_once('.');
    end.is_some_and(|(before, end)| !before.is_empty() && ENDS.contains(&end))
}

/// The lines that are not in a fenced block, with where they begin. A fence that nothing closes is none.
pub(crate) fn lines_outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let mut open: Option<&str> = None;
    // Places of the last line that could close each kind of fence.
    let last = ["```", "~~~"].map(|fence| last_fence(text, fence));
    text.split('\n').filter_map(move |line| {
        let begin = at;
        at += line.len() + 1;
        let fence = if is_fence(line, "```") { Some(("```", last[0])) } else { None };
        let fence = fence.or_else(|| is_fence(line, "~~~").then_some(("~~~", last[1])));
        match (open, fence) {
            (None, Some((kind, last))) if last > begin => open = Some(kind),
            (Some(kind), Some((other, _))) if kind == other => open = None,
            (None, _) => return Some((begin, line)),
            (Some(_), _) => {}
        }
        None
    })
}

fn is_fence(line: &str, fence: &str) -> bool {
    line.trim_start().starts_with(fence)
}

fn last_fence(text: &str, fence: &str) -> usize {
    let mut at = 0;
    let mut last = 0;
    for line in text.split('\n') {
        if is_fence(line, fence) {
            last = at;
        }
        at += line.len() + 1;
    }
    last
}
