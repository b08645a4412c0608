//! A client that speaks the protocol line by line, in either era.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use posse_testkit::schema::KnownSchema;
use serde_json::{Value, json};

use crate::posse::Person;

/// The tasks extension, as a client declares it.
pub(crate) fn with_tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": { "form": {} } })
}

/// A conversation with a server.
pub(crate) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    id: u64,
    /// What the client can do, which it says with each request of the newest revision.
    capabilities: Value,
    stands_alone: bool,
    /// What the tools say of what they return.
    schema: Option<KnownSchema>,
    /// What came that was no answer.
    pub(crate) others: Vec<Value>,
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Talk {
    /// A client of the newest revision: every request stands alone.
    pub(crate) fn newest(person: &Person, flags: &[&str], capabilities: Value) -> Self {
        let args = [&["mcp", "serve"], flags].concat();
        Self::with(person.command(&args), capabilities, true)
    }

    /// A client of the revision before, which begins with `initialize`.
    pub(crate) fn older(person: &Person, flags: &[&str], capabilities: Value) -> Self {
        let args = [&["mcp", "serve"], flags].concat();
        let mut talk = Self::with(person.command(&args), capabilities.clone(), false);
        let client = json!({ "name": "tester", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let answer = talk.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        talk.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        talk
    }

    fn with(mut command: Command, capabilities: Value, stands_alone: bool) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // Nothing but the protocol is written there.
                let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, id: 0, capabilities, stands_alone, schema: None, others: Vec::new() }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("a message")
    }

    /// A request as a line, and its id.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> (String, u64) {
        self.id += 1;
        if self.stands_alone {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "tester", "version": "1" });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        (request.to_string(), self.id)
    }

    /// Sends a request and waits for its answer. A form is filled in with `answer`.
    pub(crate) fn ask_filling(&mut self, method: &str, params: Value, answer: Option<&str>) -> Value {
        let (line, id) = self.request(method, params);
        self.send(&line);
        loop {
            let message = self.next();
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
            if let (Some(answer), "elicitation/create") =
                (answer, message["method"].as_str().unwrap_or_default())
            {
                let result = json!({ "action": "accept", "content": { "answer": answer } });
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string());
            }
            self.others.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ask_filling(method, params, None)
    }

    /// Calls a tool.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        assert!(answer["result"].is_object(), "{answer}");
        let look = &answer["result"]["structuredContent"];
        if look.is_object() {
            assert_eq!(self.schema().violations(look), [""; 0], "{look}");
        }
        answer["result"].clone()
    }

    /// The schema of what every tool returns.
    fn schema(&mut self) -> &KnownSchema {
        if self.schema.is_none() {
            let listed = self.ask("tools/list", json!({}));
            self.schema = Some(KnownSchema::new(listed["result"]["tools"][0]["outputSchema"].clone()));
        }
        self.schema.as_ref().unwrap()
    }

    /// Calls a tool that does not do it, and returns its words.
    pub(crate) fn refused(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// How a task does, once it does so.
    pub(crate) fn until(&mut self, task: &str, state: &str) -> Value {
        let since = std::time::Instant::now();
        loop {
            let look = self.tool("status", json!({ "task": task }))["structuredContent"].clone();
            if look["state"] == state {
                return look;
            }
            assert!(since.elapsed().as_secs() < 30, "the task is not {state}: {look}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The same by the extension.
    pub(crate) fn until_task(&mut self, task: &str, status: &str) -> Value {
        let since = std::time::Instant::now();
        loop {
            let found = self.ask("tasks/get", json!({ "taskId": task }))["result"].clone();
            if found["status"] == status {
                return found;
            }
            assert!(since.elapsed().as_secs() < 30, "the task is not {status}: {found}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn process(&self) -> &Child {
        &self.child
    }

    /// Ends what is sent, and waits for the end of the server.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }

    /// Kills the server as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
