//! Words that a report quotes from a place in a file and that are not there: nowhere in that file, or on other lines. Only
//! what can be nothing but a quote counts: right behind the place, or right before it, and written like code or announced as
//! the text of the line.

use crate::{
    citations::{Citation, CitedPlace},
    limits,
};

/// Words that announce the text of a line.
const SAYS: &str = "says reads contains states shows lautet steht enthält sagt dice contiene 写着 内容 内容为 内容是 包含 是 的";
/// Between the place and the quote.
const BETWEEN: &str = "the line text comment code it there da dort hier die zeile der kommentar el texto la línea 代码 行 with and has is";
/// In the same line they say that the quote is not, or no longer, in the file.
const NOT_THERE: &str = "\
    should would could replace instead suggest chang rename become before was old fix add insert print output error warning return gives message \
    means equivalent roughly like e.g. example not n't no removed deleted expected panick fail assert log \
    sollte statt ersetz geändert meldung ausgabe fehler nicht kein gibt entfernt vorher war \
    应 改为 替换 建议 输出 报错 错误 返回 不 没 删除 之前 原来 debería cambi";
/// Begin of what a compiler or a runtime says.
const MESSAGES: &str = "error warning expected cannot unused missing undefined unexpected assertion panicked thread note help invalid no";

/// The warning about a place whose quote is not there. The file is read only if there is a quote. `moved` is whether its
/// lines may have had other numbers when the agent saw them.
pub(super) fn untrue(
    place: &CitedPlace<'_>,
    moved: bool,
    text: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let inline = behind(place).or_else(|| before(place));
    let quote = inline.or_else(|| block(place))?;
    let (line, reach) = (place.line, limits::QUOTE_REACH_BYTES_MAX);
    let from = line.floor_char_boundary(place.start.saturating_sub(reach));
    let to = line.ceil_char_boundary((place.end + reach).min(line.len()));
    let lower = line[from..to].replace(quote, " ").to_lowercase();
    let announced = NOT_THERE.split_ascii_whitespace().any(|word| lower.contains(word));
    let first = quote.trim().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    if announced || MESSAGES.split_ascii_whitespace().any(|word| word == first) || quote.contains("Error") {
        return None;
    }
    let pieces: Vec<String> =
        if inline.is_some() { pieces(quote) } else { quote.lines().flat_map(pieces).collect() };
    let text = if pieces.is_empty() { return None } else { Lines::of(&text()?) };
    let mut found = pieces.iter().map(|piece| text.holds(piece));
    // A block may be shortened in any way; of a true one at least some line is there.
    let missing = if inline.is_some() { found.any(|found| !found) } else { !found.any(|found| found) };
    let (path, from) = (&place.citation.path, place.citation.from);
    let quoted = || format!("quotes `{}` from `{path}:{from}`", shown(quote.trim()));
    if missing {
        return Some(format!("{}: it is not in that file", quoted()));
    }
    // What follows an ellipsis can be far below.
    let begin = if inline.is_some() { &pieces[..1] } else { &pieces[..] };
    let elsewhere = (!moved).then(|| text.elsewhere(begin, &place.citation)).flatten();
    elsewhere.map(|line| format!("{}: it is on line {line}", quoted()))
}

/// A text to be searched, in which each line can be found again.
struct Lines {
    plain: String,
    /// Where each line ends in it.
    ends: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let mut lines = Self { plain: String::new(), ends: Vec::new() };
        for line in text.lines() {
            lines.plain += &plain(line);
            lines.ends.push(lines.plain.len());
        }
        lines
    }

    fn holds(&self, piece: &str) -> bool {
        self.plain.contains(piece)
    }

    /// The number of the line that holds this byte.
    fn line_at(&self, byte: usize) -> usize {
        self.ends.partition_point(|end| *end <= byte) + 1
    }

    /// The line that holds the first of the pieces, if none of them is near the cited lines.
    fn elsewhere(&self, pieces: &[String], cited: &Citation) -> Option<usize> {
        let from = (cited.from as usize).saturating_sub(limits::QUOTE_LINES_OFF_MAX);
        let to = (cited.to as usize).saturating_add(limits::QUOTE_LINES_OFF_MAX);
        let mut first = None;
        for piece in pieces {
            for (at, _) in self.plain.match_indices(piece.as_str()) {
                let (begins, ends) = (self.line_at(at), self.line_at(at + piece.len() - 1));
                if begins <= to && ends >= from {
                    return None;
                }
                first = first.or(Some(begins));
            }
        }
        first
    }
}

