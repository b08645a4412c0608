//! shell: one command line, within a deadline. What the model sees of it holds no times and no places outside the
//! workspace, so that the same command gives the same text.

use std::time::Duration;

use posse_protocol::{CommandRun, Effect, Files, Needs, Shell, ToolOutcome};
use posse_sandbox::{Captured, Command, Exit, OutputLimits};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    limits,
    show::one_line,
    test_output::tests_in,
    tool::{Context, Failed, Tool},
};

/// Run a shell command in the workspace folder. No terminal, no input; background processes are ended with it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellCommand {
    command: String,
    /// 120000 by default.
    timeout_ms: Option<u64>,
    /// The same in seconds, for models that think in these terms.
    #[schemars(skip)]
    timeout_s: Option<u64>,
}

impl Tool for ShellCommand {
    const NAME: &'static str = "shell";
    /// Nothing confines commands yet but the person's own rights, so only the full level has them.
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::Full, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("cmd", "command"),
        ("script", "command"),
        ("code", "command"),
        ("timeout", "timeout_ms"),
        ("timeout_seconds", "timeout_s"),
        ("timeout_s", "timeout_s"),
    ];

    fn about(&self) -> String {
        self.command.clone()
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, Failed> {
        if self.command.trim().is_empty() {
            return Err(Failed("command is empty; give a command line".to_owned()));
        }
        let settings = &context.settings;
        let asked_ms = self.timeout_ms.or_else(|| self.timeout_s.map(|s| s.saturating_mul(1_000)));
        // Models send 0 for "as usual".
        let asked_ms = asked_ms.filter(|ms| *ms > 0).map(|ms| ms.max(limits::SHELL_TIMEOUT_MIN_MS));
        let asked_ms = asked_ms.unwrap_or(settings.shell_timeout_ms);
        let deadline_ms = asked_ms.min(settings.shell_timeout_max_ms);
        let deadline = Duration::from_millis(deadline_ms);
        let mut command = Command::shell(&self.command, context.workspace.root(), deadline);
        command.output =
            OutputLimits { head_bytes: settings.shell_head_bytes, tail_bytes: settings.shell_tail_bytes };
        let finished = posse_sandbox::run(command).await?;
        let (ending, exit_code) = match finished.exit {
            Exit::Code(code) => (format!("exit code {code}"), Some(code)),
            Exit::Signal(signal) => (format!("ended by signal {signal}"), None),
            Exit::DeadlineExceeded => {
                (format!("stopped: not done within {deadline_ms} ms (timeout_ms can be longer)"), None)
            }
        };
        let output = shown(&finished.output);
        let tests = tests_in(&output, finished.output.complete());
        let text = format!("{ending}\n{output}");
        let run = CommandRun { command: self.command, exit_code, tests };
        Ok(ToolOutcome { ok: exit_code == Some(0), text, effects: vec![Effect::Command(run)] })
    }
}

fn shown(output: &Captured) -> String {
    if output.total_bytes == 0 {
        return "(no output)".to_owned();
    } else if output.complete() {
        return plain(&output.bytes());
    }
    format!(
        "{}\n({} of {} bytes left out here)\n{}",
        plain(&output.head),
        output.left_out_bytes(),
        output.total_bytes,
        plain(&output.tail)
    )
}

/// Output as text: without colours and cursor movements, which say nothing to a model.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            '\n' | '\t' => out.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            // A progress bar going back to the start of its line.
            '\r' => out.push('\n'),
            character if character.is_control() => out.push_str(&one_line(&character.to_string(), 10)),
            character => out.push(character),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Skips the rest of an escape sequence: `[ … letter`, `] … BEL`, or a single character.
fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            characters.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']') => {
            while characters.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
            characters.next_if(|c| *c == '\u{7}');
        }
        _ => {
            characters.next_if(|c| matches!(c, '('..=')' | '7'..='9' | '=' | '>' | 'A'..='Z' | '\\'));
        }
    }
}
