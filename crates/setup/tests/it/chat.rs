//! What the chat is set to, which editor it opens, and the prompts it remembers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use posse_setup::{
    ChatNotify, ChatSettings, ChatTheme, Config, ExternalEditor, Paths, PromptHistoryFile, SetupWarning,
    Trusted, person_tool,
};

use crate::world::World;

const CLAUDE: &str = "home/.claude/settings.json";

fn settings(world: &World) -> ChatSettings {
    let paths = world.paths();
    ChatSettings::of(&paths, &Config::load(&paths, &world.project()).unwrap())
}

#[test]
fn the_chat_is_set_by_the_persons_own_files() {
    let own = "home/.config/posse/config.toml";
    let line = r#"{"statusLine": {"type": "command", "command": "theirs", "padding": 0}, "other": [1]}"#;
    let cases = [
        ("", None, (ChatTheme::Auto, ChatNotify::Auto), None),
        ("[chat]\ntheme = \"light\"\nnotify = \"off\"", None, (ChatTheme::Light, ChatNotify::Off), None),
        (
            "[chat]\ntheme = \"none\"\nnotify = \"bell\"",
            Some("{}"),
            (ChatTheme::None, ChatNotify::Bell),
            None,
        ),
        ("", Some(line), (ChatTheme::Auto, ChatNotify::Auto), Some(("theirs", CLAUDE))),
        (
            "[chat]\nstatus_line = \"mine\"",
            Some(line),
            (ChatTheme::Auto, ChatNotify::Auto),
            Some(("mine", own)),
        ),
        ("[chat]\nstatus_line = \"\"", Some(line), (ChatTheme::Auto, ChatNotify::Auto), None),
    ];
    let mut ran = 0;
    for (config, claude, look, status_line) in cases {
        let world = World::new(config);
        claude.iter().for_each(|text| world.write(CLAUDE, text));
        let found = settings(&world);
        assert_eq!(((found.theme, found.notify), &found.warnings), (look, &Vec::new()), "{config}");
        let line = found.status_line.as_ref().map(|line| (line.command.as_str(), line.file.path()));
        let want = status_line.map(|(command, file)| (command, world.path(file)));
        assert_eq!(line, want.as_ref().map(|(command, file)| (*command, file.as_path())), "{config}");
        ran += 1;
    }
    assert_eq!(ran, 6);
}

