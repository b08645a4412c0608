#!/bin/sh
# Runs every check and says how many failed.
ok=0
failed=0

check() {
    got=$(sh greet.sh "$1" "$2")
    if [ "$got" = "$3" ]; then
        echo "ok    $3"
        ok=$((ok + 1))
    else
        echo "FAIL  wanted '$3', got '$got'"
        failed=$((failed + 1))
    fi
}

check Ada 9 "Good morning, Ada!"
check Grace 14 "Good afternoon, Grace!"
check Linus 21 "Good evening, Linus!"

echo "$ok ok, $failed failed"
[ "$failed" -eq 0 ]
