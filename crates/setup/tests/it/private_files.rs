//! Private files that are named somewhere else than beside the configuration: agents see them as little as those, whatever they read with.

use std::path::Path;
use std::time::Duration;

use posse_engine::TypedOutcome;
use posse_protocol::Approval;
use posse_setup::{Paths, SessionPlan, Wishes};
use tokio_util::sync::CancellationToken;

use crate::world::World;

const DEADLINE: Duration = Duration::from_secs(60);

/// A project in which somebody keeps a password and a file that lets a worker join.
fn world() -> World {
    let world = World::new("");
    let named = format!(
        "[cluster]\nnats = \"tls://broker.example\"\nnats_credentials = {:?}\n",
        world.path("project/conf/nats.toml")
    );
    world.write("home/.config/posse/config.toml", &named);
    world.write("project/conf/nats.toml", "password = \"hunter2\"\n");
    world.write("project/gpu-1.join", "secret = \"hunter2\"\n");
    world.write("project/open.txt", "for everybody\n");
    world
}

/// What a real command reads of all three.
async fn read_by_command(plan: &SessionPlan<'_>) -> String {
    let command = "cat open.txt; cat conf/nats.toml gpu-1.join; grep -r hunter2 .";
    let cancel = CancellationToken::new();
    match plan.run_typed(command, Approval::Auto, DEADLINE, &cancel, drop).await.unwrap() {
        TypedOutcome::Ran { output, .. } => output,
        other => panic!("{other:?}"),
    }
}

fn joined(world: &World) -> Paths {
    world.paths().hiding(Path::new("gpu-1.join")).unwrap()
}

#[tokio::test]
async fn commands_cannot_read_private_files_wherever_they_are() {
    let world = world();
    let (paths, folder) = (joined(&world), world.project());
    let plans = [
        SessionPlan::read(&paths, &folder, Wishes::default()).unwrap(),
        SessionPlan::without_files(&paths, &folder, Wishes::default()),
    ];
    for plan in &plans {
        let output = read_by_command(plan).await;
        assert!(output.contains("for everybody") && !output.contains("hunter2"), "{output}");
    }
}

/// File tools know the same places.
#[test]
fn file_tools_cannot_read_private_files_either() {
    let world = world();
    let (paths, folder) = (joined(&world), world.project());
    let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
    let place = plan.outside_place().unwrap();
    let workspace = place.workspace.hiding(&place.sandbox.hidden);
    let read = |name: &str| workspace.resolve(name).and_then(|path| workspace.read(&path, 1_000)).is_ok();
    let found: Vec<_> = ["conf/nats.toml", "gpu-1.join", "open.txt"].map(read).into();
    assert_eq!(found, [false, false, true]);
}
