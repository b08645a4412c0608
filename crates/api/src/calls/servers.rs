//! The servers whose tools the agents of a session call: how they are, and the texts of their prompts.

use posse_engine::Engine;
use posse_engine::outside::{OutsidePrompt, OutsideServer};
use posse_protocol::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb, at_most};
use crate::failure::{CallError, CallErrorKind};
use crate::limits::{NAME_BYTES_MAX, PROMPT_ARGUMENTS_MAX, SERVER_ANSWER_MS_MAX, TEXT_BYTES_MAX};

/// How the servers of a session are, with their tools and prompts as far as they are known.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListServers {}

/// Servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// In the order in which they count.
    pub servers: Vec<OutsideServer>,
}

impl Call for ListServers {
    type Of = SessionId;
    type Answer = ServerList;
    const NAME: &'static str = "list_servers";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/servers";
    const IN_ITS_PROCESS: bool = true;

    async fn run(self, session: SessionId, engine: Engine) -> Result<ServerList, CallError> {
        Ok(ServerList { servers: engine.outside_servers(session)? })
    }
}

/// Asks a server of a session for the text of one of its prompts. Nothing is sent to an agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FillPrompt {
    /// The name that a person types: `mcp__server__prompt`.
    pub name: String,
    /// Its arguments, in the order in which the prompt has them.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// The text of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilledPrompt {
    /// What the server says.
    pub text: String,
}

impl Call for FillPrompt {
    type Of = SessionId;
    type Answer = FilledPrompt;
    const NAME: &'static str = "fill_prompt";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/server-prompt";
    const IN_ITS_PROCESS: bool = true;
    const ANSWER_MS_MAX: u64 = SERVER_ANSWER_MS_MAX;

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The name", &self.name)?;
        if self.arguments.len() > PROMPT_ARGUMENTS_MAX {
            let message = format!("A prompt takes at most {PROMPT_ARGUMENTS_MAX} arguments.");
            return Err(CallError::new(CallErrorKind::BadRequest, message));
        }
        self.arguments.iter().try_for_each(|argument| at_most(TEXT_BYTES_MAX, "An argument", argument))
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<FilledPrompt, CallError> {
        let servers = engine.outside_servers(session)?;
        let mut prompts = servers.iter().flat_map(|server| &server.prompts);
        let prompt = prompts.find(|prompt| prompt.name == self.name).ok_or_else(|| {
            let message = format!("No server of this session has a prompt {:?}.", self.name);
            CallError::new(CallErrorKind::NotFound, message)
        })?;
        let arguments = named(prompt, self.arguments)?;
        Ok(FilledPrompt { text: engine.outside_prompt(session, &self.name, arguments).await? })
    }
}

/// Arguments with their names.
fn named(prompt: &OutsidePrompt, given: Vec<String>) -> Result<Vec<(String, String)>, CallError> {
    let wrong = |message: String| CallError::new(CallErrorKind::BadRequest, message);
    let (name, count) = (&prompt.name, prompt.arguments.len());
    if given.len() > count {
        return Err(wrong(format!(
            "/{name} takes {count} arguments, not {}; quote one with blanks in it.",
            given.len()
        )));
    }
    if let Some((missing, _)) = prompt.arguments.iter().skip(given.len()).find(|(_, needed)| *needed) {
        return Err(wrong(format!("/{name} needs {missing:?} as well.")));
    }
    Ok(prompt.arguments.iter().map(|(name, _)| name.clone()).zip(given).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_get_their_names_in_order() {
        let arguments = vec![("who".to_owned(), true), ("how".to_owned(), false)];
        let prompt = OutsidePrompt { name: "mcp__s__p".to_owned(), description: String::new(), arguments };
        let given = |words: &[&str]| named(&prompt, words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(given(&["a"]).unwrap(), [("who".to_owned(), "a".to_owned())]);
        assert_eq!(given(&["a", "b"]).unwrap().len(), 2);
        assert!(given(&[]).unwrap_err().message.contains("needs \"who\""));
        assert!(given(&["a", "b", "c"]).unwrap_err().message.contains("takes 2 arguments, not 3"));
    }
}
