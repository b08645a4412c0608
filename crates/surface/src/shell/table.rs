//! The commands of the shell surface: one table makes the parser, the help and the tool's description.

use super::flags::{Flag, Takes};

/// One command.
pub(crate) struct TableEntry {
    /// As it is called.
    pub(crate) name: &'static str,
    /// What follows the name.
    pub(crate) synopsis: &'static str,
    /// What it is for.
    pub(crate) about: &'static str,
    /// What makes it available.
    pub(crate) kind: CommandKind,
    /// Its flags.
    pub(crate) flags: &'static [Flag],
}

/// What a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// Something about agents.
    Delegation,
    /// Something about agents with checkouts of their own.
    Merge,
    /// Something that is always there.
    Always,
    /// An ordinary tool of Posse, by its name. What it cannot do is done by the program of the same name, also in a pipe.
    Program(&'static str),
    /// An ordinary tool of Posse, by its name. No program of that name is ever run.
    Tool(&'static str),
}

impl TableEntry {
    /// How it is called.
    pub(crate) fn usage(&self) -> String {
        format!("Usage: {} {}", self.name, self.synopsis)
    }

    /// What `--help` answers.
    pub(crate) fn help(&self) -> String {
        format!("{}\n{}", self.usage(), self.about)
    }

    /// One line of a list.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.name, self.synopsis)
    }
}

const fn text(names: &'static [&'static str], field: &'static str) -> Flag {
    Flag { names, field, takes: Takes::Text }
}

const fn number(names: &'static [&'static str], field: &'static str) -> Flag {
    Flag { names, field, takes: Takes::Number }
}

const fn switch(names: &'static [&'static str], field: &'static str) -> Flag {
    Flag { names, field, takes: Takes::Nothing }
}

const fn each(names: &'static [&'static str], field: &'static str) -> Flag {
    Flag { names, field, takes: Takes::Each }
}

const fn each_whole(names: &'static [&'static str], field: &'static str) -> Flag {
    Flag { names, field, takes: Takes::EachWhole }
}

const PATH: Flag = text(&["path", "file_path", "file"], "path");

/// The flags of every command that starts an agent.
const START: &[Flag] = &[
    text(&["prompt", "p"], "prompt"),
    text(&["description", "d", "title"], "description"),
    text(&["model"], "model"),
    text(&["endpoint"], "endpoint"),
    text(&["name"], "name"),
    number(&["max_turns", "max_iterations"], "max_turns"),
    number(&["max_tokens"], "max_tokens"),
    number(&["token_budget"], "token_budget"),
    number(&["max_time_s"], "max_time_s"),
    each(&["context_file", "context_files"], "context_files"),
    text(&["context"], "context"),
    text(&["success_criteria"], "success_criteria"),
    each(&["deliverable", "deliverables"], "deliverables"),
    each(&["allowed_tool", "allowed_tools"], "allowed_tools"),
    text(&["isolation"], "isolation"),
    text(&["on", "machine", "worker", "host"], "on"),
    switch(&["background"], "background"),
];

/// Any role but `skill`.
pub(crate) const TASK: TableEntry = TableEntry {
    name: "task:ROLE",
    synopsis: "--prompt TEXT [--description WORDS] [--background]",
    about: "Start an agent of that role and wait for its report; with --background go on without waiting. -p and -d are short for --prompt and --description. Also: --max-turns N, --model M, --name N, --context-file PATH (more than once), --context fresh|fork|summary|selective, --max-time-s N.",
    kind: CommandKind::Delegation,
    flags: START,
};

/// The single agent for skills.
pub(crate) const SKILL: TableEntry = TableEntry {
    name: "task:skill:search|enhance",
    synopsis: "--prompt TEXT [--description WORDS]",
    about: "Ask the skill agent of this session to find a skill, or to write or improve one. enhance is told what happened in the session whose id is in the prompt, else in this one. -p and -d are short for --prompt and --description.",
    kind: CommandKind::Delegation,
    flags: START,
};

