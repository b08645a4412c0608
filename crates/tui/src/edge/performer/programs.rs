//! Programs beside the chat: `posse` itself, the person's editor and tools, and commands that the person types.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use posse_engine::TypedOutcome;
use posse_protocol::Approval;
use posse_sandbox::{OutputLimits, PersonCommand, PersonProgram, on_terminal, person_program};
use posse_setup::{
    ChatSettings, ExternalEditor, PromptHistoryFile, RuleKind, SessionPlan, Wishes, person_tool, save_rule,
};

use posse_setup::UserCommand;
use posse_terminal::PromptHistory;
use tokio_util::sync::CancellationToken;

use super::EdgeShared;
use crate::chat::ChatInput;
use crate::edge::start::failed;
use crate::effect::{ChatOutcome, OnTerminal};
use crate::limits::{
    CLIPBOARD_MS, IMAGE_BYTES_MAX, OWN_PROGRAM_MS, SAID_BYTES_MAX, STATUS_BYTES_MAX, STATUS_MS,
    TYPED_COMMAND_MS,
};

/// What gives the image on the clipboard, in the order in which it is tried.
const IMAGE_TOOLS: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--type", "image/png"]),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]),
    ("pngpaste", &["-"]),
];
/// What takes a text for the clipboard.
const COPY_TOOLS: [(&str, &[&str]); 3] =
    [("wl-copy", &[]), ("xclip", &["-selection", "clipboard"]), ("pbcopy", &[])];

impl EdgeShared {
    pub(super) async fn posse(&self, words: Vec<String>) -> Option<ChatOutcome> {
        let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(80, |size| size.ws_col.max(20));
        let mut arguments: Vec<OsString> =
            vec!["--columns".into(), (columns.saturating_sub(3)).to_string().into()];
        arguments.extend(words.iter().map(OsString::from));
        let command = format!("posse {}", words.join(" "));
        let deadline = Duration::from_millis(OWN_PROGRAM_MS);
        let run = self.program();
        let run = run.run(arguments, &self.start.folder, String::new(), deadline, SAID_BYTES_MAX);
        Some(match run.await {
            Err(error) => failed(error),
            Ok(output) => {
                let text = format!("{}{}", output.stdout, output.stderr);
                ChatOutcome::Said { command, text, failed: output.code != Some(0), for_model: false }
            }
        })
    }

    pub(super) async fn trust(&self) -> Option<ChatOutcome> {
        self.posse(vec!["trust".to_owned(), "--yes".to_owned()]).await
    }

    /// Runs a command that the person typed, through gate and sandbox.
    pub(super) async fn sandboxed(&self, command: String, mode: Approval) -> Option<ChatOutcome> {
        Some(match self.confined(&command, mode).await {
            Ok((text, failed)) => ChatOutcome::Said { command, text, failed, for_model: true },
            Err(outcome) => outcome,
        })
    }

    async fn confined(&self, command: &str, mode: Approval) -> Result<(String, bool), ChatOutcome> {
        let wishes = Wishes { person: true, ..Wishes::default() };
        let plan = SessionPlan::read(&self.start.paths, &self.start.folder, wishes).map_err(failed)?;
        let cancel = CancellationToken::new();
        *self.typed.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        let told = |text: String| drop(self.inputs.try_send(ChatInput::Outcome(ChatOutcome::Output(text))));
        let deadline = Duration::from_millis(TYPED_COMMAND_MS);
        match plan.run_typed(command, mode, deadline, &cancel, told).await.map_err(failed)? {
            TypedOutcome::Ran { exit_code: Some(0), output, .. } => Ok((output, false)),
            TypedOutcome::Ran { ending, output, .. } => {
                Ok((format!("{}\n{ending}", output.trim_end()), true))
            }
            TypedOutcome::Refused(why) => Err(failed(why)),
            TypedOutcome::Cancelled => Err(failed("stopped")),
        }
    }