#[test]
fn a_damaged_status_line_is_told_and_nothing_runs() {
    let long = format!(r#"{{"statusLine": {{"type": "command", "command": "{}"}}}}"#, "x".repeat(20_000));
    let cases = [
        ("{", "EOF"),
        (r#"{"statusLine": {"type": "static", "text": "hi"}}"#, "the type \"static\""),
        (r#"{"statusLine": "rm"}"#, "invalid type"),
        (long.as_str(), "too long"),
    ];
    let mut ran = 0;
    for (text, fault) in cases {
        let world = World::new("");
        world.write(CLAUDE, text);
        let found = settings(&world);
        assert_eq!(found.status_line, None, "{text}");
        let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
        let told = warning.to_string();
        assert!(told.starts_with("no status line from ~/.claude/settings.json: "), "{told}");
        assert!(told.contains(fault), "{told}");
        ran += 1;
    }
    assert_eq!(ran, 4);
}

#[test]
fn a_project_has_no_say_in_the_chat_trusted_or_not() {
    let world = World::new("[chat]\ntheme = \"dark\"\n");
    let text = "[chat]\ntheme = \"light\"\nstatus_line = \"theirs\"\neditor = \"theirs\"\n";
    world.write("project/.posse/config.toml", text);
    world.write("project/.claude/settings.json", r#"{"statusLine": {"type": "command", "command": "x"}}"#);
    let (paths, file) = (world.paths(), world.path("project/.posse/config.toml"));
    for trusts in [false, true] {
        if trusts {
            Trusted::load(&paths).unwrap().add(&file, text).unwrap();
        }
        let config = Config::load(&paths, &world.project()).unwrap();
        let want = [SetupWarning::ProjectSetsChat { path: world.surroundings().shown(&file) }];
        assert_eq!(config.warnings, want, "{trusts}");
        let found = ChatSettings::of(&paths, &config);
        assert_eq!((found.theme, found.status_line), (ChatTheme::Dark, None), "{trusts}");
        let shown = config.to_toml().unwrap();
        assert!(shown.contains("theme = \"dark\"") && !shown.contains("theirs"), "{shown}");
    }
}

fn program(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_editor_is_the_persons_and_never_one_of_the_workspace() {
    let world = World::new("");
    for name in ["bin/vi", "bin/nano", "bin/code", "project/vi", "project/nano"] {
        program(&world.path(name));
    }
    let search = format!(":.:{}:{}", world.project().display(), world.path("bin").display());
    let in_project = world.project().join("nano").display().to_string();
    let code = "code --wait";
    let cases = [
        (None, None, None, Ok(("bin/vi", vec![]))),
        (None, None, Some("nano"), Ok(("bin/nano", vec![]))),
        (None, Some(code), Some("nano"), Ok(("bin/code", vec!["--wait"]))),
        (Some("nano"), Some(code), None, Ok(("bin/nano", vec![]))),
        (None, Some(" "), Some("nano"), Ok(("bin/nano", vec![]))),
        (None, None, Some("none-such"), Err("EDITOR")),
        (None, Some(in_project.as_str()), None, Err("VISUAL")),
        (Some("./nano"), None, None, Err("[chat] editor")),
    ];
    let mut ran = 0;
    for (own, visual, editor, want) in cases {
        let own = own.map(|own| format!("[chat]\neditor = \"{own}\"")).unwrap_or_default();
        world.write("home/.config/posse/config.toml", &own);
        let mut surroundings = world.surroundings().with_variable("PATH", &search);
        for (name, value) in [("VISUAL", visual), ("EDITOR", editor)] {
            surroundings = match value {
                Some(value) => surroundings.with_variable(name, value),
                None => surroundings,
            };
        }
        let paths = Paths::find(surroundings, None, None).unwrap();
        let config = Config::load(&paths, &world.project()).unwrap();
        let found = ExternalEditor::of(&paths, &config, &world.project());
        let shown = match &found {
            Ok(editor) => Ok((
                editor.program.path().to_path_buf(),
                editor.arguments.iter().map(String::as_str).collect(),
            )),
            Err(none) => Err(none.named),
        };
        assert_eq!(shown, want.map(|(path, arguments)| (world.path(path), arguments)), "{own} {visual:?}");
        ran += 1;
    }
    assert_eq!(ran, 8);
    let paths = Paths::find(world.surroundings().with_variable("PATH", &search), None, None).unwrap();
    let found = |name| person_tool(&paths, &world.project(), name).map(|it| it.path().to_path_buf());
    assert_eq!((found("code"), found("wl-paste")), (Some(world.path("bin/code")), None));
}

#[test]
fn prompts_are_kept_for_each_folder_in_a_private_file_of_bounded_length() {
    let world = World::new("");
    let (paths, folder) = (world.paths(), world.project());
    let history = PromptHistoryFile::of(&paths, &folder);
    assert_eq!(history.lines().unwrap(), Vec::<String>::new(), "none yet");
    for line in ["one", "two ☂", "three"] {
        history.append(line).unwrap();
    }
    assert_eq!(history.lines().unwrap(), ["one", "two ☂", "three"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(history.path()), mode(history.path().parent().unwrap())), (0o600, 0o700));
    assert_eq!(PromptHistoryFile::of(&paths, &world.path("other")).lines().unwrap(), Vec::<String>::new());
    for line in ["", "a\nb", &"x".repeat(100_000)] {
        assert!(history.append(line).is_err());
    }
    // Damage does not hide the rest.
    let mut bytes = std::fs::read(history.path()).unwrap();
    bytes.extend(b"\xff\xfe\n\nfour\n");
    std::fs::write(history.path(), bytes).unwrap();
    assert_eq!(history.lines().unwrap(), ["one", "two ☂", "three", "four"]);
    for number in 0..1_100 {
        history.append(&format!("{number} {}", "x".repeat(8_000))).unwrap();
    }
    let lines = history.lines().unwrap();
    assert!(std::fs::metadata(history.path()).unwrap().len() <= 4 * 1024 * 1024);
    assert!(lines.len() > 200 && lines.last().unwrap().starts_with("1099 "), "{}", lines.len());
    assert_eq!(mode(history.path()), 0o600);
    std::fs::write(history.path(), "x\n".repeat(1_500)).unwrap();
    assert_eq!(history.lines().unwrap().len(), 1_000);
}

#[test]
fn a_project_has_no_say_in_what_editors_are_asked_for() {
    let text = "[acp]\nclient_files = true\n";
    let world = World::new("");
    world.write("project/.posse/config.toml", text);
    let (paths, file) = (world.paths(), world.path("project/.posse/config.toml"));
    for trusts in [false, true] {
        if trusts {
            Trusted::load(&paths).unwrap().add(&file, text).unwrap();
        }
        let config = Config::load(&paths, &world.project()).unwrap();
        let want = [SetupWarning::ProjectSetsAcp { path: world.surroundings().shown(&file) }];
        assert_eq!((config.client_files(), config.warnings.as_slice()), (false, &want[..]), "{trusts}");
    }
    let own = World::new(text);
    assert!(Config::load(&own.paths(), &own.project()).unwrap().client_files());
}
