//! What tools are called: by Posse, and by other programs.

use crate::pattern::matches;

/// Our name for a tool, whatever another program calls it: case and separators do not count.
pub fn own_name(name: &str) -> Option<&'static str> {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace());
    let folded: String = kept.flat_map(char::to_lowercase).collect();
    Some(match folded.as_str() {
        "read" | "readfile" | "readmanyfiles" | "view" => "read_file",
        "write" | "writefile" => "write_file",
        "edit" | "editfile" | "multiedit" | "replace" => "edit_file",
        "bash" | "shell" | "runshell" | "runshellcommand" | "execshell" | "exec" => "shell",
        "glob" | "findfiles" => "glob",
        "grep" | "grepsearch" | "grepfiles" | "searchfilecontent" => "grep",
        "ls" | "list" | "listfiles" | "listdirectory" => "list_files",
        "webfetch" | "fetchurl" | "fetch" => "web_fetch",
        "todo" | "todowrite" | "todoread" | "writetodos" => "todo",
        "remember" | "savememory" => "remember",
        "recall" | "searchmemory" => "recall",
        "skill" | "skillload" | "loadskill" | "activateskill" => "skill_load",
        _ => return None,
    })
}

/// What Posse calls its own tools, those to delegate with included.
pub const TOOLS: [&str; 23] = [
    "shell",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "list_files",
    "web_fetch",
    "todo",
    "remember",
    "recall",
    "skill_load",
    "skill_save",
    "jobs",
    "handle_read",
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
const FOREIGN: [&str; 32] = [
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
    "askuserquestion",
    "askuser",
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
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace());
    let folded: String = kept.flat_map(char::to_lowercase).collect();
    let ours = || TOOLS.iter().chain(&MORE);
    let is_one = |one: &str| one.replace('_', "") == folded;
    own_name(name).is_some()
        || ours().any(|one| is_one(one))
        || FOREIGN.contains(&folded.as_str())
        || OPEN.iter().any(|start| name.to_ascii_lowercase().starts_with(start))
        || name.contains('*') && ours().any(|one| matches(name, one))
}
