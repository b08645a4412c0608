//! Agents with checkouts of their own: what they do reaches the session by a merge and not before, and is never lost.

use std::collections::BTreeSet;
use std::path::Path;

use posse_engine::Limits;
use posse_protocol::{Answer, Approval, Branch, Conflict, Ending, Event, EventKind, Isolation, Question};
use posse_testkit::{Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::approvals::{answered, in_mode, write};
use crate::check::Ran;
use crate::crew::{REPORT, Stage, turn_of};
use crate::follow::{Followed, busy, cancel, holds, message, named, sh, until_file, wait};

fn apart(name: &str) -> Value {
    let mut start = named(name, "general", "Do your part.");
    start["isolation"] = json!("worktree");
    start
}

fn merge(name: &str) -> Turn {
    Turn::call("agent", json!({"action": "merge", "agent": name}))
}

fn edit(path: &str, old: &str, new: &str) -> Turn {
    Turn::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

fn read(path: &str) -> Turn {
    Turn::call("read_file", json!({"path": path}))
}

async fn stage<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Stage {
    let mut stage = Stage::new(scripts).await;
    stage.files = stage.files.git();
    stage
}

/// One agent apart that takes these turns; then what the main agent does.
async fn one(turns: Vec<Turn>, then: Vec<Turn>) -> Stage {
    let begin = vec![Turn::call("agent", apart("child")), wait()];
    let main = [begin, then, vec![Turn::text("Done.")]].concat();
    stage([("main", main), ("child", [turns, vec![Turn::text(REPORT); 2]].concat())]).await
}

fn branches(files: &Fixture) -> Vec<String> {
    let listed = files.run_git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/posse"]);
    listed.lines().map(str::to_string).collect()
}

/// Folders of checkouts that are still there, and what git thinks there is beside the session's own.
fn left(stage: &Stage) -> (Vec<String>, usize) {
    let all = stage.data.path().join("worktrees");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        found.push(entry.file_name().to_string_lossy().into_owned());
    }
    let known = stage.files.run_git(&["worktree", "list", "--porcelain"]);
    (found, known.lines().filter(|line| line.starts_with("worktree ")).count() - 1)
}

fn branch_of(ran: &Ran, name: &str) -> Branch {
    ran.report_of(name).receipt.branch.clone().unwrap_or_else(|| panic!("{name} has no branch"))
}

fn merges(ran: &Ran) -> Vec<(usize, Vec<Conflict>)> {
    let merged = ran.events().filter_map(|event| match &event.kind {
        EventKind::Merged { changes, conflicts, .. } => Some((changes.len(), conflicts.clone())),
        _ => None,
    });
    merged.collect()
}

fn exists(stage: &Stage, path: &str) -> bool {
    stage.files.path().join(path).exists()
}

#[tokio::test]
async fn task_role_and_configuration_say_where_an_agent_works() {
    let (shared, worktree) = (Some(Isolation::Shared), Some(Isolation::Worktree));
    let cases = [
        (None, None, Isolation::Shared, false),
        (None, None, Isolation::Worktree, true),
        (None, worktree, Isolation::Shared, true),
        (None, shared, Isolation::Worktree, false),
        (worktree, shared, Isolation::Shared, true),
        (shared, worktree, Isolation::Worktree, false),
    ];
    let mut seen = 0;
    for (task, role, config, own) in cases {
        let mut start = named("child", "mine", "Do it.");
        if let Some(task) = task {
            start["isolation"] = json!(task);
        }
        let main = vec![Turn::call("agent", start), wait(), Turn::text("Done.")];
        let mut stage =
            stage([("main", main), ("child", vec![sh("pwd; echo x > c.txt"), Turn::text(REPORT)])]).await;
        let line =
            role.map(|role| format!("isolation: {}\n", json!(role).as_str().unwrap())).unwrap_or_default();
        let file = format!("---\nname: mine\ndescription: works\n{line}---\nGo.\n");
        let roles = Fixture::new().file("mine.md", file);
        let place = posse_engine::roles::RolePlace::User(roles.path().to_path_buf());
        stage.delegation.roles = posse_engine::roles::load_roles(posse_roles::Team::Without, &[place]).roles;
        stage.delegation.sub_agents.isolation = config;
        let ran = stage.run("go").await;
        let case = format!("task {task:?}, role {role:?}, configuration {config:?}");
        assert_eq!(exists(&stage, "c.txt"), !own, "{case}");
        assert_eq!(ran.report_of("child").receipt.branch.is_some(), own, "{case}");
        let checkout = ran.of("child").into_iter().find_map(|event| match &event.kind {
            EventKind::AgentStarted { checkout, .. } => checkout.clone(),
            _ => None,
        });
        assert_eq!(checkout.is_some(), own, "{case}");
        let here = checkout.unwrap_or_else(|| stage.files.path().display().to_string());
        holds(&ran.results_of("child")[0].1, &[&here]);
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[tokio::test]
async fn where_nothing_was_changed_nothing_is_left() {
    let cases = [
        vec![read("a.txt")],
        vec![sh("cat a.txt")],
        vec![write("c.txt", "x\n"), sh("rm c.txt")],
        vec![sh("false")],
    ];
    let count = cases.len();
    for turns in cases {
        let stage = one(turns, vec![merge("child")]).await;
        let ran = stage.run("go").await;
        assert_eq!(ran.report_of("child").receipt.branch, None);
        assert_eq!((branches(&stage.files), left(&stage)), (vec![], (vec![], 0)));
        let (ok, text) = &ran.results_of("main")[2];
        assert!(!ok);
        holds(text, &["child had no checkout of its own, or changed nothing in it"]);
    }
    assert_eq!(count, 4);
}

#[tokio::test]
async fn what_was_changed_is_on_a_branch_and_comes_in_by_a_merge() {
    let turns = vec![
        read("a.txt"),
        edit("a.txt", "alpha", "ALPHA"),
        sh(
            "echo new > c.txt; rm b.txt; printf '\\000\\001' > bin; ln -s a.txt link; echo '#!/bin/sh' > run; chmod +x run",
        ),
    ];
    let then = vec![
        sh("cat a.txt b.txt; ls"),
        merge("child"),
        merge("child"),
        sh("cat a.txt c.txt; ls; ls -l run link"),
    ];
    let stage = one(turns, then).await;
    let ran = stage.run("go").await;
    let branch = branch_of(&ran, "child");
    assert!(branch.name.starts_with("posse/") && branch.name.ends_with("/child"), "{branch:?}");
    assert_eq!(branches(&stage.files), [branch.name.as_str()]);
    assert_eq!(stage.files.run_git(&["rev-parse", &branch.name]).trim(), branch.tip);
    holds(
        &branch.diff,
        &["-alpha", "+ALPHA", "+new", "-beta", "new file mode 100755", "new file mode 120000"],
    );
    let results = ran.results_of("main");
    holds(&results[1].1, &["committed to the branch", &branch.name, "+ALPHA", "not in the workspace before"]);
    holds(&results[2].1, &["alpha\nbeta"]);
    assert!(!results[2].1.contains("c.txt"), "{results:?}");
    assert_eq!(results[3], (true, "The work of child is in the workspace now: 6 files changed.".to_string()));
    assert_eq!(results[4], (true, "All that child did is in the workspace already.".to_string()));
    holds(&results[5].1, &["ALPHA\nnew", "rwx", "link -> a.txt"]);
    assert!(!exists(&stage, "b.txt") && exists(&stage, "bin"));
    assert_eq!(merges(&ran), [(6, vec![]), (0, vec![])]);
    assert_eq!(left(&stage), (vec![], 0));
    assert_eq!(stage.files.run_git(&["rev-parse", "--abbrev-ref", "HEAD"]).trim(), "main");
    assert_eq!(stage.files.run_git(&["diff", "--cached", "--name-only"]), "", "the person's index is theirs");
}

#[tokio::test]
async fn it_starts_from_the_sessions_files_uncommitted_work_included() {
    let stage = one(
        vec![sh("cat a.txt new.txt; test ! -e b.txt && echo b is gone"), write("c.txt", "x\n")],
        vec![merge("child")],
    )
    .await;
    std::fs::write(stage.files.path().join("a.txt"), "changed\n").unwrap();
    std::fs::write(stage.files.path().join("new.txt"), "untracked\n").unwrap();
    std::fs::remove_file(stage.files.path().join("b.txt")).unwrap();
    let ran = stage.run("go").await;
    holds(&ran.results_of("child")[0].1, &["changed\nuntracked\nb is gone"]);
    let diff = branch_of(&ran, "child").diff;
    assert!(diff.contains("c.txt") && !diff.contains("untracked"), "only its own work: {diff}");
    assert_eq!(merges(&ran), [(1, vec![])]);
    let status = stage.files.run_git(&["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n D b.txt\n?? c.txt\n?? new.txt\n");
}

#[tokio::test]
async fn a_conflict_is_told_with_both_sides_and_nothing_of_either_is_lost() {
    let main = vec![
        Turn::call("agent", apart("child")),
        wait(),
        sh("echo ours > a.txt"),
        merge("child"),
        Turn::text("Done."),
    ];
    let child = vec![write("a.txt", "theirs\n"), write("c.txt", "clean\n"), Turn::text(REPORT)];
    let stage = stage([("main", main), ("child", [vec![read("a.txt")], child].concat())]).await;
    let ran = stage.run("go").await;
    let branch = branch_of(&ran, "child");
    let results = ran.results_of("main");
    assert!(!results[3].0, "{results:?}");
    holds(&results[3].1, &["a.txt", "ours", "theirs", &branch.name, "1 file changed"]);
    assert_eq!(
        (stage.files.read("a.txt").as_str(), stage.files.read("c.txt").as_str()),
        ("ours\n", "clean\n")
    );
    assert_eq!(stage.files.run_git(&["show", &format!("{}:a.txt", branch.name)]), "theirs\n");
    let [(1, conflicts)] = &merges(&ran)[..] else { panic!("{:?}", merges(&ran)) };
    assert_eq!(conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    holds(&conflicts[0].text, &["ours", "theirs"]);
}

#[tokio::test]
async fn those_below_an_agent_apart_share_its_checkout() {
    let main =
        vec![Turn::call("agent", apart("outer")), wait(), sh("ls"), merge("outer"), Turn::text("Done.")];
    let outer = vec![
        write("o.txt", "outer\n"),
        Turn::call("agent", named("inner", "general", "Do it.")),
        wait(),
        sh("cat i.txt"),
        Turn::text(REPORT),
    ];
    let inner = vec![sh("cat o.txt; pwd"), write("i.txt", "inner\n"), Turn::text(REPORT)];
    let stage = stage([("main", main), ("outer", outer), ("inner", inner)]).await;
    let ran = stage.run("go").await;
    holds(&ran.results_of("inner")[0].1, &["outer\n", "worktrees"]);
    holds(&ran.results_of("outer")[3].1, &["inner"]);
    assert!(!ran.results_of("main")[2].1.contains("i.txt"), "{:?}", ran.results_of("main"));
    assert_eq!(ran.report_of("inner").receipt.branch, None);
    assert_eq!(
        (stage.files.read("o.txt").as_str(), stage.files.read("i.txt").as_str()),
        ("outer\n", "inner\n")
    );
}

#[tokio::test]
async fn one_apart_below_one_apart_is_merged_by_its_parent_into_its_checkout() {
    let main =
        vec![Turn::call("agent", apart("outer")), wait(), sh("ls"), merge("outer"), Turn::text("Done.")];
    let outer = vec![
        write("o.txt", "outer\n"),
        Turn::call("agent", apart("inner")),
        wait(),
        sh("ls"),
        merge("inner"),
        sh("cat i.txt"),
        Turn::text(REPORT),
    ];
    let inner = vec![sh("cat o.txt"), write("i.txt", "inner\n"), Turn::text(REPORT)];
    let stage = stage([("main", main), ("outer", outer), ("inner", inner)]).await;
    let ran = stage.run("go").await;
    holds(&ran.results_of("inner")[0].1, &["outer"]);
    let results = ran.results_of("outer");
    assert!(!results[3].1.contains("i.txt") && results[4].0 && results[5].1.contains("inner"), "{results:?}");
    assert!(!ran.results_of("main")[2].1.contains("i.txt"));
    assert_eq!(
        (stage.files.read("o.txt").as_str(), stage.files.read("i.txt").as_str()),
        ("outer\n", "inner\n")
    );
    assert_eq!(left(&stage), (vec![], 0));
}

#[tokio::test]
async fn without_a_repository_it_works_in_the_shared_files_and_says_so() {
    let main = vec![Turn::call("agent", apart("child")), wait(), Turn::text("Done.")];
    let stage =
        Stage::new([("main", main), ("child", vec![write("c.txt", "x\n"), Turn::text(REPORT)])]).await;
    let ran = stage.run("go").await;
    assert_eq!(stage.files.read("c.txt"), "x\n");
    let report = ran.report_of("child");
    assert_eq!((report.ending.clone(), report.receipt.branch.clone()), (Ending::Completed, None));
    assert_eq!((report.notes.len(), report.warnings.len()), (1, 0), "{report:?}");
    holds(&report.notes[0], &["No checkout of its own: ", "It works in the shared folder."]);
    holds(&ran.results_of("main")[1].1, &["note: No checkout of its own"]);
    let told = stage.requests_of("child")[0].json()["messages"].to_string();
    holds(
        &told,
        &[
            "No checkout of its own",
            "It works in the shared folder",
            &stage.files.path().display().to_string(),
        ],
    );
}

/// An agent apart that is asked again, and merged by its parent or not at all.
async fn followed_up(merged: bool) -> (Stage, Ran) {
    let then = vec![message("child", "And the other one."), wait()];
    let merge = if merged { vec![merge("child")] } else { Vec::new() };
    let main =
        [vec![Turn::call("agent", apart("child")), wait()], then, merge, vec![Turn::text("Done.")]].concat();
    let child = vec![
        write("one.txt", "1\n"),
        Turn::text(REPORT),
        sh("cat one.txt"),
        write("two.txt", "2\n"),
        Turn::text(REPORT),
    ];
    let stage = stage([("main", main), ("child", child)]).await;
    let ran = stage.run("go").await;
    (stage, ran)
}

#[tokio::test]
async fn a_follow_up_goes_on_with_the_same_branch() {
    let (stage, ran) = followed_up(true).await;
    let reports = ran.events().filter_map(|event| match &event.kind {
        EventKind::AgentSettled { report } if event.parent.is_some() => Some(report),
        _ => None,
    });
    let own = reports.map(|report| report.receipt.branch.clone().unwrap()).collect::<Vec<_>>();
    let [first, second] = &own[..] else { panic!("{own:?}") };
    assert_eq!((&first.name, &first.base), (&second.name, &second.base));
    assert_ne!(first.tip, second.tip);
    assert_eq!(branches(&stage.files), [first.name.as_str()]);
    assert_eq!((stage.files.read("one.txt").as_str(), stage.files.read("two.txt").as_str()), ("1\n", "2\n"));
    assert_eq!(merges(&ran), [(2, vec![])]);
}

#[tokio::test]
async fn a_person_merges_all_of_what_was_followed_up() {
    let (stage, _) = followed_up(false).await;
    let session = stage.engine.find_session("last").unwrap();
    let merged = stage.engine.merge(&session, "child").await.unwrap();
    let mut paths = merged.changes.into_iter().map(|change| change.path).collect::<Vec<_>>();
    paths.sort();
    assert_eq!(paths, ["one.txt", "two.txt"]);
}

#[tokio::test]
async fn work_of_agents_that_are_stopped_is_on_their_branch() {
    let mut seen = 0;
    for whole_session in [false, true] {
        let main = vec![Turn::call("agent", apart("child")), wait(), Turn::text("Done.")];
        let stage = stage([("main", main), ("child", vec![write("c.txt", "half\n"), busy("begun")])]).await;
        let mut followed = Followed::new(stage.start("go"));
        let runs = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if event.parent.is_some() && tool == "shell");
        followed.until(1, runs).await;
        if whole_session {
            followed.session.cancel()
        } else {
            assert!(followed.session.stop("child"))
        }
        let ran = followed.finish().await;
        assert_eq!(ran.report_of("child").ending, Ending::Cancelled);
        let branch = branch_of(&ran, "child");
        assert_eq!(stage.files.run_git(&["show", &format!("{}:c.txt", branch.name)]), "half\n");
        assert_eq!(left(&stage), (vec![], 0));
        assert!(!exists(&stage, "c.txt"));
        // The person can still have it.
        let session = stage.engine.find_session("last").unwrap();
        let merged = stage.engine.merge(&session, "child").await.unwrap();
        assert_eq!((merged.branch, merged.conflicts.len()), (branch.name, 0));
        assert_eq!(stage.files.read("c.txt"), "half\n");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn a_merge_asks_where_an_edit_would() {
    let mut seen = 0;
    for (mode, asked) in
        [(Approval::Ask, true), (Approval::Edit, false), (Approval::Auto, false), (Approval::Full, false)]
    {
        let stage = in_mode(one(vec![write("c.txt", "x\n")], vec![merge("child")]).await, mode);
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let questions = ran.questions_of("main");
        let what = questions.iter().map(|question| (question.tool.as_str(), question.what.as_str()));
        assert_eq!(
            what.collect::<Vec<_>>(),
            if asked { vec![("merge", "child")] } else { vec![] },
            "{mode:?}"
        );
        assert_eq!(stage.files.read("c.txt"), "x\n", "{mode:?}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    let stage = in_mode(one(vec![write("c.txt", "x\n")], vec![merge("child")]).await, Approval::Ask);
    let no = |question: &Question| match question.tool.as_str() {
        "merge" => Answer::No { reason: "later".to_string() },
        _ => Answer::Once,
    };
    let ran = answered(stage.start("go"), no).await;
    assert!(!exists(&stage, "c.txt") && branches(&stage.files).len() == 1);
    assert_eq!(ran.report.receipt.denied.len(), 1);
}

/// G1 at this level: eight at work on the same file, merged one after the other, some of them stopped on the way.
#[tokio::test]
async fn parallel_writers_lose_no_accepted_edit() {
    const WRITERS: usize = 8;
    let names = (0..WRITERS).map(|n| format!("w{n}")).collect::<Vec<_>>();
    let mut all = Turn::text("Go.");
    for name in &names {
        all = all.and_call("agent", apart(name));
    }
    let stopped = ["w3", "w6"];
    let mut main = vec![all];
    main.extend(stopped.map(|name| until_file(&format!("go-{name}"))));
    main.extend(stopped.map(cancel));
    main.push(wait());
    main.extend(names.iter().map(|name| merge(name)));
    main.push(Turn::text("Done."));
    let main = std::sync::Mutex::new(main.into_iter());
    // Neighbours edit the same line, and each adds a file of its own.
    let stage = Stage::by_rule(move |request| {
        let request = request.json();
        let name = asker(&request);
        let Some(n) = name.strip_prefix('w').and_then(|n| n.parse::<usize>().ok()) else {
            return main.lock().unwrap().next().unwrap();
        };
        let line = n / 2 * 10;
        match turn_of(&request) {
            0 => read("shared.txt"),
            1 => edit("shared.txt", &format!("line {line}.\n"), &format!("line {line} by {name}.\n")),
            2 => write(&format!("own-{name}.txt"), &format!("{name}\n")),
            3 if stopped.contains(&name.as_str()) => busy("begun"),
            _ => Turn::text(REPORT),
        }
    });
    let mut stage = stage.await;
    let lines = (0..60).map(|n| format!("line {n}.\n")).collect::<String>();
    stage.files = Fixture::new().file("shared.txt", lines).git();
    let mut followed = Followed::new(stage.start("go"));
    // They are stopped in the middle, after their edits.
    let busy_ones = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if event.parent.is_some() && tool == "shell");
    followed.until(stopped.len(), busy_ones).await;
    stopped
        .iter()
        .for_each(|name| std::fs::write(stage.files.path().join(format!("go-{name}")), "").unwrap());
    let ran = followed.finish().await;
    let reported =
        merges(&ran).into_iter().flat_map(|(_, conflicts)| conflicts).map(|conflict| conflict.text);
    let reported = reported.collect::<Vec<_>>().join("\n");
    let (mut accepted, mut conflicts) = (0, 0);
    for name in &names {
        let results = ran.results_of(name);
        assert!(results[1].0 && results[2].0, "{name}: {results:?}");
        let line = format!("by {name}.");
        let branch = branch_of(&ran, name).name;
        let shared = stage.files.run_git(&["show", &format!("{branch}:shared.txt")]);
        assert!(shared.contains(&line), "{name}'s edit is on its branch");
        let in_session = stage.files.read("shared.txt").contains(&line);
        conflicts += usize::from(!in_session);
        assert!(
            in_session || reported.contains(&line),
            "{name}'s edit is in the session or reported:\n{reported}"
        );
        assert_eq!(stage.files.read(&format!("own-{name}.txt")), format!("{name}\n"));
        accepted += 2;
    }
    assert_eq!((accepted, conflicts), (16, 4), "of two at the same line the second conflicts");
    assert_eq!((merges(&ran).len(), branches(&stage.files).len(), left(&stage)), (8, 8, (vec![], 0)));
    assert_eq!(stopped.map(|name| ran.ended(name)), ["cancelled"; 2]);
}

#[tokio::test]
async fn many_that_come_and_go_all_get_a_checkout() {
    const ALL: usize = 36;
    let stage = Stage::by_rule(|request| {
        let request = request.json();
        if asker(&request) != "main" {
            return Turn::text(REPORT);
        }
        match turn_of(&request) {
            0 => (0..ALL).fold(Turn::text("Go."), |turn, n| turn.and_call("agent", apart(&format!("n{n}")))),
            1 => wait(),
            _ => Turn::text("Done."),
        }
    });
    let mut stage = stage.await;
    stage.files = stage.files.git();
    stage.delegation.limits = Limits { running_max: 6, ..Limits::default() };
    let ran = stage.run("go").await;
    let warned = (0..ALL).filter_map(|n| {
        let notes = &ran.report_of(&format!("n{n}")).notes;
        notes.iter().find(|text| text.contains("checkout")).map(|text| format!("n{n}: {text}"))
    });
    assert_eq!(warned.collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!((ran.endings().len(), left(&stage)), (ALL, (vec![], 0)));
}

/// What one of forty does, by its number.
fn one_of_forty(n: usize, turn: usize, outside: &Path) -> Turn {
    let outside = outside.display();
    match (n % 5, turn) {
        (0, 0) => read("a.txt"),
        (1, 0) => write(&format!("made-{n}.txt"), "made\n"),
        (2, 0) => sh(&format!(
            "ln -s {outside}/kept away-{n}; ln -s {outside} folder-{n}; echo x > away-{n}; rm -rf {outside}/*"
        )),
        (2, 1) => write(&format!("away-{n}"), "over\n"),
        (2, 2) => write(&format!("folder-{n}/new"), "over\n"),
        (3, 0) => sh(&format!(
            "echo dirty >> a.txt; rm b.txt; mkdir d; echo x > d/{n}; git add -A; git stash; git stash pop"
        )),
        (4, 0) => write(&format!("made-{n}.txt"), "made\n"),
        (4, 1) => busy("begun"),
        _ => Turn::text(REPORT),
    }
}

/// G2 at this level: all kinds of endings and trees, and nothing is left but branches.
#[tokio::test]
async fn forty_delegations_leave_no_checkout_and_touch_nothing_outside() {
    const ALL: usize = 40;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("kept"), "kept\n").unwrap();
    let place = outside.path().to_path_buf();
    let stage = Stage::by_rule(move |request| {
        let request = request.json();
        let name = asker(&request);
        if let Some(n) = name.strip_prefix('n').and_then(|n| n.parse().ok()) {
            return one_of_forty(n, turn_of(&request), &place);
        }
        match turn_of(&request) {
            0 => (0..ALL).fold(Turn::text("Go."), |turn, n| turn.and_call("agent", apart(&format!("n{n}")))),
            1 => wait(),
            _ => Turn::text("Done."),
        }
    });
    let mut stage = stage.await;
    stage.files = stage.files.git();
    std::fs::write(stage.files.path().join("a.txt"), "dirty before\n").unwrap();
    stage.delegation.limits = Limits { running_max: 8, ..Limits::default() };
    let mut followed = Followed::new(stage.start("go"));
    let names = std::cell::RefCell::new(std::collections::HashMap::new());
    for wanted in 1..=ALL / 5 {
        let busy = |event: &Event| {
            if let EventKind::AgentAdmitted { name, .. } = &event.kind {
                names.borrow_mut().insert(event.agent, name.clone());
            }
            matches!(&event.kind, EventKind::ToolStarted { title, .. } if title.contains("begun"))
        };
        let last = std::cell::RefCell::new(None);
        followed
            .until(wanted, |event| busy(event) && last.replace(Some(event.agent)).is_none_or(|_| true))
            .await;
        let name = names.borrow()[&last.take().unwrap()].clone();
        assert!(followed.session.stop(&name), "{name}");
    }
    let ran = followed.finish().await;
    assert_eq!((ran.endings().len(), ran.report.ending.clone()), (ALL, Ending::Completed));
    let cancelled = ran.endings().into_iter().filter(|(_, ending)| *ending == Ending::Cancelled);
    assert_eq!(cancelled.count(), ALL / 5);
    for n in 0..ALL {
        let notes = &ran.report_of(&format!("n{n}")).notes;
        assert!(!notes.iter().any(|text| text.contains("checkout")), "n{n}: {notes:?}");
    }
    assert_eq!(left(&stage), (vec![], 0), "no stale checkout");
    let kept = std::fs::read_dir(outside.path()).unwrap().count();
    assert_eq!((kept, std::fs::read_to_string(outside.path().join("kept")).unwrap().as_str()), (1, "kept\n"));
    assert_eq!(stage.files.run_git(&["status", "--porcelain"]), " M a.txt\n", "nothing came in by itself");
    assert_eq!(stage.files.read("a.txt"), "dirty before\n");
    let mut expected = BTreeSet::new();
    for n in (0..ALL).filter(|n| n % 5 != 0) {
        let name = format!("n{n}");
        let branch = branch_of(&ran, &name).name;
        let holds_it = match n % 5 {
            1 | 4 => format!("made-{n}.txt"),
            2 => format!("away-{n}"),
            _ => format!("d/{n}"),
        };
        let listed = stage.files.run_git(&["ls-tree", "-r", "--name-only", &branch]);
        assert!(listed.lines().any(|line| line == holds_it), "{name}: {listed}");
        expected.insert(branch);
    }
    assert_eq!(expected.len(), 32);
    assert_eq!(branches(&stage.files).into_iter().collect::<BTreeSet<_>>(), expected);
}
