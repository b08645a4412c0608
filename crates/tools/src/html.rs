//! HTML to readable text. Not a browser: one pass over the characters, never fails, never goes back.

/// What is not for reading.
const SKIPPED: &[&str] = &["script", "style", "noscript", "template", "svg", "iframe", "object", "select"];
/// What begins a new line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "title",
    "tr",
    "ul",
];

/// The text of a page: blocks on lines of their own, headings and list items marked, links with their target.
pub(crate) fn to_text(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.text(&rest[..at]);
        rest = &rest[at..];
        rest = page.markup(rest);
    }
    page.text(rest);
    page.finish()
}

#[derive(Default)]
struct Page {
    out: String,
    /// A space is due before the next word.
    gap: bool,
    /// Depth of `pre`, where white space counts.
    verbatim: usize,
    /// The target of the link that is open, and where its text began.
    link: Option<(String, usize)>,
}

impl Page {
    /// Takes markup from the start of `rest`, which begins with `<`; gives back what is after it.
    fn markup<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let after = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
        if !after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
            self.text("<");
            return &rest[1..];
        }
        let end = end_of_tag(rest);
        let tag = rest[1..end].trim_end_matches('>');
        let rest = &rest[end..];
        let closing = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if !closing && SKIPPED.contains(&name.as_str()) && !tag.ends_with('/') {
            return after_closing(rest, &name);
        }
        self.tag(&name, tag, closing);
        rest
    }

    fn tag(&mut self, name: &str, tag: &str, closing: bool) {
        if BLOCKS.contains(&name) {
            self.new_line(if matches!(name, "p" | "pre" | "table" | "ul" | "ol") || is_heading(name) {
                2
            } else {
                1
            });
        }
        match (name, closing) {
            ("br", _) => self.new_line(1),
            ("td" | "th", false) if !self.out.ends_with('\n') && !self.out.is_empty() => {
                self.out.push_str(" | ")
            }
            ("li", false) => self.out.push_str("- "),
            ("hr", _) => self.out.push_str("---\n"),
            ("pre", false) => self.verbatim += 1,
            ("pre", true) => self.verbatim = self.verbatim.saturating_sub(1),
            ("a", false) => {
                let target = attribute(tag, "href").filter(|target| target.starts_with("http"));
                self.link = target.map(|target| (target, self.out.len()));
            }
            ("a", true) => {
                if let Some((target, began)) = self.link.take().filter(|(_, began)| *began < self.out.len()) {
                    let words = self.out.get(began..).map(str::trim).unwrap_or_default();
                    if !words.is_empty() && words != target {
                        self.out.push_str(&format!(" ({target})"));
                    }
                }
            }
            (heading, false) if is_heading(heading) => {
                let level = heading.as_bytes()[1] - b'0';
                self.out.push_str(&"#".repeat(level.into()));
                self.out.push(' ');
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = decoded(text);
        if self.verbatim > 0 {
            self.out.push_str(&text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.gap = true;
        }
        for word in text.split_whitespace() {
            if self.gap && !self.out.ends_with(['\n', ' ']) && !self.out.is_empty() {
                self.out.push(' ');
            }
            self.out.push_str(word);
            self.gap = true;
        }
        self.gap = text.ends_with(char::is_whitespace) || (self.gap && text.trim().is_empty());
    }

    /// Makes sure that at least `wanted` line breaks end the text so far.
    fn new_line(&mut self, wanted: usize) {
        self.gap = false;
        if self.out.is_empty() {
            return;
        }
        if self.verbatim == 0 {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        let there = self.out.bytes().rev().take(wanted).take_while(|byte| *byte == b'\n').count();
        self.out.extend(std::iter::repeat_n('\n', wanted.saturating_sub(there)));
    }

    fn finish(self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for line in self.out.lines().map(str::trim_end) {
            // An item whose text never came.
            let line = if line.trim() == "-" { "" } else { line };
            if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
                lines.push(line);
            }
        }
        lines.join("\n").trim_end().to_owned()
    }
}

fn is_heading(name: &str) -> bool {
    matches!(name.as_bytes(), [b'h', b'1'..=b'6'])
}

/// Where the tag at the start of `rest` ends, quotes respected; the end of the text if it never does.
fn end_of_tag(rest: &str) -> usize {
    let mut quote = None;
    let mut previous = b' ';
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') if previous == b'=' => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            previous = byte;
        }
    }
    rest.len()
}

