//! What a team shares: mail from one agent to another, and the board of tasks.

use posse_delegate::ItemId;
use posse_protocol::visible::one_line;
use posse_protocol::{AgentId, Sender};
use posse_report::quote;
use posse_surface::BoardCommand;

use crate::crew::Crew;
use crate::delegation::answers::CallAnswer;
use crate::limits::MESSAGE_BYTES_MAX;

/// Writes to one agent, or to all that are at work.
pub(crate) fn tell(crew: &Crew, by: AgentId, to: Option<&str>, text: &str) -> CallAnswer {
    if text.len() > MESSAGE_BYTES_MAX {
        return CallAnswer::error(format!("The message is longer than {MESSAGE_BYTES_MAX} bytes."));
    }
    let wanted = crew.tree(|tree| match to {
        Some(name) => tree.find_peer(name).into_iter().collect::<Vec<_>>(),
        None => tree
            .nodes()
            .filter(|node| node.id != by && !node.state.is_settled())
            .map(|node| node.id)
            .collect(),
    });
    if wanted.is_empty() {
        let name = one_line(to.unwrap_or("all"), 60);
        return CallAnswer::error(format!("There is nobody to tell: no agent {name} is at work."));
    }
    let words = quote("message", &crew.name(by), text);
    let (mut got, mut gone) = (Vec::new(), Vec::new());
    for id in wanted {
        let told = crew.tell(id, Sender::Peer, words.clone(), false);
        if told { got.push(crew.name(id)) } else { gone.push(crew.name(id)) }
    }
    let gone = if gone.is_empty() {
        String::new()
    } else {
        format!(" Not delivered, because they have ended or have too much mail: {}.", gone.join(", "))
    };
    if got.is_empty() {
        CallAnswer::error(gone.trim().to_string())
    } else {
        CallAnswer::ok(format!("Delivered to {}.{gone}", got.join(", ")))
    }
}

/// Uses the board.
pub(crate) fn board(crew: &Crew, by: AgentId, command: BoardCommand) -> CallAnswer {
    let done = match command {
        BoardCommand::List => Ok("The board:".to_string()),
        BoardCommand::Add { title, after } => {
            let after = after.into_iter().map(ItemId).collect::<Vec<_>>();
            crew.board(|board| board.add(&title, &after, by)).map(|id| format!("Added as {}.", id.0))
        }
        BoardCommand::Claim { id } => {
            crew.board(|board| board.claim(by, id.map(ItemId)).map(|item| format!("{} is yours.", item.id.0)))
        }
        BoardCommand::Done { id } => {
            crew.board(|board| board.done(by, ItemId(id))).map(|_| format!("{id} is done."))
        }
        BoardCommand::Release { id } => {
            crew.board(|board| board.release(by, ItemId(id))).map(|()| format!("{id} is free again."))
        }
    };
    match done {
        Err(why) => CallAnswer::error(why.to_string()),
        Ok(text) => {
            let names = crew.tree(|tree| {
                tree.nodes()
                    .map(|node| (node.id, node.name.clone()))
                    .collect::<std::collections::HashMap<_, _>>()
            });
            let list = crew.board(|board| board.text(|id| names.get(&id).cloned().unwrap_or_default()));
            CallAnswer::ok(format!("{text}\n{}", quote("board", "team", &list)))
        }
    }
}
