#!/usr/bin/env python3
"""Keeps some files from being written."""
import json, os, sys

path = json.load(sys.stdin)["tool_input"].get("file_path", "")
protected = {".env", "package-lock.json", "Cargo.lock"}
if os.path.basename(path) in protected:
    print(json.dumps({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": f"{os.path.basename(path)} is protected.",
        },
    }))
