//! The hooks that front matter has, as they are written. What they mean is for `hooks` to say.

use serde_json::Value;

use crate::fields::{cut, plain};
use crate::strict;

/// The key that they stand under.
const KEY: &str = "hooks";

/// The hooks of an agent file or a skill; none if it has none, or no front matter that can be read strictly.
pub fn front_matter_hooks(text: &str) -> Option<Value> {
    // Nearly every file has none.
    if !text.contains(KEY) {
        return None;
    }
    let (front, ..) = cut(&plain(text)).ok()?;
    strict::map(&front)?.shift_remove(KEY).filter(|hooks| !hooks.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_are_taken_as_they_are_written() {
        let text = "---\nname: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          \
                    command: ./check.sh\n          timeout: 5\n---\nBody with hooks: none\n";
        let hook = json!({"type": "command", "command": "./check.sh", "timeout": 5});
        let expected = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]});
        assert_eq!(front_matter_hooks(text), Some(expected));
        for none in [
            "---\nname: x\n---\nhooks: y\n",
            "no front matter, hooks",
            "---\nhooks:\n---\n",
            "---\nhooks: [\n---\n",
        ] {
            assert_eq!(front_matter_hooks(none), None, "{none}");
        }
    }
}
