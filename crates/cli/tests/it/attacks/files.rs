//! X1: no attempt changes a file that is not granted, by shell at each level, by file tools, as the main agent and
//! from depth 3.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_testkit::attacks::{self, Attempt};
use serde_json::json;

use super::player::{Actor, By, Level, Moment, Play, Played, not_made, play, short};
use super::snapshot::Snapshot;
use super::world::{Canaries, World};
use super::{ESCAPED, SECRET, in_parallel, settle};

/// How long an attempt has that goes on after its command.
const LATE: Duration = Duration::from_millis(700);

/// Attempts that say what they do later.
fn is_late(attempt: &Attempt) -> bool {
    attempt.name.starts_with("late")
}

/// Compares the canaries around each attempt and puts the world right after it.
fn guard(play_as: Play, attempts: Vec<Attempt>) -> (Played, Vec<String>) {
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let apart = play_as.actor == Actor::Apart;
    let canaries = if apart { Canaries::Apart } else { play_as.level.canaries() };
    let by = play_as.by;
    // How the world looks while nobody has touched it.
    let mut untouched: Option<Snapshot> = None;
    let mut before = Snapshot::default();
    let played = play(play_as, attempts, move |world, attempt, moment| match moment {
        Moment::Before => {
            let known = untouched.take().filter(|_| attempt.set_up.is_none());
            before = known.unwrap_or_else(|| world.snapshot());
        }
        Moment::After(answer, _) => {
            if is_late(attempt) {
                std::thread::sleep(LATE);
            }
            let note = |what: String| noted.lock().unwrap().push(format!("{}: {what}", attempt.name));
            let changed = world.snapshot().changed_since(&before);
            let harmed = world.canaries(&changed, canaries);
            if !harmed.is_empty() {
                note(format!("changed {} ({})", harmed.join(", "), short(answer)));
            }
            if answer.contains(ESCAPED) || (by == By::Tool && answer.contains(SECRET)) {
                note(format!("got through: {}", short(answer)));
            }
            if by == By::Shell
                && let Some(why) = not_made(answer)
            {
                note(why);
            }
            if attempt.set_up.is_some() || !changed.is_empty() {
                // A checkout lives by what Posse has put into the repository.
                if !apart || !harmed.is_empty() {
                    world.restore();
                }
            } else {
                untouched = Some(std::mem::take(&mut before));
            }
        }
    });
    let mut faults = std::mem::take(&mut *faults.lock().unwrap());
    if played.ran.code != Some(0) {
        faults.push(format!("posse ended with {:?}: {}", played.ran.code, played.ran.stderr));
    }
    (played, faults)
}

/// Attempts on files anywhere.
fn files() -> Vec<Attempt> {
    attacks::files()
}

/// Attempts on what is protected in the workspace, and on the machine.
fn protected() -> Vec<Attempt> {
    [attacks::protected(), attacks::system()].concat()
}

/// All shell attempts of a table at one level. At depth 3 the two levels that only look share what neither may write: what
/// a level means does not depend on the depth, and each attempt is made at depth 3 by `full` and by one of them.
fn withstand(table: fn() -> Vec<Attempt>, level: Level, actor: Actor) {
    let meant = |(at, attempt): &(usize, Attempt)| match level {
        Level::Full => attempt.kind == "all",
        _ if actor == Actor::Main || attempt.kind == "read" => true,
        Level::Verify => at % 2 == 0,
        Level::Inspect => at % 2 == 1,
    };
    let attempts: Vec<_> =
        table().into_iter().enumerate().filter(meant).map(|(_, attempt)| attempt).collect();
    let (count, share) = (attempts.len(), if level == Level::Full || actor == Actor::Main { 1 } else { 2 });
    assert!(count >= 140 / share, "{count} attempts");
    let (played, faults) = guard(Play::new(level, actor), attempts);
    settle(&format!("files, {level:?}, {actor:?}"), played.made, count, &faults);
}

#[test]
fn no_file_escape_by_full_shell() {
    withstand(files, Level::Full, Actor::Main);
}

#[test]
fn no_file_escape_by_verify_shell() {
    withstand(files, Level::Verify, Actor::Main);
}

#[test]
fn no_file_escape_by_inspect_shell() {
    withstand(files, Level::Inspect, Actor::Main);
}

