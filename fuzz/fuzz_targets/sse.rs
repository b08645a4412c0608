//! Promise M1: no bytes make the SSE decoder panic, exceed its limit, or depend on where they were cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_model::sse::{Frame, SseDecoder, SseError};

const BYTES_MAX: usize = 4096;

fn decode<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Frame>, SseError> {
    let mut decoder = SseDecoder::with_limit(BYTES_MAX);
    let mut frames = Vec::new();
    for part in parts {
        decoder.push(part, &mut frames)?;
    }
    frames.extend(decoder.finish());
    Ok(frames)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, stream) = input;
    let whole = decode(std::iter::once(stream));
    let cut = decode(stream.chunks(usize::from(size) + 1));
    assert_eq!(whole, cut);
    for frame in whole.iter().flatten() {
        assert!(frame.data.len() <= BYTES_MAX);
    }
});
