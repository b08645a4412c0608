//! `posse tell` and `posse stop`: commands to a session that runs, in whichever process.

use std::time::Duration;

use anyhow::bail;
use posse_api::Handle;
use posse_api::calls::steering::{
    CancelSession, EditMessage, StopAgent, StopTurn, TellAgent, WithdrawMessage,
};
use posse_engine::record::SessionRow;
use posse_engine::{Delivery, Engine};
use posse_protocol::MailId;
use posse_setup::Paths;

use crate::args::{StopArgs, TellArgs};
use crate::display::short;
use crate::exit::Exit;
use crate::limits::STOPPING_MS_MAX;
use crate::output::{self, counted, one_line};
use crate::prompt;
use crate::running::{Reached, reach, told};

/// `posse tell`.
pub(crate) async fn tell(paths: &Paths, args: TellArgs) -> anyhow::Result<Exit> {
    let message = Message::of(&args)?;
    let engine = Engine::open(&paths.data_dir)?;
    let Reached { row, handle } = reach(&engine, Some(&args.session)).await?;
    let (id, said) = (row.id, |error| told(&engine, &row, error));
    let done = match message {
        Message::New { agent, text } => {
            let delivery = match (args.now, args.queue) {
                (true, _) => Delivery::Interrupt,
                (_, true) => Delivery::NextPrompt,
                _ => Delivery::NextTurn,
            };
            let to = agent.clone().unwrap_or_else(|| "main".to_string());
            let posted = handle.call(id, TellAgent { agent, text, delivery }).await.map_err(said)?;
            format!("message {} is on its way to {}", posted.mail, one_line(&to, 60))
        }
        Message::Edit(mail, text) => {
            handle.call(id, EditMessage { mail, text }).await.map_err(said)?;
            format!("message {mail} is changed")
        }
        Message::Withdraw(mail) => {
            handle.call(id, WithdrawMessage { mail }).await.map_err(said)?;
            format!("message {mail} is taken back")
        }
    };
    output::print(&format!("{done}\n"))?;
    Ok(Exit::Completed)
}

/// What `posse tell` was asked to do.
enum Message {
    New { agent: Option<String>, text: String },
    Edit(MailId, String),
    Withdraw(MailId),
}

impl Message {
    fn of(args: &TellArgs) -> anyhow::Result<Self> {
        if let Some(mail) = args.withdraw {
            return Ok(Self::Withdraw(MailId(mail)));
        }
        let (agent, text) = match args.words.as_slice() {
            [] => bail!("say what to tell: posse tell {} \"…\"", one_line(&args.session, 40)),
            [text] => (None, text),
            [agent, text] => (Some(agent), text),
            _ => bail!("put the message in quotes: posse tell {} \"…\"", one_line(&args.session, 40)),
        };
        let text =
            if text == "-" { prompt::read(std::slice::from_ref(text), &[])?.text } else { text.clone() };
        match (args.edit, agent) {
            (Some(_), Some(_)) => bail!("a message keeps its agent: posse tell SESSION --edit N \"…\""),
            (Some(mail), None) => Ok(Self::Edit(MailId(mail), text)),
            (None, agent) if args.queue && agent.is_some_and(|agent| agent != "main") => {
                bail!("only the main agent has prompts; leave out --queue")
            }
            (None, agent) => Ok(Self::New { agent: agent.cloned(), text }),
        }
    }
}

/// `posse stop`.
pub(crate) async fn stop(paths: &Paths, args: StopArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let Reached { row, handle } = reach(&engine, Some(&args.session)).await?;
    let (id, said) = (row.id, |error| told(&engine, &row, error));
    let name = short(id);
    let done = match &args.agent {
        Some(agent) => {
            let stopped = handle.call(id, StopAgent { agent: agent.clone() }).await.map_err(said)?;
            let below = match stopped.agents.saturating_sub(1) as u64 {
                0 => String::new(),
                below => format!(", with {} below it", counted(below, "agent")),
            };
            format!("{} is stopped{below}", one_line(agent, 60))
        }
        None if args.turn => {
            handle.call(id, StopTurn {}).await.map_err(said)?;
            format!("what the session {name} did is stopped; posse tell {name} \"…\" says what to do next")
        }
        None => {
            let ending = follow_end(&handle, &row);
            handle.call(id, CancelSession {}).await.map_err(said)?;
            match ending.await {
                true => format!("the session {name} is stopped; posse resume {name} \"…\" continues it"),
                false => format!("the session {name} was told to stop, and has not ended yet"),
            }
        }
    };
    output::print(&format!("{done}\n"))?;
    Ok(Exit::Completed)
}

/// Waits for the end of a session, for a while. True if it has come.
async fn follow_end(handle: &Handle, row: &SessionRow) -> bool {
    let following = async {
        let Ok(mut updates) = handle.follow(row.id, row.last_seq).await else { return };
        while let Ok(Some(_)) = updates.next().await {}
    };
    tokio::time::timeout(Duration::from_millis(STOPPING_MS_MAX), following).await.is_ok()
}
