//! What tools are called: by Posse, and by other programs.

use crate::pattern::matches;

/// Posse's tools by what other programs call them, in lower case and without separators: first what means the very same tool, for
/// rules and roles as well, then what only suggests it.
const ALIASES: &[(&str, &[&str], &[&str])] = &[
    ("read_file", &["read", "readfile", "readmanyfiles", "view"], &["cat", "open", "openfile", "viewfile"]),
    ("write_file", &["write", "writefile"], &["create", "createfile", "savefile"]),
    (
        "edit_file",
        &["edit", "editfile", "multiedit", "replace"],
        &["strreplace", "applypatch", "patch", "updatefile"],
    ),
    (
        "shell",
        &["bash", "shell", "runshell", "runshellcommand", "execshell", "exec"],
        &["sh", "run", "execute", "runcommand", "executecommand", "terminal"],
    ),
    ("glob", &["glob", "findfiles"], &["find", "searchfiles"]),
    (
        "grep",
        &["grep", "grepsearch", "grepfiles", "searchfilecontent"],
        &["search", "rg", "ripgrep", "searchcode", "codebasesearch"],
    ),
    ("list_files", &["ls", "list", "listfiles", "listdirectory"], &["listdir", "tree"]),
    ("web_fetch", &["webfetch", "fetchurl", "fetch"], &["curl", "browse", "openurl"]),
    ("todo", &["todo", "todowrite", "todoread", "writetodos"], &["updateplan", "plan"]),
    (
        "ask_person",
        &["ask", "askperson", "askuser", "askuserquestion", "askhuman", "requestuserinput"],
        &["question", "askquestion", "clarify"],
    ),
    ("remember", &["remember", "savememory"], &["memory", "addmemory", "memorize"]),
    ("recall", &["recall", "searchmemory"], &["memorysearch", "memories"]),
    ("skill_load", &["skill", "skillload", "loadskill", "activateskill"], &["useskill"]),
    ("skill_save", &[], &["saveskill", "createskill", "writeskill"]),
];

/// Our name for a tool, whatever another program calls it: case and separators do not count.
pub fn own_name(name: &str) -> Option<&'static str> {
    let name = folded(name);
    ALIASES.iter().find(|(_, same, _)| same.contains(&name.as_str())).map(|(own, ..)| *own)
}

/// The tool that somebody probably means who uses a name that is not ours: for suggestions, never for rights.
pub fn suggested_name(name: &str) -> Option<&'static str> {
    let alike = folded(name);
    let suggests = |(_, _, names): &&(_, _, &[&str])| names.contains(&alike.as_str());
    own_name(name).or_else(|| ALIASES.iter().find(suggests).map(|(own, ..)| *own))
}

fn folded(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace());
    kept.flat_map(char::to_lowercase).collect()
}

/// What Posse calls its own tools, those to delegate with included.
pub const TOOLS: [&str; 27] = [
    "shell",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "list_files",
    "web_fetch",
    "todo",
    "ask_person",
    "remember",
    "recall",
    "skill_load",
    "skill_save",
    "jobs",
    "handle_read",
    "tools_find",
    "tool_call",
    "mcp_read",
    "agent",
    "agent_open",
    "agent_eval",
    "agent_close",
    "agent_merge",
    "spawn_task",
    "delegate_to_agent",
    "send_message",
];
/// What rules speak of besides: leaving the sandbox, files that other programs obey, the team's board.
const MORE: [&str; 4] = ["leave", "obeyed", "board", "task"];
/// Tools of other programs that Posse does not have. A rule about one of these is not a typo.
const FOREIGN: [&str; 30] = [
    "websearch",
    "googlewebsearch",
    "notebookedit",
    "notebookread",
    "bashoutput",
    "killbash",
    "killshell",
    "slashcommand",
    "exitplanmode",
    "enterplanmode",
    "listmcpresources",
    "listmcpresourcestool",
    "readmcpresource",
    "readmcpresourcetool",
    "toolsearch",
    "lsp",
    "applypatch",
    "patch",
    "updateplan",
    "viewimage",
    "codesearch",
    "computer",
    "monitor",
    "croncreate",
    "taskoutput",
    "taskstop",
    "taskcreate",
    "taskupdate",
    "tasklist",
    "sendmessage",
];
/// Beginnings of the names of tools that come from elsewhere, and of commands where everything is one.
const OPEN: [&str; 6] = ["mcp_", "mcp:", "task:", "skill:", "handle:", "leave:"];

/// Whether rules can be about that: one of Posse's tools or of another program's, by any of its names, or a pattern that fits
/// one.
pub fn is_tool(name: &str) -> bool {
    let folded = folded(name);
    let ours = || TOOLS.iter().chain(&MORE);
    let is_one = |one: &str| one.replace('_', "") == folded;
    own_name(name).is_some()
        || ours().any(|one| is_one(one))
        || FOREIGN.contains(&folded.as_str())
        || OPEN.iter().any(|start| name.to_ascii_lowercase().starts_with(start))
        || name.contains('*') && ours().any(|one| matches(name, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_suggests_a_tool_gives_no_rights() {
        let cases = [
            ("Read", Some("read_file"), Some("read_file")),
            ("run_shell_command", Some("shell"), Some("shell")),
            ("str_replace", None, Some("edit_file")),
            ("apply-patch", None, Some("edit_file")),
            ("cat", None, Some("read_file")),
            ("save_skill", None, Some("skill_save")),
            ("rename", None, None),
        ];
        for (name, own, suggested) in cases {
            assert_eq!((own_name(name), suggested_name(name)), (own, suggested), "{name}");
        }
    }

    #[test]
    fn every_other_name_means_one_tool() {
        let all: Vec<&str> =
            ALIASES.iter().flat_map(|(_, same, alike)| same.iter().chain(*alike).copied()).collect();
        let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), distinct.len());
        assert!(all.iter().all(|name| folded(name) == **name), "they are compared in this form");
    }
}
