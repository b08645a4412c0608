//! The program that shows long texts page by page: as `PAGER` says, or `less`. It is looked for outside the folders that agents write.

use std::path::Path;

use posse_sandbox::Program;

use crate::paths::Paths;
use crate::person_tool::person_tool;

/// What is used where the person says nothing.
const USUAL: &str = "less";
/// Colours are shown, and the screen stays as it is after the end.
const LESS: (&str, &str) = ("LESS", "FRX");

/// A program to read with.
pub struct PersonPager {
    /// Where it is.
    pub program: Program,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// Variables that it has beside the person's own.
    pub settings: Vec<(&'static str, &'static str)>,
}

impl PersonPager {
    /// The person's, for texts about this folder; none where they want none, or it cannot be used.
    pub fn of(paths: &Paths, folder: &Path) -> Option<Self> {
        let surroundings = paths.surroundings();
        let said = match surroundings.variable("PAGER") {
            Some(said) => said.to_str()?,
            None => USUAL,
        };
        // A line for a shell is not read as one.
        let mut words = said.split_whitespace().map(str::to_owned);
        let name = words.next().filter(|name| name != "cat")?;
        let program = person_tool(paths, folder, &name)?;
        let settings = surroundings.variable(LESS.0).is_none().then_some(LESS);
        Some(Self { program, arguments: words.collect(), settings: settings.into_iter().collect() })
    }
}
