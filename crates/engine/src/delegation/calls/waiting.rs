//! Waiting for sub-agents, and looking at them. Waiting holds no slot; asking again and again becomes waiting.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use posse_delegate::StatusLook;
use posse_protocol::{AgentId, ToolOutcome};
use posse_surface::{Shape, Until};

use super::DelegationCalls;
use crate::delegation::answers::{self, CallAnswer};
use crate::limits::{POLL_WAIT_MS, WAIT_MS, WAIT_MS_MAX};

impl DelegationCalls {
    /// Waits until one or all of these have ended, without holding a slot. False if the time ran out first.
    pub(super) async fn settled(&self, ids: &[AgentId], until: Until, timeout_ms: Option<u64>) -> bool {
        let mut news = self.crew.signals(self.id).news.subscribe();
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let over = || match until {
            Until::All => self.crew.all_settled(ids),
            Until::Any => self.crew.any_settled(ids),
        };
        if over() {
            return true;
        }
        let _parked = self.crew.park(self.id);
        loop {
            if over() {
                return true;
            }
            match deadline {
                None => drop(news.changed().await),
                Some(at) => {
                    if tokio::time::timeout_at(at.into(), news.changed()).await.is_err() {
                        return over();
                    }
                }
            }
        }
    }

    pub(super) async fn wait(&self, names: &[String], until: Until, timeout_ms: Option<u64>) -> CallAnswer {
        let mut wanted = Vec::new();
        for name in names {
            match self.find(name) {
                Ok(id) => wanted.push(id),
                Err(answer) => return answer,
            }
        }
        if wanted.is_empty() {
            wanted = self.crew.tree(|tree| tree.live_children(self.id));
        }
        // Whoever has ended and was told of is nobody to wait for.
        self.crew.tree(|tree| {
            wanted
                .retain(|id| tree.node(*id).is_some_and(|node| !(node.state.is_settled() && node.delivered)));
        });
        let since = Instant::now();
        let timeout_ms = timeout_ms.unwrap_or(WAIT_MS).min(WAIT_MS_MAX);
        let over = wanted.is_empty() || self.settled(&wanted, until, Some(timeout_ms)).await;
        let reports = if names.is_empty() {
            self.crew.take_all_reports(self.id)
        } else {
            self.crew.take_reports(self.id, &wanted)
        };
        let live = self.crew.tree(|tree| tree.live_children(self.id));
        let waited = self.waited(since, !reports.is_empty());
        let after = match (over, reports.is_empty(), live.len()) {
            (_, true, 0) => {
                "There is nothing to wait for: no agent of yours is at work, and all reports were told or follow right here."
                    .to_string()
            }
            (true, _, 0) => String::new(),
            (true, _, n) => format!("{n} still at work."),
            (false, _, n) => {
                format!("{waited}; {n} still at work. Their reports come by themselves.")
            }
        };
        let told = self.deliver(&reports, Shape::Text, after);
        CallAnswer { outcome: ToolOutcome { ok: true, ..told.outcome }, ..told }
    }

    /// How long a wait was, with those before it that brought nothing: patience is no loop, so it does not read like one.
    fn waited(&self, since: Instant, told: bool) -> String {
        let now_ms = since.elapsed().as_millis() as u64;
        let before_ms = self.waited_ms.fetch_add(now_ms, Ordering::Relaxed);
        if told {
            self.waited_ms.store(0, Ordering::Relaxed);
        }
        let (now, all) = (now_ms as f64 / 1e3, (before_ms + now_ms) as f64 / 1e3);
        if before_ms == 0 {
            format!("Waited {now:.1} s")
        } else {
            format!("Waited {now:.1} s, {all:.1} s in all")
        }
    }

    pub(super) async fn status(&self, name: Option<&str>, page: u32) -> CallAnswer {
        let of = match name.map(|name| self.find(name)).transpose() {
            Ok(of) => of,
            Err(answer) => return answer,
        };
        let mut look = self.crew.look(self.id, of);
        if look == StatusLook::Unchanged {
            // ApprovalSettings again and again becomes waiting: it costs no turns, and ends with news.
            let polls = self.polls.fetch_add(1, Ordering::Relaxed);
            if polls > 0 {
                let live = self.crew.tree(|tree| tree.live_children(self.id));
                let since = Instant::now();
                if !live.is_empty() {
                    self.settled(&live, Until::Any, Some(POLL_WAIT_MS)).await;
                }
                look = self.crew.look(self.id, of);
                if look == StatusLook::Unchanged {
                    let waited = since.elapsed().as_secs_f64();
                    return CallAnswer::ok(format!(
                        "unchanged, also after {waited:.1} s ({polls} times asked again). {}",
                        answers::NO_POLLING
                    ));
                }
            } else {
                return CallAnswer::ok(format!("unchanged since you last asked. {}", answers::NO_POLLING));
            }
        }
        self.polls.store(0, Ordering::Relaxed);
        let StatusLook::Changed(ids) = look else { return CallAnswer::ok("unchanged") };
        CallAnswer::ok(self.crew.tree(|tree| answers::status(tree, &ids, page)))
    }
}
