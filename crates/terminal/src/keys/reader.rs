//! Makes input from the bytes of a terminal, however they are cut into pieces. What it holds is bounded, and no byte is
//! waited for forever: [`KeyReader::flush`] decides what can be decided, a control character ends every string.

use super::decode::{self, Sequence};
use super::paste::Collecting;
use super::{Key, KeyCode, TerminalInput, TerminalReply};
use crate::limits::{SEQUENCE_BYTES_MAX, STRING_BYTES_MAX, STRING_KEPT_BYTES_MAX};

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// What the bytes so far are the beginning of.
#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing.
    #[default]
    Ground,
    /// One escape, or two of them.
    Escape { is_second: bool },
    /// A character of several bytes.
    Character { alt: bool },
    /// `ESC [`
    Control(Begun),
    /// `ESC [ [`, a function key of the Linux console
    Console,
    /// `ESC [ M`, a mouse in the oldest way: so many bytes still belong to it
    Mouse { left: u8 },
    /// `ESC O`
    Single(Begun),
    /// A string: its kind, how long it is, whether an escape may end it now
    Text { kind: u8, length: usize, is_escaped: bool, begun: Begun },
    /// Pasted text
    Paste(Collecting),
}

/// How a sequence began.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    /// Another escape was before it: the Esc key, or Alt.
    after_escape: bool,
}

/// Makes keys, pasted text and answers from the bytes of a terminal.
///
/// Feed it what was read with [`push`](Self::push); call [`flush`](Self::flush) when nothing came for about 25 ms.
#[derive(Clone, Debug, Default)]
pub struct KeyReader {
    state: State,
    /// The bytes of a character, sequence or string that is not whole yet.
    held: Vec<u8>,
    inputs: Vec<TerminalInput>,
}

