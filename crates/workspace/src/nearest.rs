//! Finds what was probably meant: the lines closest to a text that was not found, names close to a missing one.
//! Pure, and bounded in what it looks at.

use crate::limits;

/// Lines of a file that resemble a wanted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The first line, from 1.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
    /// Whether they differ from what was wanted in white space alone.
    pub only_white_space: bool,
}

/// The lines of `text` that are closest to `wanted`; `None` if nothing is close.
pub fn nearest_lines(text: &str, wanted: &str) -> Option<Nearest> {
    let wanted: Vec<String> = wanted.trim().lines().map(squeezed).collect();
    let first = wanted.first().filter(|line| !line.is_empty())?;
    let lines: Vec<String> = text.lines().take(limits::NEAREST_LINES_MAX).map(squeezed).collect();
    let found = |start: usize, only_white_space| Nearest {
        first_line: start + 1,
        last_line: (start + wanted.len()).min(lines.len()),
        only_white_space,
    };
    if let Some(start) = lines.windows(wanted.len()).position(|window| window == wanted) {
        return Some(found(start, true));
    }
    const CLOSE: f64 = 0.6;
    let score = |line: &String| if line == first { 1.0 } else { strsim::sorensen_dice(line, first) };
    let scored = lines.iter().enumerate().map(|(at, line)| (at, score(line)));
    // The first of equals, so that the answer is always the same.
    let best = scored.fold(None, |best: Option<(usize, f64)>, (at, score)| match best {
        Some((_, most)) if most >= score => best,
        _ => Some((at, score)),
    });
    best.filter(|(_, score)| *score >= CLOSE).map(|(at, _)| found(at, false))
}

fn squeezed(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ").chars().take(limits::NEAREST_LINE_CHARS_MAX).collect()
}

/// Those of `paths` whose last part resembles that of `wanted`, closest first; of equals, those in the same folders.
pub fn similar_names(wanted: &str, paths: impl IntoIterator<Item = String>) -> Vec<String> {
    const CLOSE: f64 = 0.85;
    let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let name = name_of(wanted);
    let shared = |path: &str| path.split('/').zip(wanted.split('/')).take_while(|(a, b)| a == b).count();
    let mut scored: Vec<(u64, usize, String)> = Vec::new();
    for path in paths {
        let other = name_of(&path);
        let score = if other == name { 1.0 } else { strsim::jaro_winkler(&other, &name) };
        if score >= CLOSE {
            // An integer, because it is sorted by.
            scored.push(((score * 1e6) as u64, shared(&path), path));
        }
    }
    scored.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| a.2.cmp(&b.2)));
    scored.into_iter().take(limits::SUGGESTIONS_MAX).map(|(_, _, path)| path).collect()
}
