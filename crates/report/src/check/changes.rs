//! Files that are said to be changed and were not.

use posse_protocol::{FileChange, Report, limits::RECEIPT_FILES_MAX};

use super::{Facts, same_file};
use crate::{
    claimed_changes,
    claims::{Changed, ClaimedChanges, FileDeed},
    limits,
};

pub(super) fn untrue(report: &Report, said: &ClaimedChanges, facts: &dyn Facts) -> Vec<String> {
    let receipt = &report.receipt;
    // What nobody is certain about may well be the agent's.
    let mut files = receipt.files_in_all();
    files.extend(receipt.files_not_certain.iter().cloned());
    // Past its cap the list is not all there was.
    if files.len() >= RECEIPT_FILES_MAX || receipt.files_below.len() >= RECEIPT_FILES_MAX {
        return Vec::new();
    }
    let listed = claimed_changes(&report.text).into_iter();
    let mut claims: Vec<Changed> =
        listed.map(|path| Changed { path, deed: FileDeed::Changed, glued: false }).collect();
    for claim in &said.files {
        match claims.iter_mut().find(|known| known.path == claim.path) {
            Some(known) => known.deed = claim.deed,
            None => claims.push(claim.clone()),
        }
    }
    let commands = receipt.commands_total.saturating_add(receipt.below.commands);
    let seen = |claim: &Changed| {
        if facts.outside(&claim.path) {
            // Only an agent that did nothing at all has certainly not been there.
            return receipt.tool_calls == 0 && receipt.below.agents == 0;
        }
        commands == 0 || facts.watched(&claim.path)
    };
    let why = if files.is_empty() { "no file was changed" } else { "that file was not changed" };
    let untrue = claims.iter().filter(|claim| !files.iter().any(|file| means(claim, file)) && seen(claim));
    let mut warnings: Vec<String> = untrue
        .take(limits::CLAIMS_MAX)
        .map(|claim| {
            let deed = match claim.deed {
                FileDeed::Created => "created",
                FileDeed::Changed => "changed",
                FileDeed::Deleted => "deleted",
            };
            format!("says it {deed} `{}`: {why}", claim.path)
        })
        .collect();
    let idle = files.is_empty() && commands == 0 && receipt.below.agents == 0;
    // Code that was asked for may be in the answer itself.
    if said.unnamed && idle && claims.is_empty() && !report.text.contains("```") {
        warnings.push("says it changed files: no file was changed".to_owned());
    }
    warnings
}

/// Whether a claim names this file, or a folder above it.
fn means(claim: &Changed, file: &FileChange) -> bool {
    let folder = claim.path.trim_start_matches("./").trim_end_matches('/');
    let below = file.path.match_indices(folder).any(|(at, _)| {
        let begins = at == 0 || file.path[..at].ends_with('/');
        begins && file.path[at + folder.len()..].starts_with('/')
    });
    same_file(&claim.path, &file.path) || below || (claim.glued && file.path.ends_with(&claim.path))
}
