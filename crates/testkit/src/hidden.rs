//! The characters that people do not see, or that a terminal acts on. Line ends and tabs are not among them.

/// From and to, by their numbers.
const HIDDEN: [(u32, u32); 29] = [
    // Controls, and spaces that are none to a shell.
    (0x00, 0x08),
    (0x0b, 0x1f),
    (0x7f, 0x9f),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    // What changes the order of others.
    (0x61c, 0x61c),
    (0x200e, 0x200f),
    (0x202a, 0x202e),
    (0x2066, 0x2069),
    // What ends lines, or joins and divides words.
    (0x2028, 0x2029),
    (0x200b, 0x200d),
    (0x2060, 0x2064),
    (0xfeff, 0xfeff),
    (0xad, 0xad),
    // Letters, marks and signs that look like nothing.
    (0x34f, 0x34f),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xffa0, 0xffa0),
    (0xfff9, 0xfffb),
    // Choices between pictures of others, and tags.
    (0xfe00, 0xfe0f),
    (0xe0001, 0xe007f),
    (0xe0100, 0xe01ef),
];

/// All of them.
pub fn hidden_characters() -> Vec<char> {
    HIDDEN.iter().flat_map(|(from, to)| *from..=*to).filter_map(char::from_u32).collect()
}
