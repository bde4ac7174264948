#!/usr/bin/env bash
# Compiles the examples as strictly as a careful user would, and runs the checks of tests/examples/*.sh, which run them on
# real images, also with wrong arguments.
# Usage: test-examples.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
data=$PWD/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

link=(-Iinclude -L"$native" -lisoline "-Wl,-rpath,$native")
strict=(-Wall -Wextra -Wpedantic -Werror -O1)
for source in examples/*.c; do
    cc -std=c11 "${strict[@]}" "$source" "${link[@]}" -o "$work/$(basename "$source" .c)"
done
for source in examples/*.cpp; do
    c++ -std=c++17 "${strict[@]}" "$source" "${link[@]}" -o "$work/$(basename "$source" .cpp)"
done

check() { # check WHAT WANTED-STATUS COMMAND...: runs it with its output in $work/out
    local what=$1 wanted=$2 status=0
    shift 2
    "$@" > "$work/out" 2> "$work/err" || status=$?
    if [ "$status" = "$wanted" ]; then
        passed=$((passed + 1))
        echo "  ok    $what"
    else
        failed=$((failed + 1))
        echo "  FAIL  $what: exit status $status, wanted $wanted"
        cat "$work/out" "$work/err"
    fi
}

pgm_size() { stat -c %s "$data/$1.pgm"; }

for checks in tests/examples/*.sh; do
    # shellcheck source=/dev/null
    source "$checks"
done

echo "examples: $passed passed, $failed failed"
[ "$failed" = 0 ]