    /// Stops the command that the person typed.
    pub(super) fn stop_typed(&self) {
        if let Some(typed) = self.typed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            typed.cancel();
        }
    }

    /// Expands a command of the person or the project: what it runs is run first.
    pub(super) async fn expand(
        &self,
        command: &UserCommand,
        arguments: &str,
        mode: Approval,
    ) -> Option<ChatOutcome> {
        let expanded = match command.expand(arguments) {
            Ok(expanded) => expanded,
            Err(error) => return Some(failed(error)),
        };
        if !expanded.commands.is_empty() && !command.may_run() {
            return Some(failed(format!(
                "/{} runs commands, and this folder is not trusted: /trust shows what it wants",
                command.name
            )));
        }
        let mut outputs = Vec::new();
        for piece in &expanded.commands {
            match self.confined(piece, mode).await {
                Ok((output, _)) => outputs.push(output.trim_end().to_owned()),
                Err(outcome) => return Some(outcome),
            }
        }
        Some(ChatOutcome::Expanded(expanded.filled(&outputs)))
    }

    pub(super) fn on_terminal(&self, task: &OnTerminal) -> ChatOutcome {
        match task {
            OnTerminal::Editor(text) => self.edit(text).unwrap_or_else(failed),
            OnTerminal::Command(command) => {
                match on_terminal(&PersonCommand::Shell(command.clone()), &self.start.folder, &[]) {
                    Ok(0) => ChatOutcome::Note("done".to_owned()),
                    Ok(code) => ChatOutcome::Note(format!("exit {code}")),
                    Err(error) => failed(error),
                }
            }
            OnTerminal::Suspend => {
                let own = rustix::process::getpid();
                let stopped = rustix::process::kill_process(own, rustix::process::Signal::TSTP);
                stopped.map_or_else(failed, |()| ChatOutcome::Note("back".to_owned()))
            }
        }
    }

    fn edit(&self, text: &str) -> io::Result<ChatOutcome> {
        let Ok(config) = self.config() else { return Ok(failed("the configuration cannot be read")) };
        let editor = match ExternalEditor::of(&self.start.paths, &config, &self.start.folder) {
            Ok(editor) => editor,
            Err(error) => return Ok(failed(error)),
        };
        let file = tempfile::Builder::new().prefix("prompt-").suffix(".md").tempfile()?;
        std::fs::write(file.path(), text)?;
        let mut arguments: Vec<OsString> = editor.arguments.iter().map(OsString::from).collect();
        arguments.push(file.path().into());
        let code = on_terminal(&PersonCommand::Program(editor.program, arguments), &self.start.folder, &[])?;
        if code != 0 {
            return Ok(ChatOutcome::Note(format!("the editor ended with {code}; the text stays as it was")));
        }
        Ok(ChatOutcome::Edited(std::fs::read_to_string(file.path())?))
    }

    /// Runs a tool of the person's desktop.
    async fn tool(
        &self,
        name: &str,
        arguments: &[&str],
        input: Vec<u8>,
        bytes_max: usize,
    ) -> Option<Vec<u8>> {
        let program = person_tool(&self.start.paths, &self.start.folder, name)?;
        let program = PersonProgram {
            command: PersonCommand::Program(program, arguments.iter().map(OsString::from).collect()),
            folder: PathBuf::from("/"),
            variables: Vec::new(),
            distrusted: vec![self.start.folder.clone()],
            input,
            deadline: Duration::from_millis(CLIPBOARD_MS),
            output: OutputLimits { head_bytes: bytes_max, tail_bytes: 0 },
        };
        let output = tokio::task::spawn_blocking(move || person_program(program)).await.ok()?.ok()?;
        (output.exit == posse_sandbox::CommandExit::Code(0)).then(|| output.stdout.head.clone())
    }

    pub(super) async fn copy(&self, text: String) -> Option<ChatOutcome> {
        for (name, arguments) in COPY_TOOLS {
            if self.tool(name, arguments, text.clone().into_bytes(), 0).await.is_some() {
                return None;
            }
        }
        None
    }

    /// Saves the image on the clipboard to a file.
    pub(super) async fn clipboard_image(&self) -> Option<ChatOutcome> {
        for (name, arguments) in IMAGE_TOOLS {
            let Some(bytes) = self.tool(name, arguments, Vec::new(), IMAGE_BYTES_MAX).await else { continue };
            if bytes.is_empty() {
                continue;
            }
            let kept = tempfile::Builder::new().prefix("pasted-").suffix(".png").tempfile();
            let path = kept.and_then(|file| {
                std::fs::write(file.path(), &bytes)?;
                Ok(file.keep().map_err(|error| error.error)?.1)
            });
            return Some(path.map_or_else(failed, |path| ChatOutcome::Image(path.display().to_string())));
        }
        let tools = "there is no image on the clipboard, or no tool to fetch it: wl-paste, xclip or pngpaste";
        Some(ChatOutcome::Note(tools.to_owned()))
    }

    pub(super) fn remember(&self, text: &str) -> Option<ChatOutcome> {
        let file = PromptHistoryFile::of(&self.start.paths, &self.start.folder);
        let line = PromptHistory::line(text)?;
        file.append(line.trim_end_matches('\n'))
            .err()
            .map(|error| failed(format!("the prompt is not kept: {error}")))
    }

    pub(super) fn save_rule(&self, rule: &str) -> ChatOutcome {
        match save_rule(&self.start.paths, RuleKind::Allow, rule) {
            Ok(_) => ChatOutcome::Note(format!("saved: allow {rule} (/permissions lists it)")),
            Err(error) => failed(error),
        }
    }

    /// Runs the person's status line command.
    pub(super) async fn status_line(&self, input: String) -> Option<ChatOutcome> {
        let config = self.config().ok()?;
        let command = ChatSettings::of(&self.start.paths, &config).status_line?.command;
        let program = PersonProgram {
            command: PersonCommand::Shell(command),
            folder: self.start.folder.clone(),
            variables: Vec::new(),
            distrusted: vec![self.start.folder.clone()],
            input: input.into_bytes(),
            deadline: Duration::from_millis(STATUS_MS),
            output: OutputLimits { head_bytes: STATUS_BYTES_MAX, tail_bytes: 0 },
        };
        let output = tokio::task::spawn_blocking(move || person_program(program)).await.ok()?.ok()?;
        let text = String::from_utf8_lossy(&output.stdout.head).trim_end().to_owned();
        (!text.is_empty()).then_some(ChatOutcome::StatusLine(text))
    }
}
