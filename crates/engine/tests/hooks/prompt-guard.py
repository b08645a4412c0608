#!/usr/bin/env python3
"""Refuses prompts that hold what looks like a key."""
import json, re, sys

prompt = json.load(sys.stdin)["prompt"]
if re.search(r"\bsk-[A-Za-z0-9]{16,}", prompt):
    print(json.dumps({"decision": "block", "reason": "The prompt holds an API key."}))