/// What follows the closing tag of an element whose content is skipped.
fn after_closing<'a>(mut rest: &'a str, name: &str) -> &'a str {
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    // Lowering ASCII keeps every place where it is.
    let lower = tag.to_ascii_lowercase();
    let at = lower.match_indices(name).map(|(at, _)| at).find(|at| {
        lower[..*at].ends_with(char::is_whitespace) && lower[at + name.len()..].trim_start().starts_with('=')
    })?;
    let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split(char::is_whitespace).next()?,
    };
    Some(decoded(value.trim()))
}

/// Character references resolved; unknown ones stay as they are.
fn decoded(text: &str) -> String {
    const REFERENCE_BYTES_MAX: usize = 12;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(REFERENCE_BYTES_MAX).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, referred(&rest[1..end])?))) {
            Some((end, character)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn referred(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
        return code.and_then(char::from_u32);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "times" => '×',
        "rarr" => '→',
        "larr" => '←',
        "deg" => '°',
        "euro" => '€',
        "pound" => '£',
        "sect" => '§',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "ntilde" => 'ñ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_text() {
        let cases = [
            ("", ""),
            ("plain", "plain"),
            ("<p>one</p><p>two</p>", "one\n\ntwo"),
            ("a\n  b\t c", "a b c"),
            ("<h1>Title</h1>text", "# Title\n\ntext"),
            ("<h3>x</h3>", "### x"),
            ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
            ("<script>alert('<p>')</script>seen", "seen"),
            ("<SCRIPT>x</SCRIPT >seen", "seen"),
            ("<style>p{}</style><b>bold</b> x", "bold x"),
            ("<b>bo</b>ld", "bold"),
            ("a <!-- <p>no</p> --> b", "a b"),
            ("a<!-- never closed", "a"),
            ("<pre>  x\n    y</pre>z", "  x\n    y\n\nz"),
            ("&lt;tag&gt; &amp;amp; &#65;&#x42; &unknown; &", "<tag> &amp; AB &unknown; &"),
            ("<a href=\"https://x.y/z\">here</a>!", "here (https://x.y/z)!"),
            ("<a href='javascript:alert(1)'>here</a>", "here"),
            ("<a class=q href=https://x.y>https://x.y</a>", "https://x.y"),
            ("<img alt='a > b' src=x>t", "t"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a | b\nc"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<title>T</title><body>b", "T\nb"),
            ("<p", ""),
            ("x<", "x<"),
            ("</", "</"),
            ("<script>", ""),
            ("<a href=", ""),
            ("ü<p>日本</p>", "ü\n\n日本"),
        ];
        let mut checked = 0;
        for (html, text) in cases {
            assert_eq!(to_text(html), text, "{html}");
            // Cut anywhere, it still ends, and without a panic.
            for (end, _) in html.char_indices() {
                to_text(&html[..end]);
                to_text(&html[end..]);
            }
            checked += 1;
        }
        assert_eq!(checked, 29);
    }

    #[test]
    fn hostile_pages_take_no_longer_than_others() {
        let many = |piece: &str| piece.repeat(50_000);
        let pages = [
            many("<"),
            many("<p>"),
            many("<script>"),
            many("</script"),
            many("<!--"),
            many("&"),
            many("&#x"),
            many("<a href="),
            many("<a href='http://x'>"),
            format!("<pre>{}{}", many("\n"), many("<p>")),
            many("<li> "),
            many("<b a='"),
        ];
        for page in pages {
            let began = std::time::Instant::now();
            to_text(&page);
            assert!(began.elapsed().as_secs() < 10, "{}", &page[..20]);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_converted(page in "(<|>|/|!--|-->|a|p|pre|li|script|href|=|'|\"|&|#|;|x|\n| |ü|\\PC){0,60}") {
            to_text(&page);
        }
    }
}
