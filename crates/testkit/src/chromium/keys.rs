//! Keys by their names, as the browser wants them: an American keyboard.

/// One key as pressed, with what it types.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    /// What a page sees as `event.key`.
    pub(super) key: String,
    /// What a page sees as `event.code`.
    pub(super) code: String,
    pub(super) number: u32,
    /// What it types; none together with Control, Alt or Meta.
    pub(super) text: Option<String>,
    /// Bits: Alt 1, Control 2, Meta 4, Shift 8.
    pub(super) modifiers: u32,
}

const NAMED: &[(&str, u32, Option<&str>)] = &[
    ("Enter", 13, Some("\r")),
    ("Tab", 9, None),
    ("Escape", 27, None),
    ("Backspace", 8, None),
    ("Delete", 46, None),
    ("Insert", 45, None),
    ("ArrowLeft", 37, None),
    ("ArrowUp", 38, None),
    ("ArrowRight", 39, None),
    ("ArrowDown", 40, None),
    ("PageUp", 33, None),
    ("PageDown", 34, None),
    ("End", 35, None),
    ("Home", 36, None),
    ("Space", 32, Some(" ")),
];

/// Characters of keys that are neither letter nor digit: plain, with Shift, code, number.
const SIGNS: &[(char, char, &str, u32)] = &[
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

const ABOVE_DIGITS: &str = ")!@#$%^&*(";
const SHIFT: u32 = 8;

/// Reads a name such as `Enter`, `a`, `?`, `Control+Shift+ArrowDown`; none if there is no such key.
pub(super) fn stroke(name: &str) -> Option<Stroke> {
    // The last part may be `+` itself.
    let cut = name.char_indices().rev().skip(1).find(|(_, c)| *c == '+').map(|(at, _)| at);
    let (held, key) = cut.map_or(("", name), |at| (&name[..at], &name[at + 1..]));
    let mut modifiers = 0;
    for one in held.split('+').filter(|one| !one.is_empty()) {
        modifiers |= match one {
            "Alt" => 1,
            "Control" => 2,
            "Meta" => 4,
            "Shift" => SHIFT,
            _ => return None,
        };
    }
    let mut stroke = named(key).or_else(|| typed(key))?;
    stroke.modifiers |= modifiers;
    if stroke.modifiers & !SHIFT != 0 {
        stroke.text = None;
    }
    Some(stroke)
}

fn named(key: &str) -> Option<Stroke> {
    let function = key.strip_prefix('F').and_then(|n| n.parse::<u32>().ok()).filter(|n| (1..=12).contains(n));
    let (number, text) = match function {
        Some(n) => (111 + n, None),
        None => NAMED.iter().find(|one| one.0 == key).map(|one| (one.1, one.2))?,
    };
    let code = key.to_owned();
    let key = if key == "Space" { " " } else { key }.to_owned();
    Some(Stroke { key, code, number, text: text.map(str::to_owned), modifiers: 0 })
}

/// The key that types a character.
fn typed(key: &str) -> Option<Stroke> {
    let mut characters = key.chars();
    let (Some(one), None) = (characters.next(), characters.next()) else { return None };
    let (code, number, shifted) = match one {
        'a'..='z' | 'A'..='Z' => {
            let upper = one.to_ascii_uppercase();
            (format!("Key{upper}"), u32::from(upper), one.is_ascii_uppercase())
        }
        '0'..='9' => (format!("Digit{one}"), u32::from(one), false),
        ' ' => ("Space".to_owned(), 32, false),
        _ => match (SIGNS.iter().find(|sign| sign.0 == one || sign.1 == one), ABOVE_DIGITS.find(one)) {
            (Some(sign), _) => (sign.2.to_owned(), sign.3, sign.1 == one),
            (None, Some(digit)) => (format!("Digit{digit}"), 48 + digit as u32, true),
            (None, None) => return None,
        },
    };
    let modifiers = if shifted { SHIFT } else { 0 };
    Some(Stroke { key: key.to_owned(), code, number, text: Some(key.to_owned()), modifiers })
}

#[cfg(test)]
mod tests {
    use super::{Stroke, stroke};

    #[test]
    fn chromium_keys_have_names() {
        let cases = [
            ("Enter", Some(("Enter", "Enter", 13, Some("\r"), 0))),
            ("Shift+Enter", Some(("Enter", "Enter", 13, Some("\r"), 8))),
            ("Control+Enter", Some(("Enter", "Enter", 13, None, 2))),
            ("Control+Shift+ArrowDown", Some(("ArrowDown", "ArrowDown", 40, None, 10))),
            ("F5", Some(("F5", "F5", 116, None, 0))),
            ("F", Some(("F", "KeyF", 70, Some("F"), 8))),
            ("a", Some(("a", "KeyA", 65, Some("a"), 0))),
            ("?", Some(("?", "Slash", 191, Some("?"), 8))),
            ("+", Some(("+", "Equal", 187, Some("+"), 8))),
            ("Control++", Some(("+", "Equal", 187, None, 10))),
            ("!", Some(("!", "Digit1", 49, Some("!"), 8))),
            ("Space", Some((" ", "Space", 32, Some(" "), 0))),
            ("Ctrl+a", None),
            ("Nonsense", None),
            ("ä", None),
        ];
        assert_eq!(cases.len(), 15);
        for (name, expected) in cases {
            let expected = expected.map(|(key, code, number, text, modifiers)| Stroke {
                key: key.to_owned(),
                code: code.to_owned(),
                number,
                text: text.map(str::to_owned),
                modifiers,
            });
            assert_eq!(stroke(name), expected, "{name}");
        }
    }
}
