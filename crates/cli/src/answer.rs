//! `posse answer`: the open questions of sessions that run, and answers to them.
//!
//! A question is named by the number of the event that asked it. No other question of the session ever has that number, so
//! an answer cannot reach another question than the one that was shown.

use posse_api::calls::steering::AnswerQuestion;
use posse_engine::record::SessionRow;
use posse_engine::{AnswerOutcome, Engine};
use posse_protocol::Seq;
use posse_setup::Paths;
use posse_view::{OpenQuestion, SessionView, words};
use serde_json::json;

use crate::args::AnswerArgs;
use crate::display::short;
use crate::exit::Exit;
use crate::limits::STEPS_RESULT_CHARS_MAX;
use crate::output::{self, Style, one_line};
use crate::questions;
use crate::recorded::view_of;
use crate::running::{Reached, reach, told};
use crate::watched::refusal;
use crate::which_session::running_here;

pub(crate) async fn run(paths: &Paths, args: AnswerArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let rows = match &args.session {
        None => running_here(&engine)?,
        Some(wanted) => {
            let Reached { row, handle } = reach(&engine, Some(wanted)).await?;
            if let Some(number) = args.question {
                let asked = Asked { row, number: Seq(number), words: args.answer.join(" ") };
                return asked.answer(&engine, &handle).await;
            }
            vec![row]
        }
    };
    list(&engine, &rows, args.json).await
}

/// Shows what is asked, whole, and how to answer it.
async fn list(engine: &Engine, rows: &[SessionRow], json: bool) -> anyhow::Result<Exit> {
    let mut found = false;
    for row in rows {
        let view = view_of(engine, row).await?;
        for open in view.questions.iter() {
            found = true;
            match json {
                true => output::print_json(&as_json(row, &view, open))?,
                false => output::print(&shown(row, &view, open))?,
            }
        }
    }
    if !found && !json {
        let where_ = if rows.is_empty() { "no session of this project runs" } else { "nothing is asked" };
        output::print(&format!("{where_}\n"))?;
    }
    Ok(Exit::Completed)
}

fn shown(row: &SessionRow, view: &SessionView, open: &OpenQuestion) -> String {
    let style = Style::for_stdout();
    let text = questions::whole(style, view, open, output::stdout_width());
    format!("{text}  {}\n\n", style.dim(&format!("posse answer {} {} …", short(row.id), open.seq.0)))
}

fn as_json(row: &SessionRow, view: &SessionView, open: &OpenQuestion) -> serde_json::Value {
    let name = view.agents.get(open.agent).map(|agent| agent.name.as_str());
    json!({
        "session": row.id,
        "number": open.seq,
        "agent": open.agent,
        "name": name,
        "asked_at_ms": open.asked_at_ms,
        "question": open.question,
    })
}

/// An answer that was typed.
struct Asked {
    row: SessionRow,
    number: Seq,
    words: String,
}

impl Asked {
    async fn answer(self, engine: &Engine, handle: &posse_api::Handle) -> anyhow::Result<Exit> {
        let Self { row, number, words: typed } = self;
        let view = view_of(engine, &row).await?;
        let Some(open) = view.questions.iter().find(|open| open.seq == number) else {
            let id = short(row.id);
            return Err(Exit::Failed.because(format!(
                "no question {} is open in the session {id}: it was answered or taken back; posse answer {id} lists what is open",
                number.0
            )));
        };
        if typed.trim().is_empty() {
            output::print(&shown(&row, &view, open))?;
            return Ok(Exit::Completed);
        }
        let not_read = |hint: &str| Exit::Usage.because(format!("{hint} (the question is still open)"));
        let answer = questions::answer_in(&typed, &open.question).map_err(not_read)?;
        let said = words::answer(&answer).unwrap_or_default();
        let (agent, call) = (open.agent, open.question.call.clone());
        let sent = handle.call(row.id, AnswerQuestion { agent, call, answer }).await;
        let outcome = sent.map_err(|error| told(engine, &row, error))?.outcome;
        match (outcome, refusal(outcome)) {
            (_, Some(hint)) => Err(not_read(hint)),
            (AnswerOutcome::NotOpen, None) => {
                Err(Exit::Failed.because(format!("question {} was answered elsewhere first", number.0)))
            }
            (_, None) => {
                output::print(&format!("answered: {}\n", one_line(&said, STEPS_RESULT_CHARS_MAX)))?;
                Ok(Exit::Completed)
            }
        }
    }
}
