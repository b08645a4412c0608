//! What is known of a session as a whole: its title, the plan, how full the model's window is, the cost.

use agent_client_protocol_schema::v1::{
    Cost, Notice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate,
    SessionUpdate, UsageUpdate,
};
use posse_protocol::visible::one_line;
use posse_protocol::{AgentId, Event, EventKind, Purpose};
use posse_view::{TodoState, words};

use super::{ClientNews, Translator, tell};
use crate::limits::TITLE_COLUMNS_MAX;

impl Translator {
    /// What an event changes of all this.
    pub(super) fn status(&mut self, event: &Event) -> Vec<ClientNews> {
        let mut news = self.notice(event).into_iter().collect::<Vec<_>>();
        news.extend(self.plan(event.agent));
        if self.view.title != self.title {
            self.title.clone_from(&self.view.title);
            let title = self.title.as_ref().map(|title| one_line(title, TITLE_COLUMNS_MAX));
            let info = SessionInfoUpdate::new().title(title).updated_at(iso_time(event.at_ms));
            news.push(tell(&self.session, SessionUpdate::SessionInfoUpdate(info)));
        }
        let settings = (self.view.approval, self.view.model.clone());
        if settings != self.settings {
            self.settings = settings;
            news.push(ClientNews::Settings);
        }
        news.extend(self.usage(event));
        news
    }

    fn plan(&mut self, agent: AgentId) -> Option<ClientNews> {
        let todo = self.view.agents.get(agent)?.todo.clone();
        let told = self.agents.get_mut(&agent)?;
        if told.plan == todo {
            return None;
        }
        told.plan.clone_from(&todo);
        let entry = |item: posse_view::TodoItem| {
            let status = match item.state {
                TodoState::Pending => PlanEntryStatus::Pending,
                TodoState::Doing => PlanEntryStatus::InProgress,
                TodoState::Done => PlanEntryStatus::Completed,
            };
            PlanEntry::new(item.text, PlanEntryPriority::Medium, status)
        };
        let plan = Plan::new(todo.into_iter().map(entry).collect());
        told.session.as_ref().map(|session| tell(session, SessionUpdate::Plan(plan)))
    }

    /// How full the main agent's window is, and what the session cost.
    fn usage(&mut self, event: &Event) -> Option<ClientNews> {
        let EventKind::Replied { reply, .. } = &event.kind else { return None };
        let told = self.agents.get(&event.agent)?;
        if event.parent.is_none() && matches!(told.purpose, Purpose::Work | Purpose::LastWord) {
            self.used = reply.usage.total_tokens().unwrap_or(self.used);
        }
        let cost = self.view.in_all.cost_usd.map(|usd| Cost::new(usd, "USD"));
        let usage = UsageUpdate::new(self.used, self.window?).cost(cost);
        Some(tell(&self.session, SessionUpdate::UsageUpdate(usage)))
    }

    /// What is worth a word and is no part of the conversation, for clients that show such.
    fn notice(&self, event: &Event) -> Option<ClientNews> {
        let (severity, title, description) = match &event.kind {
            EventKind::Retrying { .. } => {
                let agent = self.view.agents.get(event.agent)?;
                let title = format!("{}: {}", self.name(event.agent), words::doing(&agent.doing));
                (NoticeSeverity::Warning, title, None)
            }
            EventKind::HookRan { hook, hook_event, decision, message, .. } => {
                let title = words::hook_ran(hook, hook_event, *decision, message)?;
                (NoticeSeverity::Info, title, None)
            }
            EventKind::AgentPlaced { worker, epoch, .. } if *epoch > 1 => {
                let title = format!("{} {}", self.name(event.agent), words::placed(worker, *epoch));
                (NoticeSeverity::Warning, title, None)
            }
            EventKind::Compacted { .. } => {
                let title = format!("{}: the conversation was shortened", self.name(event.agent));
                (NoticeSeverity::Info, title, None)
            }
            EventKind::NotCovered { what, .. } if !what.is_empty() => (
                NoticeSeverity::Info,
                "Undo does not cover everything here".to_owned(),
                Some(what.join("\n")),
            ),
            _ => return None,
        };
        let session = self.session_of(event.agent).filter(|_| self.skills.notices)?;
        let notice = Notice::new(severity, one_line(&title, TITLE_COLUMNS_MAX)).description(description);
        Some(tell(session, SessionUpdate::Notice(notice)))
    }
}

/// A time as the protocol writes it.
pub(crate) fn iso_time(at_ms: u64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()?;
    Some(at.to_string())
}