/// The fenced block that follows a line which ends with the place, or with a word that announces it.
fn block<'a>(place: &CitedPlace<'a>) -> Option<&'a str> {
    let rest = &place.line[place.end..];
    let words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_lowercase);
    let opens = rest.trim_end().ends_with([':', '：']) || rest.trim_matches(['`', '*', ')', ' ']).is_empty();
    if !opens || !words.all(|word| SAYS.split_ascii_whitespace().any(|one| one == word)) {
        return None;
    }
    let after = place.after.strip_prefix('\n').unwrap_or(place.after);
    let (_, body) = after.strip_prefix("```")?.split_once('\n')?;
    let body = &body[..body.find("```")?];
    Some(body).filter(|body| !body.trim().is_empty() && body.len() <= limits::QUOTE_BLOCK_BYTES_MAX)
}

fn shown(quote: &str) -> String {
    let words = quote.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    match words.char_indices().nth(limits::QUOTE_SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// The parts of a quote between ellipses that are long enough to compare.
fn pieces(quote: &str) -> Vec<String> {
    let quote = quote.replace("...", "…");
    quote
        .split('…')
        .map(plain)
        .filter(|piece| piece.chars().count() >= limits::QUOTE_PIECE_CHARS_MIN)
        .collect()
}

/// A text without spaces, markup and case, and with one kind of quotation marks.
fn plain(text: &str) -> String {
    let marks = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '`' | '*'
                    | '\\'
                    | '\''
                    | '"'
                    | '“'
                    | '”'
                    | '„'
                    | '‘'
                    | '’'
                    | '«'
                    | '»'
                    | ';'
                    | ','
                    | '.'
                    | '_'
                    | '#'
                    | '/'
            )
    };
    text.chars().filter(|c| !marks(*c)).flat_map(char::to_lowercase).collect()
}

/// "`a.rs:3`: `let x = 1;`", "a.rs:3 says "hello there"".
fn behind<'a>(place: &CitedPlace<'a>) -> Option<&'a str> {
    let mut rest = place.line[place.end..].trim_start_matches(['`', '*', ')', ']', '"', '”']);
    let (mut says, mut describes) = (false, false);
    for _ in 0..limits::QUOTE_WORDS_BETWEEN_MAX {
        rest = rest.trim_start();
        let word_end =
            rest.find(|c: char| c.is_whitespace() || "`\"“„「:：—–-(".contains(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let word =
            &rest[..word_end.max(if rest.starts_with(['`', '"', '“', '„', '「']) { 0 } else { first })];
        let lower = word.to_lowercase().replace('：', ":");
        if SAYS.split_ascii_whitespace().any(|one| one == lower) {
            says = true;
        } else if BETWEEN.split_ascii_whitespace().any(|one| one == lower) {
            describes = true;
        } else if !matches!(lower.as_str(), ":" | "—" | "–" | "-" | "(") {
            break;
        }
        rest = &rest[word.len()..];
    }
    let rest = rest.trim_start();
    let (open, close): (char, &[char]) = match rest.chars().next()? {
        '`' => ('`', &['`']),
        '"' => ('"', &['"']),
        '“' => ('“', &['”']),
        '„' => ('„', &['“', '”', '"']),
        '「' => ('「', &['」']),
        _ => return None,
    };
    let inner = &rest[open.len_utf8()..];
    let inner = &inner[..inner.find(close)?];
    let several = inner.trim().contains(char::is_whitespace);
    let word = says && !inner.contains(['(', ':', '.', '/', '<']);
    (several && (says || (like_code(inner) && !describes)) || word).then_some(inner)
}

/// "`let x = 1;` (a.rs:3)", "`let x = 1;` at a.rs:3".
fn before<'a>(place: &CitedPlace<'a>) -> Option<&'a str> {
    let head = place.line[..place.start].trim_end_matches(['`', '*', '[']).trim_end();
    let leads = ["(", " at", " in", " on", " bei", "（", "(siehe", "(see"];
    let head = leads.iter().find_map(|word| head.strip_suffix(word))?.trim_end();
    let set = ["is defined", "is declared", "is set", "is called", "defined", "declared"];
    let head = set.iter().find_map(|word| head.strip_suffix(word)).unwrap_or(head);
    let inner = head.trim_end().strip_suffix('`')?;
    let inner = &inner[inner.rfind('`')? + 1..];
    (like_code(inner) && inner.trim().contains(char::is_whitespace)).then_some(inner)
}

fn like_code(text: &str) -> bool {
    let begins = [
        "fn ",
        "def ",
        "class ",
        "struct ",
        "func ",
        "function ",
        "const ",
        "let ",
        "var ",
        "import ",
        "return ",
    ];
    text.contains(['=', ';', '{', '}', '(', '<', '"']) || begins.iter().any(|word| text.starts_with(word))
}
