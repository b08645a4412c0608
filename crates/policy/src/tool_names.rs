//! What other programs call the tools that Posse has.

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
