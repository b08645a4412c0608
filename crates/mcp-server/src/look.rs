//! How a task does, for a client: a projection of the session's view. Pure.

use posse_protocol::SessionId;
use posse_protocol::visible::one_line;
use posse_view::{AgentView, SessionView, words};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::limits;
use crate::phase::{TaskPhase, phase};
use crate::questions::{self, AskedQuestion};
use crate::status::{status_line, what_next};

/// How a task does.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TaskLook {
    /// The task's id.
    pub(crate) task: String,
    /// Its state.
    pub(crate) state: TaskPhase,
    /// The same in a line: how many sub-agents are done, what is being done, tokens.
    pub(crate) status: String,
    /// What to do next.
    pub(crate) next: String,
    /// The folder it works in.
    pub(crate) workspace: String,
    /// Its agents as a tree, parents before children: the main agent first.
    pub(crate) agents: Vec<LookedAgent>,
    /// How many more agents there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) agents_more: usize,
    /// Questions that wait for an answer.
    pub(crate) questions: Vec<AskedQuestion>,
    /// Tokens of all agents, as far as reported.
    pub(crate) tokens: Option<u64>,
    /// What it cost in US dollars, as far as known.
    pub(crate) cost_usd: Option<f64>,
    /// The checked report, once there is one: status, summary, details, files_modified, tests_run, tests_passed, warnings
    /// (claims that the facts do not support), facts and receipt (what was measured).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<Map<String, Value>>,
    /// What Posse remarked when the task began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// One agent of a task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct LookedAgent {
    /// Its name, by which message reaches it.
    pub(crate) name: String,
    /// The name of the agent that started it; none for the main agent.
    pub(crate) parent: Option<String>,
    /// Its role.
    pub(crate) role: String,
    /// 0 for the main agent.
    pub(crate) depth: u32,
    /// pending, queued, running, needs_person, resting, interrupted, completed, failed, cancelled, timed_out, out_of_turns,
    /// out_of_tokens, out_of_money or refused.
    pub(crate) state: String,
    /// What it is asked to do, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What it does now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) doing: String,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The worker that runs it, or ran it last; absent if it runs where the session does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on: Option<String>,
    /// Its tokens, as far as reported, without those of agents below it.
    pub(crate) tokens: Option<u64>,
    /// What it came to, in its own words, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How a session does, without its report.
pub(crate) fn look(session: SessionId, view: &SessionView) -> TaskLook {
    let state = phase(view);
    let agents = view.agents.iter().take(limits::AGENTS_SHOWN_MAX);
    TaskLook {
        task: session.to_string(),
        state,
        status: status_line(state, view),
        next: what_next(state, view),
        workspace: view.workspace.clone(),
        agents: agents.map(|agent| looked(view, agent)).collect(),
        agents_more: view.agents.len().saturating_sub(limits::AGENTS_SHOWN_MAX),
        questions: view
            .questions
            .iter()
            .take(limits::QUESTIONS_SHOWN_MAX)
            .map(|open| questions::asked(view, open))
            .collect(),
        tokens: view.in_all.usage.total_tokens(),
        cost_usd: view.in_all.cost_usd,
        report: None,
        notes: Vec::new(),
    }
}

fn looked(view: &SessionView, agent: &AgentView) -> LookedAgent {
    let line = |text: &str| one_line(text, limits::LINE_CHARS_MAX);
    let parent = agent.parent.and_then(|parent| view.agents.get(parent));
    LookedAgent {
        name: line(&agent.name),
        parent: parent.map(|parent| line(&parent.name)),
        role: line(&agent.role),
        depth: agent.depth,
        state: agent.state.word().to_owned(),
        title: agent.title.as_deref().map(line),
        doing: line(&words::doing(&agent.doing)),
        model: agent.model.as_deref().map(line),
        on: agent.on.as_deref().map(line),
        tokens: agent.own.usage.total_tokens(),
        summary: agent.report.as_ref().filter(|_| agent.parent.is_some()).map(|report| line(&report.summary)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_where_agents_run() {
        let mut view = SessionView::default();
        for line in include_str!("../../view/fixtures/placed.jsonl").lines() {
            view.fold(&serde_json::from_str(line).unwrap()).unwrap();
        }
        let look = look(view.session.unwrap(), &view);
        let on: Vec<_> = look.agents.iter().map(|agent| (agent.name.as_str(), agent.on.as_deref())).collect();
        let expected =
            [("main", None), ("coder-1", Some("gpu-2")), ("coder-2", Some("build.lan")), ("explore-1", None)];
        assert_eq!(on, expected);
        let told = crate::described::described(&look, None);
        assert!(
            told.contains("coder-2 (coder) \"build it everywhere\" running on build.lan: shell make"),
            "{told}"
        );
        let json = serde_json::to_value(&look).unwrap();
        assert_eq!((&json["agents"][1]["on"], json["agents"][3].get("on")), (&"gpu-2".into(), None));
    }
}
