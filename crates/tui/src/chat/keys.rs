//! Keys: a full-screen view gets them first, then an answer that was begun, then the composer.

use posse_protocol::{Answer, Approval, CallKind};
use posse_terminal::{Key, KeyCode, PastedText};

use super::{Chat, ChatWaiting, STOPPING, Twice};
use crate::composer::KnownNames;
use crate::effect::{ChatEffect, ChatQuery, Leaving, OnTerminal, SteerCommand};
use crate::questions::{AnswerDraft, AnswerStep};
use crate::views::{FullScreen, Pager, WorkView};

impl Chat {
    pub(crate) fn key(&mut self, key: &Key) {
        if self.view.is_some() {
            return self.view_key(key);
        }
        if self.answering.is_some() {
            return self.answer_key(key);
        }
        if self.answering_plan {
            return self.plan_key(key);
        }
        let counts_twice =
            key.code == KeyCode::Escape || key.ctrl && matches!(key.code, KeyCode::Char('c' | 'd'));
        if !counts_twice {
            self.twice = None;
        }
        if self.composer.search_key(key) {
            return;
        }
        if key.ctrl && self.control(key) {
            return;
        }
        if key.alt && self.alternate(key) {
            return;
        }
        self.plain_key(key);
    }

    pub(crate) fn paste(&mut self, pasted: &PastedText) {
        if let Some(view) = &mut self.view {
            let wanted = view.paste(&pasted.text);
            wanted.into_iter().for_each(|effect| self.effect(effect));
        } else if let Some(answering) = &mut self.answering {
            answering.paste(&pasted.text);
        } else {
            self.composer.paste(pasted);
            self.look();
        }
    }

    /// Looks for completions, and has the files listed when the first `@` is typed.
    pub(crate) fn look(&mut self) {
        if !self.files_wanted && self.composer.editor.text().contains('@') {
            self.files_wanted = true;
            self.query(ChatQuery::Files);
        }
        self.want_prompts();
        let Self { composer, facts, session, server_prompts, .. } = self;
        let agents = session.iter().flat_map(|session| session.view.sub_agents());
        composer.look(&KnownNames {
            commands: &facts.commands,
            skills: &facts.skills,
            prompts: server_prompts,
            models: facts.models.iter().map(|model| model.name.as_str()).collect(),
            agents: agents.map(|agent| agent.name.as_str()).collect(),
        });
    }

    fn control(&mut self, key: &Key) -> bool {
        let KeyCode::Char(c) = key.code else { return false };
        match c {
            'c' => self.interrupt(),
            'd' if self.composer.editor.is_empty() => self.quit_twice(),
            'g' => {
                let text = self.composer.editor.expanded();
                self.effect(ChatEffect::OnTerminal(OnTerminal::Editor(text)));
            }
            'r' => self.composer.open_search(),
            'l' => self.effect(ChatEffect::Redraw),
            'o' => self.show_all(),
            't' if self.composer.editor.is_empty() => self.open_work(),
            'q' => self.begin_answer(),
            'v' => self.effect(ChatEffect::PasteImage),
            'z' => self.effect(ChatEffect::OnTerminal(OnTerminal::Suspend)),
            'b' if self.composer.editor.is_empty() && self.command_runs() => self.move_to_background(),
            'j' => {
                self.composer.editor.insert("\n");
                self.look();
            }
            _ => return false,
        }
        true
    }

    fn alternate(&mut self, key: &Key) -> bool {
        match key.code {
            KeyCode::Char('r') => self.toggle_reasoning(),
            KeyCode::Up => self.choose_queued(true),
            KeyCode::Down => self.choose_queued(false),
            _ => return false,
        }
        true
    }

    fn plain_key(&mut self, key: &Key) {
        match key.code {
            KeyCode::Escape => return self.escape(),
            KeyCode::Enter if key.shift || key.alt => self.composer.editor.insert("\n"),
            KeyCode::Enter => return self.enter(),
            KeyCode::BackTab => return self.next_mode(),
            KeyCode::Tab => {
                if !self.composer.complete() {
                    return self.queue();
                }
            }
            KeyCode::Up if self.composer.select(false) => return,
            KeyCode::Down if self.composer.select(true) => return,
            KeyCode::Delete | KeyCode::Backspace if self.composer.queue_at.is_some() => {
                return self.withdraw_chosen();
            }
            KeyCode::Function(1) => return self.help(),
            KeyCode::Char('?') if self.composer.editor.is_empty() && !key.ctrl && !key.alt => {
                return self.help();
            }
            _ => self.edit(key),
        }
        self.composer.queue_at = None;
        self.look();
    }

