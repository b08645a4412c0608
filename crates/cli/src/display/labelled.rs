//! Lines behind a label, broken where the terminal ends. Pure.

use crate::prose::hanging;

/// Lines that are painted one by one.
pub(super) fn lines(rows: &[String], paint: impl Fn(&str) -> String) -> String {
    rows.iter().map(|row| format!("{}\n", paint(row))).collect()
}

/// Something behind its label, broken at `width`.
pub(super) fn labelled(label: &str, text: &str, width: usize, paint: impl Fn(&str) -> String) -> String {
    lines(&hanging(&format!("  {label:<7}  "), text, width), paint)
}
