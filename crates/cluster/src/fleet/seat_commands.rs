//! What home has to say to one agent, until its worker has it: nothing is lost, however long that takes. Of how things stand only
//! the newest counts.

use std::collections::VecDeque;

use posse_engine::remote::HostCommand;

use crate::limits;
use crate::message::RawBody;
use crate::requests::CommandSender;

/// See the module.
pub(super) struct SeatCommands {
    sender: CommandSender<RawBody>,
    /// What comes after those that are on their way.
    waiting: VecDeque<HostCommand>,
}

impl SeatCommands {
    pub(super) fn new(again_ms: u64) -> Self {
        Self { sender: CommandSender::new(fastrand::u64(..), again_ms), waiting: VecDeque::new() }
    }

    /// Says something more. False if there is too much already.
    pub(super) fn say(&mut self, command: HostCommand) -> bool {
        // How things stand, and what it may do at most: what was to be said of it before counts no more.
        let kind = std::mem::discriminant(&command);
        if matches!(
            command,
            HostCommand::Kin { .. }
                | HostCommand::Mode { .. }
                | HostCommand::Budget { .. }
                | HostCommand::Cancel
        ) {
            self.waiting.retain(|known| std::mem::discriminant(known) != kind);
        }
        let fits = self.waiting.len() < limits::COMMANDS_WAITING_MAX;
        if fits {
            self.waiting.push_back(command);
        }
        fits
    }

    /// The next one that can be sent, if there is one.
    pub(super) fn next(&mut self) -> Option<HostCommand> {
        if self.sender.has_room() { self.waiting.pop_front() } else { None }
    }

    /// Sends it from now on, as it goes into a letter, until it has arrived.
    pub(super) fn send(&mut self, body: RawBody) {
        if self.sender.command(body).is_err() {
            tracing::warn!("a command was sent that there was no room for");
        }
    }

    pub(super) fn acknowledged(&mut self, series: u64, upto: u64) {
        self.sender.acknowledged(series, upto);
    }

    /// What is to be sent now: the series, the number and the body of each.
    pub(super) fn tick(&mut self, now_ms: u64) -> Vec<(u64, u64, RawBody)> {
        let series = self.sender.series();
        self.sender.tick(now_ms).into_iter().map(|(number, body)| (series, number, body)).collect()
    }

    pub(super) fn tick_at_ms(&self) -> Option<u64> {
        self.sender.tick_at_ms()
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{Approval, CallId};

    use super::*;

    /// How its sub-agents are: the type is another crate's.
    fn kin(live: usize) -> HostCommand {
        let kin = serde_json::json!({"live": live, "tokens": 0, "cost_usd": 0.0});
        serde_json::from_value(serde_json::json!({"say": "kin", "kin": kin, "roster": null})).unwrap()
    }

    #[test]
    fn nothing_is_lost_while_a_worker_is_away_and_only_the_newest_state_is_said() {
        let mut commands = SeatCommands::new(10);
        let answer = |n: usize| HostCommand::Answer {
            call: CallId(format!("call-{n}")),
            answer: posse_protocol::Answer::Once,
        };
        for n in 0..1_000 {
            assert!(commands.say(answer(n)) && commands.say(kin(n)));
            assert!(commands.say(HostCommand::Mode { approval: Approval::Ask }));
        }
        let mut said = Vec::new();
        loop {
            while let Some(command) = commands.next() {
                said.push(command.clone());
                if let Some(body) = crate::bodies::write(&command) {
                    commands.send(body);
                }
            }
            let sent = commands.tick(0);
            let Some((series, number, _)) = sent.last() else { break };
            commands.acknowledged(*series, *number);
        }
        let answers: Vec<_> = said.iter().filter(|one| matches!(one, HostCommand::Answer { .. })).collect();
        assert_eq!(answers.len(), 1_000);
        assert!(answers.iter().enumerate().all(|(n, one)| **one == answer(n)), "in order");
        assert_eq!(said.iter().filter(|one| matches!(one, HostCommand::Kin { .. })).count(), 1);
        assert!(said.contains(&kin(999)));
    }
}
