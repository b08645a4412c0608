#!/bin/sh
# Tells the desktop; here it is a file.
cat >> "$HOME/.claude/notified"
