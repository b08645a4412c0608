//! Places in files that a report cites and that are not there.

use std::collections::BTreeMap;

use posse_protocol::{FileChange, Report};

use super::{Facts, FileFacts, quotes, same_file};
use crate::{
    Citation,
    citations::{CitedPlace, places},
    limits,
};

pub(super) fn untrue(report: &Report, facts: &dyn Facts) -> Vec<String> {
    let places = places(&report.text);
    let mut changed = report.receipt.files_in_all();
    changed.extend(report.receipt.files_not_certain.iter().cloned());
    let cited = places.iter().map(|place| place.citation.path.as_str());
    let known: Vec<&str> = cited.chain(changed.iter().map(|file| file.path.as_str())).collect();
    let mut looked: BTreeMap<&str, Option<(String, FileFacts)>> = BTreeMap::new();
    let mut warnings = Vec::new();
    let mut told: Vec<&Citation> = Vec::new();
    for place in &places {
        let citation = &place.citation;
        let path = citation.path.as_str();
        let file = looked.entry(path).or_insert_with(|| find(path, &known, facts));
        let change = changed.iter().find(|file| same_file(path, &file.path));
        let bad = bad_place(place, file.as_ref().map(|(_, file)| *file), change, facts);
        if let Some(bad) = bad {
            if !told.contains(&citation) {
                told.push(citation);
                warnings.push(bad);
            }
        } else if let Some((full, _)) = file
            && change.is_none_or(|change| change.lines_removed == 0)
            && warnings.len() < limits::CITATIONS_MAX
        {
            warnings.extend(quotes::untrue(place, change.is_some(), || facts.text(full)));
        }
    }
    warnings
}

/// The file under its own name, or under a longer one that was mentioned: after its first mention a file is often called
/// by its last name.
fn find(path: &str, known: &[&str], facts: &dyn Facts) -> Option<(String, FileFacts)> {
    let end = format!("/{path}");
    let own = facts.file(path).map(|file| (path.to_owned(), file));
    let longer = || {
        known
            .iter()
            .filter(|long| long.ends_with(&end))
            .find_map(|path| Some(((*path).to_owned(), facts.file(path)?)))
    };
    own.or_else(longer)
}

fn bad_place(
    place: &CitedPlace<'_>,
    file: Option<FileFacts>,
    change: Option<&FileChange>,
    facts: &dyn Facts,
) -> Option<String> {
    let Citation { path, from, to } = &place.citation;
    let name = if from == to { format!("`{path}:{from}`") } else { format!("`{path}:{from}-{to}`") };
    let Some(file) = file else {
        // What was changed may be gone or elsewhere by now, and not every file that is spoken of is here.
        let excused = change.is_some() || place.excused || facts.outside(path) || foreign(path);
        let elsewhere =
            || if place.glued { facts.any_ends_with(path) } else { facts.any_ends_with(&format!("/{path}")) };
        return (!excused && !elsewhere()).then(|| format!("cites {name}: there is no such file"));
    };
    let lines = file.lines?;
    if *from == 0 {
        return Some(format!("cites {name}: lines count from 1"));
    }
    // Lines may be counted as they were before the change.
    let before = lines + change.map_or(0, |change| u64::from(change.lines_removed));
    let word = if lines == 1 { "line" } else { "lines" };
    (u64::from(*to) > before && !place.excused).then(|| format!("cites {name}: the file has {lines} {word}"))
}

/// Whether a path is that of a dependency, or of a library as a compiler names it.
fn foreign(path: &str) -> bool {
    path.split('/').any(|part| {
        let versioned = part.rsplit_once(['-', '@']).is_some_and(|(_, version)| {
            version.contains('.') && version.starts_with(|c: char| c.is_ascii_digit())
        });
        versioned
            || matches!(
                part,
                "site-packages"
                    | "dist-packages"
                    | "node_modules"
                    | "registry"
                    | "vendor"
                    | ".cargo"
                    | "rustlib"
            )
    }) || path.starts_with("library/")
}
