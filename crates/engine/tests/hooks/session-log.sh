#!/bin/sh
cat >> "$HOME/.claude/sessions"
