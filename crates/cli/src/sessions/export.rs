//! `posse sessions export`: one session as a file for others.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{Seq, Update};

use super::markdown::Transcript;
use crate::args::ExportFormat;
use crate::output::{self, counted, harmless, one_line};
use crate::paths::{create_new_private, shown};
use crate::work::substitutions;

pub(super) async fn run(
    engine: &Engine,
    wanted: &str,
    format: ExportFormat,
    path: Option<&Path>,
) -> anyhow::Result<()> {
    let session = engine.find_session(wanted)?;
    if format == ExportFormat::Cassette {
        return cassette(engine, &session, path.context("a cassette needs a file: -o FILE")?);
    }
    match path {
        None => write(engine, &session, format, &mut io::stdout().lock()).await,
        Some(path) => {
            let file = create_new_private(path).with_context(|| cannot_write(path))?;
            let mut file = io::BufWriter::new(file);
            write(engine, &session, format, &mut file).await?;
            file.flush().with_context(|| cannot_write(path))?;
            Ok(output::print(&format!("{} is written.\n", shown(path)))?)
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; a file that is there is not replaced", shown(path))
}

async fn write(
    engine: &Engine,
    session: &SessionRow,
    format: ExportFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut updates = engine.recorded(session.id, Seq(0));
    let mut transcript = Transcript::default();
    if format == ExportFormat::Markdown {
        out.write_all(transcript.head(session, &engine.agents(session.id)?).as_bytes())?;
    }
    while let Some(Update::Event(event)) = updates.next().await {
        let text = match format {
            ExportFormat::Markdown => transcript.event(&event),
            ExportFormat::Jsonl | ExportFormat::Cassette => format!("{}\n", serde_json::to_string(&event)?),
        };
        out.write_all(text.as_bytes())?;
    }
    out.write_all(transcript.unanswered().as_bytes())?;
    Ok(out.flush()?)
}

fn cassette(engine: &Engine, session: &SessionRow, path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        bail!(cannot_write(path));
    }
    let calls = engine.export_cassette(session.id, path, substitutions(session.workspace.as_ref()))?;
    let models = engine.agents(session.id)?.into_iter().filter_map(|agent| agent.model).collect();
    let text = how_to_replay(session, &models, &std::path::absolute(path)?)?;
    let calls = counted(calls as u64, "model call");
    Ok(output::print(&format!("{} holds {calls}. {text}", shown(path)))?)
}

/// Models are told of each other by name, so those of the cassette are called as they were.
fn how_to_replay(session: &SessionRow, models: &BTreeSet<String>, path: &Path) -> anyhow::Result<String> {
    let replay = toml::toml! { protocol = "replay" };
    let mut config = toml::Table::new();
    for name in models {
        let mut model = replay.clone();
        model.insert("cassette".into(), path.display().to_string().into());
        config.insert(name.clone(), model.into());
    }
    let config = toml::to_string(&toml::Table::from_iter([("models".to_string(), config.into())]))?;
    let config = harmless(&config).lines().map(|line| format!("  {line}\n")).collect::<String>();
    let model = one_line(session.model.as_deref().unwrap_or("NAME"), 100);
    let delegates = match session.surface.as_str() {
        "" => "--no-agents".to_string(),
        surface => format!("--surface {}", harmless(surface)),
    };
    let prompt = one_line(session.title.as_deref().unwrap_or("…"), 120);
    Ok(format!(
        "To play it, put this into a configuration of its own,\n\n{config}\nand give it the same task in a folder with \
         the same files:\n\n  posse run --config FILE --model {model} {delegates} {prompt:?}\n"
    ))
}
