//! What hooks do about the calls of a turn: they look at each before it is judged and before a person is asked, and hear of its
//! result.

use posse_hooks::{HookEvent, HookMoment, HookToolCall, HookVerdict, own_input};
use posse_protocol::{CallId, EventKind, ToolCall, ToolOutcome};
use serde_json::Value;

use super::call_context::{CallContext, TurnProgress};
use super::gate::GateOutcome;
use crate::changes::found::Found;
use crate::delegation::calls::Work;
use crate::hooks::agent_hooks::AgentHooks;
use crate::hooks::session_hooks::HooksHeard;
use crate::hooks::told::{self, HookWords};
use crate::record::journal::Journal;
use crate::rights::approvals::PendingQuestion;

/// The tool whose calls bring along a skill's hooks.
const SKILL_LOAD: &str = "skill_load";

/// A call as hooks know it, kept until its result is there.
pub(crate) struct HookedCall {
    own_name: String,
    starts_agent: bool,
    arguments: Value,
    /// What the model is told with the result.
    told: HookWords,
    /// What the gate is to do.
    look: HookLook,
}

/// What hooks want of the gate.
#[derive(Default)]
enum HookLook {
    /// Nothing.
    #[default]
    Nothing,
    /// No question that only the mode would ask.
    Allow,
    /// A question, for this reason.
    Ask(String),
}

impl HookedCall {
    fn seen<'a>(&'a self, id: &'a CallId, folder: &'a str) -> HookToolCall<'a> {
        let Self { own_name, starts_agent, arguments, .. } = self;
        HookToolCall { own_name, starts_agent: *starts_agent, arguments, id: &id.0, folder }
    }
}

/// What came of letting hooks look at a call.
pub(crate) enum HookedLook {
    /// It is judged; the call is another one where hooks have written other arguments.
    Judge(Option<Box<HookedCall>>, Option<Work>),
    /// It does not run.
    Refused(GateOutcome),
}

