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

# Edge drawing: the map, the table and the ROIs are the same with a window and without.
for how in headless window; do
    echo "macros: examples/edge_drawing.ijm, $how"
    mkdir "$work/edges-$how"
    cp tests/data/coins.png "$work/edges-$how/"
    scripts/imagej.sh "$how" examples/edge_drawing.ijm "$work/edges-$how/coins.png" | tee "$work/log"
    grep -q "coins.png: [1-9][0-9]* segments, the longest of [1-9]" "$work/log"
done
cmp "$work/edges-headless/coins.png-segments.csv" "$work/edges-window/coins.png-segments.csv"
cmp "$work/edges-headless/coins.png-edges.png" "$work/edges-window/coins.png-edges.png"
rows=$(($(wc -l < "$work/edges-headless/coins.png-segments.csv") - 1))
test "$(jar tf "$work/edges-headless/coins.png-segments.zip" | grep -c '\.roi$')" = "$rows"

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
cat > "$work/wrong.ijm" << 'MACRO'
newImage("blank", "8-bit black", 32, 32, 1);
run("Edge Drawing...", "min_length=20");
MACRO
if scripts/imagej.sh headless "$work/wrong.ijm" > "$work/log" 2>&1; then
    echo "macros: edge drawing without an output was accepted" >&2
    exit 1
fi
grep -q "No output is chosen" "$work/log"
echo "macros: 8 passed, 0 failed"
