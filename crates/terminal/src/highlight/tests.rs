//! How code looks, in every language.

use super::*;
use crate::Ink;

/// The lines with a letter before each piece that is not plain: `k[fn]`.
fn noted(language: &str, code: &str) -> String {
    let mut highlighter = Highlighter::new(language);
    let lines = code.lines().map(|line| {
        let line = highlighter.line(line);
        let spans = line.spans().iter().map(|span| match span.look.ink {
            Ink::Plain => span.text().to_string(),
            ink => format!("{}[{}]", letter(ink), span.text()),
        });
        spans.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn letter(ink: Ink) -> char {
    match ink {
        Ink::Keyword => 'k',
        Ink::Literal => 's',
        Ink::Number => 'n',
        Ink::Comment => 'c',
        Ink::Name => 'f',
        Ink::Quiet => 'q',
        Ink::Added => '+',
        Ink::Removed => '-',
        Ink::Heading => 'h',
        Ink::Code => '`',
        _ => 'a',
    }
}

const CASES: &[(&str, &str, &str)] = &[
    (
        "rust",
        "pub fn f<'a>(x: &'a str) -> Vec<u8> { println!(\"a\\\"{}\", 'c'); }",
        "k[pub] k[fn] f<f['a]>(x: &f['a] str) -> f[Vec]<u8> { f[println]!(s[\"a\\\"{}\"], s['c']); }",
    ),
    (
        "rs",
        "/* a /* b */ c\n d */ let x = 1_000.5e3; // end",
        "c[/* a /* b */ c]\nc[ d */] k[let] x = n[1_000.5e3]; c[// end]",
    ),
    (
        "rust",
        "let s = r#\"a \"b\"\n c\"#; 0..10; \"two\nlines\" '\\u{1f}'",
        "k[let] s = s[r#\"a \"b\"]\ns[ c\"#]; n[0]..n[10]; s[\"two]\ns[lines\"] s['\\u{1f}']",
    ),
    (
        "python",
        "def f(x):  # why\n  return '''a\nb''' + f\"{x}\" + None",
        "k[def] f[f](x):  c[# why]\n  k[return] s['''a]\ns[b'''] + fs[\"{x}\"] + k[None]",
    ),
    ("py", "@cached\nclass A(B): pass", "f[@cached]\nk[class] f[A](B): k[pass]"),
    (
        "ts",
        "const a = `x\n${y}`; // c\nexport async function go(): Promise<void> {}",
        "k[const] a = s[`x]\ns[${y}`]; c[// c]\nk[export] k[async] k[function] f[go](): f[Promise]<k[void]> {}",
    ),
    ("jsx", "return <Foo a='b' n={1} />", "k[return] <f[Foo] a=s['b'] n={n[1]} />"),
    (
        "go",
        "func (s *Server) Run() error { x := `a\nb` }",
        "k[func] (s *f[Server]) f[Run]() k[error] { x := s[`a]\ns[b`] }",
    ),
    (
        "c",
        "#include <a.h>\nint main(void) { return 'a'; } /* x",
        "k[#include] <a.h>\nk[int] f[main](k[void]) { k[return] s['a']; } c[/* x]",
    ),
    ("c++", "auto s = R\"(a\nb)\"; std::string x;", "k[auto] s = s[R\"(a]\ns[b)\"]; std::string x;"),
    (
        "java",
        "@Override public String s() { return \"\"\"\n a\"\"\"; }",
        "f[@Override] k[public] f[String] f[s]() { k[return] s[\"\"\"]\ns[ a\"\"\"]; }",
    ),
    ("kotlin", "val x: Int = foo(1) // y", "k[val] x: f[Int] = f[foo](n[1]) c[// y]"),
    ("c#", "var s = @\"a\nb\"; await Foo();", "k[var] s = s[@\"a]\ns[b\"]; k[await] f[Foo]();"),
    (
        "ruby",
        "=begin\nx\n=end\ndef a; @b = 'c' end # d",
        "c[=begin]\nc[x]\nc[=end]\nk[def] a; f[@b] = s['c'] k[end] c[# d]",
    ),
    ("php", "$a = strlen('b'); # c", "f[$a] = f[strlen](s['b']); c[# c]"),
    ("swift", "guard let x = y else { return nil }", "k[guard] k[let] x = y k[else] { k[return] k[nil] }"),
    (
        "bash",
        "for f in *.rs; do echo \"$f\" a#b; done # all",
        "k[for] f k[in] *.rs; k[do] k[echo] s[\"$f\"] a#b; k[done] c[# all]",
    ),
    ("console", "$ cargo test -- --nocapture", "f[$] cargo test -- --nocapture"),
    (
        "sql",
        "SELECT count(*) FROM t WHERE a = 'it''s' -- b",
        "k[SELECT] count(*) k[FROM] t k[WHERE] a = s['it''s'] c[-- b]",
    ),
    ("json", "{\"a\": [1.5, true, \"b\"]}", "{f[\"a\"]: [n[1.5], k[true], s[\"b\"]]}"),
    ("yaml", "a-b: don't # c\n- d: \"e\"\n- f", "f[a-b]: don't c[# c]\n- f[d]: s[\"e\"]\n- f"),
    ("toml", "[a.b]\nc = 'd' # e", "f[[a.b]]\nf[c] = s['d'] c[# e]"),
    (
        "html",
        "<a href=\"x\">don't</a><!-- c\nd --> e",
        "q[<]k[a]q[ ]f[href]q[=]s[\"x\"]q[>]don'tq[</]k[a]q[>]c[<!-- c]\nc[d -->] e",
    ),
    ("css", "@media x { a-b: 1px; } /* c */", "k[@media] x { a-b: n[1px]; } c[/* c */]"),
    ("css", "  color: red;", "  f[color]: red;"),
    ("diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z", "q[--- a]\nq[+++ b]\na[@@ -1 +1 @@]\n-[-x]\n+[+y]\n z"),
    ("markdown", "# A\n- b `c`\n```\nd\n```\ne", "h[# A]\na[-] b `[`c`]\n`[```]\n`[d]\n`[```]\ne"),
    ("dockerfile", "FROM rust:1 AS b\nRUN from x # c", "k[FROM] rust:n[1] AS b\nk[RUN] from x c[# c]"),
    ("lua", "--[[ a\nb ]] local x = [[ c ]] -- d", "c[--[[ a]\nc[b ]]] k[local] x = s[[[ c ]]] c[-- d]"),
    ("make", "all: a.o\n\t$(CC) # c\nX := 1", "f[all]: a.o\n    f[$](CC) c[# c]\nf[X] := n[1]"),
    ("brainfuck", "fn let \"x\" // y", "fn let \"x\" // y"),
    ("", "fn", "fn"),
];

#[test]
fn code_has_the_looks_of_its_language() {
    let mut wrong = Vec::new();
    for (language, code, expected) in CASES {
        let got = noted(language, code);
        if got != *expected {
            wrong.push(format!("{language}\n  got  {got:?}\n  want {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CASES.len(), 32);
}

#[test]
fn languages_have_many_names_and_files_have_languages() {
    let cases = [
        ("Rust", "rust"),
        ("rust,ignore", "rust"),
        ("{.python}", "python"),
        ("language-ts", "typescript"),
        ("src/main.rs", "rust"),
        ("tsx", "typescript"),
        ("zsh", "shell"),
        ("yml", "yaml"),
        ("title=\"x\"", ""),
        ("text", ""),
    ];
    let names = cases.map(|(given, _)| {
        grammar(given).and_then(|grammar| grammar.names.split(' ').next()).unwrap_or_default()
    });
    assert_eq!(names, cases.map(|(_, name)| name));
    let paths = [
        ("a/b.rs", "rust"),
        ("Dockerfile", "dockerfile"),
        ("x/Makefile", "makefile"),
        ("A.PY", "python"),
        ("c:\\d\\e.tsx", "typescript"),
        (".env", "toml"),
        ("rs", ""),
        ("", ""),
        ("a.", ""),
    ];
    assert_eq!(paths.map(|(path, _)| language_of_path(path)), paths.map(|(_, language)| language));
    let mut names = GRAMMARS.iter().flat_map(|grammar| grammar.names.split(' ')).collect::<Vec<_>>();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "no name is given twice");
}

/// Parts of code that mean much to a lexer.
const PARTS: &[&str] = &[
    "\"", "'", "`", "'''", "\"\"\"", "/*", "*/", "//", "#", "--[[", "]]", "r#\"", "\"#", "\\", "<", ">",
    "<!--", "-->", "=begin", "a", "1", "1.", " ", "\n", "@", "$", "-", "+", "[", ":", "=", "fn", "é", "日",
    "\u{1b}", "\u{301}", "\u{fe0f}", "\t", "br", "'\\",
];

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_text_stays_as_it_is(parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..40), n in 0..GRAMMARS.len()) {
        let mut highlighter = Highlighter::new(GRAMMARS[n].names.split(' ').next().unwrap());
        for line in parts.concat().split('\n') {
            proptest::prop_assert_eq!(highlighter.line(line).text(), TextLine::plain(line).text());
        }
    }
}

#[test]
fn hostile_lines_take_time_that_grows_with_their_length() {
    let mut lines = 0;
    for grammar in GRAMMARS {
        for part in PARTS.iter().filter(|part| **part != "\n") {
            let line = part.repeat(4_000 / part.len());
            let mut highlighter = Highlighter::new(grammar.names.split(' ').next().unwrap());
            assert_eq!(highlighter.line(&line).columns(), TextLine::plain(&line).columns());
            lines += 1;
        }
    }
    assert_eq!(lines, GRAMMARS.len() * (PARTS.len() - 1));
}
