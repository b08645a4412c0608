//! What hooks say, as the model and the record are told. Every word of a hook is quoted line by line, so that nothing in it can
//! pass for words of somebody else.

use posse_hooks::{Hook, HookEvent, HookExit, HookVerdict, HookVoice};
use posse_protocol::visible::one_line;
use posse_protocol::{CallId, EventKind, HookDecision};
use posse_report::quote;

use crate::hooks::runner::HookRun;
use crate::limits::{HOOK_MESSAGE_CHARS_MAX, HOOK_NAME_CHARS_MAX};

const DENIED: &str = include_str!("../../prompts/hook_denied.md").trim_ascii();
const SAID: &str = include_str!("../../prompts/hook_said.md").trim_ascii();
const OBJECTS: &str = include_str!("../../prompts/hook_objects.md").trim_ascii();
const KEPT: &str = include_str!("../../prompts/hook_kept.md").trim_ascii();
const REPLACED: &str = include_str!("../../prompts/hook_replaced.md").trim_ascii();
/// What a call is answered with whose arguments a hook has spoilt.
pub(crate) const BAD_REWRITE: &str = include_str!("../../prompts/hook_bad_rewrite.md").trim_ascii();

/// A hook's words, each with the name of the hook that said them.
pub(crate) type HookWords = Vec<(String, String)>;

fn quoted(words: &[(String, String)]) -> String {
    words.iter().map(|(name, text)| quote("hook", name, text)).collect::<Vec<_>>().join("\n")
}

/// What a call is answered with that hooks denied.
pub(crate) fn denied(reasons: &[(String, String)]) -> String {
    format!("{DENIED}\n{}", quoted(reasons))
}

/// What the model is to know.
pub(crate) fn said(words: &[(String, String)]) -> String {
    format!("{SAID}\n{}", quoted(words))
}

/// What is told with a result that hooks object to.
pub(crate) fn objects(reasons: &[(String, String)]) -> String {
    format!("{OBJECTS}\n{}", quoted(reasons))
}

/// Why an agent goes on that wanted to end.
pub(crate) fn kept(reasons: &[(String, String)]) -> String {
    format!("{KEPT}\n{}", quoted(reasons))
}

/// A result that a hook has replaced.
pub(crate) fn replaced(words: (String, String)) -> String {
    format!("{REPLACED}\n{}", quoted(&[words]))
}

/// A text with what hooks add to it.
pub(crate) fn with_words(text: String, words: &[(String, String)]) -> String {
    if words.is_empty() { text } else { format!("{text}\n\n{}", said(words)) }
}

/// What hooks gave as reasons, in one line.
pub(crate) fn in_one_line(reasons: &[(String, String)]) -> String {
    let texts = reasons.iter().map(|(name, why)| match why.trim() {
        "" => name.clone(),
        why => format!("{name}: {why}"),
    });
    one_line(&texts.collect::<Vec<_>>().join("; "), HOOK_MESSAGE_CHARS_MAX)
}

/// What a hook is called.
pub(crate) fn name_of(hook: &Hook) -> String {
    one_line(&hook.action.text(), HOOK_NAME_CHARS_MAX)
}

/// That a hook was run.
pub(crate) fn hook_ran(hook: &Hook, call: Option<&CallId>, run: &HookRun) -> EventKind {
    let answer = &run.answer;
    let exit_code = match run.exit {
        HookExit::Code(code) => Some(code),
        HookExit::Status(status) => Some(i32::from(status)),
        HookExit::Signal(_) | HookExit::TimedOut(_) | HookExit::NotRun(_) => None,
    };
    let mut message = answer.fault.clone().or(answer.message.clone());
    let decision = match answer.verdict {
        _ if answer.stop.is_some() => HookDecision::Stop,
        Some(HookVerdict::Deny) => HookDecision::Deny,
        Some(HookVerdict::Ask | HookVerdict::Defer) => HookDecision::Ask,
        Some(HookVerdict::Allow) if run.voice == HookVoice::Person => HookDecision::Allow,
        Some(HookVerdict::Allow) => {
            message.get_or_insert_with(|| "what an agent could change allows nothing".to_owned());
            HookDecision::Nothing
        }
        None if answer.updated_input.is_some() || answer.updated_output.is_some() => HookDecision::Rewrite,
        None if !answer.context.is_empty() => HookDecision::Context,
        None if answer.fault.is_some() => HookDecision::Failed,
        None => HookDecision::Nothing,
    };
    let reason =
        || answer.stop.clone().filter(|why| !why.is_empty()).unwrap_or_else(|| answer.reason.clone());
    EventKind::HookRan {
        hook: name_of(hook),
        hook_event: hook.event.name().to_owned(),
        call: call.cloned(),
        confined: run.confined,
        duration_ms: run.duration_ms,
        exit_code,
        decision,
        message: one_line(message.unwrap_or_else(reason).trim(), HOOK_MESSAGE_CHARS_MAX),
    }
}

/// Whether nobody waits for hooks of an event: nothing depends on what they say.
pub(crate) fn is_only_told(event: HookEvent) -> bool {
    matches!(event, HookEvent::Notification)
}
