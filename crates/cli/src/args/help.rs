//! What the help says beside the options: groups of commands, examples, exit codes.

use clap::CommandFactory as _;

use super::Args;

/// What comes after the options of `posse run`.
pub(super) const RUN: &str = include_str!("run_help.txt").trim_ascii_end();

/// What comes after the options of `posse resume`.
pub(super) const RESUME: &str = "\
Examples:
  posse resume                      continue what was interrupted here
  posse resume last \"now the docs\"  say more to the newest session
  posse resume 2 --max-turns 40     continue the second of posse sessions list

Exit codes are those of posse run.";

/// What comes after the options of `posse fork`.
pub(super) const FORK: &str = "\
Examples:
  posse fork last --turn 3 \"another way\"          the files stay as they are now
  posse fork last --turn 3 --preview               show what --files would change
  posse fork last --turn 3 --files \"another way\"  with the files after turn 3

Exit codes are those of posse run.";

/// What comes after the options of `posse attach`.
pub(super) const ATTACH: &str = "\
Ctrl-C leaves this terminal; the session goes on. posse stop SESSION ends it.";

/// What comes after the options of `posse serve`.
pub(super) const SERVE: &str = include_str!("serve_help.txt").trim_ascii_end();

/// What comes after the options of `posse acp`.
pub(super) const ACP: &str = "\
Editors start it themselves: Zed, JetBrains, Neovim and others. docs/acp.md says how.
It speaks on standard input and output, and ends when the editor closes them.";

/// What comes after the options of `posse tell`.
pub(super) const TELL: &str = "\
Examples:
  posse tell last \"and add a test\"        for the main agent's next turn
  posse tell last coder-1 \"skip the docs\"  for one of its sub-agents
  posse tell last --now \"stop, wrong file\" at once
  posse tell last --withdraw 3             take a message back

A session that rests takes it as its next prompt.";

/// What comes after the options of `posse answer`.
pub(super) const ANSWER: &str = "\
Examples:
  posse answer                       list what is asked in this project
  posse answer last 41 y             yes, once
  posse answer last 41 session       yes, until the session ends
  posse answer last 41 no, use cargo no, and why
  posse answer last 57 2             the second choice of a question in words";

/// What comes after the options of `posse completions`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  posse completions bash > ~/.local/share/bash-completion/completions/posse
  posse completions zsh > ~/.zfunc/_posse
  posse completions fish > ~/.config/fish/completions/posse.fish";

/// What comes after the commands.
const EXAMPLES: &str = "\
Examples:
  posse                              open the chat in this folder
  posse demo                         watch it work, without a model or key
  posse run \"fix the failing test\"   one task, from the prompt to the diff
  posse resume last \"now the docs\"   say more to the newest session here
  posse undo                         take back the last turn";

/// The commands, by what people want from them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Work", &["run", "resume", "fork", "tasks", "diff", "undo", "rewind", "redo", "merge"]),
    ("Steer what runs", &["attach", "tell", "answer", "stop", "serve", "acp"]),
    ("Look back", &["sessions", "stats", "context", "memory"]),
    (
        "Set up",
        &[
            "demo",
            "doctor",
            "config",
            "trust",
            "rules",
            "hooks",
            "agents",
            "mcp",
            "skills",
            "workers",
            "worker",
            "completions",
        ],
    ),
];

/// The tree of all commands, with a help that shows them in groups.
pub(crate) fn command() -> clap::Command {
    let mut command = Args::command();
    let options = own_options(&mut command);
    let mut text = format!(
        "{}\n\nUsage: posse [OPTIONS]           opens the chat\n       posse COMMAND\n",
        about(&command)
    );
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for name in names {
            let about = command.find_subcommand(name).map(about).unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text.push_str(&format!("\n{EXAMPLES}\n\n{options}\nposse COMMAND --help says more about one of them\n"));
    command.override_help(text)
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// The part of the usual help that lists options.
fn own_options(command: &mut clap::Command) -> String {
    let help = command.clone().term_width(100).render_help().to_string();
    let from = help.find("Options:\n").unwrap_or(help.len());
    format!("{}\n", help[from..].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Args::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names = shown.map(clap::Command::get_name).filter(|name| *name != "help").collect::<Vec<_>>();
        let mut grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect::<Vec<_>>();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
    }

    #[test]
    fn commands_of_the_chat_are_commands_here() {
        let command = Args::command();
        let mut count = 0;
        for words in posse_tui::outside_commands() {
            let mut found = Some(&command);
            for word in words.split(' ') {
                found = found.and_then(|command| command.find_subcommand(word));
            }
            assert!(found.is_some(), "posse {words}");
            count += 1;
        }
        assert!(count >= 20, "{count}");
    }

    /// Every command with all that lead to it.
    fn paths(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_string());
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        for command in shown.filter(|command| command.get_name() != "help") {
            paths(command, &format!("{path} {}", command.get_name()), found);
        }
    }

    #[test]
    fn every_help_has_the_same_layout() {
        let mut commands = Vec::new();
        paths(&Args::command(), "posse", &mut commands);
        let told = commands.iter().map(|path| {
            let words = path.split(' ').chain(["--help"]);
            (path, command().term_width(100).try_get_matches_from(words).unwrap_err().to_string())
        });
        let told = told.collect::<Vec<_>>();
        assert_eq!(told.len(), 68, "commands");
        let mut all = String::new();
        for (path, help) in &told {
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{path}: {line}");
            }
            // One line for each option, those of every command last.
            let broken = help.lines().filter(|line| line.starts_with(&" ".repeat(9))).collect::<Vec<_>>();
            assert!(broken.is_empty(), "{path}: {broken:#?}\n{help}");
            let at = |heading: &str| help.find(heading).unwrap_or_else(|| panic!("{path}: {help}"));
            assert!(at("Global options:") > at("Options:"), "{path}");
            all.push_str(&format!("== {path}\n{help}\n"));
        }
        insta::assert_snapshot!(all);
    }
}
