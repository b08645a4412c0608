//! skill_save: writes a skill, new or better than before. The one tool that writes into `.posse`, so a person is asked
//! wherever anybody is asked at all: what it writes shapes later sessions. Where nobody is there, it waits as a draft.

use posse_policy::Act;
use posse_protocol::{
    CallKind, Effect, FileChange, Files, Grant, Needs, NoteScope, Shell, ToolOutcome, visible,
};
use posse_workspace::text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Knowledge, NewSkill, Preview, SavedSkill,
    context::Context,
    failure::ToolFailure,
    limits,
    remember::Scope,
    show::{line_diff, start_of},
    tool::Tool,
    valid_skill_key,
};

/// Write a skill, or replace the text of one; load it first. Its other files stay as they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillSave {
    /// Such as release-notes.
    key: String,
    /// What it does and when to use it.
    description: String,
    /// The steps, in Markdown.
    body: String,
    /// user: for all projects.
    scope: Option<Scope>,
}

impl Tool for SkillSave {
    const NAME: &'static str = "skill_save";
    const KIND: CallKind = CallKind::Remember;
    const NEEDS: Needs = Needs { files: Files::Write, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("name", "key"),
        ("skill", "key"),
        ("content", "body"),
        ("text", "body"),
        ("instructions", "body"),
        ("when_to_use", "description"),
    ];

    fn offer(knowledge: &Knowledge) -> Option<String> {
        knowledge.library.as_ref().filter(|_| knowledge.writes_skills).map(|_| String::new())
    }

    fn check(&self) -> Result<(), String> {
        valid_skill_key(&self.key)?;
        let chars = self.description.trim().chars().count();
        if !(1..=limits::SKILL_DESCRIPTION_CHARS_MAX).contains(&chars) {
            return Err(format!(
                "description has {chars} characters, and 1 to {} are allowed; say what it does and when to use it",
                limits::SKILL_DESCRIPTION_CHARS_MAX
            ));
        }
        let bytes = self.body.trim().len();
        if !(1..=limits::SKILL_SAVED_BYTES_MAX).contains(&bytes) {
            return Err(format!(
                "body has {bytes} bytes, and 1 to {} are allowed; keep to what is needed every time",
                limits::SKILL_SAVED_BYTES_MAX
            ));
        }
        Ok(())
    }

    fn about(&self) -> String {
        match Scope::of(self.scope) {
            NoteScope::Project => format!(".posse/skills/{}/SKILL.md", self.key),
            NoteScope::User => format!("{}/SKILL.md of the person's own skills, for all projects", self.key),
        }
    }

    fn act(&self, _grant: &Grant) -> Act {
        Act::Leave
    }

    fn preview(&self, context: &Context) -> Option<Preview> {
        let known = context.knowledge.library.as_ref()?.skill(&self.key).ok().flatten();
        let before = known.filter(|known| known.key == self.key).map(|known| known.body.trim().to_owned());
        let after = self.body.trim();
        let mut preview = Preview::of(before.map(String::into_bytes), after.as_bytes());
        preview.text.insert_str(0, &format!("description: {}\n", visible::line(self.description.trim())));
        Some(preview)
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, _| self.save(context)).await
    }
}

impl SkillSave {
    fn save(&self, context: &Context) -> Result<ToolOutcome, ToolFailure> {
        let library = context.knowledge.library.as_ref().filter(|_| context.knowledge.writes_skills);
        let library = library.ok_or_else(|| ToolFailure("this agent does not write skills".to_owned()))?;
        let skill = NewSkill {
            key: self.key.clone(),
            description: self.description.trim().to_owned(),
            body: self.body.trim().to_owned(),
            scope: Scope::of(self.scope),
        };
        if context.draft {
            library.draft_skill(&skill).map_err(ToolFailure)?;
            return Ok(ToolOutcome::ok(format!(
                "Kept as a draft: nobody is here to look at it. The skill {} is there once the person accepts it with \
                 `posse skills review`; say so in your report.",
                skill.key
            )));
        }
        let SavedSkill { path, before, after } = library.save_skill(&skill).map_err(ToolFailure)?;
        let created = before.is_none();
        let old = before.unwrap_or_default();
        if old == after {
            return Ok(ToolOutcome::ok(format!("{path} already says exactly this.")));
        }
        let (lines_added, lines_removed) = text::line_changes(old.as_bytes(), after.as_bytes());
        let text = if created {
            format!("New: {path} (+{lines_added} lines).")
        } else {
            let diff = line_diff(&old, &after);
            let (diff, cut) = start_of(&diff, limits::SKILL_DIFF_BYTES_MAX);
            let cut = if cut { "\n(the rest is left out)" } else { "" };
            let diff = library.quote("diff", &path, diff);
            format!("Changed {path} (+{lines_added} -{lines_removed} lines).\n{diff}{cut}")
        };
        let change = FileChange { path, created, lines_added, lines_removed };
        Ok(ToolOutcome::ok(text).with(Effect::File(change)))
    }
}
