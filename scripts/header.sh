#!/usr/bin/env bash
# Regenerates include/isoline.h from the Rust sources with a pinned cbindgen, or with --check says whether the
# committed one is fresh. The version is pinned because another one formats differently.
# Usage: header.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.29.4
cbindgen=.tools/bin/cbindgen

if ! "$cbindgen" --version 2> /dev/null | grep -qx "cbindgen $version"; then
    echo "header: building cbindgen $version into .tools"
    # A target folder of its own: the crate's may be locked by a build that waits for this one.
    # --debug: it runs for a second, but would compile for two minutes.
    CARGO_TARGET_DIR=.tools/cbindgen-build cargo install --debug cbindgen --version "$version" --locked --root .tools --quiet
    rm -rf .tools/cbindgen-build
fi

if [ "${1:-}" != --check ]; then
    "$cbindgen" --quiet --config cbindgen.toml --crate isoline --output include/isoline.h .
    echo "header: include/isoline.h written"
    exit 0
fi

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
"$cbindgen" --quiet --config cbindgen.toml --crate isoline --output "$fresh" .
if ! diff -u include/isoline.h "$fresh"; then
    echo "header: include/isoline.h is stale; run 'make header' and commit it" >&2
    exit 1
fi
echo "header: include/isoline.h is fresh"
