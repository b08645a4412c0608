//! What whole sequences mean: those of VT and xterm, rxvt and the Linux console, and the keyboard protocol of kitty.

use super::{Key, KeyCode, TerminalReply};

/// What a sequence means.
#[derive(Debug)]
pub(super) enum Sequence {
    /// Nothing that we know, or a key that was let go.
    Nothing,
    /// Keys: several when one typed several characters.
    Keys(Vec<Key>),
    Focus(bool),
    Reply(TerminalReply),
    /// Pasted text follows.
    Paste,
}

impl From<Option<Key>> for Sequence {
    fn from(key: Option<Key>) -> Self {
        key.map_or(Self::Nothing, |key| Self::Keys(vec![key]))
    }
}

/// A byte that is a key by itself.
pub(super) fn ascii(byte: u8) -> Key {
    match byte {
        0x00 => Key::ctrl(' '),
        0x08 | 0x7f => Key::new(KeyCode::Backspace),
        0x09 => Key::new(KeyCode::Tab),
        0x0d => Key::new(KeyCode::Enter),
        0x1b => Key::new(KeyCode::Escape),
        0x01..=0x1a => Key::ctrl(char::from(byte + 0x60)),
        // Ctrl with \ ] ^ _
        0x1c..=0x1f => Key::ctrl(char::from(byte + 0x40)),
        _ => Key::char(char::from(byte)),
    }
}

/// Whether a `$` ends a sequence, as rxvt has it for keys with Shift; elsewhere it stands before the end.
pub(super) fn is_rxvt_shift(held: &[u8], byte: u8) -> bool {
    byte == b'$' && (1..=2).contains(&held.len()) && held.iter().all(u8::is_ascii_digit)
}

/// `ESC O`, maybe a number, and this byte.
pub(super) fn single(held: &[u8], end: u8) -> Sequence {
    let fields = Fields::new(held);
    let modifiers = fields.number(if fields.count() > 1 { 1 } else { 0 });
    let key = match end {
        b'M' => Key::new(KeyCode::Enter),
        b'I' => Key::new(KeyCode::Tab),
        b'X' => Key::char('='),
        b' ' => Key::char(' '),
        // The keypad: * + , - . / and the digits.
        b'j'..=b'y' => Key::char(char::from(end - 0x40)),
        b'a'..=b'd' => Key::new(arrow(end - 0x20)).with_ctrl(),
        _ => match letter(end) {
            Some(code) => Key::new(code),
            None => return Sequence::Nothing,
        },
    };
    with(key, modifiers).into()
}

/// `ESC [`, what was between, and this byte.
pub(super) fn control(held: &[u8], end: u8) -> Sequence {
    if let [sign @ b'<'..=b'?', rest @ ..] = held {
        return private(*sign, rest, end);
    }
    let fields = Fields::new(held);
    match end {
        b'~' => tilde(&fields),
        b'u' => kitty(&fields),
        b'$' => code_of(fields.number(0)).map(|code| Key::new(code).with_shift()).into(),
        b'^' => code_of(fields.number(0)).map(|code| Key::new(code).with_ctrl()).into(),
        b'@' => code_of(fields.number(0)).map(|code| Key::new(code).with_ctrl().with_shift()).into(),
        b'I' if held.is_empty() => Sequence::Focus(true),
        b'O' if held.is_empty() => Sequence::Focus(false),
        b'a'..=b'd' if held.is_empty() => Some(Key::new(arrow(end - 0x20)).with_shift()).into(),
        b'R' if fields.count() == 2 => position(&fields),
        b'n' | b'y' | b't' => Sequence::Reply(TerminalReply::Other),
        b'Z' => pressed(KeyCode::BackTab, &fields),
        _ => letter(end).map_or(Sequence::Nothing, |code| pressed(code, &fields)),
    }
}

/// A string of a kind: `]` for OSC.
pub(super) fn text(kind: u8, held: &[u8]) -> Option<TerminalReply> {
    let text = str::from_utf8(held).ok().filter(|_| kind == b']')?;
    let colour = text.strip_prefix("11;")?;
    let parts = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(shade);
    let (r, g, b) = (parts.next()??, parts.next()??, parts.next()??);
    Some(TerminalReply::Background { r, g, b })
}

/// One to four hexadecimal digits as a part of the largest such number.
fn shade(digits: &str) -> Option<u8> {
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
    let largest = (1 << (4 * digits.len())) - 1;
    u8::try_from((value * 255 + largest / 2) / largest).ok()
}

fn private(sign: u8, held: &[u8], end: u8) -> Sequence {
    let fields = Fields::new(held);
    match (sign, end) {
        (b'?', b'u') => {
            Sequence::Reply(TerminalReply::KeyboardFlags(u8::try_from(fields.number(0)).unwrap_or(0)))
        }
        (b'?', b'c') => Sequence::Reply(TerminalReply::DeviceAttributes),
        (b'?', b'R') => position(&fields),
        (b'?' | b'>' | b'=', b'c' | b'n' | b'y' | b't' | b'q' | b'S') => {
            Sequence::Reply(TerminalReply::Other)
        }
        _ => Sequence::Nothing,
    }
}

/// A modified F3 of older terminals looks the same, and nobody needs it.
fn position(fields: &Fields<'_>) -> Sequence {
    let number = |at| u16::try_from(fields.number(at)).unwrap_or(u16::MAX).max(1);
    Sequence::Reply(TerminalReply::CursorPosition { row: number(0), column: number(1) })
}

