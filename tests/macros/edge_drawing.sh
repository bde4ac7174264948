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

refused "Edge Drawing..." "min_length=20" "No output is chosen"
