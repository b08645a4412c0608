//! Reports: sections, JSON, checks, caps, safe wrapping, reading by handle.
#![forbid(unsafe_code)]
