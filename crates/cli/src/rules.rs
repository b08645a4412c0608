//! `posse rules`: what is allowed, asked and denied whatever the mode says. Rules are saved and removed in the person's own
//! configuration file only.

use posse_setup::{Paths, list_rules, remove_rule, save_rule};

use crate::args::RulesCommand;
use crate::exit::Exit;
use crate::output::{self, Style, one_line};
use crate::surroundings::shown;

pub(crate) fn run(paths: &Paths, command: RulesCommand) -> anyhow::Result<Exit> {
    let file = shown(&paths.config);
    let (text, done) = match command {
        RulesCommand::List { json } => return list(paths, json),
        RulesCommand::Save { kind, rule } => match save_rule(paths, kind, &rule)? {
            true => (format!("Saved in {file}: {} {}\n", kind.word(), one_line(&rule, 200)), true),
            false => (format!("It is in {file} already.\n"), true),
        },
        RulesCommand::Remove { kind, rule } => match remove_rule(paths, kind, &rule)? {
            true => (format!("Removed from {file}: {} {}\n", kind.word(), one_line(&rule, 200)), true),
            false => (format!("{file} has no such rule; posse rules list shows them.\n"), false),
        },
    };
    output::print(&text)?;
    Ok(if done { Exit::Completed } else { Exit::Failed })
}

fn list(paths: &Paths, json: bool) -> anyhow::Result<Exit> {
    let rules = list_rules(paths, paths.surroundings().folder()?)?;
    if json {
        rules.iter().try_for_each(output::print_json)?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for rule in &rules {
        let place = style.dim(&format!("{}:{}", shown(&rule.file), rule.line));
        let idle = if rule.counts { "" } else { " (does not count before posse trust)" };
        text.push_str(&format!("{:<5}  {}  {place}{idle}\n", rule.kind.word(), one_line(&rule.rule, 200)));
    }
    if rules.is_empty() {
        text = "No rules yet. Save one: posse rules save allow \"edit_file(docs/*)\"\n".to_string();
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}
