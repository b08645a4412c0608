//! Every tool that an agent can have is one that rules can be about.

use posse_policy::is_tool;
use posse_surface::{Offer, Surface};

#[test]
fn rules_know_every_tool_and_nothing_that_is_none() {
    let offer = Offer {
        roles: &[],
        may_delegate: true,
        team: true,
        merges: true,
        models: &[],
        endpoints: &[],
        places: &[],
        shell_tools: &[],
        denied: &[],
        uses: &[],
    };
    let surfaces =
        [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];
    let offered = surfaces.iter().flat_map(|surface| surface.tools(&offer)).map(|tool| tool.name);
    let missed = offered.filter(|name| !is_tool(name)).collect::<Vec<_>>();
    assert!(missed.is_empty(), "{missed:?}");
    let known = "Bash bash run_shell_command Read MultiEdit WebSearch NotebookEdit mcp__github__* mcp__x task:explore \
                 edit* * leave obeyed Task todo_write";
    let known = known.split_whitespace().collect::<Vec<_>>();
    let unknown = ["shel", "Bsh", "edti_file", "sehll*", "", "web", "reads"];
    assert_eq!((known.len(), unknown.len()), (16, 7));
    assert_eq!(known.into_iter().filter(|name| !is_tool(name)).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(unknown.into_iter().filter(|name| is_tool(name)).collect::<Vec<_>>(), [""; 0]);
}
