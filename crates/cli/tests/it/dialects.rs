//! The six surfaces, as a model speaks them: the same few things said in the words of each.

use posse_testkit::Turn;
use serde_json::json;

/// Their names.
pub(crate) const SURFACES: [&str; 6] = ["agent", "sessions", "task", "spawn", "delegate", "shell"];

/// Starts an agent that may do everything, and waits for its report.
pub(crate) fn start(surface: &str, name: &str, prompt: &str) -> Turn {
    match surface {
        "agent" => Turn::call(
            "agent",
            json!({"action": "start", "name": name, "role": "general", "prompt": prompt, "background": false}),
        ),
        "sessions" => Turn::call("agent_open", json!({"name": name, "prompt": prompt, "background": false})),
        "task" => Turn::call("agent", json!({"name": name, "description": "do it", "prompt": prompt})),
        "spawn" => Turn::call("spawn_task", json!({"name": name, "task": prompt})),
        "delegate" => Turn::call("delegate_to_agent", json!({"name": name, "role": "coder", "task": prompt})),
        _ => bash(&format!("task:general --name {name} -d 'do it' -p '{prompt}'")),
    }
}

/// Runs a command.
pub(crate) fn shell(surface: &str, command: &str) -> Turn {
    match surface {
        "shell" => bash(command),
        _ => Turn::call("shell", json!({"command": command})),
    }
}

/// Reads a file.
pub(crate) fn read(surface: &str, path: &str) -> Turn {
    match surface {
        "shell" => bash(&format!("read {path}")),
        _ => Turn::call("read_file", json!({"path": path})),
    }
}

/// Edits a file.
pub(crate) fn edit(surface: &str, path: &str, old: &str, new: &str) -> Turn {
    match surface {
        "shell" => bash(&format!("edit {path} '{old}' '{new}'")),
        _ => Turn::call("edit_file", json!({"path": path, "old": old, "new": new})),
    }
}

/// One line for the surface that has nothing but a shell.
pub(crate) fn bash(line: &str) -> Turn {
    Turn::call("bash", json!({"command": line}))
}
