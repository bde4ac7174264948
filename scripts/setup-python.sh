#!/usr/bin/env bash
# Makes the Python environment for data, references and pictures in .tools/venv.
# Does nothing when it is already there with the same package list.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.tools/venv
stamp=$venv/isoline-stamp
want=$(sha256sum scripts/requirements.txt | cut -d' ' -f1)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

echo "setup-python: making $venv"
rm -rf "$venv"
mkdir -p .tools
if ! python3 -m venv "$venv"; then
    echo "setup-python: 'python3 -m venv' failed; on Debian: apt-get install python3-venv" >&2
    exit 1
fi
"$venv/bin/python" -m pip install --quiet --no-input --only-binary=:all: -r scripts/requirements.txt
echo "$want" > "$stamp"
