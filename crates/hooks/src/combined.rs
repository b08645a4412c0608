//! What several hooks say together.

use serde_json::Value;

use crate::answer::{HookAnswer, HookVerdict};

/// How much the word of a hook counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookVoice {
    /// It runs as the person, who alone could have changed it.
    Person,
    /// It runs in the sandbox, and an agent could have changed its program: it may forbid, ask and tell, and allows nothing.
    Confined,
}

/// What several hooks say together: the strictest decision counts, what is to be told adds up, the last rewrite wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CombinedAnswer {
    /// The strictest decision; what is deferred is asked.
    pub verdict: Option<HookVerdict>,
    /// Why, of all with that decision, each with the name of its hook.
    pub reasons: Vec<(String, String)>,
    /// What the model is to know, each with the name of the hook that says so.
    pub context: Vec<(String, String)>,
    /// Other arguments, and the hook that wrote them.
    pub updated_input: Option<(String, Value)>,
    /// Another result, and the hook that wrote it.
    pub updated_output: Option<(String, String)>,
    /// Set if everything is to stop.
    pub stop: Option<(String, String)>,
    /// A title for the session.
    pub title: Option<String>,
}

/// Puts together what hooks have said, each with its name and how much it counts.
pub fn combine(answers: impl IntoIterator<Item = (String, HookVoice, HookAnswer)>) -> CombinedAnswer {
    let mut all = CombinedAnswer::default();
    for (name, voice, answer) in answers {
        let HookAnswer { verdict, reason, context, updated_input, updated_output, stop, title, .. } = answer;
        let verdict = verdict.filter(|verdict| *verdict != HookVerdict::Allow || voice == HookVoice::Person);
        if let Some(verdict) = verdict {
            if all.verdict < Some(verdict) {
                all.verdict = Some(verdict);
                all.reasons.clear();
            }
            if all.verdict == Some(verdict) {
                all.reasons.push((name.clone(), reason));
            }
        }
        all.context.extend(context.into_iter().map(|text| (name.clone(), text)));
        all.updated_input = updated_input.map(|input| (name.clone(), input)).or(all.updated_input);
        all.updated_output = updated_output.map(|output| (name.clone(), output)).or(all.updated_output);
        all.stop = all.stop.or_else(|| stop.map(|reason| (name.clone(), reason)));
        all.title = title.or(all.title);
    }
    if all.verdict == Some(HookVerdict::Defer) {
        all.verdict = Some(HookVerdict::Ask);
    }
    all
}