#[test]
fn no_file_escape_by_full_shell_at_depth_3() {
    withstand(files, Level::Full, Actor::Depth3);
}

#[test]
fn no_file_escape_by_verify_shell_at_depth_3() {
    withstand(files, Level::Verify, Actor::Depth3);
}

#[test]
fn no_file_escape_by_inspect_shell_at_depth_3() {
    withstand(files, Level::Inspect, Actor::Depth3);
}

#[test]
fn no_protected_name_by_full_shell() {
    withstand(protected, Level::Full, Actor::Main);
}

#[test]
fn no_protected_name_by_verify_shell() {
    withstand(protected, Level::Verify, Actor::Main);
}

#[test]
fn no_protected_name_by_inspect_shell() {
    withstand(protected, Level::Inspect, Actor::Main);
}

#[test]
fn no_protected_name_by_full_shell_at_depth_3() {
    withstand(protected, Level::Full, Actor::Depth3);
}

#[test]
fn no_protected_name_by_verify_shell_at_depth_3() {
    withstand(protected, Level::Verify, Actor::Depth3);
}

#[test]
fn no_protected_name_by_inspect_shell_at_depth_3() {
    withstand(protected, Level::Inspect, Actor::Depth3);
}

/// All attempts by file tools.
fn withstand_tools(actor: Actor) {
    let attempts = attacks::tools();
    let count = attempts.len();
    assert!(count >= 40, "{count} attempts");
    let (played, faults) = guard(Play { by: By::Tool, ..Play::new(Level::Full, actor) }, attempts);
    settle(&format!("file tools, {actor:?}"), played.made, count, &faults);
}

#[test]
fn no_file_escape_by_file_tools() {
    withstand_tools(Actor::Main);
}

#[test]
fn no_file_escape_by_file_tools_at_depth_3() {
    withstand_tools(Actor::Depth3);
}

/// An agent with a checkout of its own leaves the session's files alone.
#[test]
fn no_file_escape_from_a_checkout() {
    let placed =
        |attempt: &Attempt| ["@OUT@", "@HOME@", "@CONF@"].iter().any(|word| attempt.attack.contains(word));
    let alone = |attempt: &Attempt| attempt.kind == "all" && attempt.set_up.is_none() && placed(attempt);
    let attempts = [attacks::apart(), attacks::files().into_iter().filter(alone).collect()].concat();
    let count = attempts.len();
    assert!(count >= 100, "{count} attempts");
    let (played, faults) = guard(Play::new(Level::Full, Actor::Apart), attempts);
    settle("files, from a checkout", played.made, count, &faults);
}

/// What an agent has put in the way of undoing.
fn undo_safely(attempt: Attempt) -> Vec<String> {
    let usual = "echo more >> main.txt; echo more >> src/a.txt; rm src/b.txt; echo new > made.txt; mkdir -p n; echo n > n/n";
    let usual = Attempt { name: "usual", kind: "all", set_up: None, attack: usual };
    let before: Arc<Mutex<Snapshot>> = Arc::default();
    let seen = Arc::clone(&before);
    let played = play(Play::new(Level::Full, Actor::Main), vec![usual, attempt], move |world, _, moment| {
        if let Moment::Before = moment {
            *seen.lock().unwrap() = world.snapshot();
        }
    });
    let world = &played.world;
    let mut faults = Vec::new();
    if (played.ran.code, played.made) != (Some(0), 2) {
        faults.push(format!("{}: {:?}", attempt.name, played.ran));
    }
    for args in [&["diff"][..], &["undo", "--session"], &["redo"], &["undo"], &["diff"]] {
        let ran = world.posse(args);
        let changed = world.snapshot().changed_since(&before.lock().unwrap());
        let harmed = world.canaries(&changed, Canaries::Outside);
        let told = ran.stdout.contains(SECRET) || ran.stderr.contains(SECRET);
        if !harmed.is_empty() || told || ran.stderr.contains("panicked") {
            faults.push(format!(
                "{}: posse {}: {harmed:?} {}",
                attempt.name,
                args.join(" "),
                short(&format!("{ran:?}"))
            ));
        }
        if attempt.name == "plain" && args == ["undo", "--session"] {
            let text = std::fs::read_to_string(world.at("workspace/src/a.txt")).unwrap();
            assert_eq!(
                (text.as_str(), world.at("workspace/src/b.txt").exists()),
                ("alpha\n", true),
                "{ran:#?}"
            );
        }
    }
    faults
}

