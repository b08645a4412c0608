#!/usr/bin/env python3
"""Blocks commands that nobody wants an agent to run."""
import json, re, sys

data = json.load(sys.stdin)
if data.get("tool_name") != "Bash":
    sys.exit(0)
command = data.get("tool_input", {}).get("command", "")
for pattern in (r"\brm\s+-[a-z]*r[a-z]*f", r"\bgit\s+push\s+.*--force", r"\bchmod\s+777"):
    if re.search(pattern, command):
        print(f"Blocked: {command!r} matches {pattern}", file=sys.stderr)
        sys.exit(2)
