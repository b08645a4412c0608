//! Reads servers from a file such as `.mcp.json`, or from the front matter of an agent's file. Mistakes are told by the name of
//! the server; the others count.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::entry::{EntryOrigin, SecretValue, ServerEntry, ServerReach};
use crate::limits;
use crate::names::check_server_name;

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ServersRead {
    /// The servers that can be used, by name.
    pub servers: Vec<ServerEntry>,
    /// What is wrong with the others, in one line each.
    pub mistakes: Vec<String>,
}

/// Reads the text of a file. Variables such as `${NAME:-default}` are looked up by `variable`.
pub fn read_servers(
    text: &str,
    origin: &EntryOrigin,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ServersRead, String> {
    if text.len() > limits::FILE_BYTES_MAX {
        return Err(format!("it is larger than {} KiB", limits::FILE_BYTES_MAX >> 10));
    }
    // Editors on some systems begin a file with a mark.
    let text = text.trim_start_matches('\u{feff}');
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    match value.get("mcpServers").or_else(|| value.get("servers")) {
        Some(Value::Object(servers)) => Ok(read_entries(servers, origin, variable)),
        Some(_) => Err("its \"mcpServers\" is not an object of servers by name".to_owned()),
        None => Err("it has no \"mcpServers\"".to_owned()),
    }
}

/// Reads servers by name.
pub fn read_entries(
    servers: &Map<String, Value>,
    origin: &EntryOrigin,
    variable: impl Fn(&str) -> Option<String>,
) -> ServersRead {
    let mut read = ServersRead::default();
    for (name, entry) in servers {
        let disabled = entry.get("disabled").and_then(Value::as_bool) == Some(true);
        let found = match entry {
            _ if disabled => continue,
            Value::Object(entry) => check_server_name(name)
                .and_then(|()| EntryReader { entry, variable: &variable }.read(name, origin)),
            _ => Err("it is not an object".to_owned()),
        };
        match found {
            Ok(_) if read.servers.len() == limits::SERVERS_MAX => {
                read.mistakes
                    .push(format!("more than {} servers: the others are left out", limits::SERVERS_MAX));
                break;
            }
            Ok(server) => read.servers.push(server),
            Err(why) => {
                let name = posse_protocol::visible::one_line(name, limits::NAME_CHARS_MAX);
                read.mistakes.push(format!("the server {name:?} is left out: {why}"));
            }
        }
    }
    read
}

struct EntryReader<'a> {
    entry: &'a Map<String, Value>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl EntryReader<'_> {
    fn read(&self, name: &str, origin: &EntryOrigin) -> Result<ServerEntry, String> {
        let kind = self.text("type")?.or(self.text("transport")?);
        let (command, url) = (self.text("command")?, self.text("url")?.or(self.text("httpUrl")?));
        let reach = match (kind.as_deref(), command, url) {
            (None | Some("stdio" | "local"), Some(command), None) => {
                let (arguments, env) = (self.list("args")?, self.pairs("env")?);
                ServerReach::Program { command, arguments, env }
            }
            (None | Some("http" | "streamable-http" | "streamable_http" | "remote"), None, Some(url)) => {
                check_url(&url)?;
                ServerReach::Address { url, headers: self.pairs("headers")? }
            }
            (Some("sse"), ..) => {
                return Err(
                    "its type \"sse\" was replaced by streamable HTTP in 2025; try \"http\"".to_owned()
                );
            }
            (Some(other), ..)
                if !["stdio", "local", "http", "streamable-http", "remote"].contains(&other) =>
            {
                return Err(format!("its type {other:?} is not supported; there are \"stdio\" and \"http\""));
            }
            (_, Some(_), Some(_)) => return Err("it has both a \"command\" and a \"url\"".to_owned()),
            (Some("stdio" | "local"), None, _) => return Err("it has no \"command\"".to_owned()),
            (Some(_), _, None) => return Err("it has no \"url\"".to_owned()),
            _ => return Err("it has neither a \"command\" nor a \"url\"".to_owned()),
        };
        let mut server = ServerEntry::new(name, reach, origin.clone());
        if let Some(timeout) = self.entry.get("timeout") {
            let ms = timeout.as_u64().filter(|ms| (1..=limits::CALL_IDLE_MS_MAX).contains(ms));
            server.timeout = Duration::from_millis(ms.ok_or("its \"timeout\" is no number of milliseconds")?);
        }
        server.description = self.text("description")?;
        Ok(server)
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.expanded(text).map(Some),
            Some(_) => Err(format!("its {key:?} is not a text")),
        }
    }

    fn list(&self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("its {key:?} is not a list of texts");
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(all)) if all.len() <= limits::PARTS_MAX => {
                all.iter().map(|one| self.expanded(one.as_str().ok_or_else(wrong)?)).collect()
            }
            Some(Value::Array(_)) => Err(format!("its {key:?} has more than {} entries", limits::PARTS_MAX)),
            Some(_) => Err(wrong()),
        }
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, SecretValue)>, String> {
        let all = match self.entry.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(all)) if all.len() <= limits::PARTS_MAX => all,
            Some(_) => return Err(format!("its {key:?} is not an object of texts by name")),
        };
        let pair = |(name, value): (&String, &Value)| {
            if name.is_empty() || name.contains(['=', '\0', '\n', '\r', ':']) {
                return Err(format!("its {key:?} has a name that is none"));
            }
            let text = match value {
                Value::String(text) => self.expanded(text)?,
                Value::Number(number) => number.to_string(),
                Value::Bool(word) => word.to_string(),
                _ => return Err(format!("{name} in its {key:?} is not a text")),
            };
            Ok((name.clone(), SecretValue::new(text)))
        };
        all.iter().map(pair).collect()
    }

    /// A text with its variables filled in.
    fn expanded(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let (inside, after) = after.split_once('}').ok_or("a \"${\" in it has no end")?;
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            let value = (self.variable)(name).filter(|value| !value.is_empty() || default.is_none());
            let value = value.or_else(|| default.map(str::to_owned));
            out.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
            rest = after;
        }
        out.push_str(rest);
        match out.len() > limits::PART_BYTES_MAX || out.contains('\0') {
            true => Err("a text in it is too long or holds a null character".to_owned()),
            false => Ok(out),
        }
    }
}

