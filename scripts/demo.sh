#!/usr/bin/env bash
# The demo: a real ImageJ runs examples/demo.ijm with the plugin; pictures go to demo-output/.
# Usage: demo.sh [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

device=${1:-auto}
out=demo-output
rm -rf "$out"
mkdir -p "$out/raw"

echo "demo: ImageJ runs examples/demo.ijm on device $device"
scripts/imagej.sh window examples/demo.ijm "$PWD/tests/data|$PWD/$out/raw|$device" | tee "$out/log.txt"
echo
echo "demo: pictures"
.tools/venv/bin/python scripts/make_pictures.py "$out/raw" "$out"
echo "demo: done; the results themselves are in $out/raw, what ran where is in $out/log.txt"
