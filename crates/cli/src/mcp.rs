//! `posse mcp`: the servers whose tools agents may call, and Posse as one. Values of variables and headers are never printed.

mod listed;
mod offered;
mod tried;

use std::ffi::OsString;

use anyhow::bail;
use posse_setup::{
    NewServer, NewServerTarget, Paths, SERVERS_FILE, ServerFileChoice, ServersFound, add_server,
    remove_server_from, servers_in,
};

use crate::args::{McpAddArgs, McpCommand};
use crate::exit::Exit;
use crate::output::{self, one_line};
use crate::surroundings::real_folder;

/// How alike another name must be to be meant.
const ALIKE: f64 = 0.7;

pub(crate) async fn run(paths: Paths, flags: Vec<OsString>, command: McpCommand) -> anyhow::Result<Exit> {
    match command {
        McpCommand::Serve(args) => offered::serve(paths, flags, args).await,
        McpCommand::List { json } => listed::list(&paths, json),
        McpCommand::Add(args) => add(&paths, args),
        McpCommand::Remove { name, project } => remove(&paths, &name, project),
        McpCommand::Test { name } => tried::test(&paths, &name).await,
    }
}

fn add(paths: &Paths, args: McpAddArgs) -> anyhow::Result<Exit> {
    let McpAddArgs { name, url, env, header, project, command } = args;
    let (target, pairs, mark) = match url {
        Some(url) if !url.contains("://") => bail!(
            "{:?} is no address; a program comes behind --: posse mcp add {name:?} -- {}",
            one_line(&url, 100),
            one_line(&url, 100)
        ),
        Some(url) => (NewServerTarget::Url(url), header, ':'),
        None => (NewServerTarget::Command(command), env, '='),
    };
    // What was typed may be a secret, and is not repeated.
    let pair = |(at, text): (usize, &String)| match text.split_once(mark) {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim_start().to_owned())),
        None if mark == ':' => bail!("--header number {} is not written 'NAME: VALUE'", at + 1),
        None => bail!("--env number {} is not written NAME=VALUE", at + 1),
    };
    let values = pairs.iter().enumerate().map(pair).collect::<anyhow::Result<Vec<_>>>()?;
    let server = NewServer { name, target, values };
    let choice = if project { ServerFileChoice::Project } else { ServerFileChoice::Own };
    let path = add_server(paths, &real_folder()?, &server, choice)?;
    let mut text = format!("Added to {path}: {}\n", server.name);
    if project && server.has_literals() {
        text.push_str(
            "Its values are in that file for everybody who reads it; write '${NAME}' for secrets.\n",
        );
    }
    if project {
        text.push_str("It runs in sessions after you have looked at it: posse trust\n");
    } else {
        text.push_str(&format!("Try it: posse mcp test {}\n", quoted(&server.name)));
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}

fn remove(paths: &Paths, name: &str, project: bool) -> anyhow::Result<Exit> {
    let (folder, choice) = match project {
        true => (real_folder()?, ServerFileChoice::Project),
        false => (real_folder()?, ServerFileChoice::Own),
    };
    if let Some(path) = remove_server_from(paths, &folder, name, choice)? {
        output::print(&format!("Removed from {path}: {}\n", one_line(name, 100)))?;
        return Ok(Exit::Completed);
    }
    let found = servers_in(paths, &folder)?;
    if let Some(other) = found.servers.iter().find(|server| server.name == name) {
        let file = &other.file;
        if file.path().ends_with(SERVERS_FILE) {
            bail!("{name:?} is in {file}; remove it there: posse mcp remove {} --project", quoted(name));
        }
        bail!("{name:?} is in {file}; edit that file");
    }
    Err(unknown(&found, name))
}

/// What to say of a name that no server has.
fn unknown(found: &ServersFound, name: &str) -> anyhow::Error {
    let name = one_line(name, 100);
    let names = found.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>();
    let alike = |known: &&str| strsim::jaro_winkler(known, &name);
    let closest = names.iter().copied().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match closest {
        None => anyhow::anyhow!("there are no servers; add one: posse mcp add NAME -- COMMAND"),
        Some(known) if alike(&known) > ALIKE => {
            anyhow::anyhow!("there is no server {name:?}; did you mean {known:?}?")
        }
        Some(_) => anyhow::anyhow!("there is no server {name:?}; there are {}", names.join(", ")),
    }
}

/// A name as it is typed in a shell.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if name.chars().all(plain) { name.to_owned() } else { format!("'{name}'") }
}
