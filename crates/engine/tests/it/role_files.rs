//! Agent files on disk: found in order, read within bounds, and one bad file never stops the others.

use std::path::{Path, PathBuf};

use posse_engine::roles::{LoadedRoles, RolePlace, load_roles, project_role_places};
use posse_protocol::{Files, RoleOrigin, Shell};
use posse_roles::Team;
use posse_testkit::Fixture;

fn agent(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n{more}---\nGo.\n")
}

/// As some editors save it.
fn wide(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn user(folder: &Path) -> LoadedRoles {
    load_roles(Team::Without, &[RolePlace::User(folder.to_path_buf())])
}

/// Problems as `file:line fatal`, with the file's name only.
fn problems(loaded: &LoadedRoles) -> Vec<String> {
    let line = |problem: &posse_engine::roles::Problem| {
        let file = Path::new(&problem.path).file_name().unwrap().to_string_lossy().into_owned();
        format!("{file}:{}{}", problem.line, if problem.fatal { " broken" } else { "" })
    };
    loaded.problems.iter().map(line).collect()
}

#[test]
fn broken_files_never_stop_the_others() {
    let files = Fixture::new()
        .file("a.md", agent("first", ""))
        .file("b.md", "no front matter")
        .file("c.md", b"---\nname: \xff\n---\nGo.")
        .file("d.md", "---\nname: open\n")
        .file("e.md", vec![b'x'; 300 * 1024])
        .file("f.md", agent("colon:name", ""))
        .file("h.md", agent("large", "") + &"x".repeat(300 * 1024))
        .file("g.md", agent("odd", "color: red\nwhatever: 1\n"))
        .file("deep/er/README.md", "# About these agents")
        .file("deep/er/z.MD", agent("last", ""))
        .file("deep/er/still/here.md", agent("deepest", ""))
        .file("deep/er/still/and/on/and/on/here.md", agent("far-down", ""))
        .file("deep/commands/fix.md", "---\ndescription: Fix it\nallowed-tools: Bash\n---\nFix $ARGUMENTS.")
        .file("deep/hint.md", "---\ndescription: x\nargument-hint: \"[issue]\"\n---\nFix it.")
        .file("deep/pdf/SKILL.md", "---\nname: pdf\ndescription: a skill\n---\nRead it.")
        .file("deep/pdf/reference.md", agent("part-of-a-skill", ""))
        .file("deep/page.md", "---\ntitle: How to\ndescription: About these\n---\nText.")
        .file("deep/rule.md", "---\n\nA page that begins with a rule.\n")
        .file("deep/wide.md", wide(&agent("wide", "")))
        .file(".hidden.md", agent("hidden", ""))
        .file("notes.txt", "not looked at");
    let loaded = user(files.path());
    assert_eq!(
        problems(&loaded),
        ["c.md:1 broken", "d.md:1 broken", "f.md:2 broken", "g.md:5", "h.md:1 broken"]
    );
    let names = loaded.roles.iter().skip(8).map(|role| role.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["first", "far-down", "deepest", "last", "wide", "odd"]);
    assert_eq!((loaded.files, loaded.not_used.len()), (10, 1));
    let page = |path: &String| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
    let pages = loaded.pages.iter().map(page).collect::<Vec<_>>();
    assert_eq!(pages, ["b.md", "README.md", "hint.md", "page.md", "rule.md", "e.md"]);
    // A file that is named is meant to be one.
    assert_eq!(problems(&user(&files.path().join("b.md"))), ["b.md:1 broken"]);
}

#[test]
fn later_places_win_and_the_project_is_held_back() {
    let files = Fixture::new()
        .file("home/mine.md", agent("mine", "tools: Read\n"))
        .file("home/shared.md", agent("shared", "files: read\n"))
        .file("repo/.git/HEAD", "x")
        .file("repo/.claude/agents/shared.md", agent("shared", "model: a\n"))
        .file("repo/.posse/agents/team.md", agent("team", "model: top\n"))
        .file("repo/sub/.claude/agents/team.md", agent("team", "model: below\n"))
        .file("repo/sub/.posse/agents/explore.md", agent("explore", ""));
    let folder = files.path().join("repo/sub");
    let mut places = vec![RolePlace::User(files.path().join("home"))];
    places.extend(project_role_places(&folder));
    let loaded = load_roles(Team::Without, &places);
    assert_eq!(loaded.files, 6);
    let role = |name: &str| loaded.roles.find(name).unwrap();
    assert_eq!(role("mine").grant.files, Files::Read);
    assert_eq!((role("shared").model.as_deref(), role("shared").grant.files), (Some("a"), Files::Read));
    assert_eq!(role("team").model.as_deref(), Some("below"), "the closest folder wins");
    assert_eq!((role("explore").grant.files, role("explore").grant.shell), (Files::Read, Shell::Inspect));
    let path = folder.join(".posse/agents/explore.md").display().to_string();
    assert_eq!(role("explore").origin, RoleOrigin::Project(path));
    assert_eq!(problems(&loaded), ["shared.md:1", "team.md:1", "explore.md:1", "explore.md:1"]);
}

#[test]
fn places_go_from_the_top_of_the_repository_down() {
    let files = Fixture::new().file("repo/.git/HEAD", "x").file("repo/a/b/c.txt", "x");
    let root = files.path().join("repo");
    let place = |folder: &str| RolePlace::Project { root: root.clone(), folder: folder.to_string() };
    let want = [
        ".claude/agents",
        ".posse/agents",
        "a/.claude/agents",
        "a/.posse/agents",
        "a/b/.claude/agents",
        "a/b/.posse/agents",
    ];
    assert_eq!(project_role_places(&root.join("a/b")), want.map(place));
    let outside = project_role_places(files.path());
    assert_eq!(outside.len(), 2, "without a repository the folder alone: {outside:?}");
}

#[cfg(unix)]
#[test]
fn a_project_does_not_reach_outside() {
    use std::os::unix::fs::symlink;
    let files = Fixture::new()
        .file("secret/x.md", agent("outside", ""))
        .file("one/.git/HEAD", "x")
        .file("one/.claude/keep", "x")
        .file("two/.git/HEAD", "x")
        .file("two/real/in.md", agent("inside", ""))
        .file("two/.claude/agents/good.md", agent("good", ""));
    let path = |name: &str| files.path().join(name);
    symlink(path("secret"), path("one/.claude/agents")).unwrap();
    symlink(path("secret/x.md"), path("two/.claude/agents/stolen.md")).unwrap();
    symlink(path("secret"), path("two/.claude/agents/folder")).unwrap();
    symlink("../../real/in.md", path("two/.claude/agents/linked.md")).unwrap();
    symlink("gone.md", path("two/.claude/agents/dangling.md")).unwrap();
    let load = |project: &str| load_roles(Team::Without, &project_role_places(&path(project)));

    let one = load("one");
    assert_eq!((one.files, problems(&one)), (0, vec!["agents:1 broken".to_string()]));
    let two = load("two");
    let names = two.roles.iter().skip(8).map(|role| role.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["good", "inside"]);
    assert_eq!(problems(&two), ["dangling.md:1 broken", "stolen.md:1 broken"]);
    // The person's own folder may hold links.
    let own = user(&path("two/.claude/agents"));
    assert!(own.roles.find("outside").is_ok());
}

#[cfg(unix)]
#[test]
fn odd_things_in_the_folder_do_not_hang() {
    let files = Fixture::new().file(".claude/agents/a.md", agent("a", ""));
    let folder = files.path().join(".claude/agents");
    let status = std::process::Command::new("mkfifo").arg(folder.join("pipe.md")).status().unwrap();
    assert!(status.success());
    std::os::unix::fs::symlink(".", folder.join("loop")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.md")).unwrap();
    for loaded in [user(&folder), load_roles(Team::Without, &project_role_places(files.path()))] {
        assert!(loaded.roles.find("a").is_ok());
    }
}

#[test]
fn there_is_an_end_to_files() {
    let mut files = Fixture::new();
    for n in 0..2_010 {
        files = files.file(&format!("{n:04}.md"), agent(&format!("agent-{n}"), ""));
        // Pages take nobody's place.
        files = files.file(&format!("{n:04}.page.md"), "# A page");
    }
    let loaded = user(files.path());
    assert_eq!((loaded.files, loaded.roles.iter().count(), loaded.pages.len()), (2_010, 2_000, 2_010));
    assert_eq!(loaded.problems.len(), 10 + 8, "left out: roles beyond the limit");
}

#[test]
fn one_folder_is_read_once() {
    let files = Fixture::new().file(".claude/agents/a.md", agent("a", ""));
    let own: PathBuf = files.path().join(".claude/agents");
    let mut places = vec![RolePlace::User(own.clone()), RolePlace::User(own)];
    places.extend(project_role_places(files.path()));
    let loaded = load_roles(Team::Without, &places);
    assert_eq!((loaded.files, loaded.problems), (1, vec![]));
}

#[test]
fn a_single_file_and_a_missing_folder_are_places_too() {
    let files = Fixture::new().file("a.md", agent("lead", "delegates_to: nobody\n"));
    let loaded = user(&files.path().join("a.md"));
    assert_eq!((loaded.files, problems(&loaded)), (1, vec!["a.md:1".to_string()]));
    let nothing = user(&files.path().join("not-there"));
    assert_eq!((nothing.files, nothing.problems), (0, vec![]));
}
