//! Finds tools and resources by words.

use std::fmt::Write as _;

use posse_tools::OutsideState;

use crate::answer::handle;
use crate::limits;
use crate::names::{plain, tool_name};
use crate::server::Server;
use crate::stranger::{few_words, marked};

/// What fits the words, best first, in words for an agent.
pub(crate) fn found(servers: &[std::sync::Arc<Server>], words: &str, may: &dyn Fn(&str) -> bool) -> String {
    let words = words.to_lowercase();
    let words =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let mut tools = Vec::new();
    let mut resources = Vec::new();
    for server in servers {
        let name = &server.entry.name;
        for tool in server.tools() {
            let called = tool_name(name, &tool.name);
            let points = points(&words, &called, &tool.description);
            if may(&called) && (points > 0 || words.is_empty()) {
                tools.push((points, called, tool));
            }
        }
        let reads = may(&tool_name(name, "read_resource"));
        for resource in server.known().resources.iter().filter(|_| reads) {
            let points = points(&words, &resource.uri, &resource.title);
            if points > 0 || words.is_empty() {
                resources.push((points, handle(&plain(name), &resource.uri), resource.title.clone()));
            }
        }
    }
    tools.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    resources.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut out = String::new();
    let all = tools.len();
    let mut told = 0;
    for (_, name, tool) in tools.into_iter().take(limits::FOUND_MAX) {
        let one = format!("{name}: {}\narguments: {}\n", tool.description, tool.schema);
        if out.len() + one.len() > limits::FOUND_BYTES_MAX && told > 0 {
            break;
        }
        out.push_str(&one);
        told += 1;
    }
    if told < all {
        let _ = writeln!(out, "({} more tools fit; use other words)", all - told);
    }
    for (_, handle, title) in resources.into_iter().take(limits::FOUND_MAX) {
        let _ = writeln!(out, "resource {}: {title}", few_words(&handle, 500));
    }
    let nothing = if out.is_empty() { "No tool fits these words.\n" } else { "" };
    let shown =
        if out.is_empty() { String::new() } else { marked("server_tools", "all", out.trim_end()) + "\n" };
    format!("{shown}{nothing}{}", troubles(servers)).trim_end().to_owned()
}

/// How well words fit a name and a description.
fn points(words: &[&str], name: &str, description: &str) -> usize {
    let (name, description) = (name.to_lowercase(), description.to_lowercase());
    let of = |word: &&str| usize::from(name.contains(*word)) * 3 + usize::from(description.contains(*word));
    words.iter().map(of).sum()
}

/// Which servers are not there, and which there are.
fn troubles(servers: &[std::sync::Arc<Server>]) -> String {
    let mut out = String::new();
    for server in servers {
        let (name, (state, why)) = (&server.entry.name, server.state());
        let unknown = server.known().tools.is_none();
        let _ = match state {
            OutsideState::Failed => {
                writeln!(out, "The server {name} does not work: {}", few_words(&why, 300))
            }
            OutsideState::Starting if unknown => writeln!(out, "The server {name} is still starting."),
            _ => Ok(()),
        };
    }
    out
}