#[test]
fn no_file_escape_by_undoing() {
    let faults = in_parallel(attacks::undo(), 3, undo_safely);
    let made = faults.len();
    settle("undo", made, 26, &faults.into_iter().flatten().collect::<Vec<_>>());
}

/// The same machinery lets through what is allowed, at each level what that level allows.
#[test]
fn what_is_allowed_still_works() {
    let cases = [
        (Level::Full, "echo x > new && cat new", "exit code 0", true),
        (
            Level::Full,
            "git add -A && git -c user.name=x -c user.email=x@x.invalid commit -qm x --allow-empty && echo x > src/new",
            "exit code 0",
            false,
        ),
        (Level::Verify, "echo x > new && cat new && rm main.txt && ls", "exit code 0", false),
        (Level::Verify, "git add -A && echo x > src/new && cat src/new", "exit code 0", false),
        (Level::Inspect, "cat main.txt && git log -1 && git diff", "exit code 0", false),
        (Level::Inspect, "echo x > new", "exit code 1", false),
        (Level::Inspect, "echo x > /tmp/new && cat /tmp/new", "exit code 0", false),
        (Level::Inspect, "cat /etc/passwd", "exit code 0", false),
    ];
    let mut ran = 0;
    for actor in [Actor::Main, Actor::Depth3] {
        for (level, attack, says, stays) in cases {
            let attempt = Attempt { name: "allowed", kind: "all", set_up: None, attack };
            let answers: Arc<Mutex<String>> = Arc::default();
            let told = Arc::clone(&answers);
            let played = play(Play::new(level, actor), vec![attempt], move |_, _, moment| {
                if let Moment::After(answer, _) = moment {
                    *told.lock().unwrap() = answer.to_string();
                }
            });
            let answer = answers.lock().unwrap().clone();
            assert!(answer.contains(says), "{level:?} {actor:?}: {attack}: {answer}");
            assert_eq!(played.world.at("workspace/new").exists(), stays, "{level:?} {actor:?}: {attack}");
            if level != Level::Full {
                let now = played.world.snapshot();
                played.world.restore();
                let changed = now.changed_since(&played.world.snapshot());
                assert!(changed.is_empty(), "{level:?} {actor:?}: {attack}: {changed:?}");
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 16);
    let written = json!({"path": "src/new.txt", "content": "x"}).to_string();
    let attempt = Attempt { name: "allowed", kind: "write_file", set_up: None, attack: written.leak() };
    let played =
        play(Play { by: By::Tool, ..Play::new(Level::Full, Actor::Depth3) }, vec![attempt], |_, _, _| {});
    assert!(played.world.at("workspace/src/new.txt").exists(), "{:#?}", played.ran);
}

/// Without confinement every attempt does its damage: what fails by itself proves nothing.
#[test]
fn every_file_attempt_is_a_real_one() {
    let attempts = [attacks::files(), attacks::protected()].concat();
    let count = attempts.len();
    let lanes = 2;
    let worlds: Vec<Mutex<World>> = (0..lanes).map(|_| Mutex::new(World::new(""))).collect();
    let harmless = in_parallel(attempts, lanes, |attempt| {
        let world = worlds.iter().find_map(|world| world.try_lock().ok()).expect("a world for each lane");
        let fill = |text: &str| world.fill(text, &world.at("tmp").display().to_string());
        if let Some(set_up) = attempt.set_up {
            let ran = world.shell(&fill(set_up));
            assert_eq!(ran.code, Some(0), "{}: {ran:#?}", attempt.name);
        }
        let canaries = if attempt.kind == "read" { Canaries::All } else { Canaries::Outside };
        let before = world.snapshot();
        let ran = world.shell(&fill(attempt.attack));
        if is_late(&attempt) {
            std::thread::sleep(LATE);
        }
        let changed = world.snapshot().changed_since(&before);
        let harmless = world.canaries(&changed, canaries).is_empty();
        world.restore();
        harmless.then(|| format!("{}: does no harm by itself: {}", attempt.name, short(&format!("{ran:?}"))))
    });
    assert_eq!(harmless.len(), count);
    let harmless: Vec<String> = harmless.into_iter().flatten().collect();
    settle("file attempts without confinement", count, 290, &harmless);
}
