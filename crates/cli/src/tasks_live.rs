//! `posse tasks --follow`: the tree of a session that runs, drawn again whenever it changes until the session ends; in a
//! pipe, one line for each change.

use std::collections::HashMap;
use std::time::Duration;

use posse_api::Following;
use posse_engine::Engine;
use posse_protocol::{AgentId, AgentState, Seq, Update};
use posse_setup::Paths;
use posse_view::{AgentView, SessionView, words};

use crate::args::TasksArgs;
use crate::display::{LiveTree, short};
use crate::exit::Exit;
use crate::interrupts::Signals;
use crate::limits::{TASKS_NAME_COLUMNS_MAX, TICK_MS, TITLE_CHARS_MAX};
use crate::output::{self, one_line};
use crate::recorded::fold;
use crate::running::{Reached, is_gone, reach, told};
use crate::tasks::as_json;

pub(crate) async fn run(paths: &Paths, args: TasksArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let Reached { row, handle } = reach(&engine, args.session.as_deref()).await?;
    let mut following = handle.follow(row.id, Seq(0)).await.map_err(|error| told(&engine, &row, error))?;
    let mut watch = match LiveTree::of_terminal().filter(|_| !args.json) {
        Some(tree) => Shown::Tree(tree),
        None => Shown::Lines(Changes { json: args.json, last: HashMap::new() }),
    };
    let mut view = SessionView::default();
    let mut signals = Signals::new()?;
    let left = loop {
        tokio::select! {
            biased;
            () = signals.next() => break true,
            more = next(&mut following, &mut view, &mut watch) => if !more? { break false },
        }
    };
    // Of a process that is gone the record has the rest.
    let mut rest = engine.recorded(row.id, view.seq);
    while let Some(Update::Event(event)) = rest.next().await {
        fold(&mut view, &event)?;
        watch.change(&view, event.agent)?;
    }
    watch.finish(&view)?;
    if !left && is_gone(&engine, row.id) && !view.main().is_some_and(AgentView::has_ended) {
        let id = short(row.id);
        output::print_aside(&format!(
            "the process that ran the session is gone; posse resume {id} continues it\n"
        ))?;
        return Ok(Exit::Failed);
    }
    Ok(Exit::Completed)
}

/// Takes in one update, or lets a moment pass. False once nothing more comes.
async fn next(following: &mut Following, view: &mut SessionView, shown: &mut Shown) -> anyhow::Result<bool> {
    match tokio::time::timeout(Duration::from_millis(TICK_MS), following.next()).await {
        Ok(Ok(Some(Update::Event(event)))) => {
            fold(view, &event)?;
            shown.change(view, event.agent)?;
        }
        Ok(Ok(Some(Update::Progress(progress)))) => view.note(&progress, output::now_ms()),
        Ok(Ok(None) | Err(_)) => return Ok(false),
        Err(_) => shown.tick(view)?,
    }
    Ok(true)
}

/// How changes are shown.
enum Shown {
    Tree(LiveTree),
    Lines(Changes),
}

impl Shown {
    fn change(&mut self, view: &SessionView, agent: AgentId) -> std::io::Result<()> {
        match self {
            Self::Tree(tree) => tree.draw_sometimes(view),
            Self::Lines(changes) => changes.line(view, agent),
        }
    }

    fn tick(&mut self, view: &SessionView) -> std::io::Result<()> {
        if let Self::Tree(tree) = self { tree.draw(view) } else { Ok(()) }
    }

    fn finish(&mut self, view: &SessionView) -> std::io::Result<()> {
        if let Self::Tree(tree) = self { tree.finish(view) } else { Ok(()) }
    }
}

/// The states that were told.
struct Changes {
    json: bool,
    last: HashMap<AgentId, (AgentState, bool)>,
}

impl Changes {
    /// A line if an agent is in another state than it was told to be, or has begun or ceased to ask the person.
    fn line(&mut self, view: &SessionView, agent: AgentId) -> std::io::Result<()> {
        let Some(agent) = view.agents.get(agent) else { return Ok(()) };
        let now = (agent.state, !agent.asks.is_empty());
        if self.last.insert(agent.id, now) == Some(now) {
            return Ok(());
        }
        if self.json {
            return output::print_json(&as_json(view, agent));
        }
        let name = one_line(&agent.name, TASKS_NAME_COLUMNS_MAX);
        let title = one_line(agent.title.as_deref().unwrap_or_default(), TITLE_CHARS_MAX);
        let state = if now.1 { "asks" } else { words::state(agent.state) };
        output::print(format!("{name}  {state}  {title}").trim_end()).and_then(|()| output::print("\n"))
    }
}
