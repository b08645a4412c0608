//! What a file is by its bytes: the images that models take, and PDF. Reads headers and block lengths, and never a pixel.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kinds of attachment, by the names that all providers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MediaType {
    /// A PNG image.
    #[serde(rename = "image/png")]
    Png,
    /// A JPEG image.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// A GIF image.
    #[serde(rename = "image/gif")]
    Gif,
    /// A WebP image.
    #[serde(rename = "image/webp")]
    WebP,
    /// A PDF document.
    #[serde(rename = "application/pdf")]
    Pdf,
}

impl MediaType {
    /// The kind that a file with this start claims to be.
    pub fn of(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if start.starts_with(b"\xFF\xD8\xFF") {
            Some(Self::Jpeg)
        } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
            Some(Self::WebP)
        } else if start.starts_with(b"%PDF-") {
            Some(Self::Pdf)
        } else {
            None
        }
    }

    /// Its name in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    /// Whether it is an image.
    pub fn is_image(self) -> bool {
        self != Self::Pdf
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG image",
            Self::Jpeg => "JPEG image",
            Self::Gif => "GIF image",
            Self::WebP => "WebP image",
            Self::Pdf => "PDF document",
        })
    }
}

/// The size of an image in pixels; 0×0 for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The size of a file that is whole; none if its structure is damaged or its end is missing. A provider refuses such an
/// image, and every later request of the conversation with it.
pub(crate) fn size(media_type: MediaType, content: &[u8]) -> Option<Size> {
    let size = match media_type {
        MediaType::Png => png(content),
        MediaType::Jpeg => jpeg(content),
        MediaType::Gif => gif(content),
        MediaType::WebP => webp(content),
        MediaType::Pdf => return pdf(content),
    };
    size.filter(|size| size.width > 0 && size.height > 0)
}

/// Chunks of length, name, data and checksum, from IHDR to IEND.
fn png(content: &[u8]) -> Option<Size> {
    let mut at = 8;
    let mut size = None;
    loop {
        let name = content.get(at + 4..at + 8)?;
        let data = at + 8;
        let next = data.checked_add(be32(content, at)? as usize)?.checked_add(4)?;
        if next > content.len() {
            return None;
        }
        match (name, size) {
            (b"IHDR", None) => {
                size = Some(Size { width: be32(content, data)?, height: be32(content, data + 4)? })
            }
            (_, None) => return None,
            (b"IEND", Some(size)) => return Some(size),
            _ => {}
        }
        at = next;
    }
}

/// Segments up to the start of the picture, which ends in FF D9.
fn jpeg(content: &[u8]) -> Option<Size> {
    let mut at = 2;
    let mut size = None;
    loop {
        if *content.get(at)? != 0xFF {
            return None;
        }
        let marker = *content.get(at + 1)?;
        match marker {
            // Padding.
            0xFF => {
                at += 1;
                continue;
            }
            0x01 | 0xD0..=0xD7 => {
                at += 2;
                continue;
            }
            // The picture itself.
            0xDA => {
                let rest = content.get(at..)?;
                return size.filter(|_| rest.windows(2).any(|pair| pair == b"\xFF\xD9"));
            }
            // A frame; these three of the range are none.
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                let (height, width) = (be16(content, at + 5)?, be16(content, at + 7)?);
                size = Some(Size { width, height });
            }
            _ => {}
        }
        at += 2 + be16(content, at + 2)? as usize;
    }
}

/// Blocks up to the byte that ends the file.
fn gif(content: &[u8]) -> Option<Size> {
    let size = Size { width: le16(content, 6)?, height: le16(content, 8)? };
    let mut at = 13 + colours(*content.get(10)?);
    loop {
        match content.get(at)? {
            b';' => return Some(size),
            b'!' => at = gif_data(content, at + 2)?,
            b',' => at = gif_data(content, at + 11 + colours(*content.get(at + 9)?))?,
            _ => return None,
        }
    }
}

