//! What a change of files would do, before it is done.

use posse_engine::{ChangePreview, ChangeRequest};
use posse_protocol::words::counted;
use posse_terminal::{Ink, Key, Look, TextLine, diff_lines};

use super::scroll::{Place, PlainLines};
use crate::effect::{ChatEffect, ChatQuery};
use crate::limits::PAGER_LINES_MAX;

/// A change that was asked for, and what it would do once that is known.
#[derive(Debug)]
pub(super) struct PreviewPane {
    pub(super) request: ChangeRequest,
    lines: Option<PlainLines>,
    /// Why it cannot be known.
    failure: Option<String>,
    place: Place,
}

impl PreviewPane {
    /// Looks what a change would do.
    pub(super) fn ask(request: ChangeRequest) -> (Self, ChatEffect) {
        let effect = ChatEffect::Query(ChatQuery::Preview(request.clone()));
        (Self { request, lines: None, failure: None, place: Place::default() }, effect)
    }

    /// Whether it is known what the change would do.
    pub(super) fn is_known(&self) -> bool {
        self.lines.is_some()
    }

    /// What it would do was found.
    pub(super) fn found(&mut self, request: &ChangeRequest, preview: &ChangePreview) {
        if *request == self.request {
            self.lines = Some(PlainLines(lines(preview)));
        }
    }

    /// It could not be found out what it would do.
    pub(super) fn failed(&mut self, why: &str) {
        if !self.is_known() {
            self.failure = Some(why.to_owned());
        }
    }

    /// Scrolls.
    pub(super) fn key(&mut self, key: &Key, size: (usize, usize)) {
        if let Some(lines) = &self.lines
            && let Some(place) = self.place.key(key, lines, (size.0.max(1), size.1.max(1)))
        {
            self.place = place;
        }
    }

    /// What is seen of it.
    pub(super) fn rows(&self, (columns, rows): (usize, usize)) -> Vec<TextLine> {
        match &self.lines {
            None => match &self.failure {
                Some(why) => TextLine::of(&format!("✗ {why}"), Ink::Bad).wrapped(columns, 2),
                None => vec![TextLine::of("looking what that would change …", Ink::Quiet)],
            },
            Some(lines) => {
                self.place.shown(lines, (columns.max(1), rows)).into_iter().map(|(_, row)| row).collect()
            }
        }
    }
}

fn lines(preview: &ChangePreview) -> Vec<TextLine> {
    let changed = counted(preview.changes.len() as u64, "file");
    let mut lines = vec![
        TextLine::of(&preview.what, Look::PLAIN.bold()),
        TextLine::of(&format!("{changed} would change"), Look::PLAIN),
    ];
    for conflict in &preview.conflicts {
        lines.push(TextLine::of(
            &format!("! {} has changed since and stays as it is", conflict.path),
            Ink::Warning,
        ));
    }
    for path in &preview.not_certain {
        let text = format!("! {path} changed meanwhile, not certain by whom: it stays as it is");
        lines.push(TextLine::of(&text, Ink::Warning));
    }
    for what in &preview.not_covered {
        lines.push(TextLine::of(&format!("! undo does not cover {what}"), Ink::Warning));
    }
    lines.push(TextLine::default());
    let diff = diff_lines(&preview.diff, PAGER_LINES_MAX);
    lines.extend(diff.lines);
    if diff.hidden > 0 {
        lines.push(TextLine::of(&format!("… {}", counted(diff.hidden as u64, "more line")), Ink::Warning));
    }
    lines
}
