#!/usr/bin/env bash
# Runs the example macros in a real ImageJ with the built plugin: with its window under Xvfb, and without any display.
# Usage: test-macros.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/drawings"
cp tests/data/horse.png tests/data/pattern.png "$work/drawings/"

echo "macros: examples/edge_strength.ijm without a display"
scripts/imagej.sh headless examples/edge_strength.ijm "$work/drawings/pattern.png"
test -s "$work/drawings/pattern.png-esf.png"
rm "$work/drawings/pattern.png-esf.png"

for how in headless window; do
    echo "macros: examples/batch.ijm, $how"
    scripts/imagej.sh "$how" examples/batch.ijm "$work/drawings"
    test -s "$work/drawings/esf/horse.tif" && test -s "$work/drawings/esf/pattern.tif"
    mv "$work/drawings/esf" "$work/$how"
done

# The headers may differ (ImageJ writes window positions), the pixels may not: they are the last bytes of the file.
for name in horse:$((400 * 328 * 4)) pattern:$((512 * 512 * 4)); do
    file=${name%:*}.tif
    bytes=${name#*:}
    cmp <(tail -c "$bytes" "$work/headless/$file") <(tail -c "$bytes" "$work/window/$file")
done

echo "macros: a wrong option stops the macro, with words"
cat > "$work/wrong.ijm" << 'MACRO'
newImage("blank", "8-bit black", 32, 32, 1);
run("Edge Strength Function...", "rho=-1");
MACRO
if scripts/imagej.sh headless "$work/wrong.ijm" > "$work/log" 2>&1; then
    echo "macros: rho=-1 was accepted" >&2
    exit 1
fi
grep -qi "rho" "$work/log"
if grep -q "^\sat " "$work/log"; then
    echo "macros: a stack trace instead of a message:" >&2
    cat "$work/log" >&2
    exit 1
fi
echo "macros: 5 passed, 0 failed"
