# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# Edge drawing: the map, the table and the ROIs are the same with a window and without.
for how in headless window; do
    mkdir "$work/edges-$how"
    cp tests/data/coins.png "$work/edges-$how/"
    run "$how" examples/edge_drawing.ijm "$work/edges-$how/coins.png"
    grep -q "coins.png: [1-9][0-9]* segments, the longest of [1-9]" "$work/log"
done
cmp "$work/edges-headless/coins.png-segments.csv" "$work/edges-window/coins.png-segments.csv"
cmp "$work/edges-headless/coins.png-edges.png" "$work/edges-window/coins.png-edges.png"
rows=$(($(wc -l < "$work/edges-headless/coins.png-segments.csv") - 1))
test "$(jar tf "$work/edges-headless/coins.png-segments.zip" | grep -c '\.roi$')" = "$rows"

# Straight lines: a square has four, which a file and the table hold.
cat > "$work/lines.ijm" << 'MACRO'
newImage("square", "8-bit black", 128, 100, 1);
makeRectangle(30, 20, 60, 60);
setColor(200);
fill();
run("Select None");
run("Edge Drawing...", "find=lines overlay results_table roi_file=[" + getArgument() + "]");
for (row = 0; row < nResults; row++) {
    Overlay.activateSelection(row);
    print("line " + getResult("Line", row) + " is of type " + selectionType() + ", long enough: " + (getResult("Length", row) > 50));
}
MACRO
for how in headless window; do
    run "$how" "$work/lines.ijm" "$work/lines-$how.zip"
    test "$(grep -c '^line [1-4] is of type 5, long enough: 1$' "$work/log")" = 4
    test "$(jar tf "$work/lines-$how.zip" | grep -c '^line-000[1-4]\.roi$')" = 4
done

# Ellipses: an oval of 60 x 40 pixels is one, with its axes.
cat > "$work/ellipses.ijm" << 'MACRO'
newImage("oval", "8-bit black", 128, 100, 1);
makeOval(30, 20, 60, 40);
setColor(200);
fill();
run("Select None");
run("Edge Drawing...", "find=ellipses overlay results_table roi_file=[" + getArgument() + "]");
near = abs(getResult("X", 0) - 60) < 0.2 && abs(getResult("Y", 0) - 40) < 0.2 && abs(getResult("Major", 0) - 60) < 1.5
    && abs(getResult("Minor", 0) - 40) < 1.5 && abs(sin(PI / 180 * getResult("Angle", 0))) < 0.02;
print("ellipses: " + nResults + ", as drawn: " + near);
MACRO
for how in headless window; do
    run "$how" "$work/ellipses.ijm" "$work/ellipses-$how.zip"
    grep -q '^ellipses: 1, as drawn: 1$' "$work/log"
    test "$(jar tf "$work/ellipses-$how.zip")" = ellipse-0001.roi
done

refused "Edge Drawing..." "min_length=20" "No output is chosen"
