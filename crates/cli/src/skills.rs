//! `posse skills`: how kinds of work are done, in folders with a SKILL.md that agents load when they need them.

mod review;

use std::path::Path;

use anyhow::bail;
use posse_engine::skills::{FoundSkill, find_skills};
use posse_setup::{Paths, SkillSummary, own_skill_folder, skill_folders};
use posse_tools::LoadedSkill;

use crate::args::SkillsCommand;
use crate::exit::Exit;
use crate::output::{self, Style, columns, counted, one_line, trimmed, visible};
use crate::surroundings::shown;

/// How alike another key must be to be meant.
const ALIKE: f64 = 0.75;

pub(crate) fn run(paths: &Paths, command: SkillsCommand) -> anyhow::Result<Exit> {
    let folder = paths.surroundings().folder()?;
    let found = find_skills(&skill_folders(paths, folder));
    match command {
        SkillsCommand::List { json } => list(paths, &found, json)?,
        SkillsCommand::Review { key: None, json, .. } => review::list(paths, json)?,
        SkillsCommand::Review { key: Some(key), accept, reject, json } => {
            review::one(paths, &key, review::Verdict::of(accept, reject), json)?;
        }
        SkillsCommand::Show { key, json } => show(folder, &found, &key, json)?,
    }
    Ok(Exit::Completed)
}

fn list(paths: &Paths, found: &[FoundSkill], json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(found.iter().try_for_each(|one| output::print_json(&SkillSummary::of(one)))?);
    }
    if found.is_empty() {
        return Ok(output::print(&format!(
            "No skills here. One is a folder with a SKILL.md, in .posse/skills or .claude/skills of a project, or in {}.\n{}",
            shown(&own_skill_folder(paths)),
            review::waiting(paths)?
        ))?);
    }
    let key_width = found.iter().map(|one| columns(&one_line(&one.skill.key, 32))).max().unwrap_or(0).max(5);
    let rest = output::stdout_width().saturating_sub(key_width + 11).max(20);
    let row = |key: &str, from: &str, text: &str| {
        let key = one_line(key, 32);
        let pad = " ".repeat(key_width.saturating_sub(columns(&key)));
        format!("{key}{pad}  {from:<7}  {}\n", one_line(text, rest))
    };
    let style = Style::for_stdout();
    let mut text = style.dim(&row("skill", "from", "use"));
    for one in found {
        text.push_str(&row(&one.skill.key, from(one), &one.skill.description));
    }
    for one in found.iter().filter(|one| one.folders.len() > 1) {
        let line = format!("{} goes before the one in {}\n", one_line(&one.skill.key, 32), hides(one));
        text.push_str(&style.yellow(&line));
    }
    let odd = found.iter().filter(|one| !one.skill.warnings.is_empty()).collect::<Vec<_>>();
    if let Some(first) = odd.first() {
        let what = if odd.len() == 1 { "has a warning" } else { "have warnings" };
        let skills = counted(odd.len() as u64, "skill");
        let key = one_line(&first.skill.key, 32);
        text.push_str(&style.yellow(&format!("{skills} {what}; see: posse skills show {key}\n")));
    }
    text.push_str(&style.yellow(&review::waiting(paths)?));
    Ok(output::print(&text)?)
}

/// Whose it is.
fn from(one: &FoundSkill) -> &'static str {
    match one.folders.first().is_some_and(|folder| folder.within.is_some()) {
        true => "project",
        false => "you",
    }
}

fn place(one: &FoundSkill) -> String {
    one.folders.first().map(|folder| shown(&folder.path)).unwrap_or_default()
}

fn show(folder: &Path, found: &[FoundSkill], key: &str, json: bool) -> anyhow::Result<()> {
    let Some(one) = found.iter().find(|one| one.skill.key == key) else { bail!(unknown(found, key)) };
    let Some(loaded) = one.load(folder) else { bail!("{} cannot be read any more", place(one)) };
    if json {
        let mut value = serde_json::to_value(SkillSummary::of(one))?;
        value["body"] = loaded.body.clone().into();
        value["files"] = loaded.files.iter().map(|file| file.path.clone()).collect();
        return Ok(output::print_json(&value)?);
    }
    let skill = &one.skill;
    let name = if skill.name == skill.key { String::new() } else { skill.name.clone() };
    let listed = if skill.listed { "" } else { "models are not told of it; it is loaded by name" };
    let lines = [
        ("name", name),
        ("from", place(one)),
        ("use", skill.description.clone()),
        ("tools", skill.allowed_tools.iter().map(|tool| one_line(tool, 100)).collect::<Vec<_>>().join(", ")),
        ("listed", listed.to_string()),
        ("files", files(&loaded)),
        ("before", hides(one)),
    ];
    let style = Style::for_stdout();
    let mut text = format!("{}\n", style.bold(&one_line(&skill.key, 100)));
    for (what, value) in lines.iter().filter(|(_, value)| !value.trim().is_empty()) {
        let value = visible(trimmed(value)).replace('\n', "\n           ");
        text.push_str(&format!("  {what:<7}  {value}\n"));
    }
    for warning in &skill.warnings {
        let line = format!("  line {}: {}\n", warning.line, one_line(&warning.text, 300));
        text.push_str(&style.yellow(&line));
    }
    text.push_str(&format!("\n{}\n", visible(trimmed(&loaded.body))));
    Ok(output::print(&text)?)
}

fn files(loaded: &LoadedSkill) -> String {
    let mut files = loaded.files.iter().map(|file| one_line(&file.path, 1000)).collect::<Vec<_>>();
    if loaded.files_left_out > 0 {
        files.push(format!("and {} more", loaded.files_left_out));
    }
    files.join(", ")
}

/// The skills of the same key that it goes before.
fn hides(one: &FoundSkill) -> String {
    let others = one.folders.iter().skip(1).map(|folder| shown(&folder.path));
    others.collect::<Vec<_>>().join(", ")
}

fn unknown(found: &[FoundSkill], key: &str) -> String {
    let alike = |one: &&FoundSkill| strsim::jaro_winkler(key, &one.skill.key);
    let closest = found.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|one| alike(one) > ALIKE);
    let hint = closest.map(|one| format!(" — did you mean {}?", one_line(&one.skill.key, 60)));
    format!("there is no skill {key:?}; posse skills list shows them{}", hint.unwrap_or_default())
}
