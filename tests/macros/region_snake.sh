# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# Region snakes: labels, outlines and numbers are the same with a window and without.
for how in headless window; do
    mkdir "$work/snake-$how" "$work/snakes-$how"
    cp tests/data/nuclei.png "$work/snake-$how/"
    run "$how" examples/region_snake.ijm "$work/snake-$how/nuclei.png"
    grep -q "nuclei.png: [1-9][0-9]* of [1-9][0-9]* outlined" "$work/log"
    (cd "$work/snakes-$how" && jar xf "$work/snake-$how/nuclei.png-outlines.zip")
done
diff -r "$work/snakes-headless" "$work/snakes-window"
cmp "$work/snake-headless/nuclei.png-outlines.csv" "$work/snake-window/nuclei.png-outlines.csv"
cmp <(tail -c $((512 * 512 * 2)) "$work/snake-headless/nuclei.png-labels.tif") \
    <(tail -c $((512 * 512 * 2)) "$work/snake-window/nuclei.png-labels.tif")

refused "Region Snake..." "start=rectangle noise=none overlay" "noise must be one of"
