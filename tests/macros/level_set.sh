# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# The level set: the mask, the outlines and the numbers are the same with a window and without.
for how in headless window; do
    mkdir "$work/level-set-$how"
    cp tests/data/brain.tif "$work/level-set-$how/"
    run "$how" examples/level_set.ijm "$work/level-set-$how/brain.tif"
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

refused "Level Set..." "mask_stack" "needs a selection with an area"
