#!/usr/bin/env bash
# The comparisons with other programs, tests/*_oracle.py. Each works on one core most of the time, so that there are as many at
# a time as cores.
# Usage: oracles.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
native=$(realpath "$1")
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0
printf '%s\n' tests/*_oracle.py | xargs -P "$(nproc)" -I NAME \
    sh -c '"$1" NAME "$2" > "$3/$(basename NAME .py).log" 2>&1 || { echo "failed: NAME"; exit 1; }' \
    sh .tools/venv/bin/python "$native" "$logs" || failed=1
tail -n +1 "$logs"/*_oracle.log
exit "$failed"
