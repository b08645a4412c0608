#!/usr/bin/env bash
# Tells the model at the start where it is.
set -euo pipefail
cat > /dev/null
echo "Project: $(basename "$CLAUDE_PROJECT_DIR")"
echo "Files: $(ls "$CLAUDE_PROJECT_DIR" | tr '\n' ' ')"