    fn edit(&mut self, key: &Key) {
        if self.composer.editor.key(key) {
            return;
        }
        match key.code {
            KeyCode::Up => {
                self.composer.walk(true);
            }
            KeyCode::Down => {
                self.composer.walk(false);
            }
            _ => {
                if let Some(c) = key.typed() {
                    self.composer.editor.insert(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Escape closes what is open, stops the turn, or, pressed twice, goes back to a turn.
    fn escape(&mut self) {
        if self.composer.list.take().is_some() || self.composer.queue_at.take().is_some() {
            return;
        }
        if self.composer.editing.take().is_some() {
            self.composer.editor.clear();
            return self.say("the message stays as it was");
        }
        if self.typed.is_some() {
            return self.effect(ChatEffect::StopCommand);
        }
        let at_work = self.session.as_ref().is_some_and(super::ChatSession::is_at_work);
        if at_work {
            self.effect(ChatEffect::Steer(SteerCommand::StopTurn));
            return self.say(STOPPING);
        }
        if self.composer.editor.is_empty() && self.session.is_some() {
            if self.again(Twice::Escape) {
                self.open_rewind();
            } else {
                self.say("Esc again goes back to a turn");
            }
        }
    }

    /// Ctrl-C empties the composer, stops the turn, or, pressed twice, ends the chat.
    fn interrupt(&mut self) {
        if !self.composer.editor.is_empty() {
            self.composer.editor.clear();
            (self.composer.list, self.composer.editing) = (None, None);
            return;
        }
        let at_work = self.session.as_ref().is_some_and(super::ChatSession::is_at_work);
        if self.typed.is_some() && self.twice.is_none() {
            self.effect(ChatEffect::StopCommand);
        } else if at_work && self.twice.is_none() {
            self.effect(ChatEffect::Steer(SteerCommand::StopTurn));
        }
        self.quit_twice();
    }

    fn quit_twice(&mut self) {
        if self.again(Twice::Quit) {
            self.effect(ChatEffect::Leave(Leaving::Close));
        } else {
            self.say("press it again to quit; /detach leaves the session at work");
        }
    }

    fn view_key(&mut self, key: &Key) {
        let size = (self.columns, self.rows);
        let Some(view) = &mut self.view else { return };
        let step = view.key(key, self.session.as_ref().map(|one| &one.view), size, self.now_ms);
        self.view_step(step);
    }

    fn answer_key(&mut self, key: &Key) {
        let (Some(answering), Some(session)) = (&mut self.answering, &self.session) else { return };
        let open = session.view.questions.iter().find(|open| open.seq == answering.seq);
        let Some(open) = open.cloned() else {
            self.answering = None;
            return;
        };
        match answering.key(key, &open.question) {
            AnswerStep::Stay => {}
            AnswerStep::Back => self.answering = None,
            AnswerStep::ShowAll => {
                self.view = Some(FullScreen::Pager(Pager::of_question(&open.question)));
            }
            AnswerStep::Give(answer) => self.give(open.agent, open.question.call, answer),
            AnswerStep::GiveAndSave(answer, rule) => {
                self.give(open.agent, open.question.call, answer);
                self.effect(ChatEffect::SaveRule(rule));
            }
        }
    }

    fn give(&mut self, agent: posse_protocol::AgentId, call: posse_protocol::CallId, answer: Answer) {
        self.answering = None;
        self.effect(ChatEffect::Steer(SteerCommand::Answer { agent, call, answer }));
    }

    fn begin_answer(&mut self) {
        if let Some(open) = self.session.as_ref().and_then(super::ChatSession::question) {
            self.answering = Some(AnswerDraft::begin(open));
        } else if self.waiting == Some(ChatWaiting::Plan) {
            self.answering_plan = true;
        } else {
            self.say("nobody asks anything");
        }
    }

    fn plan_key(&mut self, key: &Key) {
        self.answering_plan = false;
        match key.code {
            KeyCode::Char('y' | 'a') => self.approve_plan(Approval::Auto),
            KeyCode::Char('e') => self.approve_plan(Approval::Edit),
            KeyCode::Char('n') => {
                self.waiting = None;
                self.say("the plan is refused; say what to do instead");
            }
            KeyCode::Char('c') => self.say("say what to change; the mode stays plan"),
            _ => {}
        }
    }

    /// What there is more of than is shown: the question, or the whole transcript.
    fn show_all(&mut self) {
        let Some(session) = &self.session else { return self.say("there is no session yet") };
        if let Some(open) = session.question() {
            self.view = Some(FullScreen::Pager(Pager::of_question(&open.question)));
            return;
        }
        let (id, main) = (session.id, session.main().map(|main| main.id));
        self.query(ChatQuery::Events { session: id, agent: main });
    }

    pub(crate) fn open_work(&mut self) {
        match &self.session {
            Some(session) => self.view = Some(FullScreen::Work(WorkView::new(session.id))),
            None => self.say("there is no session yet"),
        }
    }

    fn command_runs(&self) -> bool {
        let main = self.session.as_ref().and_then(|session| session.main());
        main.is_some_and(|main| main.calls.iter().any(|call| call.kind == CallKind::Run))
    }

    fn move_to_background(&mut self) {
        let Some(main) = self.session.as_ref().and_then(|session| session.main()) else { return };
        let Some(call) = main.calls.iter().find(|call| call.kind == CallKind::Run) else { return };
        let (agent, call) = (main.id, call.call.clone());
        self.effect(ChatEffect::Steer(SteerCommand::ToBackground { agent, call }));
    }

    fn choose_queued(&mut self, up: bool) {
        let count = self.session.as_ref().map_or(0, |session| session.queue().len());
        if count == 0 {
            return self.say("nothing waits");
        }
        let at = self.composer.queue_at;
        self.composer.queue_at = Some(match (at, up) {
            (None, _) => count - 1,
            (Some(at), true) => at.saturating_sub(1),
            (Some(at), false) => (at + 1).min(count - 1),
        });
    }

    fn withdraw_chosen(&mut self) {
        let Some(at) = self.composer.queue_at.take() else { return };
        let queue = self.session.as_ref().map(|session| session.queue()).unwrap_or_default();
        let mail = queue.get(at).map(|mail| mail.id);
        if let Some(mail) = mail {
            self.effect(ChatEffect::Steer(SteerCommand::Withdraw(mail)));
        }
    }
}
