#!/usr/bin/env bash
# Runs the example macros in a real ImageJ with the built plugin, by tests/macros/*.sh: with its window under Xvfb, and
# without any display.
# Usage: test-macros.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0

run() { # run headless|window MACRO ARGUMENT: what it prints is kept in $work/log
    echo "macros: $2, $1"
    scripts/imagej.sh "$@" | tee "$work/log"
    passed=$((passed + 1))
}

refused() { # refused COMMAND OPTIONS WORDS: the command stops the macro with a message that has these words
    echo "macros: $1 refuses $2"
    printf 'newImage("blank", "8-bit black", 32, 32, 1);\nrun("%s", "%s");\n' "$1" "$2" > "$work/wrong.ijm"
    if scripts/imagej.sh headless "$work/wrong.ijm" > "$work/log" 2>&1; then
        echo "macros: $1 accepted $2" >&2
        exit 1
    fi
    if ! grep -qi "$3" "$work/log" || grep -q "^\sat " "$work/log"; then
        echo "macros: no message with '$3', or a stack trace:" >&2
        cat "$work/log" >&2
        exit 1
    fi
    passed=$((passed + 1))
}

for tests in tests/macros/*.sh; do
    # shellcheck source=/dev/null
    source "$tests"
done
echo "macros: $passed passed, 0 failed"
