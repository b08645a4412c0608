//! Agent files become roles: lenient front matter, built-in roles, aliases.
#![forbid(unsafe_code)]
