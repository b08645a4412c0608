//! Which commands name what agents write.

use std::path::{Path, PathBuf};

use posse_hooks::{HookAction, Surveyed, names_place};

/// What there is on the machine of these tests.
fn real(path: &Path) -> Option<PathBuf> {
    match path.to_str()? {
        "/home/p/work/fmt.sh" | "/home/p/work/scripts" | "/home/p/work/." => Some(path.to_owned()),
        "/bin/linked" | "/home/p/hooks/linked" => Some("/home/p/work/x.sh".into()),
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
        ("/home/p/work/new.sh", true),
        ("/home/p/hooks/../work/new.sh", true),
        ("~/work/new.sh", true),
        ("$HOME/work/new.sh", true),
        ("${HOME}/work/new.sh", true),
        ("/home/p/hooks/linked", true),
        ("linked --all", true),
        ("npx prettier --write x", true),
        ("jq -r .tool_input.file_path | xargs prettier", true),
        ("node .", true),
        ("~/.claude/hooks/notify.sh", false),
        ("/home/p/worker/x.sh", false),
        ("notify-send 'Posse' \"needs you\"", false),
        ("jq -r '.tool_input.command' >> ~/.claude/log.txt", false),
        ("jq .", false),
        ("python3 -c 'import json, sys; print(1)'", false),
    ];
    for (line, expected) in cases {
        let (home, search) = (PathBuf::from("/home/p"), [PathBuf::from("/bin")]);
        let (folder, places) = (PathBuf::from("/home/p/work"), [PathBuf::from("/home/p/work")]);
        let surveyed =
            Surveyed { folder: &folder, places: &places, home: Some(&home), search: &search, real: &real };
        assert_eq!(names_place(&HookAction::Shell(line.to_owned()), &surveyed), expected, "{line}");
        let words = line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let program = HookAction::Program(words[0].clone(), words[1..].to_vec());
        assert_eq!(names_place(&program, &surveyed), expected, "{line} as a program");
    }
}
