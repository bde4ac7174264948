# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

mkdir "$work/drawings"
cp tests/data/horse.png tests/data/pattern.png "$work/drawings/"

run headless examples/edge_strength.ijm "$work/drawings/pattern.png"
test -s "$work/drawings/pattern.png-esf.png"
rm "$work/drawings/pattern.png-esf.png"

for how in headless window; do
    run "$how" examples/batch.ijm "$work/drawings"
    test -s "$work/drawings/esf/horse.tif" && test -s "$work/drawings/esf/pattern.tif"
    mv "$work/drawings/esf" "$work/$how"
done

# The headers may differ (ImageJ writes window positions), the pixels may not: they are the last bytes of the file.
for name in horse:$((400 * 328 * 4)) pattern:$((512 * 512 * 4)); do
    file=${name%:*}.tif
    bytes=${name#*:}
    cmp <(tail -c "$bytes" "$work/headless/$file") <(tail -c "$bytes" "$work/window/$file")
done

refused "Edge Strength Function..." "rho=-1" rho
