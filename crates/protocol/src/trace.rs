//! Where a session belongs in a trace: ids of OpenTelemetry that are derived from ours, so that everybody who names a span
//! names the same one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, CallId, SessionId};

/// A span in a trace, as the W3C header `traceparent` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("minLength" = 55, "maxLength" = 55))]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// Whether its owner keeps the trace.
    pub sampled: bool,
}

/// A trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

/// A span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub [u8; 8]);

/// The trace that a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTrace {
    /// The session.
    pub session: SessionId,
    /// Its trace: that of whoever asked for it, or its own.
    pub trace: TraceId,
    /// Whether it is kept.
    pub sampled: bool,
}

impl SessionTrace {
    /// The trace of a session that was asked for within this span, if within any.
    pub fn of(session: SessionId, asked_within: Option<&TraceParent>, sampled: bool) -> Self {
        let trace = asked_within.map_or_else(|| TraceId::of(session), |parent| parent.trace);
        Self { session, trace, sampled }
    }

    /// The span of a tool call, for whoever carries it out.
    pub fn of_call(&self, agent: AgentId, call: &CallId) -> TraceParent {
        let span = SpanId::of_call(self.session, agent, call);
        TraceParent { trace: self.trace, span, sampled: self.sampled }
    }
}

/// A text that names no span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTraceParent;

impl fmt::Display for NoTraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a traceparent: it looks like 00-TRACE-SPAN-01, with 32 and 16 hexadecimal digits")
    }
}

impl std::error::Error for NoTraceParent {}

impl TraceId {
    /// The trace of a session that nobody called from within a trace: the session's own id.
    pub fn of(session: SessionId) -> Self {
        Self(session.bytes())
    }
}

impl SpanId {
    /// The span of something that has a name within its session. The same name gives the same id.
    pub fn named(session: SessionId, kind: &str, parts: &[&[u8]]) -> Self {
        // FNV-1a over the parts, each behind its length, then mixed so that similar names differ everywhere.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        add(&session.bytes());
        add(kind.as_bytes());
        parts.iter().for_each(|part| add(part));
        for (shift, factor) in [(33, 0xff51_afd7_ed55_8ccd_u64), (33, 0xc4ce_b9fe_1a85_ec53), (33, 1)] {
            hash = (hash ^ (hash >> shift)).wrapping_mul(factor);
        }
        // All zeros would name no span.
        Self(hash.max(1).to_be_bytes())
    }

    /// The span of a tool call.
    pub fn of_call(session: SessionId, agent: AgentId, call: &CallId) -> Self {
        Self::named(session, "execute_tool", &[&agent.bytes(), call.0.as_bytes()])
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (u128::from_be_bytes(self.trace.0), u64::from_be_bytes(self.span.0));
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(self.sampled))
    }
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let mut hex = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let plain = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if plain { u128::from_str_radix(part, 16).ok() } else { None }
        };
        let read = (|| Some((hex(2)?, hex(32)?, hex(16)?, hex(2)?)))();
        let (version, trace, span, flags) = read.ok_or(NoTraceParent)?;
        // Later versions may say more; version 255 does not exist.
        let complete = if version == 0 { parts.next().is_none() } else { version < 255 };
        let span = u64::try_from(span).map_err(|_| NoTraceParent)?;
        if !complete || trace == 0 || span == 0 {
            return Err(NoTraceParent);
        }
        let (trace, span) = (TraceId(trace.to_be_bytes()), SpanId(span.to_be_bytes()));
        Ok(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

impl TryFrom<String> for TraceParent {
    type Error = NoTraceParent;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn it_is_read_and_written_as_the_header_is() {
        let parent: TraceParent = GOOD.parse().unwrap();
        assert!(parent.sampled);
        assert_eq!(parent.to_string(), GOOD);
        assert!(!GOOD.replace("-01", "-00").parse::<TraceParent>().unwrap().sampled);
        assert_eq!(format!("cc-{}-more", &GOOD[3..]).parse::<TraceParent>().unwrap(), parent);
    }

    #[test]
    fn anything_else_names_no_span() {
        let cases = [
            String::new(),
            "00".into(),
            format!("{GOOD}-more"),
            GOOD.to_uppercase(),
            GOOD.replacen("00-", "ff-", 1),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            GOOD.replace("4bf9", "+bf9"),
            GOOD.replace("4bf9", "äb9"),
            format!(" {GOOD}"),
        ];
        for case in cases {
            assert_eq!(case.parse::<TraceParent>(), Err(NoTraceParent), "{case}");
        }
    }

    #[test]
    fn spans_are_told_apart_and_keep_their_ids() {
        let session: SessionId = "01890000-0000-7000-8000-000000000001".parse().unwrap();
        let named = |kind, parts: &[&[u8]]| SpanId::named(session, kind, parts);
        let all = [
            named("a", &[]),
            named("a", &[b""]),
            named("a", &[b"b"]),
            named("ab", &[]),
            named("a", &[b"b", b"c"]),
            named("a", &[b"bc"]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
        // Traces that were exported by an earlier version are still the same.
        assert_eq!(named("a", &[b"b"]).0, EXPECTED);
        assert_eq!(TraceId::of(session).0[15], 1);
    }

    const EXPECTED: [u8; 8] = [37, 254, 20, 213, 172, 71, 249, 161];
}
