//! remember: one note for later sessions. It is kept by being on record, so nothing but this call makes one.

use posse_protocol::{Approval, CallKind, Effect, Files, Needs, NewNote, NoteScope, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Knowledge, context::Context, failure::ToolFailure, limits, tool::Tool};

/// Note a fact for later sessions: a decision, a pitfall, a wish of the person. One fact each, no secrets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remember {
    text: String,
    kind: Option<String>,
    /// user: for all projects.
    scope: Option<Scope>,
}

/// Who finds it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    Project,
    #[serde(alias = "global", alias = "person")]
    User,
}

impl Scope {
    pub(crate) fn of(asked: Option<Self>) -> NoteScope {
        match asked {
            Some(Self::User) => NoteScope::User,
            Some(Self::Project) | None => NoteScope::Project,
        }
    }
}

impl Tool for Remember {
    const NAME: &'static str = "remember";
    const KIND: CallKind = CallKind::Remember;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("content", "text"), ("note", "text"), ("fact", "text"), ("memory", "text"), ("type", "kind")];

    fn offer(knowledge: &Knowledge) -> Option<String> {
        knowledge.memory().map(|_| String::new())
    }

    fn read_only() -> bool {
        false
    }

    fn check(&self) -> Result<(), String> {
        let bytes = self.text.trim().len();
        if bytes == 0 {
            return Err("text is empty; say what is to be known".to_owned());
        } else if bytes > limits::NOTE_BYTES_MAX {
            return Err(format!(
                "text has {bytes} bytes, and a note has at most {}; keep to the fact, and name a file that holds the rest",
                limits::NOTE_BYTES_MAX
            ));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let one_word = |kind: &str| kind.len() <= limits::NOTE_KIND_BYTES_MAX && kind.chars().all(plain);
        if !self.kind().is_none_or(one_word) {
            return Err(
                "kind is one short word of letters and digits, such as decision; or leave it out".to_owned()
            );
        }
        Ok(())
    }

    fn about(&self) -> String {
        self.text.clone()
    }

    fn for_all_projects(&self) -> bool {
        Scope::of(self.scope) == NoteScope::User
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, _| self.note(context)).await
    }
}

impl Remember {
    fn kind(&self) -> Option<&str> {
        self.kind.as_deref().map(str::trim).filter(|kind| !kind.is_empty())
    }

    fn note(&self, context: &Context) -> Result<ToolOutcome, ToolFailure> {
        let library =
            context.knowledge.memory().ok_or_else(|| ToolFailure("memory is off here".to_owned()))?;
        if context.grant.approval == Approval::Plan {
            return Err(ToolFailure("in plan mode nothing is kept; say it in your answer".to_owned()));
        }
        let scope = Scope::of(self.scope);
        if scope == NoteScope::User && context.knowledge.sub_agent {
            return Err(ToolFailure("a sub-agent's notes are of the project; leave scope out".to_owned()));
        }
        let asked = self.kind().unwrap_or(NewNote::NOTE).to_lowercase();
        let kind = match context.knowledge.sub_agent {
            // Whatever it asks for: who reads the note must be able to tell.
            true => NewNote::SUB_AGENT_RESULT.to_owned(),
            false if asked == NewNote::SUB_AGENT_RESULT => {
                return Err(ToolFailure(format!("{asked} is the kind of sub-agents' notes; leave kind out")));
            }
            false => asked,
        };
        library.room(scope).map_err(ToolFailure)?;
        let who = match scope {
            NoteScope::Project => "in this project",
            NoteScope::User => "in all projects of the person",
        };
        let text = format!("Noted ({kind}); later sessions {who} can recall it.");
        let note = NewNote { scope, kind, text: self.text.trim().to_owned() };
        Ok(ToolOutcome::ok(text).with(Effect::Noted(note)))
    }
}
