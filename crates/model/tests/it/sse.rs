//! The SSE decoder: what it accepts, and promise M1 on what it does not.

use posse_model::sse::{Frame, SseDecoder, SseError};
use posse_model::{Protocol, limits};

use crate::one;
use posse_testkit::Turn;

fn frame(event: &str, data: &str) -> Frame {
    Frame { event: event.into(), data: data.into() }
}

/// Feeds a stream in pieces of so many bytes.
fn decode(stream: &[u8], piece: usize) -> (Vec<Frame>, Result<(), SseError>) {
    let mut decoder = SseDecoder::with_limit(4096);
    let mut frames = Vec::new();
    for part in stream.chunks(piece) {
        if let Err(error) = decoder.push(part, &mut frames) {
            return (frames, Err(error));
        }
    }
    frames.extend(decoder.finish());
    (frames, Ok(()))
}

#[test]
fn streams_and_their_frames_however_they_are_cut() {
    let cases: [(&[u8], Vec<Frame>); 14] = [
        (b"", vec![]),
        (b"data: a\n\n", vec![frame("", "a")]),
        (b"data:a\r\n\r\ndata: b\r\rdata:  c\n\n", vec![frame("", "a"), frame("", "b"), frame("", " c")]),
        (b"event: x\ndata: a\n\n", vec![frame("x", "a")]),
        (b"data: a\ndata: b\ndata\n\n", vec![frame("", "a\nb\n")]),
        (b"\xef\xbb\xbfdata: a\n\n", vec![frame("", "a")]),
        (b": comment\n\n: more\ndata: a\n\n", vec![frame("", "a")]),
        (b"id: 7\nretry: 3\nother: x\ndata: a\n\n", vec![frame("", "a")]),
        (b"event: lost\n\ndata: a\n\n", vec![frame("", "a")]),
        (b"data: last", vec![frame("", "last")]),
        (b"data: last\n", vec![frame("", "last")]),
        (b"data\n\n", vec![frame("", "")]),
        (b"\n\n\n\r\n", vec![]),
        ("data: grüße 🎉\n\n".as_bytes(), vec![frame("", "grüße 🎉")]),
    ];
    let mut ran = 0;
    for (stream, want) in &cases {
        for piece in [1, 2, 3, 5, 7, 1000] {
            let (frames, end) = decode(stream, piece);
            assert_eq!((&frames, end), (want, Ok(())), "{:?} by {piece}", String::from_utf8_lossy(stream));
            ran += 1;
        }
    }
    assert_eq!(ran, 84);
}

#[test]
fn faults_are_typed() {
    assert_eq!(decode(b"data: \xff\xfe\n\n", 3), (vec![frame("", "\u{fffd}\u{fffd}")], Ok(())));
    assert_eq!(decode(&[b'x'; 5000], 100).1, Err(SseError::FrameTooLong));
    let many_lines = b"data: 0123456789\n".repeat(600);
    assert_eq!(decode(&many_lines, 100).1, Err(SseError::FrameTooLong));
    // Comments are not text for anybody.
    assert_eq!(decode(b": \xff\ndata: a\n\n", 3), (vec![frame("", "a")], Ok(())));
}

/// A malformed stream: valid pieces, reordered, cut, flipped, with strange bytes between.
fn malformed(random: &mut fastrand::Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n",
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        b"data: [DONE]\n\n",
        b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{}}\n\n",
        b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        b"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\"}}\n\n",
        b"data: {\"type\":\"response.completed\",\"response\":{}}\n\n",
        b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1e9,\"function\":{}}]}}]}\n\n",
        b"data: {\"error\":{\"message\":\"\xf0\x9f\n\n",
        b"\xff\xfe\x00data:\r\r\n",
        b"data: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n\n",
        b":\n:\n",
        b"event\n",
        b"data: null\n\ndata: 0\n\ndata: \"x\"\n\n",
        b"\xef\xbb\xbf",
    ];
    let mut stream = Vec::new();
    for _ in 0..random.usize(0..12) {
        let mut piece = PIECES[random.usize(0..PIECES.len())].to_vec();
        if random.u8(0..4) == 0 {
            piece.truncate(random.usize(0..=piece.len()));
        }
        if random.u8(0..4) == 0 && !piece.is_empty() {
            let at = random.usize(0..piece.len());
            piece[at] = random.u8(..);
        }
        stream.extend(piece);
    }
    if random.u8(0..50) == 0 {
        stream.extend(std::iter::repeat_n(b'A', 6000));
    }
    stream
}

#[test]
fn a_thousand_malformed_streams_do_no_harm() {
    let mut ran = 0;
    for seed in 0..1_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let stream = malformed(&mut random);
        let piece = random.usize(1..64);
        let whole = decode(&stream, stream.len().max(1));
        let cut = decode(&stream, piece);
        // However it is cut, the same frames come out, and the same fault if any.
        assert_eq!(cut.1, whole.1, "seed {seed}");
        if whole.1.is_ok() {
            assert_eq!(cut.0, whole.0, "seed {seed}");
        }
        let longest = cut.0.iter().map(|f| f.data.len()).max().unwrap_or(0);
        assert!(longest <= 4096, "seed {seed}");
        ran += 1;
    }
    assert_eq!(ran, 1_000);
}

/// The same streams through the whole client: every one ends in a reply or a typed error, never in a hang.
#[tokio::test]
async fn malformed_streams_through_the_client() {
    let mut ran = 0;
    for seed in 0..150 {
        let stream = malformed(&mut fastrand::Rng::with_seed(seed));
        for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Anthropic] {
            let turns = (0..4).map(|_| Turn::raw(stream.clone()));
            let call = tokio::time::timeout(std::time::Duration::from_secs(20), one(protocol, turns));
            let (result, _) = call.await.unwrap_or_else(|_| panic!("seed {seed}: hangs"));
            if let Err(error) = result {
                assert!(!error.message.is_empty() && error.message.len() < 2_000, "seed {seed}: {error:?}");
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 450);
}

#[test]
fn the_default_limit_is_the_documented_one() {
    let mut decoder = SseDecoder::default();
    let part = vec![b'x'; 1024 * 1024];
    let mut pushed = 0;
    while decoder.push(&part, &mut Vec::new()).is_ok() {
        pushed += part.len();
        assert!(pushed <= limits::FRAME_BYTES_MAX);
    }
    assert_eq!(pushed, limits::FRAME_BYTES_MAX);
}
