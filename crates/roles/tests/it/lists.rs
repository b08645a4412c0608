//! `include` and `exclude` by the names of commands, and what they are on every surface.

use posse_protocol::RoleOrigin;
use posse_roles::parse;

use crate::show::show;

#[test]
fn lists_of_commands_become_rights() {
    let cases = [
        ("include: all\nexclude: []", "write full full | all | to all"),
        ("include: ALL", "write full full | all | to all"),
        (
            "include: all\nexclude: [\"task:*\", \"edit\", \"write\"]",
            "read verify full | all -edit -edit_file -task:* -write -write_file | to nothing",
        ),
        (
            "exclude:\n  - task:*\n  - edit\n  - write",
            "read verify full | all -edit -edit_file -task:* -write -write_file | to nothing",
        ),
        (
            "permissions:\n  include: all\n  exclude: ['task:*', edit, write]",
            "read verify full | all -edit -edit_file -task:* -write -write_file | to nothing",
        ),
        ("include: all\nexclude: [\"task:skill:*\"]", "write full full | all -task:skill:* | to all -skill"),
        (
            "include: all\nexclude: ['task:skill:search', 'task:skill:enhance']",
            "write full full | all -task:skill:enhance -task:skill:search | to all -skill",
        ),
        (
            "include: all\nexclude: ['task:skill:enhance']",
            "write full full | all -task:skill:enhance | to all",
        ),
        ("include: all\nexclude: task:explore", "write full full | all -task:explore | to all -explore"),
        ("exclude: edit", "write full full | all -edit -edit_file | to nothing"),
        ("exclude: bash", "write none full | all -bash -shell | to nothing"),
        (
            "exclude: [fetch, 'skill:load', 'handle:read']",
            "write full none | all -fetch -handle:read -handle_read -skill:load -skill_load -web_fetch | to nothing",
        ),
        ("include: [read, grep]", "read none none | grep,read_file | to nothing"),
        ("include: [read, 'task:explore', 'task:skill:*']", "read none none | read_file | to explore,skill"),
        ("include: ['task:*', bash]", "none full none | shell | to all"),
        (
            "tools: Read, Bash\ninclude: [read, write]",
            "read none none | read_file,shell and read_file,write_file | to nothing",
        ),
        ("tools: Read\ndelegates_to: explore", "read none none | read_file | to explore"),
        ("permissions: read", "read none none | grep"),
        ("permissions:\n  include: all\n  sandbox: off", "read none none | glob,grep"),
    ];
    let mut wrong = Vec::new();
    for (front, want) in cases {
        let text = format!("---\nname: x\ndescription: y\n{front}\n---\nDo it.");
        let got = show(&parse(&text, "x.md", RoleOrigin::User("x.md".into())));
        let closed = front.contains("sandbox") || front.ends_with("permissions: read");
        let good = if closed {
            got.starts_with("x | read none none | ") && got.contains("\"permissions\" is not known")
        } else {
            got.starts_with(&format!("x | {want} | "))
        };
        if !good {
            wrong.push(format!("{front}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(cases.len(), 19);
}
