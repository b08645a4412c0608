//! Which commands name what agents write.

use std::path::{Path, PathBuf};

use posse_hooks::{HookAction, Surveyed, names_place};

/// What there is on the machine of these tests.
fn real(path: &Path) -> Option<PathBuf> {
    match path.to_str()? {
        "/h/p/work/fmt.sh" | "/h/p/work/scripts" | "/h/p/work/." => Some(path.to_owned()),
        "/bin/linked" | "/h/p/hooks/linked" => Some("/h/p/work/x.sh".into()),
        "/bin/jq" => Some(path.to_owned()),
        _ => None,
    }
}

#[test]
fn what_leads_into_the_workspace_is_seen() {
    let cases = [
        ("$CLAUDE_PROJECT_DIR/.claude/hooks/x.sh", true),
        ("\"${CLAUDE_PROJECT_DIR}\"/x.sh", true),
        ("./x.sh", true),
        ("bash ../up.sh", true),
        ("bash fmt.sh", true),
        ("sh -c 'bash fmt.sh'", true),
        ("cd scripts && sh it", true),
        ("/h/p/work/new.sh", true),
        ("/h/p/hooks/../work/new.sh", true),
        ("~/work/new.sh", true),
        ("$HOME/work/new.sh", true),
        ("${HOME}/work/new.sh", true),
        ("/h/p/hooks/linked", true),
        ("linked --all", true),
        ("npx prettier --write x", true),
        ("jq -r .tool_input.file_path | xargs prettier", true),
        ("node .", true),
        ("~/.claude/hooks/notify.sh", false),
        ("/h/p/worker/x.sh", false),
        ("notify-send 'Posse' \"needs you\"", false),
        ("jq -r '.tool_input.command' >> ~/.claude/log.txt", false),
        ("jq .", false),
        ("python3 -c 'import json, sys; print(1)'", false),
    ];
    for (line, expected) in cases {
        let (home, search) = (PathBuf::from("/h/p"), [PathBuf::from("/bin")]);
        let (folder, places) = (PathBuf::from("/h/p/work"), [PathBuf::from("/h/p/work")]);
        let surveyed =
            Surveyed { folder: &folder, places: &places, home: Some(&home), search: &search, real: &real };
        assert_eq!(names_place(&HookAction::Shell(line.to_owned()), &surveyed), expected, "{line}");
        let words = line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let program = HookAction::Program(words[0].clone(), words[1..].to_vec());
        assert_eq!(names_place(&program, &surveyed), expected, "{line} as a program");
    }
}
