//! `posse skills review`: skills that agents wrote while nobody was there to look at them. A stranger may have had a hand in
//! them, so they are shown in full and escaped, and are no skills until the person accepts them.

use anyhow::{bail, ensure};
use posse_engine::skills::{FoundSkill, SkillDraft, SkillDrafts, find_skills};
use posse_protocol::NoteScope;
use posse_setup::{Paths, own_skill_folder, skill_folders};

use super::place;
use crate::memory::project_here;
use crate::output::{self, Style, columns, counted, local_time, one_line, trimmed, visible};
use crate::surroundings::shown;

/// What is done with a draft.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Look,
    Accept,
    Reject,
}

impl Verdict {
    pub(super) fn of(accept: bool, reject: bool) -> Self {
        match (accept, reject) {
            (true, _) => Self::Accept,
            (_, true) => Self::Reject,
            _ => Self::Look,
        }
    }
}

/// The drafts of this project, and those for all projects; the oldest first.
fn here(paths: &Paths) -> anyhow::Result<Vec<SkillDraft>> {
    let project = project_here()?;
    let mut drafts = SkillDrafts::of(&paths.data_dir).list();
    drafts.retain(|draft| draft.project == project || draft.scope == NoteScope::User);
    Ok(drafts)
}

/// A line that says how many wait; nothing if none do.
pub(super) fn waiting(paths: &Paths) -> anyhow::Result<String> {
    Ok(match here(paths)?.len() {
        0 => String::new(),
        1 => "1 draft waits for you; see: posse skills review\n".to_string(),
        n => format!("{n} drafts wait for you; see: posse skills review\n"),
    })
}

pub(super) fn list(paths: &Paths, json: bool) -> anyhow::Result<()> {
    let drafts = here(paths)?;
    if json {
        return Ok(drafts.iter().try_for_each(output::print_json)?);
    } else if drafts.is_empty() {
        return Ok(output::print("No drafts wait for you.\n")?);
    }
    let key_width = drafts.iter().map(|draft| columns(&draft.key)).max().unwrap_or(0).max(5);
    let rest = output::stdout_width().saturating_sub(key_width + 11).max(20);
    let row = |key: &str, scope: &str, text: &str| {
        let pad = " ".repeat(key_width.saturating_sub(columns(key)));
        format!("{key}{pad}  {scope:<7}  {}\n", one_line(text, rest))
    };
    let mut text = Style::for_stdout().dim(&row("draft", "for", "use"));
    for draft in &drafts {
        text.push_str(&row(&draft.key, whose(draft), &draft.description));
    }
    text.push_str("Look at one: posse skills review KEY; then again with --accept or --reject.\n");
    Ok(output::print(&text)?)
}

/// Who will find it.
fn whose(draft: &SkillDraft) -> &'static str {
    match draft.scope {
        NoteScope::Project => "project",
        NoteScope::User => "you",
    }
}

pub(super) fn one(paths: &Paths, key: &str, verdict: Verdict, json: bool) -> anyhow::Result<()> {
    let mut drafts = here(paths)?;
    drafts.retain(|draft| draft.key == key);
    let Some(newest) = drafts.last() else {
        bail!("there is no draft {key:?}; posse skills review lists them");
    };
    let known =
        find_skills(&skill_folders(paths, &newest.workspace)).into_iter().find(|one| one.skill.key == key);
    match verdict {
        Verdict::Look if json => Ok(output::print_json(newest)?),
        Verdict::Look => show(newest, known.as_ref(), drafts.len() - 1),
        Verdict::Accept => accept(paths, &drafts, newest, known.as_ref()),
        Verdict::Reject => {
            throw_away(paths, &drafts)?;
            let what = counted(drafts.len() as u64, "draft");
            Ok(output::print(&format!("{what} of {key} rejected.\n"))?)
        }
    }
}

fn show(draft: &SkillDraft, known: Option<&FoundSkill>, older: usize) -> anyhow::Result<()> {
    let replaces = known.map(|known| format!("{}; see: posse skills show {}", place(known), draft.key));
    let lines = [
        (
            "for",
            if draft.scope == NoteScope::User { "all your projects" } else { "this project" }.to_string(),
        ),
        ("from", format!("session {}, {}", draft.session, local_time(draft.at_ms))),
        ("folder", shown(&draft.workspace)),
        ("replaces", replaces.unwrap_or_default()),
        ("older", if older > 0 { counted(older as u64, "draft") } else { String::new() }),
        ("use", draft.description.clone()),
    ];
    let mut text = format!("{}\n", Style::for_stdout().bold(&one_line(&draft.key, 100)));
    for (what, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let value = visible(trimmed(value)).replace('\n', "\n            ");
        text.push_str(&format!("  {what:<8}  {value}\n"));
    }
    text.push_str(&format!("\n{}\n\n", visible(trimmed(&draft.body))));
    text.push_str(&format!(
        "An agent wrote this while nobody was there. To make it a skill: posse skills review {} --accept\n",
        draft.key
    ));
    Ok(output::print(&text)?)
}

/// Makes a skill of the newest. Older drafts of the same key go with it.
fn accept(
    paths: &Paths,
    drafts: &[SkillDraft],
    newest: &SkillDraft,
    known: Option<&FoundSkill>,
) -> anyhow::Result<()> {
    let of_person = |one: &&FoundSkill| one.folders.first().is_some_and(|folder| folder.within.is_none());
    ensure!(
        newest.scope == NoteScope::User || newest.workspace.is_dir(),
        "the folder {} is gone; throw the draft away with --reject",
        shown(&newest.workspace)
    );
    let saved = SkillDrafts::of(&paths.data_dir).accept(newest, own_skill_folder(paths), known);
    let saved = saved.map_err(|why| anyhow::anyhow!("{why}"))?;
    let older = drafts.iter().filter(|draft| *draft != newest).cloned().collect::<Vec<_>>();
    throw_away(paths, &older)?;
    let mut text = format!("{} is a skill now: {}\n", newest.key, visible(&saved.path));
    if newest.scope == NoteScope::Project
        && let Some(own) = known.filter(of_person)
    {
        text.push_str(&format!("Your own skill of that name goes before it: {}\n", place(own)));
    }
    Ok(output::print(&text)?)
}

fn throw_away(paths: &Paths, drafts: &[SkillDraft]) -> anyhow::Result<()> {
    let kept = SkillDrafts::of(&paths.data_dir);
    Ok(drafts.iter().try_for_each(|draft| kept.remove(draft))?)
}
