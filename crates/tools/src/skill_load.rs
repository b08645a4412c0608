//! skill_load: how one kind of work is done, read when it is needed. The description lists the skills by name and purpose
//! only; the text, and the files that belong to it, come with a call.

use std::fmt::Write as _;

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Knowledge, Library, LoadedSkill, SkillLine, context::Context, failure::ToolFailure, limits,
    show::start_of, tool::Tool,
};

/// Read a skill: how one kind of work is done. Look whether one fits before you begin such work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillLoad {
    key: String,
    /// A file of the skill.
    file: Option<String>,
    // What is cut says where to go on.
    offset: Option<u64>,
}

impl Tool for SkillLoad {
    const NAME: &'static str = "skill_load";
    const KIND: CallKind = CallKind::Read;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("name", "key"),
        ("skill", "key"),
        ("skill_name", "key"),
        ("command", "key"),
        ("path", "file"),
        ("resource", "file"),
    ];

    fn is_there(knowledge: &Knowledge) -> bool {
        // One may be written while the session runs.
        knowledge.library.is_some()
    }

    fn offer(knowledge: &Knowledge) -> Option<String> {
        let skills = knowledge.library.as_ref()?.skills();
        (knowledge.writes_skills || !skills.is_empty()).then(|| listed(&skills))
    }

    fn about(&self) -> String {
        match self.file() {
            Some(file) => format!("{}/{file}", self.key.trim()),
            None => self.key.trim().to_owned(),
        }
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, _| self.load(context)).await
    }
}

impl SkillLoad {
    fn file(&self) -> Option<&str> {
        self.file.as_deref().map(str::trim).filter(|file| !file.is_empty())
    }

    fn load(&self, context: &Context) -> Result<ToolOutcome, ToolFailure> {
        let library = context.knowledge.library.as_ref();
        let library = library.ok_or_else(|| ToolFailure("There are no skills here.".to_owned()))?;
        let key = self.key.trim();
        let skill = library.skill(key).map_err(ToolFailure)?;
        let skill = skill.ok_or_else(|| match library.has_draft(key) {
            true => ToolFailure(format!(
                "The skill {key} is a draft: the person has not accepted it yet (`posse skills review`). Go on without it."
            )),
            false => ToolFailure(unknown(key, &library.skills())),
        })?;
        let text = match self.file() {
            Some(file) => self.resource(library.as_ref(), &skill.key, file)?,
            None => self.told(library.as_ref(), &skill),
        };
        Ok(ToolOutcome::ok(text))
    }

    /// A skill's text, and which files belong to it.
    fn told(&self, library: &dyn Library, skill: &LoadedSkill) -> String {
        let mut text = self.page(library, "skill", &skill.key, &skill.body);
        if skill.files.is_empty() {
            return text;
        }
        let folder = skill.folder.as_deref().map(|folder| one_line(folder, limits::SKILL_PATH_CHARS_MAX));
        let place =
            folder.map(|folder| format!(" are in {folder} (run its scripts there)")).unwrap_or_default();
        let _ = write!(text, "\nIts files{place}, and skill_load reads one with file:");
        for file in skill.files.iter().take(limits::SKILL_FILES_MAX) {
            let path = one_line(&file.path, limits::SKILL_PATH_CHARS_MAX);
            let _ = write!(text, "\n- {path} ({} bytes)", file.bytes);
        }
        let more = skill.files.len().saturating_sub(limits::SKILL_FILES_MAX) + skill.files_left_out;
        if more > 0 {
            let _ = write!(text, "\nand {more} more");
        }
        text
    }

    fn resource(&self, library: &dyn Library, key: &str, file: &str) -> Result<String, ToolFailure> {
        let content = library.skill_file(key, file).map_err(ToolFailure)?;
        Ok(self.page(library, "file", &format!("{key}/{file}"), &content))
    }

