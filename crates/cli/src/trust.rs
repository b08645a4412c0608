//! `posse trust`: shows what a project's configuration asks for, and allows that very content.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};

use crate::args::TrustArgs;
use crate::config::{FileConfig, LimitsFile, PROJECT_FILE, RightsFile, Trusted, parse, project_file};
use crate::exit::Exit;
use crate::output::{self, Style, harmless};
use crate::paths::{Paths, shown};

pub(crate) fn run(paths: &Paths, args: &TrustArgs) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", args.dir.display()))?;
    let mut trusted = Trusted::load(&paths.data_dir)?;
    if args.revoke {
        let path = project_file(&folder)?.map_or_else(|| folder.join(PROJECT_FILE), |(path, _)| path);
        let was = trusted.revoke(&path)?;
        output::print(if was { "No longer trusted.\n" } else { "It was not trusted.\n" })?;
        return Ok(Exit::Completed);
    }
    let Some((path, text)) = project_file(&folder)? else {
        output::print(&format!("{} has no {PROJECT_FILE}: there is nothing to trust.\n", shown(&folder)))?;
        return Ok(Exit::Completed);
    };
    let wants = wants(&parse(&text, &path)?);
    if trusted.holds(&path, &text) {
        output::print(&format!("{} is trusted as it is.\n", shown(&path)))?;
        return Ok(Exit::Completed);
    }
    if wants.is_empty() {
        output::print(&format!("{} sets nothing that needs trust.\n", shown(&path)))?;
        return Ok(Exit::Completed);
    }
    show(&path, &text, &wants, trusted.before(&path))?;
    if !args.yes && !person_agrees()? {
        output::print("Nothing was changed.\n")?;
        return Ok(Exit::Failed);
    }
    trusted.add(&path, &text)?;
    output::print("Trusted. Any change to the file asks again; `posse trust --revoke` takes it back.\n")?;
    Ok(Exit::Completed)
}

fn show(path: &std::path::Path, text: &str, wants: &[String], before: Option<&str>) -> io::Result<()> {
    let style = Style::for_stdout();
    let changed = if before.is_some() { " It has changed since you trusted it." } else { "" };
    let mut shown_text = format!("{}{changed}\n\n", style.bold(&shown(path)));
    for line in harmless(text).lines() {
        shown_text.push_str(&format!("  {line}\n"));
    }
    shown_text.push_str("\nIf you trust it:\n");
    for want in wants {
        shown_text.push_str(&format!("  - {}\n", style.yellow(&output::one_line(want, 300))));
    }
    output::print(&shown_text)
}

/// What a file would be allowed, one line each, the gravest first.
fn wants(file: &FileConfig) -> Vec<String> {
    let mut wants = Vec::new();
    for (name, model) in &file.models {
        let endpoint = model.endpoint.as_deref().unwrap_or("a recording");
        let key =
            model.api_key_env.as_ref().map(|key| format!(", with the key in ${key}")).unwrap_or_default();
        wants.push(format!("the model {name:?} sends your prompts and your code to {endpoint}{key}"));
    }
    if file.rights != RightsFile::default() {
        wants.push("its [rights] take the place of yours".to_string());
    }
    if file.limits != LimitsFile::default() {
        wants.push("its [limits] take the place of yours, higher ones too".to_string());
    }
    wants.extend(file.model.iter().map(|model| format!("{model:?} is the model that is used here")));
    wants
}

fn person_agrees() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody is there to ask; give --yes to trust it");
    }
    let mut out = io::stdout();
    write!(out, "Trust this? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
