//! The decisions, from outside.

mod decide;
mod narrow;
