//! What the person decides that is not an answer to an agent: modes, plans, reasoning, and what a full-screen view came to.

use posse_engine::NextTurnSettings;
use posse_protocol::Approval;

use super::Chat;
use crate::effect::{BeginFrom, ChatEffect, ChatQuery, PromptWords, SteerCommand};
use crate::views::{FullScreen, Picker, ViewChoice, ViewStep};

/// What the main agent is told when its plan was approved.
const APPROVED: &str = "I approve the plan. Carry it out now.";

impl Chat {
    /// The mode that holds now.
    pub fn mode(&self) -> Approval {
        let of_session = self.session.as_ref().and_then(|session| session.approval());
        of_session.or(self.wishes.approval).unwrap_or(self.facts.approval)
    }

    /// Its name.
    pub(crate) fn mode_name(&self) -> &'static str {
        self.mode().word()
    }

    /// Changes the mode: of the session from its next turn on, and of those to come.
    pub(crate) fn set_mode(&mut self, mode: Approval) {
        self.wishes.approval = Some(mode);
        if self.session.as_ref().is_some_and(|session| !session.over) {
            let change = NextTurnSettings { approval: Some(mode), ..NextTurnSettings::default() };
            self.effect(ChatEffect::Steer(SteerCommand::Settings(change)));
            if let Some(session) = &mut self.session {
                session.view.approval = Some(mode);
            }
        }
        self.say(format!("mode {}: {}", mode.word(), mode_means(mode)));
    }

    /// Shift+Tab: the next mode. Full has to be asked for by name.
    pub(crate) fn next_mode(&mut self) {
        let next = match self.mode() {
            Approval::Plan => Approval::Ask,
            Approval::Ask => Approval::Edit,
            Approval::Edit => Approval::Auto,
            Approval::Auto | Approval::Full => Approval::Plan,
        };
        self.set_mode(next);
    }

    pub(crate) fn approve_plan(&mut self, mode: Approval) {
        self.waiting = None;
        self.set_mode(mode);
        self.prompt(PromptWords { text: APPROVED.to_owned(), files: Vec::new() });
    }

    pub(crate) fn toggle_reasoning(&mut self) {
        let Some(session) = &mut self.session else { return self.say("there is no session yet") };
        session.transcript.shows_reasoning = !session.transcript.shows_reasoning;
        let word = if session.transcript.shows_reasoning { "is shown" } else { "is folded" };
        self.say(format!("reasoning {word}"));
    }

    pub(crate) fn open_rewind(&mut self) {
        let Some(session) = &self.session else { return self.say("there is no session yet") };
        let id = session.id;
        self.view = Some(FullScreen::Picker(Picker::turns(id)));
        self.query(ChatQuery::Events { session: id, agent: None });
    }

    /// What a full-screen view wants.
    pub(crate) fn view_step(&mut self, step: ViewStep) {
        match step {
            ViewStep::Stay => {}
            ViewStep::Close => self.view = None,
            ViewStep::Do(effects) => self.effects.extend(effects),
            ViewStep::Choose(choice) => {
                self.view = None;
                self.choose(choice);
            }
        }
    }

    fn choose(&mut self, choice: ViewChoice) {
        match choice {
            ViewChoice::Session(session) => self.open(session),
            ViewChoice::Model(name) => self.set_model(name),
            ViewChoice::Rewind { turn, conversation, files, prompt } => {
                self.rewind(turn, conversation, files);
                if conversation {
                    self.composer.restore(&PromptWords { text: prompt, files: Vec::new() });
                }
            }
        }
    }

    /// Goes back to the beginning of a turn: the conversation in a fork, the files by a rewind, or both.
    pub(crate) fn rewind(&mut self, turn: u32, conversation: bool, files: bool) {
        let Some(session) = self.session_id() else { return };
        if files {
            self.effect(ChatEffect::Change(posse_engine::ChangeRequest::Rewind { turn }));
        }
        if !conversation {
            return;
        }
        match turn.checked_sub(1) {
            Some(kept @ 1..) => {
                self.let_go();
                self.next_from = Some(BeginFrom::Fork { session, turn: Some(kept), files: false });
                self.say(format!("the next prompt goes on after turn {kept}, in a new session"));
            }
            _ => {
                self.let_go();
                self.say("the next prompt begins anew");
            }
        }
    }

    pub(crate) fn set_model(&mut self, name: String) {
        self.wishes.model = Some(name.clone());
        if self.session.as_ref().is_some_and(|session| !session.over) {
            let change = NextTurnSettings { model: Some(name.clone()), ..NextTurnSettings::default() };
            self.effect(ChatEffect::Steer(SteerCommand::Settings(change)));
        }
        self.facts.model = Some(name.clone());
        self.say(format!("model {name}"));
    }
}

/// What a mode means.
pub(crate) fn mode_means(mode: Approval) -> &'static str {
    match mode {
        Approval::Plan => "nothing is changed",
        Approval::Ask => "changes, commands and the network ask first",
        Approval::Edit => "files are changed; commands and the network ask first",
        Approval::Auto => "all inside the sandbox; leaving it asks first",
        Approval::Full => "nothing asks",
    }
}