impl CallContext<'_> {
    /// Lets hooks look at a call before it is judged.
    pub(super) async fn before(
        &self,
        call: &ToolCall,
        work: &Work,
        journal: &mut Journal,
        progressed: &mut TurnProgress,
    ) -> HookedLook {
        let Some(hooks) = self.hooks else { return HookedLook::Judge(None, None) };
        let mut hooked = self.as_hooked(call, work);
        let folder = self.site.workspace.root().display().to_string();
        let moment = HookMoment::PreToolUse { call: hooked.seen(&call.id, &folder) };
        let HooksHeard { answer, ran, found } = hooks.hear(&moment, self.site, self.gate.approval).await;
        ran.into_iter().for_each(|event| journal.note(event));
        self.keep(found, journal, progressed);
        if let Some((name, why)) = answer.stop {
            progressed.stop.get_or_insert((name.clone(), why.clone()));
            return HookedLook::Refused(self.denied(work, &call.name, &[(name, why)]));
        }
        if answer.verdict == Some(HookVerdict::Deny) {
            return HookedLook::Refused(self.denied(work, &call.name, &answer.reasons));
        }
        hooked.told = answer.context;
        hooked.look = match answer.verdict {
            Some(HookVerdict::Allow) => HookLook::Allow,
            Some(_) => HookLook::Ask(told::in_one_line(&answer.reasons)),
            None => HookLook::Nothing,
        };
        match answer.updated_input {
            Some((_, input)) => match self.rewritten(call, hooked, &input, &folder) {
                Ok((hooked, work)) => HookedLook::Judge(Some(hooked), Some(work)),
                Err(why) => HookedLook::Refused(self.spoilt(work, &call.name, why)),
            },
            None => HookedLook::Judge(Some(Box::new(hooked)), None),
        }
    }

    /// What hooks are told of a call.
    fn as_hooked(&self, call: &ToolCall, work: &Work) -> HookedCall {
        let (told, look) = (Vec::new(), HookLook::Nothing);
        let started = match work {
            Work::Delegation(asked) => asked.hook_input(),
            Work::Tool { .. } => None,
        };
        let starts_agent = started.is_some();
        let own_name = match work {
            // What is one of many commands is a command for hooks.
            Work::Tool { routed: Some(_), .. } => "shell".to_owned(),
            Work::Tool { prepared, .. } => prepared.wish().tool.to_owned(),
            Work::Delegation(_) => call.name.clone(),
        };
        let arguments = started.unwrap_or_else(|| self.toolbox.arguments_of(call));
        HookedCall { own_name, starts_agent, arguments, told, look }
    }

    /// The call with other arguments, read again.
    fn rewritten(
        &self,
        call: &ToolCall,
        hooked: HookedCall,
        input: &Value,
        folder: &str,
    ) -> Result<(Box<HookedCall>, Work), String> {
        let arguments = if hooked.starts_agent {
            replaced(&call.arguments, &hooked.arguments, input)?
        } else {
            own_input(&hooked.own_name, input, folder).to_string()
        };
        let mut call = ToolCall { arguments, ..call.clone() };
        if hooked.own_name.starts_with("mcp__") {
            // It may have been called by way of another tool.
            call.name.clone_from(&hooked.own_name);
        }
        let work = self.read(&call).map_err(|outcome| outcome.text)?;
        let HookedCall { told, look, .. } = hooked;
        Ok((Box::new(HookedCall { told, look, ..self.as_hooked(&call, &work) }), work))
    }

    /// What the gate says, with what hooks want of it.
    pub(super) fn judged(
        &self,
        call: &CallId,
        work: &Work,
        hooked: Option<&HookedCall>,
        outcome: GateOutcome,
    ) -> GateOutcome {
        match (hooked.map(|hooked| &hooked.look), outcome) {
            (Some(HookLook::Ask(why)), GateOutcome::Free) => {
                self.gate.question_of_hook(call, work, format!("a hook wants you to be asked ({why})"))
            }
            (Some(HookLook::Allow), GateOutcome::Ask(asks))
                if self.gate.strange_file.is_none() && self.gate.crew.approvals.is_only_by_mode(&asks) =>
            {
                GateOutcome::Free
            }
            (_, outcome) => outcome,
        }
    }

    /// Lets hooks answer a question in place of the person. None if they do not.
    pub(super) async fn answered_by_hooks(
        &self,
        call: &ToolCall,
        work: &Work,
        hooked: Option<&HookedCall>,
        asks: &PendingQuestion,
        journal: &mut Journal,
        progressed: &mut TurnProgress,
    ) -> Option<GateOutcome> {
        let (hooks, hooked) = (self.hooks?, hooked?);
        let folder = self.site.workspace.root().display().to_string();
        let moment = HookMoment::PermissionRequest { call: hooked.seen(&call.id, &folder) };
        let HooksHeard { answer, ran, found } = hooks.hear(&moment, self.site, self.gate.approval).await;
        ran.into_iter().for_each(|event| journal.note(event));
        self.keep(found, journal, progressed);
        if let Some(stop) = answer.stop {
            progressed.stop.get_or_insert(stop);
        }
        match answer.verdict {
            Some(HookVerdict::Deny) => Some(self.denied(work, &call.name, &answer.reasons)),
            // What leaves the sandbox, and what other programs act on by themselves, is for a person.
            Some(HookVerdict::Allow)
                if asks.is_ordinary()
                    && self.gate.strange_file.is_none()
                    && answer.updated_input.is_none() =>
            {
                Some(GateOutcome::Free)
            }
            _ => {
                let message = format!("{} {}", asks.question.tool, asks.question.what);
                let moment = HookMoment::Notification { kind: "permission_prompt", message: &message };
                hooks.hear(&moment, self.site, self.gate.approval).await;
                None
            }
        }
    }

    /// Lets hooks hear of a result, and tells the model what they say.
    pub(super) async fn after(
        &self,
        call: &CallId,
        hooked: Option<Box<HookedCall>>,
        outcome: &mut ToolOutcome,
        duration_ms: u64,
    ) -> (Vec<EventKind>, Found) {
        let (Some(hooks), Some(hooked)) = (self.hooks, hooked) else { return Default::default() };
        let folder = self.site.workspace.root().display().to_string();
        let seen = hooked.seen(call, &folder);
        let (result, error) = (outcome.text.as_str(), outcome.text.as_str());
        let moment = match outcome.ok {
            true => HookMoment::PostToolUse { call: seen, result, duration_ms },
            false => HookMoment::PostToolUseFailure { call: seen, error, is_interrupt: false, duration_ms },
        };
        let HooksHeard { answer, ran, found } = hooks.hear(&moment, self.site, self.gate.approval).await;
        if outcome.ok && hooked.own_name == SKILL_LOAD {
            hooked.arguments.get("key").and_then(Value::as_str).into_iter().for_each(|key| hooks.loaded(key));
        }
        if let Some(words) = answer.updated_output {
            outcome.text = told::replaced(words);
        }
        if answer.verdict == Some(HookVerdict::Deny) {
            outcome.text = format!("{}\n\n{}", outcome.text, told::objects(&answer.reasons));
        }
        let words = hooked.told.into_iter().chain(answer.context).collect::<Vec<_>>();
        outcome.text = told::with_words(std::mem::take(&mut outcome.text), &words);
        if let Some(stop) = answer.stop {
            self.stopped.set(stop).ok();
        }
        (ran, found)
    }

    /// Keeps what hooks have changed.
    fn keep(&self, found: Found, journal: &mut Journal, progressed: &mut TurnProgress) {
        self.gate.crew.approvals.note_written(&found.effects, &found.written);
        progressed.effects.extend_from_slice(&found.effects);
        found.into_events(self.turn).for_each(|kind| journal.note(kind));
    }

    fn denied(&self, work: &Work, tool: &str, reasons: &[(String, String)]) -> GateOutcome {
        let reason = format!("a hook said no ({})", told::in_one_line(reasons));
        self.gate.denied_by_hook(work, tool, reason, told::denied(reasons))
    }

    /// A call that hooks have spoilt.
    fn spoilt(&self, work: &Work, tool: &str, why: String) -> GateOutcome {
        let text = format!("{}\n{why}", told::BAD_REWRITE);
        self.gate.denied_by_hook(work, tool, "a hook wrote arguments that cannot be used".to_owned(), text)
    }
}

/// The arguments of a delegation tool, in which the texts that a hook changed are replaced wherever the model wrote them.
fn replaced(written: &str, told: &Value, input: &Value) -> Result<String, String> {
    let mut arguments: Value = serde_json::from_str(written).map_err(|error| error.to_string())?;
    let (Some(fields), Some(input)) = (arguments.as_object_mut(), input.as_object()) else {
        return Err("the arguments are not an object".to_owned());
    };
    for (key, value) in input.iter().filter(|(key, value)| told.get(key) != Some(value)) {
        let before = told.get(key);
        let field = fields.values_mut().find(|field| Some(&**field) == before);
        *field.ok_or_else(|| format!("the hook changed {key}, which this call does not have"))? =
            value.clone();
    }
    Ok(arguments.to_string())
}

/// Whether hooks could have anything to do with calls; where not, nothing is made for them.
pub(super) fn about_calls(hooks: &AgentHooks) -> bool {
    HookEvent::ALL.into_iter().any(|event| event.is_about_tool() && hooks.hears(event))
        || hooks.hears(HookEvent::Notification)
}
