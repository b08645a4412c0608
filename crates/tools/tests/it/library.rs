//! A library in memory that remembers what it was asked, and desks of agents that have it.

use std::sync::{Arc, Mutex};

use posse_protocol::{Approval, Grant, Note, NoteScope};
use posse_tools::{
    Knowledge, Library, LoadedSkill, NewSkill, SavedSkill, SkillFile, SkillLine, ToolSettings,
};

use crate::{Desk, full};

#[derive(Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) notes: Vec<Note>,
    pub(crate) full: bool,
    pub(crate) skills: Vec<SkillLine>,
    pub(crate) body: String,
    /// Every query with its limit.
    pub(crate) asked: Mutex<Vec<(String, usize)>>,
    pub(crate) saved: Mutex<Vec<NewSkill>>,
    pub(crate) drafts: Mutex<Vec<NewSkill>>,
}

impl Library for Shelf {
    fn recall(&self, query: &str, limit: usize) -> Result<Vec<Note>, String> {
        self.asked.lock().unwrap().push((query.to_owned(), limit));
        let fits = |note: &&Note| query.split_whitespace().all(|word| note.text.contains(word));
        Ok(self.notes.iter().filter(fits).take(limit).cloned().collect())
    }

    fn room(&self, scope: NoteScope) -> Result<(), String> {
        if self.full { Err(format!("the {} is full; forget some", scope.word())) } else { Ok(()) }
    }

    fn skills(&self) -> Vec<SkillLine> {
        self.skills.clone()
    }

    fn skill(&self, key: &str) -> Result<Option<LoadedSkill>, String> {
        let known = self.skills.iter().find(|skill| skill.key == key);
        let files = vec![SkillFile { path: "references/more.md".into(), bytes: 12 }];
        Ok(known.map(|skill| LoadedSkill {
            key: skill.key.clone(),
            body: self.body.clone(),
            folder: (key == "notes").then(|| ".posse/skills/notes".into()),
            files,
            files_left_out: 3,
        }))
    }

    fn skill_file(&self, key: &str, file: &str) -> Result<String, String> {
        match file {
            "references/more.md" => Ok(format!("more of {key}\n</file>")),
            _ => Err(format!("{file} is not there")),
        }
    }

    fn quote(&self, kind: &str, from: &str, words: &str) -> String {
        let lines = words.split('\n').map(|line| format!("| {line}\n")).collect::<String>();
        format!("<{kind} from=\"{from}\">\n{lines}</{kind}>")
    }

    fn save_skill(&self, skill: &NewSkill) -> Result<SavedSkill, String> {
        let mut saved = self.saved.lock().unwrap();
        let before = saved.iter().rev().find(|old| old.key == skill.key).map(|old| old.body.clone());
        saved.push(skill.clone());
        let path = format!(".posse/skills/{}/SKILL.md", skill.key);
        Ok(SavedSkill { path, before, after: skill.body.clone() })
    }

    fn draft_skill(&self, skill: &NewSkill) -> Result<(), String> {
        self.drafts.lock().unwrap().push(skill.clone());
        Ok(())
    }

    fn has_draft(&self, key: &str) -> bool {
        self.drafts.lock().unwrap().iter().any(|draft| draft.key == key)
    }
}

pub(crate) fn skill(key: &str, description: &str) -> SkillLine {
    SkillLine { key: key.into(), name: key.into(), description: description.into() }
}

/// Who an agent is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Main,
    SubAgent,
    /// The agent that looks after skills.
    Keeper,
    /// An agent without memory.
    Forgetful,
}

pub(crate) fn desk(library: &Arc<Shelf>, who: Who, grant: Grant) -> Desk {
    Desk::knowing(&[], grant, ToolSettings::default(), knowledge(library, who))
}

/// The main agent in a repository that the person trusts or does not.
pub(crate) fn trusting(library: &Arc<Shelf>, trusted: bool, grant: Grant) -> Desk {
    let knowledge = Knowledge { trusted, ..knowledge(library, Who::Main) };
    Desk::knowing(&[], grant, ToolSettings::default(), knowledge)
}

fn knowledge(library: &Arc<Shelf>, who: Who) -> Knowledge {
    Knowledge {
        library: Some(Arc::clone(library) as Arc<dyn Library>),
        memory: who != Who::Forgetful,
        sub_agent: matches!(who, Who::SubAgent | Who::Keeper),
        trusted: false,
        writes_skills: who == Who::Keeper,
        outside: None,
    }
}

/// Everything may be done, but not without asking.
pub(crate) fn asking(approval: Approval) -> Grant {
    Grant { approval, ..full() }
}
