//! What the person writes: an editor, the prompts from before, and completion of commands and files. Pure.

use posse_protocol::MailId;
use posse_setup::UserCommand;
use posse_terminal::{Chip, Editor, HistorySearch, Key, KeyCode, PastedText, PromptHistory};
use posse_terminal::{Completing, PathIndex, rank};

use crate::commands::COMMANDS;
use crate::effect::PromptWords;
use crate::limits::{COMPLETIONS_MAX, RESTORED_BYTES_MAX};

/// One thing that can be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompletionItem {
    /// What is put in.
    pub(crate) text: String,
    /// What it is.
    pub(crate) help: String,
}

/// What can be completed where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompletionList {
    pub(crate) items: Vec<CompletionItem>,
    pub(crate) selected: usize,
    /// Whether the person has moved in it.
    moved: bool,
    /// Where the word begins that is completed.
    start: usize,
}

/// The names that can be completed beside the chat's own.
pub(crate) struct KnownNames<'a> {
    pub(crate) commands: &'a [UserCommand],
    pub(crate) skills: &'a [(String, String)],
    /// Prompts of servers.
    pub(crate) prompts: &'a [(String, String)],
    pub(crate) models: Vec<&'a str>,
    pub(crate) agents: Vec<&'a str>,
}

/// What the person writes.
#[derive(Default)]
pub(crate) struct Composer {
    pub(crate) editor: Editor,
    history: PromptHistory,
    pub(crate) search: Option<HistorySearch>,
    pub(crate) list: Option<CompletionList>,
    files: Option<PathIndex>,
    /// The message that is being edited, if it is one that waits.
    pub(crate) editing: Option<MailId>,
    /// The entry of the queue that is chosen.
    pub(crate) queue_at: Option<usize>,
}

impl Composer {
    pub(crate) fn set_history(&mut self, entries: &[String]) {
        self.history = PromptHistory::default();
        for entry in entries {
            self.history.push(entry);
        }
    }

    pub(crate) fn set_files(&mut self, files: PathIndex) {
        self.files = Some(files);
    }

    /// What is written, and an empty editor.
    pub(crate) fn submit(&mut self) -> PromptWords {
        let said = self.editor.submit();
        self.history.push(&said.text);
        (self.list, self.search) = (None, None);
        PromptWords { text: said.text, files: said.files }
    }

    /// Puts words back that could not be used.
    pub(crate) fn restore(&mut self, words: &PromptWords) {
        if self.editor.is_empty() {
            if words.text.len() > RESTORED_BYTES_MAX {
                self.editor.paste(&PastedText::new(&words.text));
            } else {
                self.editor.set_text(&words.text);
            }
            words.files.iter().for_each(|path| self.attach(path));
        }
    }

    /// The text that came back from an editor.
    pub(crate) fn edited(&mut self, text: &str) {
        self.editor.set_text(text.trim_end());
        self.list = None;
    }

    /// A file goes with the prompt.
    pub(crate) fn attach(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.editor.insert_chip(&format!("[{name}]"), Chip::File(path.to_owned()));
        self.editor.insert(" ");
    }

    /// Something was pasted. A path of an image becomes a chip.
    pub(crate) fn paste(&mut self, pasted: &PastedText) {
        let text = pasted.text.trim();
        let path = text.trim_matches(['\'', '"']).replace("\\ ", " ");
        let is_image = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"]
            .iter()
            .any(|end| path.to_ascii_lowercase().ends_with(end));
        if is_image && path.starts_with('/') && !path.contains('\n') {
            self.attach(&path);
        } else {
            self.editor.paste(pasted);
        }
    }

    /// A key in the search through the history: none if it is not open.
    pub(crate) fn search_key(&mut self, key: &Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        match key.code {
            KeyCode::Char('r') if key.ctrl => search.older(&self.history),
            KeyCode::Char('c' | 'g') if key.ctrl => self.search = None,
            KeyCode::Escape => self.search = None,
            KeyCode::Backspace => search.pop(&self.history),
            KeyCode::Char(c) if !key.ctrl && !key.alt => search.push(&self.history, c),
            _ => {
                // Any other key takes what was found and counts as usual.
                if let Some(found) = search.current(&self.history) {
                    self.editor.set_text(found);
                }
                self.search = None;
                return matches!(key.code, KeyCode::Enter | KeyCode::Tab);
            }
        }
        true
    }

    pub(crate) fn open_search(&mut self) {
        self.search = Some(HistorySearch::new());
        self.list = None;
    }

