//! `posse stats`: what tasks came to, in tables that people want to read.

mod table;

use posse_engine::Engine;
use posse_engine::record::{Stats, StatsQuery, StatsRow};
use posse_protocol::AgentState;
use posse_setup::{Config, Paths};

use crate::args::StatsArgs;
use crate::exit::Exit;
use crate::memory::project_here;
use crate::output::{self, Style, counted, local_time, now_ms, one_line};
use crate::prose::hanging;

pub(crate) fn run(paths: &Paths, args: &StatsArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let since_ms = args.since.map(|age_ms| now_ms().saturating_sub(age_ms));
    let project = if args.all { None } else { Some(project_here()?) };
    let query = StatsQuery { since_ms, project };
    let stats = engine.stats(&query)?;
    let text = if args.json {
        output::json_line(&as_json(&query, &stats)?)?
    } else if stats.total.tasks == 0 {
        nothing(&query)
    } else {
        told(Style::for_stdout(), &query, &stats, output::stdout_width(), unpriced(paths, &stats))
    };
    output::print(&text)?;
    Ok(Exit::Completed)
}

fn as_json(query: &StatsQuery, stats: &Stats) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(stats)?;
    value["project"] = serde_json::to_value(&query.project)?;
    value["since_ms"] = serde_json::to_value(query.since_ms)?;
    Ok(value)
}

fn nothing(query: &StatsQuery) -> String {
    let hints = [
        query.since_ms.map(|_| "Leave --since out to count older ones."),
        query.project.as_ref().map(|_| "posse stats --all counts all projects."),
        Some("Start one: posse run \"what does this project do?\""),
    ];
    let hints = hints.into_iter().flatten().map(|hint| format!("  {hint}\n")).collect::<String>();
    format!("No task has ended {} yet.\n{hints}", place(query))
}

fn place(query: &StatsQuery) -> String {
    let place = match &query.project {
        Some(project) => format!("in {}", one_line(project, 1000)),
        None => "in any project".to_string(),
    };
    match query.since_ms {
        Some(ms) => format!("{place} since {}", local_time(ms)),
        None => place,
    }
}

fn told(style: Style, query: &StatsQuery, stats: &Stats, width: usize, unpriced: bool) -> String {
    let total = &stats.total;
    let mut text = format!(
        "{} {}: {} completed{}\n",
        style.bold(&counted(total.tasks, "task")),
        place(query),
        table::success(total),
        interrupted(total),
    );
    let sections = [
        ("role", &stats.roles),
        ("model", &stats.models),
        ("delegates by", &stats.surfaces),
        ("week of", &stats.weeks),
    ];
    let sections = sections.into_iter().filter(|(_, rows)| !rows.is_empty()).collect::<Vec<_>>();
    text.push_str(&table::tables(style, &sections, width));
    text.push_str(&notes(style, total, unpriced, width));
    text
}

/// Those that can still go on are no failures.
fn interrupted(total: &StatsRow) -> String {
    match total.endings.get(&AgentState::Interrupted) {
        None | Some(0) => String::new(),
        Some(tasks) => format!(", {tasks} interrupted"),
    }
}

/// Whether a model whose cost is not known has no price in the configuration of today.
fn unpriced(paths: &Paths, stats: &Stats) -> bool {
    let folder = paths.surroundings().folder();
    let config = folder.ok().and_then(|folder| Config::load(paths, folder).ok());
    let priced = |id: &str| config.as_ref().is_some_and(|config| config.has_price(id));
    stats.models.iter().any(|row| row.cost_unknown > 0 && !priced(&row.key))
}

/// What the figures do not say by themselves.
fn notes(style: Style, total: &StatsRow, unpriced: bool, width: usize) -> String {
    let mut text =
        "\nwarned: reports that say what the facts do not; turns and time: the median; cached tokens are part of \
         the tokens\n"
            .to_string();
    if total.cost_unknown > 0 {
        text.push_str(&format!(
            "the cost of {} is not known: {}\n",
            counted(total.cost_unknown, "task"),
            if unpriced {
                "give `price` in [models.NAME]"
            } else {
                "there was no price then, or the model did not say what it used"
            }
        ));
    }
    let rows = text
        .lines()
        .flat_map(|line| if line.is_empty() { vec![String::new()] } else { hanging("", line, width) });
    rows.map(|row| style.dim(&format!("{row}\n"))).collect()
}