fn tilde(fields: &Fields<'_>) -> Sequence {
    match fields.number(0) {
        200 => Sequence::Paste,
        // modifyOtherKeys of xterm: 27, what is held, the character.
        27 if fields.count() == 3 => {
            coded(fields.number(2)).and_then(|key| with(key, fields.number(1))).into()
        }
        number => code_of(number).map_or(Sequence::Nothing, |code| pressed(code, fields)),
    }
}

/// A key with what is held and whether it was pressed in the second field.
fn pressed(code: KeyCode, fields: &Fields<'_>) -> Sequence {
    if fields.is_release() {
        return Sequence::Nothing;
    }
    with(Key::new(code), fields.number(1)).into()
}

fn kitty(fields: &Fields<'_>) -> Sequence {
    if fields.is_release() {
        return Sequence::Nothing;
    }
    let modifiers = fields.number(1);
    let is_text = modifiers.saturating_sub(1) & !(SHIFT | LOCKS) == 0;
    let typed = fields.all(2).filter_map(char::from_u32).filter(|c| !c.is_control());
    let typed: Vec<Key> = typed.filter(|_| is_text).map(Key::char).collect();
    let code = fields.number(0);
    if !typed.is_empty() && !matches!(code, 9 | 13 | 27 | 127) {
        return Sequence::Keys(typed);
    }
    let Some(key) = coded(code).and_then(|key| with(key, modifiers)) else { return Sequence::Nothing };
    // Which character Shift makes of it on this keyboard, where that is told.
    let shifted = fields.all(0).nth(1).and_then(char::from_u32).filter(|c| !c.is_control());
    let key = match (key.code, shifted) {
        (KeyCode::Char(_), Some(c)) if key.shift => {
            let shift = key.ctrl && c.is_alphabetic();
            Key { code: KeyCode::Char(c), shift, ..key }
        }
        _ => key,
    };
    Sequence::Keys(vec![key])
}

const SHIFT: u32 = 1;
const ALT: u32 = 2;
const CTRL: u32 = 4;
const META: u32 = 32;
/// Super and Hyper: these are for the desktop.
const DESKTOP: u32 = 8 | 16;
const LOCKS: u32 = 64 | 128;

/// A key with what was held, as terminals count it: one more than the sum of the bits. Nothing for keys of the desktop.
fn with(key: Key, modifiers: u32) -> Option<Key> {
    let bits = modifiers.saturating_sub(1);
    (bits & DESKTOP == 0).then_some(Key {
        code: key.code,
        ctrl: key.ctrl || bits & CTRL != 0,
        alt: key.alt || bits & (ALT | META) != 0,
        shift: key.shift || bits & SHIFT != 0,
    })
}

fn arrow(end: u8) -> KeyCode {
    letter(end).unwrap_or(KeyCode::Up)
}

/// Keys that have a letter.
fn letter(end: u8) -> Option<KeyCode> {
    Some(match end {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P' => KeyCode::Function(1),
        b'Q' => KeyCode::Function(2),
        b'R' => KeyCode::Function(3),
        b'S' => KeyCode::Function(4),
        _ => return None,
    })
}

/// Keys that have a number.
fn code_of(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::Function((number - 10) as u8),
        17..=21 => KeyCode::Function((number - 11) as u8),
        23..=26 => KeyCode::Function((number - 12) as u8),
        28 | 29 => KeyCode::Function((number - 13) as u8),
        31..=34 => KeyCode::Function((number - 14) as u8),
        _ => return None,
    })
}

/// Keys that have a code: their character, or a number from the private use area of Unicode.
fn coded(code: u32) -> Option<Key> {
    let keypad = ['.', '/', '*', '-', '+'];
    Some(Key::new(match code {
        8 | 127 => KeyCode::Backspace,
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        57376..=57398 => KeyCode::Function((code - 57376 + 13) as u8),
        57399..=57408 => KeyCode::Char(char::from(b'0' + (code - 57399) as u8)),
        57409..=57413 => KeyCode::Char(keypad[(code - 57409) as usize]),
        57415 => KeyCode::Char('='),
        57416 => KeyCode::Char(','),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57425 => KeyCode::Insert,
        57426 => KeyCode::Delete,
        0xe000..=0xf8ff => return None,
        _ => KeyCode::Char(char::from_u32(code).filter(|c| !c.is_control())?),
    }))
}

/// The numbers of a sequence: fields between `;`, each of one or several numbers between `:`.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn new(held: &'a [u8]) -> Self {
        // Only ASCII is held.
        Self(str::from_utf8(held).unwrap_or_default())
    }

    fn count(&self) -> usize {
        self.0.split(';').count()
    }

    /// The numbers of a field.
    fn all(&self, at: usize) -> impl Iterator<Item = u32> + use<'a> {
        let field = self.0.split(';').nth(at).unwrap_or_default();
        field.split(':').map(|number| number.parse().unwrap_or(0))
    }

    /// The first number of a field; none is 0.
    fn number(&self, at: usize) -> u32 {
        self.all(at).next().unwrap_or(0)
    }

    /// Whether a key was let go.
    fn is_release(&self) -> bool {
        self.all(1).nth(1) == Some(3)
    }
}
