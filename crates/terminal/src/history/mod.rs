//! What a person has asked before in a folder: walked through with Up and Down, searched, and written as lines of a file.
//! Must not know the file.

mod lines;
mod search;

use std::collections::{BTreeMap, VecDeque};

pub use search::HistorySearch;

use crate::limits::{HISTORY_EDITS_MAX, HISTORY_ENTRIES_MAX, HISTORY_ENTRY_BYTES_MAX};
use crate::{Editor, EditorDraft};

/// Prompts of a folder, the newest last.
#[derive(Clone, Debug, Default)]
pub struct PromptHistory {
    entries: VecDeque<String>,
    /// Which entry the editor shows while a person walks.
    at: Option<usize>,
    /// Texts that were left while walking and are not as the entries have them: the draft, by the number of entries, and
    /// entries that were changed.
    edited: BTreeMap<usize, EditorDraft>,
}

impl PromptHistory {
    /// A history without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file of [`line`](Self::line)s. What is damaged is left out.
    pub fn decode(file: &[u8]) -> Self {
        let mut history = Self::default();
        for line in file.split(|byte| *byte == b'\n') {
            if let Some(entry) = lines::decode(line) {
                history.push(&entry);
            }
        }
        history
    }

    /// All entries as a file.
    pub fn encode(&self) -> String {
        self.entries.iter().map(|entry| lines::encode(entry)).collect()
    }

    /// One entry as a line of the file, with its end; nothing for what is not kept.
    pub fn line(entry: &str) -> Option<String> {
        is_kept(entry).then(|| lines::encode(entry))
    }

    /// Adds what was asked now and ends walking. Says whether it was added: blank and very long texts are not, nor is what
    /// was asked just before.
    pub fn push(&mut self, entry: &str) -> bool {
        self.stop_walking();
        if !is_kept(entry) || self.entries.back().is_some_and(|newest| newest == entry) {
            return false;
        }
        if self.entries.len() >= HISTORY_ENTRIES_MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(entry.to_owned());
        true
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.entries.iter().map(String::as_str)
    }

    /// An entry by its number, the oldest being 0.
    pub fn get(&self, number: usize) -> Option<&str> {
        self.entries.get(number).map(String::as_str)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Shows the entry before this one in the editor. Says whether there was one.
    pub fn older(&mut self, editor: &mut Editor) -> bool {
        let at = self.at.unwrap_or(self.entries.len());
        let Some(to) = at.checked_sub(1) else { return false };
        self.walk(at, to, editor);
        true
    }

    /// Shows the entry after this one in the editor; after the newest one, the draft that was there before walking began.
    /// Says whether there was one.
    pub fn newer(&mut self, editor: &mut Editor) -> bool {
        let Some(at) = self.at else { return false };
        self.walk(at, at + 1, editor);
        true
    }

    /// What the editor shows is a new text now.
    pub fn stop_walking(&mut self) {
        self.at = None;
        self.edited.clear();
    }

    fn walk(&mut self, from: usize, to: usize, editor: &mut Editor) {
        let is_changed =
            editor.has_chips() || self.entries.get(from).is_none_or(|entry| *entry != editor.text());
        let left = editor.put_aside();
        let is_draft = from == self.entries.len();
        if is_changed && (is_draft || self.edited.len() < HISTORY_EDITS_MAX) {
            self.edited.insert(from, left);
        }
        match self.edited.remove(&to) {
            Some(draft) => editor.take_up(draft),
            None => editor.set_text(self.entries.get(to).map_or("", String::as_str)),
        }
        self.at = Some(to).filter(|to| *to < self.entries.len());
    }
}

fn is_kept(entry: &str) -> bool {
    !entry.trim().is_empty() && entry.len() <= HISTORY_ENTRY_BYTES_MAX
}
