//! What handles stand for: `NAME:report`, `NAME:json`, `NAME:transcript` and `NAME:diff` of an agent that has ended,
//! `cmd-1:output` of a command that runs beside the agents.

use posse_protocol::visible::one_line;
use posse_protocol::{AgentId, HandleRead, Message};

use crate::crew::Crew;

/// The whole value behind a handle. An agent reads those of agents below it.
pub(crate) fn value(crew: &Crew, by: AgentId, handle: &str, read: &HandleRead) -> Result<String, String> {
    let shape = "A handle is written like explore-1:report, explore-1:json or explore-1:transcript.";
    let (name, part) = handle.rsplit_once(':').unwrap_or((handle, "report"));
    if let Some(job) = crew.jobs.find(name) {
        if handle.contains(':') && part != "output" {
            return Err(format!("A command has its output only: {name}:output."));
        }
        return Ok(String::from_utf8_lossy(&job.output().bytes()).into_owned());
    }
    let id = crew
        .tree(|tree| tree.find(by, name))
        .ok_or_else(|| format!("There is no agent {} below you. {shape}", one_line(name, 60)))?;
    let Some(finished) = crew.finished(id) else {
        return Err(format!("{name} has not ended yet; its report comes by itself."));
    };
    let json = || posse_report::to_json(&finished.report).to_string();
    match (part, read) {
        ("report", HandleRead::JsonPath(_)) | ("json", _) => Ok(json()),
        ("report", _) => Ok(finished.report.text.clone()),
        ("diff", _) => match &finished.report.receipt.branch {
            Some(branch) => Ok(branch.diff.clone()),
            None => Err(format!("{name} had no checkout of its own, or changed nothing in it.")),
        },
        ("transcript", _) => {
            let kept = finished.continuation.as_ref().map(|kept| kept.conversation.messages());
            let messages = kept.map(|messages| messages.iter().map(|m| &**m).collect::<Vec<&Message>>());
            let messages = messages.ok_or("Its conversation is no longer at hand.")?;
            serde_json::to_string(&messages).map_err(|e| e.to_string())
        }
        _ => Err(shape.to_string()),
    }
}
