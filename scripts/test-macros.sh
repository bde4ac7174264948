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

# Distances of a hyperstack whose planes all differ: the channel and frame that are shown, or all, in both worlds the same.
cat > "$work/hyperstack.ijm" << 'MACRO'
folder = getArgument() + "/";
newImage("planes", "8-bit color-mode label", 96, 64, 2, 3, 4);
setVoxelSize(0.25, 0.25, 1.5, "um");
Stack.setPosition(2, 1, 3);
saveAs("Tiff", folder + "planes.tif");
newImage("mask", "8-bit black", 96, 64, 1, 6, 1);
setVoxelSize(0.25, 0.25, 1.5, "um");
for (i = 2; i <= 4; i++) { setSlice(i); makeOval(30, 10 + i, 30, 40); setColor(255); fill(); }
run("Select None");
saveAs("Tiff", folder + "mask.tif");
close();
for (i = 0; i < 2; i++) {
    if (i == 0) options = ""; else options = " all_channels all_frames";
    selectImage("planes.tif");
    run("Signed Distance...", "threshold=100 stack=volume" + options);
    getDimensions(width, height, channels, slices, frames);
    print("planes: " + channels + " " + slices + " " + frames);
    saveAs("Tiff", folder + "distance" + i + ".tif");
    close();
}
MACRO
for how in headless window; do
    echo "macros: a hyperstack, $how"
    mkdir "$work/planes-$how"
    scripts/imagej.sh "$how" "$work/hyperstack.ijm" "$work/planes-$how" | tee "$work/log"
    if [ "$how" = headless ]; then
        grep -q "^planes: 1 3 1$" "$work/log" && grep -q "channel 2 of 2, frame 3 of 4" "$work/log"
        grep -q "^planes: 2 3 4$" "$work/log"
    fi
    echo "macros: examples/distance.ijm, $how"
    scripts/imagej.sh "$how" examples/distance.ijm "$work/planes-$how/mask.tif" | tee "$work/log"
    grep -q "^from -[1-9].* to [1-9].* µm$" "$work/log"
done
for file in distance0.tif:3 distance1.tif:24 mask.tif-distance.tif:6; do
    bytes=$((96 * 64 * 4 * ${file#*:}))
    cmp <(tail -c "$bytes" "$work/planes-headless/${file%:*}") <(tail -c "$bytes" "$work/planes-window/${file%:*}")
done

# The level set: the mask, the outlines and the numbers are the same with a window and without.
for how in headless window; do
    echo "macros: examples/level_set.ijm, $how"
    mkdir "$work/level-set-$how"
    cp tests/data/brain.tif "$work/level-set-$how/"
    scripts/imagej.sh "$how" examples/level_set.ijm "$work/level-set-$how/brain.tif" | tee "$work/log"
    grep -q "brain.tif: [1-9][0-9.]* mm^3 after 60 iterations" "$work/log"
done
# The outlines are those of the mask's pixels, slice by slice.
for how in headless window; do
    mkdir "$work/outlines-$how"
    (cd "$work/outlines-$how" && jar xf "$work/level-set-$how/brain.tif-outlines.zip")
    test -s "$work/level-set-$how/brain.tif-mask.tif"
done
diff -r "$work/outlines-headless" "$work/outlines-window"
# All columns but the seconds.
cmp <(cut -d, -f1-6 "$work/level-set-headless/brain.tif-level-set.csv") \
    <(cut -d, -f1-6 "$work/level-set-window/brain.tif-level-set.csv")
test "$(find "$work/outlines-headless" -name 'level-set s*.roi' | wc -l)" -gt 5

# Region snakes: labels, outlines and numbers are the same with a window and without.
for how in headless window; do
    echo "macros: examples/region_snake.ijm, $how"
    mkdir "$work/snake-$how" "$work/snakes-$how"
    cp tests/data/nuclei.png "$work/snake-$how/"
    scripts/imagej.sh "$how" examples/region_snake.ijm "$work/snake-$how/nuclei.png" | tee "$work/log"
    grep -q "nuclei.png: [1-9][0-9]* of [1-9][0-9]* outlined" "$work/log"
    (cd "$work/snakes-$how" && jar xf "$work/snake-$how/nuclei.png-outlines.zip")
done
diff -r "$work/snakes-headless" "$work/snakes-window"
cmp "$work/snake-headless/nuclei.png-outlines.csv" "$work/snake-window/nuclei.png-outlines.csv"
cmp <(tail -c $((512 * 512 * 2)) "$work/snake-headless/nuclei.png-labels.tif") \
    <(tail -c $((512 * 512 * 2)) "$work/snake-window/nuclei.png-labels.tif")

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
cat > "$work/wrong.ijm" << 'MACRO'
newImage("blank", "8-bit black", 32, 32, 1);
run("Level Set...", "mask_stack");
MACRO
if scripts/imagej.sh headless "$work/wrong.ijm" > "$work/log" 2>&1; then
    echo "macros: a level set without a start was accepted" >&2
    exit 1
fi
grep -q "needs a selection with an area" "$work/log"
cat > "$work/wrong.ijm" << 'MACRO'
newImage("blank", "8-bit black", 32, 32, 1);
run("Region Snake...", "start=rectangle noise=none overlay");
MACRO
if scripts/imagej.sh headless "$work/wrong.ijm" > "$work/log" 2>&1; then
    echo "macros: region snakes with an unknown noise were accepted" >&2
    exit 1
fi
grep -q "noise must be one of" "$work/log"
echo "macros: 18 passed, 0 failed"
