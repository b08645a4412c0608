//! The list of all tools.

use std::sync::OnceLock;

use crate::tool::ToolEntry;

/// Every tool there is, in the order models see them.
pub(crate) fn all() -> &'static [ToolEntry] {
    static ALL: OnceLock<Vec<ToolEntry>> = OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            ToolEntry::of::<crate::read_file::ReadFile>(),
            ToolEntry::of::<crate::write_file::WriteFile>(),
            ToolEntry::of::<crate::edit_file::EditFile>(),
            ToolEntry::of::<crate::list_files::ListFiles>(),
            ToolEntry::of::<crate::glob::Glob>(),
            ToolEntry::of::<crate::grep::Grep>(),
            ToolEntry::of::<crate::shell::ShellCommand>(),
            ToolEntry::of::<crate::job_tool::JobsTool>(),
            ToolEntry::of::<crate::todo::Todo>(),
            ToolEntry::of::<crate::ask_person::AskPerson>(),
            ToolEntry::of::<crate::web_fetch::WebFetch>(),
            ToolEntry::of::<crate::remember::Remember>(),
            ToolEntry::of::<crate::recall::RecallNotes>(),
            ToolEntry::of::<crate::skill_load::SkillLoad>(),
            ToolEntry::of::<crate::skill_save::SkillSave>(),
            ToolEntry::of::<crate::tools_find::ToolsFind>(),
            ToolEntry::of::<crate::tool_call::NamedCall>(),
            ToolEntry::of::<crate::mcp_read::McpRead>(),
        ]
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn rules_can_be_about_every_tool() {
        let missed = super::all().iter().map(|entry| entry.spec.name.as_str());
        assert_eq!(missed.filter(|name| !posse_policy::is_tool(name)).collect::<Vec<_>>(), [""; 0]);
    }
}
