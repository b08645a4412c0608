//! What a command wrote, as text for models and people.

use posse_protocol::visible::one_line;
use posse_sandbox::CapturedOutput;

use crate::limits;

/// The output as far as it was kept.
pub(crate) fn shown(output: &CapturedOutput) -> String {
    if output.total_bytes == 0 {
        return "(no output)".to_owned();
    } else if output.complete() {
        return plain(&output.bytes());
    }
    format!(
        "{}\n({} of {} bytes left out here)\n{}",
        plain(&output.head),
        output.left_out_bytes(),
        output.total_bytes,
        plain(&output.tail)
    )
}

fn plain(bytes: &[u8]) -> String {
    let mut text = text_of(bytes);
    text.truncate(text.trim_end().len());
    text
}

/// Output as text: without colours and cursor movements, which say nothing to a model.
fn text_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            '\n' | '\t' => out.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            // A progress bar going back to the start of its line.
            '\r' => out.push('\n'),
            character if character.is_control() => out.push_str(&one_line(&character.to_string(), 10)),
            character => out.push(character),
        }
    }
    out
}

/// A part of an output that is still being written, as text, and how many bytes of it that is: a character or an escape
/// sequence that has not come whole waits for the rest.
pub(crate) fn part_of(bytes: &[u8]) -> (String, usize) {
    // The beginning may be in the middle of a character that was left out.
    let begin = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    let end = bytes.len() - unfinished_bytes(&bytes[begin..]);
    (text_of(&bytes[begin..end]), end)
}

/// How many bytes at the end wait for the rest of a character or of an escape sequence.
fn unfinished_bytes(bytes: &[u8]) -> usize {
    let recent = &bytes[bytes.len().saturating_sub(limits::ESCAPE_BYTES_MAX)..];
    if let Some(at) = recent.iter().rposition(|byte| *byte == 0x1b) {
        let escape = &recent[at..];
        let ends =
            |first: &[u8], last: fn(&u8) -> bool| escape.starts_with(first) && !escape[2..].iter().any(last);
        let open = escape.len() == 1
            || ends(b"\x1b[", |byte| matches!(byte, b'@'..=b'~'))
            || ends(b"\x1b]", |byte| matches!(byte, 0x07 | b'\n'));
        if open {
            return escape.len();
        }
    }
    match bytes.utf8_chunks().last() {
        // The last character is cut off if what is there of it is a beginning.
        Some(chunk) if !chunk.invalid().is_empty() && bytes.ends_with(chunk.invalid()) => {
            let begins = std::str::from_utf8(chunk.invalid());
            if begins.is_err_and(|error| error.error_len().is_none()) { chunk.invalid().len() } else { 0 }
        }
        _ => 0,
    }
}

/// Skips the rest of an escape sequence: `[ … letter`, `] … BEL`, or a single character.
fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            characters.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']') => {
            while characters.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
            characters.next_if(|c| *c == '\u{7}');
        }
        _ => {
            characters.next_if(|c| matches!(c, '('..=')' | '7'..='9' | '=' | '>' | 'A'..='Z' | '\\'));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However a stream is cut, its parts are the text of the whole.
    #[test]
    fn parts_are_the_text_of_the_whole() {
        let cases = [
            "plain\n",
            "ü€😀 and\ttabs\r\nnext\rprogress",
            "a\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}after \u{1b}(Bend\u{1b}7",
            "bell\u{7} nul\0 del\u{7f}",
        ];
        let mut checked = 0;
        for whole in cases {
            for cut in 0..=whole.len() {
                let (mut text, mut kept) = (String::new(), Vec::new());
                for piece in [&whole.as_bytes()[..cut], &whole.as_bytes()[cut..]] {
                    kept.extend_from_slice(piece);
                    let (part, taken) = part_of(&kept);
                    text.push_str(&part);
                    kept.drain(..taken);
                }
                // A carriage return is told apart from a line's end by what follows it.
                let split_end = whole.as_bytes().get(cut) == Some(&b'\n')
                    && cut > 0
                    && whole.as_bytes()[cut - 1] == b'\r';
                let expected = text_of(whole.as_bytes());
                let expected = if split_end { expected.replacen('\n', "\n\n", 1) } else { expected };
                assert_eq!(text, expected, "{whole:?} cut at {cut}");
                checked += 1;
            }
        }
        assert_eq!(checked, cases.iter().map(|case| case.len() + 1).sum::<usize>());
        assert_eq!(
            part_of(&[0xff, b'a', 0xfe]),
            ("\u{fffd}a\u{fffd}".to_owned(), 3),
            "what is no text is not waited for"
        );
        assert_eq!(part_of("é".as_bytes()[1..].as_ref()), (String::new(), 1));
    }
}
