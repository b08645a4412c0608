//! ask_person: a question to the person, answered in words. Whoever runs the calls asks it; where nobody can, the call answers
//! so by itself.

use posse_protocol::limits::{CHOICE_CHARS_MAX, CHOICES_MAX, QUESTION_CHARS_MAX};
use posse_protocol::{CallKind, Files, FreeQuestion, Needs, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{context::Context, failure::ToolFailure, tool::Tool};

/// What an agent is told where there is nobody to ask.
pub const NOBODY_HERE: &str = include_str!("../prompts/nobody_here.md").trim_ascii();

/// Ask the person, and wait for the answer. Only for what you can neither find out nor decide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskPerson {
    question: String,
    choices: Option<Vec<String>>,
}

impl AskPerson {
    /// The proposed answers; models send some that are empty.
    fn choices(&self) -> impl Iterator<Item = &str> {
        self.choices.iter().flatten().map(|choice| choice.trim()).filter(|choice| !choice.is_empty())
    }
}

impl Tool for AskPerson {
    const NAME: &'static str = "ask_person";
    const KIND: CallKind = CallKind::Ask;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("prompt", "question"), ("text", "question"), ("message", "question"), ("options", "choices")];

    fn check(&self) -> Result<(), String> {
        let too_long =
            |what: &str, max: usize| Err(format!("{what} is too long; keep it to {max} characters."));
        if self.question.trim().is_empty() {
            return Err("`question` is empty.".to_owned());
        } else if self.question.chars().count() > QUESTION_CHARS_MAX {
            return too_long("`question`", QUESTION_CHARS_MAX);
        } else if self.choices().count() > CHOICES_MAX {
            return Err(format!("`choices` are too many; give at most {CHOICES_MAX}."));
        } else if self.choices().any(|choice| choice.chars().count() > CHOICE_CHARS_MAX) {
            return too_long("One of `choices`", CHOICE_CHARS_MAX);
        }
        Ok(())
    }

    fn about(&self) -> String {
        self.question.trim().to_owned()
    }

    fn asks(&self) -> Option<FreeQuestion> {
        Some(FreeQuestion { choices: self.choices().map(str::to_owned).collect() })
    }

    async fn run(self, _context: Context) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::ok(NOBODY_HERE))
    }
}
