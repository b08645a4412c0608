//! MCP servers that a client passes with a session. The client is the person's own program, so they count like the person's own
//! servers: in the sandbox, with what an entry of the person's gets there.

use std::path::Path;

use agent_client_protocol_schema::v1::{Error, McpServer};
use posse_mcp::{EntryOrigin, SecretValue, ServerEntry, ServerReach, check_server_name, check_url};

use crate::limits::SERVERS_MAX;

/// The entries of a session. `origin` is where they are said to be written down.
pub(crate) fn entries(servers: Vec<McpServer>, origin: &Path) -> Result<Vec<ServerEntry>, Error> {
    if servers.len() > SERVERS_MAX {
        return Err(invalid(&format!("a session takes at most {SERVERS_MAX} servers")));
    }
    servers.into_iter().map(|server| entry(server, origin)).collect()
}

fn entry(server: McpServer, origin: &Path) -> Result<ServerEntry, Error> {
    let (name, reach) = match server {
        McpServer::Stdio(stdio) => {
            let command = stdio.command.to_str().map(str::to_owned);
            let command = command.filter(|command| !command.is_empty() && !command.contains('\0'));
            let command =
                command.ok_or_else(|| invalid(&format!("the server {:?} has no command", stdio.name)))?;
            let env = stdio.env.into_iter().map(|one| (one.name, SecretValue::new(one.value))).collect();
            (stdio.name, ServerReach::Program { command, arguments: stdio.args, env })
        }
        McpServer::Http(http) => {
            check_url(&http.url).map_err(|why| invalid(&format!("the server {:?}: {why}", http.name)))?;
            let headers =
                http.headers.into_iter().map(|one| (one.name, SecretValue::new(one.value))).collect();
            (http.name, ServerReach::Address { url: http.url, headers })
        }
        McpServer::Sse(sse) => {
            return Err(invalid(&format!(
                "the server {:?} uses SSE, which streamable HTTP has replaced; this agent takes stdio and http",
                sse.name
            )));
        }
        _ => return Err(invalid("a server is reached in a way that this agent does not know")),
    };
    let name = plain(&name);
    check_server_name(&name).map_err(|why| invalid(&why))?;
    Ok(ServerEntry::new(name, reach, EntryOrigin::Person(origin.to_path_buf())))
}

/// A name that a server can have: editors let people write anything.
fn plain(name: &str) -> String {
    let kept = |c: char| {
        let fits = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/' | '@' | ':');
        if fits { c } else { '_' }
    };
    name.trim().chars().map(kept).collect()
}

/// Puts a client's servers before those of files: of two with one name the client's counts.
pub(crate) fn add(entries: &mut Vec<ServerEntry>, of_client: &[ServerEntry]) {
    entries.retain(|entry| of_client.iter().all(|client| client.name != entry.name));
    entries.splice(0..0, of_client.iter().cloned());
}

fn invalid(why: &str) -> Error {
    Error::invalid_params().data(why.to_owned())
}