    /// As much of a text as one result takes, from the offset on, and where to go on.
    fn page(&self, library: &dyn Library, kind: &str, from: &str, whole: &str) -> String {
        let asked = self.offset.and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0);
        let begin = whole.floor_char_boundary(asked.min(whole.len()));
        let (piece, cut) = start_of(&whole[begin..], limits::SKILL_BODY_BYTES_MAX);
        // Whole lines, unless one is very long.
        let lines = piece.rfind('\n').filter(|end| cut && *end > piece.len() / 2).map(|end| &piece[..=end]);
        let piece = lines.unwrap_or(piece);
        let end = begin + piece.len();
        let shown = piece.strip_suffix('\n').filter(|_| end < whole.len()).unwrap_or(piece);
        let mut text = library.quote(kind, from, shown);
        if end < whole.len() {
            let _ = write!(text, "\n({} more bytes: go on with offset {end})", whole.len() - end);
        }
        text
    }
}

/// The skills, a line each, shorter ones where there are many; then keys alone, then how to find the others.
fn listed(skills: &[SkillLine]) -> String {
    if skills.is_empty() {
        return "\nThere are no skills yet.".to_owned();
    }
    let lines = |chars_max| skills.iter().map(|skill| line(skill, chars_max)).collect::<String>();
    let whole = limits::SKILL_ABOUT_CHARS.iter().map(|chars_max| lines(*chars_max));
    let fits = |list: &String| list.len() <= limits::SKILLS_LISTED_BYTES_MAX;
    let mut list = String::from("\nSkills:");
    if let Some(lines) = whole.into_iter().find(fits) {
        return list + &lines;
    }
    let mut shown = 0;
    for skill in skills {
        let line = line(skill, limits::SKILL_ABOUT_CHARS[limits::SKILL_ABOUT_CHARS.len() - 1]);
        // The rest is for keys: they tell more in the same room.
        if list.len() + line.len() > limits::SKILLS_LISTED_BYTES_MAX / 2 {
            break;
        }
        list.push_str(&line);
        shown += 1;
    }
    let mut before = "\nAlso: ";
    for skill in &skills[shown..] {
        let key = one_line(&skill.key, limits::SKILL_WORD_CHARS_MAX);
        if list.len() + before.len() + key.len() > limits::SKILLS_LISTED_BYTES_MAX {
            break;
        }
        let _ = write!(list, "{before}{key}");
        (before, shown) = (", ", shown + 1);
    }
    if shown < skills.len() {
        let _ = write!(list, "\n{} more: give a word as key to be told which fit.", skills.len() - shown);
    }
    list
}

fn line(skill: &SkillLine, about_chars_max: usize) -> String {
    let key = one_line(&skill.key, limits::SKILL_WORD_CHARS_MAX);
    let about = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line(&about, about_chars_max) {
        about if about.is_empty() => format!("\n- {key}"),
        about => format!("\n- {key}: {about}"),
    }
}

/// What a key that is none is answered with: the skills that have its words, or how many there are.
fn unknown(key: &str, skills: &[SkillLine]) -> String {
    let mut text = format!("There is no skill {}.", one_line(key, limits::SKILL_WORD_CHARS_MAX));
    if skills.is_empty() {
        return text + " There are none here.";
    }
    let (asked, _) = start_of(key, limits::RECALL_QUERY_BYTES_MAX);
    let asked = asked.to_lowercase();
    let words: Vec<&str> =
        asked.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1).collect();
    let mut fitting: Vec<(usize, &SkillLine)> = skills
        .iter()
        .map(|skill| {
            let about = format!("{} {} {}", skill.key, skill.name, skill.description).to_lowercase();
            (words.iter().filter(|word| about.contains(**word)).count(), skill)
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    fitting.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    if fitting.is_empty() {
        let _ = write!(text, " None of {} skills has these words. There are:", skills.len());
        let keys = skills.iter().take(limits::SKILLS_NAMED_MAX).map(|skill| skill.key.as_str());
        let _ = write!(text, " {}", keys.collect::<Vec<_>>().join(", "));
        return text;
    }
    text.push_str(" These may fit:");
    for (_, skill) in fitting.iter().take(limits::SKILLS_FITTING_MAX) {
        text.push_str(&line(skill, limits::SKILL_ABOUT_CHARS[0]));
    }
    text
}