/// Whether a server can be at an address. What is sent there is not for everybody on the way.
pub fn check_url(url: &str) -> Result<(), String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("its \"url\" is no address: {error}"))?;
    let here = parsed.host_str().is_some_and(|host| {
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    });
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if here => Ok(()),
        "http" => Err("its \"url\" has to be https:// unless it is on this computer".to_owned()),
        other => Err(format!("its \"url\" begins with {other}://, not with https://")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ServersRead {
        let origin = EntryOrigin::Project("/work/.mcp.json".into());
        let variable = |name: &str| match name {
            "TOKEN" => Some("t1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        read_servers(text, &origin, variable).unwrap()
    }

    #[test]
    fn entries_as_people_write_them() {
        let found = read(
            r#"{"mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server", "${ROOT:-.}"], "env": {"K": "${TOKEN}", "N": 5}},
                "web": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "timeout": 5000},
                "old": {"type": "stdio", "command": "uvx", "disabled": true},
                "near": {"url": "http://127.0.0.1:3000/mcp"},
                "def": {"command": "${EMPTY:-node}"}
            }}"#,
        );
        assert_eq!(found.mistakes, Vec::<String>::new());
        let shown = found.servers.iter().map(|one| (one.name.as_str(), one.shown())).collect::<Vec<_>>();
        let expected = [
            ("files", "npx -y server ."),
            ("web", "https://x.example/mcp"),
            ("near", "http://127.0.0.1:3000/mcp"),
            ("def", "node"),
        ];
        assert_eq!(shown, expected.map(|(name, shown)| (name, shown.to_owned())));
        let values = found.servers.iter().flat_map(ServerEntry::values);
        let values = values.map(|(name, value)| (name.as_str(), value.expose())).collect::<Vec<_>>();
        assert_eq!(values, [("K", "t1"), ("N", "5"), ("Authorization", "Bearer t1")]);
        assert_eq!(found.servers[1].timeout, Duration::from_secs(5));
    }

    #[test]
    fn what_is_wrong_is_told_and_the_rest_counts() {
        let found = read(
            r#"{"mcpServers": {
                "a": {"command": "x", "args": ["${MISSING}"]},
                "b": {"type": "sse", "url": "https://x/sse"},
                "c": {"type": "ws", "url": "wss://x"},
                "d": {},
                "e": 7,
                "f": {"url": "http://x.example/"},
                "g": {"command": "x", "url": "https://x"},
                "h": {"command": "x", "args": "no"},
                "i": {"command": "x", "env": {"A=B": "c"}},
                "j\u001b": {"command": "x"},
                "ok": {"command": "x"}
            }}"#,
        );
        assert_eq!(found.servers.len(), 1);
        let expected = [
            "\"a\" is left out: the variable MISSING is not set",
            "\"b\" is left out: its type \"sse\" was replaced by streamable HTTP in 2025; try \"http\"",
            "\"c\" is left out: its type \"ws\" is not supported; there are \"stdio\" and \"http\"",
            "\"d\" is left out: it has neither a \"command\" nor a \"url\"",
            "\"e\" is left out: it is not an object",
            "\"f\" is left out: its \"url\" has to be https:// unless it is on this computer",
            "\"g\" is left out: it has both a \"command\" and a \"url\"",
            "\"h\" is left out: its \"args\" is not a list of texts",
            "\"i\" is left out: its \"env\" has a name that is none",
        ];
        for (mistake, expected) in found.mistakes.iter().zip(expected) {
            assert_eq!(mistake, &format!("the server {expected}"));
        }
        assert_eq!(found.mistakes.len(), 10);
    }

    #[test]
    fn files_that_are_none() {
        let origin = EntryOrigin::Project("/x".into());
        let why = |text: &str| read_servers(text, &origin, |_| None).unwrap_err();
        assert!(why("{").starts_with("it is not valid JSON"));
        assert_eq!(why("{}"), "it has no \"mcpServers\"");
        assert_eq!(why("{\"mcpServers\": []}"), "its \"mcpServers\" is not an object of servers by name");
        assert!(why(&" ".repeat(limits::FILE_BYTES_MAX + 1)).starts_with("it is larger"));
    }
}
