//! What the doctor has found, and how it is told.

use serde_json::json;

use crate::output::{self, Style, one_line};

/// One thing that was looked at.
struct Found {
    about: String,
    what: &'static str,
    /// None where it cannot be known, or is wrong only for some.
    good: Option<bool>,
    text: String,
    advice: Option<String>,
}

/// All of it, in the order in which it was looked at.
#[derive(Default)]
pub(super) struct Findings(Vec<Found>);

impl Findings {
    pub(super) fn good(&mut self, about: &str, what: &'static str, text: impl Into<String>) {
        let (about, text) = (about.to_owned(), text.into());
        self.0.push(Found { about, what, good: Some(true), text, advice: None });
    }

    pub(super) fn note(
        &mut self,
        about: &str,
        what: &'static str,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (about, text, advice) = (about.to_owned(), text.into(), Some(advice.into()));
        self.0.push(Found { about, what, good: None, text, advice });
    }

    pub(super) fn bad(
        &mut self,
        about: &str,
        what: &'static str,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (about, text, advice) = (about.to_owned(), text.into(), Some(advice.into()));
        self.0.push(Found { about, what, good: Some(false), text, advice });
    }

    /// Whether something is wrong.
    pub(super) fn has_bad(&self) -> bool {
        self.0.iter().any(|found| found.good == Some(false))
    }

    /// One object for each.
    pub(super) fn print_json(&self) -> std::io::Result<()> {
        self.0.iter().try_for_each(|found| {
            output::print_json(&json!({
                "about": found.about, "what": found.what, "good": found.good, "text": found.text, "advice": found.advice,
            }))
        })
    }

    /// For people.
    pub(super) fn told(&self, style: Style) -> String {
        if self.0.is_empty() {
            return "No workers: all agents run on this machine, and one machine needs none.\n".to_owned();
        }
        let (mut text, mut about) = (String::new(), "");
        for found in &self.0 {
            if found.about != about {
                about = &found.about;
                text.push_str(&format!("{}\n", style.bold(about)));
            }
            let mark = match found.good {
                Some(true) => style.green("✓"),
                Some(false) => style.red("✗"),
                None => style.yellow("?"),
            };
            text.push_str(&format!("{mark} {:<10} {}\n", found.what, one_line(&found.text, 400)));
            if let Some(advice) = &found.advice {
                text.push_str(&format!("{:13}→ {}\n", "", one_line(advice, 400)));
            }
        }
        text
    }
}
