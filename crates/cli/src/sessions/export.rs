//! `posse sessions export`: one session as a file for others.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{Seq, Update};
use posse_setup::{create_new_private, substitutions};
use posse_telemetry::{SessionSpans, recorded_trace};

use super::markdown::{MarkdownTranscript, head};
use super::replay::SessionReplay;
use crate::args::ExportFormat;
use crate::output::{self, counted};
use crate::recorded::view_of;
use crate::surroundings::shown;
use crate::which_session::session_of;

pub(super) async fn run(
    engine: &Engine,
    wanted: &str,
    format: ExportFormat,
    path: Option<&Path>,
    content: bool,
) -> anyhow::Result<()> {
    let session = session_of(engine, wanted)?;
    let Some(path) = path else {
        return match format {
            ExportFormat::Cassette => bail!("a cassette needs a file: -o FILE"),
            ExportFormat::Otlp if output::stdout_is_terminal() => {
                bail!("a trace is not for reading: -o FILE, or into another program")
            }
            ExportFormat::Otlp => Ok(output::print_bytes(&trace(engine, &session, content).await)?),
            _ => write(engine, &session, format, &mut output::print).await,
        };
    };
    let part = Part::beside(path)?;
    let text = if format == ExportFormat::Cassette {
        let calls = engine.export_cassette(session.id, &part.path, substitutions(session.workspace.as_ref()));
        let calls = calls.map_err(|error| anyhow!(part.named(&error.to_string(), path)))?;
        let how = SessionReplay::read(engine, &session).await?.how(&session, &std::path::absolute(path)?)?;
        format!("{} holds {}. {how}", shown(path), counted(calls as u64, "model call"))
    } else if format == ExportFormat::Otlp {
        let mut file = create_new_private(&part.path).with_context(|| cannot_write(path))?;
        file.write_all(&trace(engine, &session, content).await).with_context(|| cannot_write(path))?;
        format!("{} is written.\n", shown(path))
    } else {
        let file = create_new_private(&part.path).with_context(|| cannot_write(path))?;
        let mut file = io::BufWriter::new(file);
        let mut put = |text: &str| file.write_all(output::guarded(text, false).as_bytes());
        write(engine, &session, format, &mut put).await.with_context(|| cannot_write(path))?;
        file.flush().with_context(|| cannot_write(path))?;
        format!("{} is written.\n", shown(path))
    };
    part.put(path)?;
    Ok(output::print(&text)?)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", shown(path))
}

fn is_there(path: &Path) -> String {
    format!("{} is there already and is not replaced; give another name", shown(path))
}

/// A file that is being written, in a folder of its own beside the one it becomes. Whatever goes wrong, nothing is left.
struct Part {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
}

impl Part {
    fn beside(path: &Path) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_ok() {
            bail!(is_there(path));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = tempfile::Builder::new().prefix(".posse-").tempdir_in(parent.unwrap_or(Path::new(".")));
        // Its own message names a folder that nobody has heard of.
        let folder = folder.map_err(|error| anyhow!("{}: {}", cannot_write(path), error.kind()))?;
        Ok(Self { path: folder.path().join("part"), _folder: folder })
    }

    /// A message about it, with the name that people know.
    fn named(&self, message: &str, path: &Path) -> String {
        message.replace(&self.path.display().to_string(), &shown(path))
    }

    /// Gives it its name, unless that was taken meanwhile.
    fn put(self, path: &Path) -> anyhow::Result<()> {
        let part = tempfile::TempPath::try_from_path(&self.path).with_context(|| cannot_write(path))?;
        part.persist_noclobber(path).map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!(is_there(path)),
            kind => anyhow!("{}: {kind}", cannot_write(path)),
        })
    }
}

/// The session's trace, as one request of OTLP.
async fn trace(engine: &Engine, session: &SessionRow, content: bool) -> Vec<u8> {
    let (mut spans, mut all) = (SessionSpans::new(session.id, content), Vec::new());
    let mut updates = engine.recorded(session.id, Seq(0));
    while let Some(Update::Event(event)) = updates.next().await {
        all.extend(spans.event(&event));
    }
    all.extend(spans.finish());
    recorded_trace(all)
}

async fn write(
    engine: &Engine,
    session: &SessionRow,
    format: ExportFormat,
    put: &mut dyn FnMut(&str) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut updates = engine.recorded(session.id, Seq(0));
    let mut transcript = MarkdownTranscript::default();
    if format == ExportFormat::Markdown {
        put(&head(&view_of(engine, session).await?))?;
    }
    while let Some(Update::Event(event)) = updates.next().await {
        let text = match format {
            ExportFormat::Markdown => transcript.event(&event)?,
            ExportFormat::Jsonl | ExportFormat::Cassette | ExportFormat::Otlp => {
                output::whole_event_json(&event)?
            }
        };
        put(&text)?;
    }
    Ok(put(&transcript.unanswered())?)
}