impl KeyReader {
    /// A reader that waits for the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and says what they mean.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        let mut at = 0;
        while at < bytes.len() {
            let State::Paste(paste) = &mut self.state else {
                self.byte(bytes[at]);
                at += 1;
                continue;
            };
            let Some(taken) = paste.push(&bytes[at..]) else { break };
            at += taken;
            self.end_paste();
        }
        std::mem::take(&mut self.inputs)
    }

    /// Nothing came for a while: an escape was the Esc key, and what begins a sequence was a key with Alt. Sequences, strings
    /// and pastes that have begun are waited for: slow lines cut them.
    pub fn flush(&mut self) -> Vec<TerminalInput> {
        match self.state {
            State::Escape { is_second } => {
                self.state = State::Ground;
                (0..=usize::from(is_second)).for_each(|_| self.key(KeyCode::Escape));
            }
            State::Control(begun) if self.held.is_empty() => self.alone(begun, '['),
            State::Single(begun) if self.held.is_empty() => self.alone(begun, 'O'),
            State::Text { kind, length: 0, is_escaped: false, begun } => self.alone(begun, char::from(kind)),
            State::Text { is_escaped: true, .. } => {
                self.reset();
                self.key(KeyCode::Escape);
            }
            _ => {}
        }
        std::mem::take(&mut self.inputs)
    }

    /// Whether text is being pasted.
    pub fn is_pasting(&self) -> bool {
        matches!(self.state, State::Paste(_))
    }

    /// Ends a paste whose end does not come, for example when nothing came for seconds, and gives what there is of it.
    pub fn give_up_paste(&mut self) -> Vec<TerminalInput> {
        if self.is_pasting() {
            self.end_paste();
        }
        std::mem::take(&mut self.inputs)
    }

    /// Whether bytes are held that [`flush`](Self::flush) may decide about.
    pub fn is_waiting(&self) -> bool {
        !matches!(self.state, State::Ground | State::Paste(_))
    }

    /// How many bytes are held until their meaning is known.
    pub fn held_bytes(&self) -> usize {
        self.held.len() + if let State::Paste(paste) = &self.state { paste.held_bytes() } else { 0 }
    }

    fn byte(&mut self, byte: u8) {
        match self.state {
            State::Ground | State::Paste(_) => self.ground(byte, false),
            State::Escape { is_second } => self.escaped(byte, is_second),
            State::Character { alt } => self.character(byte, alt),
            State::Control(begun) => self.control(byte, begun),
            State::Console => {
                self.reset();
                match byte {
                    b'A'..=b'E' => self.key(KeyCode::Function(byte - b'A' + 1)),
                    _ => self.ground(byte, false),
                }
            }
            State::Mouse { left } => {
                self.state = if left > 1 { State::Mouse { left: left - 1 } } else { State::Ground };
            }
            State::Single(begun) => self.single(byte, begun),
            State::Text { kind, length, is_escaped, begun } => {
                self.text(byte, (kind, length, is_escaped), begun);
            }
        }
    }

    /// A byte that begins something.
    fn ground(&mut self, byte: u8, alt: bool) {
        self.state = State::Ground;
        if byte == ESCAPE {
            self.state = State::Escape { is_second: false };
        } else if byte < 0x80 {
            self.key(Key { alt, ..decode::ascii(byte) });
        } else {
            self.character(byte, alt);
        }
    }

    /// A byte after one escape or two.
    fn escaped(&mut self, byte: u8, is_second: bool) {
        let begun = Begun { after_escape: is_second };
        match byte {
            b'[' => self.state = State::Control(begun),
            b'O' => self.state = State::Single(begun),
            b']' | b'P' | b'X' | b'^' | b'_' => {
                self.state = State::Text { kind: byte, length: 0, is_escaped: false, begun };
            }
            _ => {
                if is_second {
                    self.key(KeyCode::Escape);
                }
                if byte == ESCAPE {
                    self.state = State::Escape { is_second: true };
                } else {
                    self.ground(byte, true);
                }
            }
        }
    }

    /// A byte of a character of several.
    fn character(&mut self, byte: u8, alt: bool) {
        self.held.push(byte);
        self.state = State::Character { alt };
        let (c, taken) = match str::from_utf8(&self.held) {
            Ok(text) => (text.chars().next(), text.len()),
            Err(error) => match error.error_len() {
                None => return,
                Some(length) => (Some(char::REPLACEMENT_CHARACTER), length),
            },
        };
        let rest = self.held.split_off(taken);
        self.reset();
        // Control characters of eight bits are no keys.
        if let Some(c) = c.filter(|c| !c.is_control()) {
            self.key(Key { alt, ..Key::char(c) });
        }
        rest.into_iter().for_each(|byte| self.byte(byte));
    }

    /// A byte after `ESC [`.
    fn control(&mut self, byte: u8, begun: Begun) {
        let is_final = (0x40..=0x7e).contains(&byte) || decode::is_rxvt_shift(&self.held, byte);
        match byte {
            b'[' if self.held.is_empty() => self.state = State::Console,
            b'M' if self.held.is_empty() => self.state = State::Mouse { left: 3 },
            _ if is_final => {
                let held = std::mem::take(&mut self.held);
                self.state = State::Ground;
                if held.len() < SEQUENCE_BYTES_MAX {
                    self.sequence(decode::control(&held, byte), begun);
                }
            }
            0x20..=0x3f => self.hold(byte, SEQUENCE_BYTES_MAX),
            _ => self.broken(byte),
        }
    }

    /// A byte after `ESC O`.
    fn single(&mut self, byte: u8, begun: Begun) {
        match byte {
            b'0'..=b'9' | b';' => self.hold(byte, SEQUENCE_BYTES_MAX),
            0x20..=0x7e => {
                let held = std::mem::take(&mut self.held);
                self.state = State::Ground;
                self.sequence(decode::single(&held, byte), begun);
            }
            _ => self.broken(byte),
        }
    }

    /// A byte of a string.
    fn text(&mut self, byte: u8, (kind, length, is_escaped): (u8, usize, bool), begun: Begun) {
        match byte {
            b'\\' if is_escaped => self.end_text(kind, begun),
            BELL if !is_escaped => self.end_text(kind, begun),
            _ if is_escaped => {
                self.reset();
                self.escaped(byte, false);
            }
            ESCAPE => self.state = State::Text { kind, length, is_escaped: true, begun },
            // The way out when something only looked like a string.
            0x00..=0x1f | 0x7f => self.broken(byte),
            _ if length >= STRING_BYTES_MAX => self.broken(byte),
            _ => {
                self.hold(byte, STRING_KEPT_BYTES_MAX);
                self.state = State::Text { kind, length: length + 1, is_escaped, begun };
            }
        }
    }

    fn end_text(&mut self, kind: u8, begun: Begun) {
        let held = std::mem::take(&mut self.held);
        self.state = State::Ground;
        let known = (held.len() < STRING_KEPT_BYTES_MAX).then(|| decode::text(kind, &held)).flatten();
        self.sequence(Sequence::Reply(known.unwrap_or(TerminalReply::Other)), begun);
    }

    /// What a sequence means.
    fn sequence(&mut self, sequence: Sequence, begun: Begun) {
        let is_keys = matches!(sequence, Sequence::Keys(_));
        if begun.after_escape && !is_keys {
            self.key(KeyCode::Escape);
        }
        match sequence {
            Sequence::Nothing => {}
            Sequence::Keys(keys) => {
                keys.into_iter().for_each(|key| self.key(Key { alt: key.alt || begun.after_escape, ..key }));
            }
            Sequence::Focus(is_here) => self.inputs.push(TerminalInput::Focus(is_here)),
            Sequence::Reply(reply) => self.inputs.push(TerminalInput::Reply(reply)),
            Sequence::Paste => self.state = State::Paste(Collecting::default()),
        }
    }

    fn end_paste(&mut self) {
        if let State::Paste(paste) = std::mem::take(&mut self.state) {
            self.inputs.push(TerminalInput::Paste(paste.finish()));
        }
    }

    /// What looked like the beginning of a sequence was a key with Alt.
    fn alone(&mut self, begun: Begun, c: char) {
        self.reset();
        if begun.after_escape {
            self.key(KeyCode::Escape);
        }
        self.key(Key::alt(c));
    }

    /// A byte that cannot be here: what has begun is dropped, and the byte begins anew.
    fn broken(&mut self, byte: u8) {
        self.reset();
        self.ground(byte, false);
    }

    fn hold(&mut self, byte: u8, bytes_max: usize) {
        if self.held.len() < bytes_max {
            self.held.push(byte);
        }
    }

    fn reset(&mut self) {
        self.held.clear();
        self.state = State::Ground;
    }

    fn key(&mut self, key: impl Into<Key>) {
        self.inputs.push(TerminalInput::Key(key.into().normal()));
    }
}