    /// What the search has found.
    pub(crate) fn search_found(&self) -> Option<(&str, Option<&str>)> {
        let search = self.search.as_ref()?;
        Some((search.query(), search.current(&self.history)))
    }

    /// Goes to an older or newer prompt.
    pub(crate) fn walk(&mut self, older: bool) -> bool {
        if older { self.history.older(&mut self.editor) } else { self.history.newer(&mut self.editor) }
    }

    /// Looks what can be completed where the cursor is now.
    pub(crate) fn look(&mut self, known: &KnownNames<'_>) {
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let found = Completing::at(&text, cursor);
        let start = found.as_ref().map_or(0, Completing::start);
        let items = match &found {
            Some(Completing::Command { prefix, .. }) => command_items(prefix, known),
            Some(Completing::Argument { command, prefix, .. }) => argument_items(command, prefix, known),
            Some(Completing::File { prefix, .. }) => self.file_items(prefix),
            None => Vec::new(),
        };
        let whole = matches!(items.as_slice(), [one] if text[start..cursor.min(text.len())].trim() == one.text.trim());
        self.list = (!items.is_empty() && !whole).then_some(CompletionList {
            selected: 0,
            moved: false,
            items,
            start,
        });
    }

    fn file_items(&mut self, prefix: &str) -> Vec<CompletionItem> {
        let Some(files) = &mut self.files else { return Vec::new() };
        let found = files.find(prefix, COMPLETIONS_MAX);
        found
            .into_iter()
            .map(|path| CompletionItem { text: Completing::file_word(path), help: String::new() })
            .collect()
    }

    /// Moves in the list of completions.
    pub(crate) fn select(&mut self, down: bool) -> bool {
        let Some(list) = &mut self.list else { return false };
        let count = list.items.len();
        list.moved = true;
        list.selected = if down { (list.selected + 1) % count } else { (list.selected + count - 1) % count };
        true
    }

    /// Puts in what is chosen.
    pub(crate) fn complete(&mut self) -> bool {
        let Some(list) = self.list.take() else { return false };
        let Some(item) = list.items.get(list.selected) else { return false };
        self.editor.complete(list.start, &format!("{} ", item.text));
        true
    }

    /// Whether Enter puts in what is chosen: a path always; words behind a command only if the person began one or moved to
    /// one, so that a command without them can be given.
    pub(crate) fn enter_completes(&self) -> bool {
        let Some(list) = &self.list else { return false };
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let begun = text.get(list.start..cursor).is_some_and(|word| !word.trim().is_empty());
        begun || list.moved
    }

    /// The command that is chosen, if what is written is its beginning.
    pub(crate) fn chosen_command(&self) -> Option<&str> {
        let list = self.list.as_ref().filter(|list| list.start == 0)?;
        list.items.get(list.selected).map(|item| item.text.as_str()).filter(|text| text.starts_with('/'))
    }
}

/// The commands that fit: the chat's own, then the person's, then skills, then prompts of servers.
fn command_items(prefix: &str, known: &KnownNames<'_>) -> Vec<CompletionItem> {
    let own = COMMANDS.iter().map(|one| {
        let arguments =
            if one.arguments.is_empty() { String::new() } else { format!("{} · ", one.arguments) };
        (one.name.to_owned(), format!("{arguments}{}", one.help))
    });
    let users = known.commands.iter().map(|one| (one.name.clone(), one.prompt.description.clone()));
    let skills = known.skills.iter().map(|(name, what)| (name.clone(), format!("skill · {what}")));
    let all: Vec<(String, String)> =
        own.chain(users).chain(skills).chain(known.prompts.iter().cloned()).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let ranked = rank(prefix, &names);
    let item = |at: usize| CompletionItem { text: format!("/{}", all[at].0), help: all[at].1.clone() };
    ranked.into_iter().take(COMPLETIONS_MAX).map(item).collect()
}

/// What can stand behind a command: the words that its help names, models, or agents.
fn argument_items(command: &str, prefix: &str, known: &KnownNames<'_>) -> Vec<CompletionItem> {
    let Some(command) = crate::commands::find(command) else { return Vec::new() };
    let names: Vec<&str> = match command.name {
        "model" => known.models.clone(),
        "merge" | "diff" => known.agents.clone(),
        _ => {
            let words = command.arguments.trim_matches(['[', ']']).trim_end_matches(" …").split('|');
            words.filter(|word| word.chars().all(|c| c.is_ascii_lowercase())).collect()
        }
    };
    let item = |at: usize| CompletionItem { text: names[at].to_owned(), help: String::new() };
    rank(prefix, &names).into_iter().take(COMPLETIONS_MAX).map(item).collect()
}