/// The bytes of a colour table, by the flags before it.
fn colours(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// The end of blocks that begin with their length; the last has none.
fn gif_data(content: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *content.get(at)? {
            0 => return Some(at + 1),
            length => at += 1 + usize::from(length),
        }
    }
}

/// One container with its length, and in it one of three kinds of picture.
fn webp(content: &[u8]) -> Option<Size> {
    let length = u32::from_le_bytes(content.get(4..8)?.try_into().ok()?);
    if (content.len() as u64) < u64::from(length) + 8 {
        return None;
    }
    match content.get(12..16)? {
        b"VP8 " if content.get(23..26)? == b"\x9D\x01\x2A" => {
            Some(Size { width: le16(content, 26)? & 0x3FFF, height: le16(content, 28)? & 0x3FFF })
        }
        b"VP8L" if *content.get(20)? == 0x2F => {
            let bits = u32::from_le_bytes(content.get(21..25)?.try_into().ok()?);
            Some(Size { width: (bits & 0x3FFF) + 1, height: ((bits >> 14) & 0x3FFF) + 1 })
        }
        b"VP8X" => Some(Size { width: le24(content, 24)? + 1, height: le24(content, 27)? + 1 }),
        _ => None,
    }
}

/// A PDF says where it ends, near its end.
fn pdf(content: &[u8]) -> Option<Size> {
    const END: &[u8] = b"%%EOF";
    let tail = &content[content.len().saturating_sub(1_024)..];
    tail.windows(END.len()).any(|window| window == END).then_some(Size { width: 0, height: 0 })
}

fn be32(content: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(content.get(at..at + 4)?.try_into().ok()?))
}

fn be16(content: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(content.get(at..at + 2)?.try_into().ok()?).into())
}

fn le16(content: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(content.get(at..at + 2)?.try_into().ok()?).into())
}

fn le24(content: &[u8], at: usize) -> Option<u32> {
    let bytes = content.get(at..at + 3)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    /// Real files of one pixel, as programs write them.
    const FILES: [(MediaType, &str); 6] = [
        (
            MediaType::Png,
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        ),
        (MediaType::Gif, "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
        (
            MediaType::Jpeg,
            "/9j/4AAQSkZJRgABAQEASABIAAD/wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxD/2Q==",
        ),
        (MediaType::WebP, "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
        (MediaType::WebP, "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="),
        (
            MediaType::WebP,
            "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==",
        ),
    ];

    /// Cut anywhere, it is no longer an image; with anything changed, it is one or it is none, and nothing breaks.
    #[test]
    fn images_are_known_by_their_bytes_and_only_whole() {
        let mut ran = 0;
        for (media_type, base64) in FILES {
            let file = BASE64_STANDARD.decode(base64).unwrap();
            assert_eq!(MediaType::of(&file), Some(media_type));
            assert_eq!(size(media_type, &file), Some(Size { width: 1, height: 1 }), "{media_type}");
            for end in 0..file.len() {
                assert_eq!(size(media_type, &file[..end]), None, "{media_type} cut at {end}");
                for changed in [0, 1, 0x7F, 0x80, 0xFF] {
                    let mut other = file.clone();
                    other[end] = changed;
                    let _ = size(media_type, &other);
                }
                ran += 1;
            }
        }
        assert_eq!(ran, 337);
    }

    #[test]
    fn a_document_is_known_by_its_start_and_its_end() {
        let whole = b"%PDF-1.7\nwords\n%%EOF\n";
        assert_eq!(MediaType::of(whole), Some(MediaType::Pdf));
        assert!(size(MediaType::Pdf, whole).is_some() && size(MediaType::Pdf, &whole[..16]).is_none());
        for other in [&b"PDF"[..], b" %PDF-1.7", b"\x89PNG\n", b"RIFF\0\0\0\0WAVE", b"BM", b""] {
            assert_eq!(MediaType::of(other), None);
        }
    }

    #[test]
    fn names_are_the_same_in_json_and_in_requests() {
        for media_type in [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::WebP, MediaType::Pdf] {
            assert_eq!(serde_json::to_value(media_type).unwrap(), media_type.as_str());
        }
    }
}
