//! The tool dialects by which a model asks for delegation, as pure parsers.
#![forbid(unsafe_code)]
