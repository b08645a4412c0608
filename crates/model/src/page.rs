//! A web page in a few plain words, for errors: gateways answer with pages that are meant for browsers.

/// The page's title, or else its first words. Text that is no page stays as it is.
pub(crate) fn plain(text: &str) -> String {
    if !is_page(text) {
        return text.to_owned();
    }
    // Only ASCII letters change, so the places are the same.
    let lower = text.to_ascii_lowercase();
    let title = between(text, &lower, "title").filter(|title| !title.is_empty());
    title.unwrap_or_else(|| words(text, &lower))
}

fn is_page(text: &str) -> bool {
    let begin = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    let begin: String = begin.chars().take(200).collect::<String>().to_ascii_lowercase();
    begin.starts_with('<')
        && ["<!doctype", "<html", "<head", "<body", "<title", "<center", "<h1", "<p", "<!--", "<?xml"]
            .iter()
            .any(|tag| begin.contains(tag))
}

/// The words inside the first element of this name.
fn between(text: &str, lower: &str, name: &str) -> Option<String> {
    let open = lower.find(&format!("<{name}"))?;
    let begin = open + lower[open..].find('>')? + 1;
    let end = begin + lower[begin..].find(&format!("</{name}"))?;
    Some(words(&text[begin..end], &lower[begin..end]))
}

/// All words outside tags, scripts and styles.
fn words(text: &str, lower: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    while let Some(open) = lower[at..].find('<').map(|found| at + found) {
        out.push_str(&text[at..open]);
        out.push(' ');
        let hidden = ["script", "style", "head"].into_iter().find(|name| lower[open + 1..].starts_with(name));
        let closing = match (hidden, lower[open..].starts_with("<!--")) {
            (Some(name), _) => lower[open..].find(&format!("</{name}")).map(|found| open + found + 1),
            (None, true) => lower[open..].find("-->").map(|found| open + found),
            (None, false) => Some(open),
        };
        let end = closing.and_then(|from| lower[from..].find('>').map(|found| from + found + 1));
        let Some(end) = end else { return tidy(&out) };
        at = end;
    }
    out.push_str(&text[at..]);
    tidy(&out)
}

fn tidy(text: &str) -> String {
    const ENTITIES: [(&str, &str); 7] = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&middot;", "·"),
        ("&amp;", "&"),
    ];
    let plain = ENTITIES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_plain_words() {
        let cases = [
            (
                "<html><head><title>502 Bad\n Gateway</title></head><body><h1>x</h1></body></html>",
                "502 Bad Gateway",
            ),
            ("<!DOCTYPE html>\n<HTML><TITLE lang=en>Sign in &amp; go</TITLE>", "Sign in & go"),
            (
                "<html><head><style>p{}</style></head><body><script>if (a<b) {}</script><p>No <b>such</b> app</p></body>",
                "No such app",
            ),
            ("<html><title></title><body>Grüße &lt;3</body></html>", "Grüße <3"),
            ("<html><!-- <p>x</p> --><p>y", "y"),
            ("<html><script>never closed", ""),
            ("a < b and <html>", "a < b and <html>"),
            ("<think>hm</think>", "<think>hm</think>"),
            ("plain", "plain"),
        ];
        assert_eq!(cases.len(), 9);
        for (page, want) in cases {
            assert_eq!(plain(page), want, "{page}");
        }
    }
}
