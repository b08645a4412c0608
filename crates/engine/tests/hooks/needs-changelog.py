#!/usr/bin/env python3
"""Does not let the agent end before there is a changelog."""
import json, os, sys

data = json.load(sys.stdin)
if not os.path.exists(os.path.join(data["cwd"], "CHANGELOG.md")):
    if data["stop_hook_active"]:
        sys.exit(0)
    lines = open(data["transcript_path"]).read().splitlines()
    print(json.dumps({"decision": "block", "reason": f"Write CHANGELOG.md first ({len(lines)} messages so far)."}))
