#!/usr/bin/env python3
"""Formats what was written: no blanks at the ends of lines."""
import json, pathlib, sys

data = json.load(sys.stdin)
path = pathlib.Path(data["tool_input"]["file_path"])
before = path.read_text()
after = "\n".join(line.rstrip() for line in before.split("\n"))
if after != before:
    path.write_text(after)
    print(json.dumps({
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "additionalContext": f"{path.name} was formatted.",
        },
    }))
