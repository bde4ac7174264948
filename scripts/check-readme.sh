#!/usr/bin/env bash
# The programs that README.md and docs/recipes.md show are the ones in examples/, which the tests compile and run: this keeps
# them equal.
set -euo pipefail
cd "$(dirname "$0")/.."

block() { # block LANGUAGE: the first fenced block of that language
    awk -v fence="^\`\`\`$1\$" '$0 ~ fence && !done { inside = 1; next } /^```$/ && inside { inside = 0; done = 1 } inside' README.md
}

status=0
compare() { # compare LANGUAGE FILE
    if ! diff -u "$2" <(block "$1"); then
        echo "check-readme: README.md does not show $2 as it is" >&2
        status=1
    fi
}

compare c examples/minimal.c
compare javascript examples/edge_strength.ijm
for macro in examples/recipes/*.ijm; do
    if [[ $(< docs/recipes.md) != *"$(< "$macro")"* ]]; then
        echo "check-readme: docs/recipes.md does not show $macro as it is" >&2
        status=1
    fi
done
exit "$status"
