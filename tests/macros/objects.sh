# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# The example gives the same labels and rows with a window and without.
for how in headless window; do
    mkdir "$work/objects-$how"
    cp tests/data/nuclei.png "$work/objects-$how"
    run "$how" examples/objects.ijm "$work/objects-$how/nuclei.png"
done
# The pixels are at the end, after what ImageJ writes of the display.
pixels=$((512 * 512 * 2))
cmp <(tail -c "$pixels" "$work/objects-headless/nuclei.png-labels.tif") <(tail -c "$pixels" "$work/objects-window/nuclei.png-labels.tif")
cmp "$work/objects-headless/nuclei.png-objects.csv" "$work/objects-window/nuclei.png-objects.csv"

# Each object of the table has an outline in the ROI Manager's file.
printf 'open("%s");\nrun("Grow Objects...", "start=detect roi_file=[%s]");\n' "$PWD/tests/data/nuclei.png" "$work/nuclei.zip" > "$work/outlines.ijm"
run headless "$work/outlines.ijm"
test "$(jar tf "$work/nuclei.zip" | grep -c '^object-0[0-9]*\.roi$')" = "$(grep -c '^[0-9]' "$work/objects-headless/nuclei.png-objects.csv")"

refused "Grow Objects..." "start=detect" "No output is chosen"
refused "Grow Objects..." "start=labels label_image" "start_image must be the title"
