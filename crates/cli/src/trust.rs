//! `posse trust`: shows what in a project wants to act, and allows that very content.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use posse_setup::{PROJECT_FILE, Paths, SERVERS_FILE, TrustItem, Trusted, project_file, trust_items};

use crate::args::TrustArgs;
use crate::exit::Exit;
use crate::limits::WANT_COLUMNS_MAX;
use crate::output::{self, Style, visible};
use crate::questions::person_agrees;
use crate::surroundings::shown;

pub(crate) fn run(paths: &Paths, args: &TrustArgs) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    let mut trusted = Trusted::load(paths)?;
    let items = trust_items(paths, &folder)?;
    if args.revoke {
        return revoke(paths, &mut trusted, &folder, &items);
    }
    let asleep = asleep(&folder);
    let (known, new): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| trusted.holds(&item.path, &item.text));
    for item in &known {
        output::print(&format!("{} is trusted as it is.\n", shown(&item.path)))?;
    }
    output::print(&asleep)?;
    if new.is_empty() {
        if known.is_empty() {
            output::print(&format!("Nothing in {} needs trust.\n", shown(&folder)))?;
        }
        return Ok(Exit::Completed);
    }
    for item in &new {
        show(item, trusted.before(&item.path))?;
    }
    // Last, so that it stands beside the question however long the files are.
    output::print(&told(&new))?;
    if args.show {
        return Ok(Exit::Completed);
    }
    if !args.yes && !person_agrees("Trust this?", "trust it")? {
        output::print("Nothing was changed.\n")?;
        return Ok(Exit::Failed);
    }
    for item in &new {
        trusted.add(&item.path, &item.text)?;
    }
    output::print(
        "Trusted. Any change to what was shown asks again; `posse trust --revoke` takes it back.\n",
    )?;
    Ok(Exit::Completed)
}

fn revoke(paths: &Paths, trusted: &mut Trusted, folder: &Path, items: &[TrustItem]) -> anyhow::Result<Exit> {
    // Also of files that are gone, or does not ask for anything now.
    let config = project_file(folder, paths.surroundings())?;
    let config = config.map_or_else(|| folder.join(PROJECT_FILE), |(path, _)| path.path().to_path_buf());
    let mut was = trusted.revoke(&config)?;
    was |= trusted.revoke(&folder.join(SERVERS_FILE))?;
    for item in items {
        was |= trusted.revoke(&item.path)?;
    }
    output::print(if was { "No longer trusted.\n" } else { "It was not trusted.\n" })?;
    Ok(Exit::Completed)
}

/// What other programs would start here and Posse does not.
fn asleep(folder: &Path) -> String {
    let found = [".claude/settings.json", ".claude/settings.local.json", ".envrc"]
        .iter()
        .filter(|name| folder.join(name).symlink_metadata().is_ok());
    found.map(|name| format!("{name} can start programs elsewhere; Posse starts none of them.\n")).collect()
}

fn show(item: &TrustItem, before: Option<&str>) -> io::Result<()> {
    let style = Style::for_stdout();
    let changed = if before.is_some() { " It has changed since you trusted it." } else { "" };
    let mut text = format!("{}{changed}\n\n", style.bold(&shown(&item.path)));
    for line in visible(&item.text).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    output::print(&text)
}

/// What all of them would be allowed.
fn told(items: &[TrustItem]) -> String {
    let style = Style::for_stdout();
    let mut text = String::new();
    for item in items {
        text.push_str(&format!("If you trust {}:\n", shown(&item.path)));
        for want in &item.wants {
            text.push_str(&format!("  - {}\n", style.yellow(&output::one_line(want, WANT_COLUMNS_MAX))));
        }
    }
    text.push('\n');
    text
}
