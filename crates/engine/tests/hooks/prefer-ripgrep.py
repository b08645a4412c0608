#!/usr/bin/env python3
"""Rewrites commands that begin with a slow program."""
import json, sys

data = json.load(sys.stdin)
tool_input = data["tool_input"]
if tool_input["command"].startswith("slow-echo "):
    tool_input["command"] = "echo " + tool_input["command"].removeprefix("slow-echo ")
    print(json.dumps({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": tool_input,
            "additionalContext": "slow-echo was replaced by echo.",
        },
    }))
