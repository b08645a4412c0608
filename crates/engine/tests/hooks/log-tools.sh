#!/bin/sh
# One line of JSON for every call.
tr -d '\n' >> "$HOME/.claude/tools.jsonl"
echo >> "$HOME/.claude/tools.jsonl"
