//! The page of `posse serve` in a real browser, against the real binary and a fake model: what a person does and sees.

mod shop;
mod stage;

mod asking;
mod hostile;
mod keyboard;
mod losing;
mod read_only;
mod reviewing;
mod steering;
mod tabs;
mod unfolding;
mod views;

/// What a sub-agent says in the end.
const REPORT: &str = "SUMMARY: I looked at it, and it is as it should be.\nCHANGES: None.\nEVIDENCE: main.py:1\nRISKS: None.\nBLOCKERS: None.";