/// All others.
pub(crate) const COMMANDS: &[TableEntry] = &[
    TableEntry {
        name: "task:wait",
        synopsis: "[NAME…] [--any] [--timeout-s N]",
        about: "Wait for background agents to end: all that are named, or all of yours; with --any for the first.",
        kind: CommandKind::Delegation,
        flags: &[
            switch(&["any"], "any"),
            switch(&["all"], ""),
            text(&["until"], "until"),
            number(&["timeout_s", "timeout"], "timeout_s"),
            number(&["timeout_ms"], "timeout_ms"),
        ],
    },
    TableEntry {
        name: "task:status",
        synopsis: "[NAME] [--page N]",
        about: "Tell what background agents are doing.",
        kind: CommandKind::Delegation,
        flags: &[number(&["page"], "page")],
    },
    TableEntry {
        name: "task:message",
        synopsis: "NAME TEXT [--interrupt]",
        about: "Tell an agent something: at its next turn, at once with --interrupt, or as a follow-up if it has ended.",
        kind: CommandKind::Delegation,
        flags: &[switch(&["interrupt"], "interrupt"), text(&["message", "text", "prompt"], "message")],
    },
    TableEntry {
        name: "task:cancel",
        synopsis: "NAME",
        about: "Stop an agent and everything below it.",
        kind: CommandKind::Delegation,
        flags: &[],
    },
    TableEntry {
        name: "task:close",
        synopsis: "NAME",
        about: "Be done with an agent.",
        kind: CommandKind::Delegation,
        flags: &[],
    },
    TableEntry {
        name: "task:merge",
        synopsis: "NAME",
        about: "Bring in the work of an agent that was started with --isolation worktree; conflicts are told.",
        kind: CommandKind::Merge,
        flags: &[],
    },
    TableEntry {
        name: "skill:load",
        synopsis: "KEY [FILE] [--offset N]",
        about: "Read the text of a skill, or of a file that belongs to it, from an offset on. A word that is no key finds the skills that have it.",
        kind: CommandKind::Tool("skill_load"),
        flags: &[text(&["key"], "key"), text(&["file"], "file"), number(&["offset"], "offset")],
    },
    TableEntry {
        name: "skill:save",
        synopsis: "KEY --description WORDS [--scope project|user] --body TEXT (or <<'EOF')",
        about: "Write a skill, or replace the text of one.",
        kind: CommandKind::Tool("skill_save"),
        flags: &[
            text(&["key"], "key"),
            text(&["description", "d"], "description"),
            text(&["scope"], "scope"),
            text(&["body", "content", "text"], "body"),
        ],
    },
    TableEntry {
        name: "handle:read",
        synopsis: "HANDLE [--offset N --length N | --from LINE --to LINE | --count | --jsonpath PATH]",
        about: "Read part of a stored value.",
        kind: CommandKind::Always,
        flags: &[
            number(&["offset"], "offset"),
            number(&["length", "limit"], "length"),
            number(&["from"], "from"),
            number(&["to"], "to"),
            switch(&["count"], "count"),
            text(&["jsonpath", "json_path"], "jsonpath"),
        ],
    },
    TableEntry {
        name: "read",
        synopsis: "PATH [--offset LINE] [--limit LINES]",
        about: "Read a text file.",
        kind: CommandKind::Tool("read_file"),
        flags: &[
            PATH,
            number(&["offset", "start_line", "from"], "start_line"),
            number(&["end_line", "to"], "end_line"),
            number(&["limit"], "limit"),
        ],
    },
    TableEntry {
        name: "write",
        synopsis: "PATH TEXT (or <<'EOF')",
        about: "Create a file, or replace one that you have read.",
        kind: CommandKind::Tool("write_file"),
        flags: &[PATH, text(&["content", "text"], "content")],
    },
    TableEntry {
        name: "edit",
        synopsis: "PATH OLD NEW [--all]",
        about: "Replace exact text in a file. By <<'EOF' give the new text, or the old and the new one with a line ======= between them. After -- a text may begin with a dash.",
        kind: CommandKind::Tool("edit_file"),
        flags: &[
            PATH,
            text(&["old", "old_text", "old_string"], "old_text"),
            text(&["new", "new_text", "new_string"], "new_text"),
            switch(&["all", "replace_all"], "replace_all"),
        ],
    },
    TableEntry {
        name: "glob",
        synopsis: "PATTERN [--path FOLDER]",
        about: "Find files by path pattern.",
        kind: CommandKind::Tool("glob"),
        flags: &[PATH, text(&["pattern"], "pattern")],
    },
    TableEntry {
        name: "grep",
        synopsis: "PATTERN [PATH] [-i] [-C N] [--include GLOB] [--limit N]",
        about: "Search file contents by regular expression. With other options, several files or in a pipe it is the program.",
        kind: CommandKind::Program("grep"),
        flags: &[
            PATH,
            text(&["e", "pattern", "regexp"], "pattern"),
            text(&["g", "include", "glob"], "glob"),
            switch(&["i", "ignore_case"], "ignore_case"),
            number(&["C", "context"], "context"),
            number(&["A", "after_context"], "context"),
            number(&["B", "before_context"], "context"),
            number(&["limit"], "limit"),
            // What it does anyway.
            switch(&["n", "line_number"], ""),
            switch(&["r", "R", "recursive"], ""),
            switch(&["H", "with_filename"], ""),
            switch(&["I"], ""),
            switch(&["E", "extended_regexp"], "extended"),
        ],
    },
    TableEntry {
        name: "list",
        synopsis: "[PATH] [--depth N]",
        about: "List a folder.",
        kind: CommandKind::Tool("list_files"),
        flags: &[PATH, number(&["depth"], "depth")],
    },
    TableEntry {
        name: "todo",
        synopsis: "ITEM… (each may begin with [x], [>] or [ ])",
        about: "Keep a to-do list: the whole list each time; [x] is done, [>] is being done.",
        kind: CommandKind::Tool("todo"),
        flags: &[],
    },
    TableEntry {
        name: "ask",
        synopsis: "QUESTION [--choice TEXT]…",
        about: "Ask the person, and wait for the answer. Only for what you can neither find out nor decide. --choice proposes an answer, and may be given more than once.",
        kind: CommandKind::Tool("ask_person"),
        flags: &[
            text(&["question", "prompt", "text"], "question"),
            each_whole(&["choice", "choices", "option"], "choices"),
        ],
    },
    TableEntry {
        name: "remember",
        synopsis: "TEXT [--kind WORD] [--scope project|user]",
        about: "Note a fact that later sessions should know, in this project or in all of the person's.",
        kind: CommandKind::Tool("remember"),
        flags: &[text(&["text"], "text"), text(&["kind"], "kind"), text(&["scope"], "scope")],
    },
    TableEntry {
        name: "recall",
        synopsis: "[WORDS] [--limit N]",
        about: "Search the notes of earlier sessions; without words the newest ones.",
        kind: CommandKind::Tool("recall"),
        flags: &[text(&["query"], "query"), number(&["limit"], "limit")],
    },
    TableEntry {
        name: "fetch",
        synopsis: "URL",
        about: "Fetch a web page as text.",
        kind: CommandKind::Tool("web_fetch"),
        flags: &[],
    },
];

/// The command of this name, apart from those that start agents. Case does not count.
pub(crate) fn find(name: &str) -> Option<&'static TableEntry> {
    COMMANDS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}
