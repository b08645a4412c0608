//! What is found out about the surroundings after the first frame: configuration, model, commands, history, branch.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_setup::{
    ChatNotify, ChatSettings, ChatTheme, Config, Paths, PromptHistoryFile, SessionPlan, TrustItem, Trusted,
    Wishes, model_list, skill_list, trust_items,
};

use posse_protocol::Approval;
use posse_setup::user_commands;
use posse_terminal::{PromptHistory, Theme};

use crate::chat::ChatFacts;
use crate::effect::ChatWishes;
use crate::limits::HEAD_BYTES_MAX;

/// What is said where no model was found; the words of setup come below.
const NO_MODEL: &str =
    "No model yet: /model lists what there is, /doctor says what is missing, /demo needs none.";

/// Finds out all of it. What cannot be found out is told and is no error: the chat opens anyway.
pub(super) async fn find(paths: &Paths, folder: &Path, wishes: &ChatWishes, version: &str) -> ChatFacts {
    let mut facts = ChatFacts {
        folder: folder.display().to_string(),
        branch: branch(folder),
        version: version.to_owned(),
        approval: wishes.approval.unwrap_or(Approval::Ask),
        ..ChatFacts::default()
    };
    let lines = PromptHistoryFile::of(paths, folder).lines().unwrap_or_default().join("\n");
    facts.history = PromptHistory::decode(lines.as_bytes()).entries().map(str::to_owned).collect();
    let commands = user_commands(paths, folder);
    facts.notes.extend(commands.faults.iter().map(|fault| format!("! {}: {}", fault.file, fault.fault)));
    facts.commands = commands.commands;
    facts.skills = skill_list(paths, folder).into_iter().map(|one| (one.key, one.description)).collect();
    let wished = Wishes {
        model: wishes.model.clone(),
        approval: wishes.approval,
        person: true,
        stay: true,
        ..Wishes::default()
    };
    match SessionPlan::read(paths, folder, wished) {
        Err(error) => facts.notes.push(format!("! {error}")),
        Ok(plan) => {
            let config = plan.config();
            let settings = ChatSettings::of(paths, config);
            facts.theme = theme(settings.theme);
            facts.has_status_line = settings.status_line.is_some();
            facts.notes.extend(settings.warnings.iter().map(|warning| format!("! {warning}")));
            facts.approval = wishes.approval.unwrap_or(config.approval());
            facts.models = model_list(config, paths.surroundings());
            match plan.choose_model().await {
                Ok(choice) => {
                    let window = choice.model.context_window;
                    let name = choice.model.name.clone();
                    if let Some(model) = facts.models.iter_mut().find(|model| model.name == name) {
                        model.context_window = model.context_window.or(window);
                    }
                    facts.model = Some(name);
                }
                Err(error) => {
                    facts.notes.push(NO_MODEL.to_owned());
                    facts.notes.extend(error.to_string().lines().skip(1).map(|line| format!("  {line}")));
                }
            }
        }
    }
    let names = untrusted(paths, folder);
    if !names.is_empty() {
        facts.notes.push(format!(
            "! files of this folder want to set things: {}. They are left out until you allow them: /trust",
            names.join(", ")
        ));
    }
    facts
}

/// The files of a folder that want to act and are not trusted as they are.
fn untrusted(paths: &Paths, folder: &Path) -> Vec<String> {
    let items = trust_items(paths, folder).unwrap_or_default();
    // A damaged list trusts nothing.
    let trusted = Trusted::load(paths).ok();
    let is_new = |item: &TrustItem| !trusted.as_ref().is_some_and(|list| list.holds(&item.path, &item.text));
    items.into_iter().filter(is_new).map(|item| item.path.display().to_string()).collect()
}

/// How the person wants to be told.
pub(super) fn notify(paths: &Paths, folder: &Path) -> ChatNotify {
    Config::load(paths, folder).map_or(ChatNotify::Auto, |config| ChatSettings::of(paths, &config).notify)
}

fn theme(theme: ChatTheme) -> Option<Theme> {
    match theme {
        ChatTheme::Auto => None,
        ChatTheme::Dark => Some(Theme::Dark),
        ChatTheme::Light => Some(Theme::Light),
        ChatTheme::Ansi => Some(Theme::Ansi),
        ChatTheme::None => Some(Theme::Colourless),
    }
}

/// The branch that is checked out; none outside of repositories.
fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let git = if git.is_dir() {
        git
    } else {
        let text = beginning(&git)?;
        let path = PathBuf::from(text.strip_prefix("gitdir: ")?.trim());
        if path.is_absolute() { path } else { git.parent()?.join(path) }
    };
    let head = beginning(&git.join("HEAD"))?;
    let name = head.trim();
    Some(name.strip_prefix("ref: refs/heads/").map_or_else(|| name.chars().take(9).collect(), str::to_owned))
}

fn beginning(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(HEAD_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}
