//! Prompts that are started by name: where they are found, what they say of themselves, and which may run commands.

use std::os::unix::fs::symlink;

use posse_setup::{Trusted, UserCommand, user_commands};

use crate::world::World;

fn line(command: &UserCommand) -> String {
    let prompt = &command.prompt;
    let whose = if command.of_project { "project" } else { "own" };
    let hint = prompt.argument_hint.as_deref().unwrap_or("-");
    let model = prompt.model.as_deref().unwrap_or("-");
    let tools = prompt.allowed_tools.join(" ");
    format!(
        "{} | {whose} | {} | {hint} | {model} | {tools} | {}",
        command.name, prompt.description, prompt.body
    )
}

#[test]
fn commands_of_the_person_come_before_those_of_the_project() {
    let world = World::new("");
    let full = "---\ndescription: Reviews\nargument-hint: [file] [depth]\nmodel: opus\nallowed-tools: Read, \
                Bash(git log:*)\n---\nReview $1.\n";
    let files = [
        ("home/.config/posse/commands/review.md", full),
        ("home/.claude/commands/review.md", "hidden by the one before"),
        ("home/.claude/commands/git/commit.md", "Commit it."),
        ("project/.posse/commands/review.md", "hidden by the person's"),
        ("project/.posse/commands/test.md", "# Heading\nRun the tests."),
        ("project/.claude/commands/test.md", "hidden by the one before"),
        ("project/.claude/commands/a/b/deep.md", "\u{feff}---\r\ndescription: Deep\r\n---\r\nDeep."),
        ("project/.claude/commands/README.txt", "no command"),
        ("project/.claude/commands/.hidden.md", "no command"),
    ];
    files.iter().for_each(|(name, text)| world.write(name, text));
    let found = user_commands(&world.paths(), &world.project());
    assert_eq!(found.faults, []);
    let lines: Vec<String> = found.commands.iter().map(line).collect();
    let want = [
        "a:b:deep | project | Deep | - | - |  | Deep.",
        "git:commit | own | Commit it. | - | - |  | Commit it.",
        "review | own | Reviews | [file] [depth] | opus | Read Bash(git log:*) | Review $1.",
        "test | project | Run the tests. | - | - |  | # Heading\nRun the tests.",
    ];
    assert_eq!(lines, want);
    assert_eq!(found.commands[2].expand("src/main.rs 'a b'").unwrap().text, "Review src/main.rs.");
}

#[test]
fn damaged_files_are_told_and_links_lead_nowhere() {
    let world = World::new("");
    let commands = "project/.claude/commands";
    world.write("secret/key.md", "a secret");
    world.write(&format!("{commands}/good.md"), "Good.");
    world.write(&format!("{commands}/bad name.md"), "x");
    world.write(&format!("{commands}/long.md"), &"x".repeat(70_000));
    std::fs::write(world.path(&format!("{commands}/bytes.md")), b"\xff\xfe").unwrap();
    symlink(world.path("secret/key.md"), world.path(&format!("{commands}/key.md"))).unwrap();
    symlink(world.path("secret"), world.path(&format!("{commands}/out"))).unwrap();
    symlink(world.path(commands), world.path(&format!("{commands}/round"))).unwrap();
    world.write("home/.claude/commands/long.md", &"x".repeat(70_000));
    let found = user_commands(&world.paths(), &world.project());
    assert_eq!(found.commands.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["good"]);
    let mut faults: Vec<String> =
        found.faults.iter().map(|one| format!("{}: {}", one.file.path().display(), one.fault)).collect();
    faults.sort();
    let want = [
        ("home/.claude/commands/long.md", "longer than 65536 bytes"),
        ("project/.claude/commands/bad name.md", "can only have letters"),
        ("project/.claude/commands/bytes.md", "it is no text"),
        ("project/.claude/commands/key.md", "a link that leaves"),
        ("project/.claude/commands/long.md", "bytes"),
        ("project/.claude/commands/out", "it leads out of the project"),
    ];
    assert_eq!(faults.len(), want.len(), "{faults:#?}");
    for (fault, (file, told)) in faults.iter().zip(want) {
        assert!(
            fault.starts_with(&world.path(file).display().to_string()) && fault.contains(told),
            "{fault}"
        );
        assert!(!fault.contains("a secret"), "{fault}");
    }
}

#[test]
fn commands_inside_run_only_after_trust_in_that_very_content() {
    let world = World::new("");
    let text = "---\ndescription: State\n---\nState:\n!`git status` and !`git log $1`\n";
    world.write("project/.claude/commands/state.md", text);
    world.write("project/.claude/commands/plain.md", "Nothing to run.");
    world.write("home/.claude/commands/mine.md", "!`date`");
    let (paths, folder) = (world.paths(), world.project());
    let may_run = || {
        let found = user_commands(&paths, &folder);
        let of = |name: &str| found.commands.iter().find(|one| one.name == name).unwrap().may_run();
        (of("mine"), of("state"))
    };
    assert_eq!(may_run(), (true, false));
    let items = posse_setup::trust_items(&paths, &folder).unwrap();
    let [item] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(
        (item.path.as_path(), item.text.as_str()),
        (world.path("project/.claude/commands/state.md").as_path(), text)
    );
    let wants =
        "when you use it in the chat it runs, in the sandbox and without asking: git status; git log $1";
    assert_eq!(item.wants, [wants]);
    Trusted::load(&paths).unwrap().add(&item.path, &item.text).unwrap();
    assert_eq!(may_run(), (true, true));
    world.write("project/.claude/commands/state.md", &text.replace("status", "push"));
    assert_eq!(may_run(), (true, false), "another content");
}

#[test]
fn there_are_only_so_many_and_only_so_deep() {
    let world = World::new("");
    for number in 0..520 {
        world.write(&format!("home/.claude/commands/c{number}.md"), "x");
    }
    world.write("project/.posse/commands/1/2/3/deep.md", "x");
    world.write("project/.posse/commands/1/2/3/4/deeper.md", "x");
    let found = user_commands(&world.paths(), &world.project());
    assert_eq!((found.commands.len(), found.faults.len()), (500, 21));
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    let found = user_commands(&world.paths(), &world.project());
    assert_eq!(found.commands.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["1:2:3:deep"]);
}
