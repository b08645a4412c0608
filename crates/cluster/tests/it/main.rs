//! Tests come with what they test.
