#!/usr/bin/env bash
# Makes the Python environment for data, references and pictures in .tools/venv; with `test`, also with the programs that
# tests and benches compare Isoline with, and with `lint` those of scripts/lint.sh. Does nothing when all of it is already
# there from the same package lists.
# Usage: setup-python.sh [test] [lint]
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.tools/venv

hash() { # hash FILE
    sha256sum "$1" | cut -d' ' -f1
}

installed() { # installed STAMP LIST
    [ -f "$venv/$1" ] && [ "$(cat "$venv/$1")" = "$(hash "$2")" ] && "$venv/bin/python" -c '' 2> /dev/null
}

install() { # install STAMP LIST
    "$venv/bin/python" -m pip install --quiet --no-input --only-binary=:all: -r scripts/requirements.txt -r "$2"
    hash "$2" > "$venv/$1"
}

if ! installed isoline-stamp scripts/requirements.txt; then
    echo "setup-python: making $venv"
    rm -rf "$venv"
    mkdir -p .tools
    if ! python3 -m venv "$venv"; then
        echo "setup-python: 'python3 -m venv' failed; on Debian: apt-get install python3-venv" >&2
        exit 1
    fi
    install isoline-stamp scripts/requirements.txt
fi
for goal in "$@"; do
    if ! installed "isoline-$goal-stamp" "scripts/requirements-$goal.txt"; then
        echo "setup-python: adding scripts/requirements-$goal.txt"
        install "isoline-$goal-stamp" "scripts/requirements-$goal.txt"
    fi
done
