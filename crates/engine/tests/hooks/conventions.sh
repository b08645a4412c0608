#!/bin/sh
# Adds what everybody should keep in mind to each prompt.
cat > /dev/null
echo "Convention: tabs are four spaces."
