//! What a command is handed by others: by `find`, and by whatever prints names for `xargs`.

use super::{Target, at, operands};
use crate::command::program;
use crate::destroys::has_letter;
use crate::shell_text::{self, ANY, Simple};

/// Programs that hand on some of the names they are fed.
const FILTERS: [&str; 5] = ["sort", "uniq", "head", "tail", "xargs"];

/// Where a `find` with these arguments looks.
pub(super) fn starts(arguments: &[String]) -> Vec<Target> {
    if arguments.iter().any(|word| word == "-L" || word == "-follow" || word.starts_with("-files0")) {
        return vec![Target::Anything];
    }
    let begins = |word: &&String| !word.starts_with(['-', '(', '!']) || ["-H", "-P"].contains(&word.as_str());
    let places = arguments.iter().take_while(begins).filter(|word| !word.starts_with('-'));
    let places: Vec<Target> = places.map(|word| at(word, true)).collect();
    if places.is_empty() { vec![at(".", true)] } else { places }
}

/// What the `find` among these commands hands to another.
pub(super) fn found(commands: &[Simple]) -> Vec<Target> {
    let finds = commands.iter().filter(|simple| program(&simple.words) == "find");
    let all: Vec<Target> = finds.flat_map(|simple| starts(&simple.words[1..])).collect();
    if all.is_empty() { vec![Target::Anything] } else { all }
}

/// What `xargs` may have been fed, where the path is nothing but that. It is known only if all that prints in the text
/// is known to print paths.
pub(super) fn fed(text: &str, path: &str) -> Vec<Target> {
    let anything = || vec![Target::Anything];
    let Some(commands) = shell_text::read(text).filter(|_| path == ANY.to_string()) else {
        return anything();
    };
    if !commands.iter().any(|simple| program(&simple.words) == "xargs") {
        return anything();
    }
    let mut all = Vec::new();
    for simple in &commands {
        match printed(simple) {
            Some(mut targets) => all.append(&mut targets),
            None => return anything(),
        }
    }
    if all.is_empty() { anything() } else { all }
}

/// The paths that a command may print; none if it may print anything.
fn printed(simple: &Simple) -> Option<Vec<Target>> {
    let arguments = simple.words.get(1..).unwrap_or_default();
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.as_str()));
    let paths = || {
        // The first word is what is looked for.
        let named: Vec<Target> = operands(arguments).iter().skip(1).map(|word| at(word, true)).collect();
        if named.is_empty() { None } else { Some(named) }
    };
    match program(&simple.words) {
        name if FILTERS.contains(&name) => Some(Vec::new()),
        "find" if !has(&["-printf", "-fprintf", "-exec", "-execdir"]) => Some(starts(arguments)),
        "grep" | "egrep" | "fgrep" if has_letter(arguments, "rR") && has_letter(arguments, "lL") => paths(),
        "grep" | "egrep" | "fgrep" if !has_letter(arguments, "rRo") => {
            (operands(arguments).len() == 1).then(Vec::new)
        }
        "rg" if has_letter(arguments, "l") && !has_letter(arguments, "uro") && !has(&["--no-ignore"]) => {
            Some(paths().unwrap_or_else(|| vec![Target::Known(String::new())]))
        }
        "git" => {
            let lists =
                arguments.first().is_some_and(|word| ["ls-files", "grep", "diff"].contains(&word.as_str()));
            let ignored = has_letter(arguments, "io") || has(&["--ignored", "--others"]);
            (lists && !ignored).then(|| vec![Target::Tracked(String::new())])
        }
        _ => None,
    }
}
