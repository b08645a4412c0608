//! Keeps the head and the tail of a stream of any length in bounded memory. Knows nothing of processes.

use std::collections::VecDeque;

use crate::limits;

/// How much output is kept: this much from the start and this much from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes kept from the start.
    pub head_bytes: usize,
    /// Bytes kept from the end.
    pub tail_bytes: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { head_bytes: limits::OUTPUT_HEAD_BYTES, tail_bytes: limits::OUTPUT_TAIL_BYTES }
    }
}

/// The kept part of an output, and how long it was in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, not overlapping the head.
    pub tail: Vec<u8>,
    /// All bytes that were written, kept or not.
    pub total_bytes: u64,
}

impl CapturedOutput {
    /// How many bytes between head and tail were not kept.
    pub fn left_out_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Whether every byte was kept.
    pub fn complete(&self) -> bool {
        self.left_out_bytes() == 0
    }

    /// Head and tail back to back: the whole output where it is complete.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// How many bytes were written before it.
    pub from: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A capture that is still being filled.
#[derive(Debug)]
pub(crate) struct Capture {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
}

impl Capture {
    pub(crate) fn new(asked: OutputLimits) -> Self {
        let limits = OutputLimits {
            head_bytes: asked.head_bytes.min(limits::OUTPUT_SIDE_BYTES_MAX),
            tail_bytes: asked.tail_bytes.min(limits::OUTPUT_SIDE_BYTES_MAX),
        };
        Self { limits, head: Vec::new(), tail: VecDeque::new(), total_bytes: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(bytes.len() as u64);
        let room = self.limits.head_bytes.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.limits.tail_bytes)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.limits.tail_bytes);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Keeps as much as this from now on. What was left out before stays left out.
    pub(crate) fn widen(&mut self, asked: OutputLimits) {
        let Self { limits, .. } = Self::new(asked);
        let complete = self.total_bytes == (self.head.len() + self.tail.len()) as u64;
        let room = limits.head_bytes.saturating_sub(self.head.len());
        if complete && room > 0 {
            self.head.extend(self.tail.drain(..room.min(self.tail.len())));
        }
        // A head that something was left out behind stays as it is.
        let head_bytes = if complete { limits.head_bytes } else { self.head.len() };
        self.limits = OutputLimits {
            head_bytes: head_bytes.max(self.head.len()),
            tail_bytes: limits.tail_bytes.max(self.limits.tail_bytes),
        };
    }

    /// The newest bytes behind the first `after`, at most so many, without a gap between them. None if there are none.
    pub(crate) fn newest(&self, after: u64, bytes_max: usize) -> Option<OutputPart> {
        let to = self.total_bytes;
        if after >= to {
            return None;
        }
        let tail_from = to - self.tail.len() as u64;
        let head_len = self.head.len() as u64;
        let mut from = after.max(to.saturating_sub(bytes_max as u64));
        if tail_from > head_len {
            // Something between them was left out.
            from = from.max(tail_from);
        }
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let mut bytes = self.head.get(at(from)..).unwrap_or_default().to_vec();
        bytes.extend(self.tail.iter().skip(at(from.saturating_sub(tail_from))));
        Some(OutputPart { from, bytes })
    }

    /// What there is so far.
    pub(crate) fn so_far(&self) -> CapturedOutput {
        let tail = self.tail.iter().copied().collect();
        CapturedOutput { head: self.head.clone(), tail, total_bytes: self.total_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_of_a_stream_keeps_the_same_head_and_tail() {
        let stream: Vec<u8> = (0..40).collect();
        let cases = [(0, 0), (0, 5), (5, 0), (5, 5), (20, 20), (40, 0), (0, 40), (100, 100)];
        let mut checked = 0;
        for (head_bytes, tail_bytes) in cases {
            for chunk in 1..=stream.len() {
                let mut capture = Capture::new(OutputLimits { head_bytes, tail_bytes });
                stream.chunks(chunk).for_each(|piece| capture.push(piece));
                let head_end = head_bytes.min(stream.len());
                let tail_start = head_end.max(stream.len().saturating_sub(tail_bytes));
                let expected = CapturedOutput {
                    head: stream[..head_end].to_vec(),
                    tail: stream[tail_start..].to_vec(),
                    total_bytes: 40,
                };
                assert_eq!(capture.so_far(), expected, "head {head_bytes} tail {tail_bytes} chunk {chunk}");
                checked += 1;
            }
        }
        assert_eq!(checked, 8 * 40);
    }

    #[test]
    fn what_is_new_is_seen_without_a_gap() {
        let stream: Vec<u8> = (0..40).collect();
        let mut checked = 0;
        for (head_bytes, tail_bytes) in [(0, 5), (5, 0), (5, 5), (20, 20), (40, 0), (0, 40)] {
            for written in 0..=stream.len() {
                let mut capture = Capture::new(OutputLimits { head_bytes, tail_bytes });
                capture.push(&stream[..written]);
                let kept = |place: usize| place < head_bytes || place + tail_bytes >= written;
                for after in 0..=written {
                    for most in [1, 7, 100] {
                        let first = after.max(written.saturating_sub(most));
                        // All from there on that was kept, up to the last gap.
                        let from = (first..written).rev().take_while(|place| kept(*place)).last();
                        let found = capture.newest(after as u64, most);
                        let found = found.filter(|part| !part.bytes.is_empty());
                        let expected = from.map(|from| OutputPart {
                            from: from as u64,
                            bytes: stream[from..written].to_vec(),
                        });
                        assert_eq!(found, expected, "{head_bytes} {tail_bytes} {written} {after} {most}");
                        checked += 1;
                    }
                }
            }
        }
        assert_eq!(checked, 6 * 3 * (41 * 42 / 2));
    }

    #[test]
    fn a_wider_capture_keeps_what_it_has_and_more() {
        let stream: Vec<u8> = (0..100).collect();
        let wide = OutputLimits { head_bytes: 30, tail_bytes: 30 };
        for (before, head, tail) in [(0, 0..30, 70..100), (8, 0..30, 70..100), (20, 0..5, 70..100)] {
            let mut capture = Capture::new(OutputLimits { head_bytes: 5, tail_bytes: 5 });
            capture.push(&stream[..before]);
            capture.widen(wide);
            capture.push(&stream[before..]);
            let expected =
                CapturedOutput { head: stream[head].to_vec(), tail: stream[tail].to_vec(), total_bytes: 100 };
            assert_eq!(capture.so_far(), expected, "{before}");
        }
    }
}
