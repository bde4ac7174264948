# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

mkdir "$work/drawings"
cp tests/data/horse.png tests/data/pattern.png "$work/drawings/"

run headless examples/edge_strength.ijm "$work/drawings/pattern.png"
test -s "$work/drawings/pattern.png-esf.png"
rm "$work/drawings/pattern.png-esf.png"
# Cameras write endings in capitals.
mv "$work/drawings/pattern.png" "$work/drawings/pattern.PNG"

for how in headless window; do
    run "$how" examples/batch.ijm "$work/drawings"
    test -s "$work/drawings/esf/horse.png.tif" && test -s "$work/drawings/esf/pattern.PNG.tif"
    test "$(ls -A "$work/drawings/esf" | wc -l)" = 2
    mv "$work/drawings/esf" "$work/$how"
done
if scripts/imagej.sh headless examples/batch.ijm "$work/none" > "$work/log" 2>&1 || ! grep -q "There is no folder" "$work/log"; then
    echo "macros: a folder that is not there is no error" >&2
    exit 1
fi

# The headers may differ (ImageJ writes window positions), the pixels may not: they are the last bytes of the file.
for name in horse.png:$((400 * 328 * 4)) pattern.PNG:$((512 * 512 * 4)); do
    file=${name%:*}.tif
    bytes=${name#*:}
    cmp <(tail -c "$bytes" "$work/headless/$file") <(tail -c "$bytes" "$work/window/$file")
done

# The inside of the rectangle has one centre, and an axis from each corner.
cat > "$work/axes.ijm" <<'MACRO'
newImage("rectangle", "8-bit black", 60, 44, 1);
setColor(255);
drawRect(5, 5, 49, 33);
run("Edge Strength Function...", "rho=16 mode=converged tolerance=1e-6 find=axes overlay results_table roi_file=[" + getArgument() + "]");
near = abs(getResult("X", 0) - 29.5) < 0.02 && abs(getResult("Y", 0) - 21.5) < 0.02;
print("axes: " + getResultString("Class", 0) + ", in the centre: " + near + ", more than 8: " + (nResults > 8));
MACRO
for how in headless window; do
    run "$how" "$work/axes.ijm" "$work/axes-$how.zip"
    grep -q '^axes: elliptic, in the centre: 1, more than 8: 1$' "$work/log"
    jar tf "$work/axes-$how.zip" | grep -q '^elliptic-0001.roi$'
    jar tf "$work/axes-$how.zip" | grep -q '^S+-0002.roi$\|^S--0002.roi$'
done

refused "Edge Strength Function..." "rho=-1" rho
refused "Edge Strength Function..." "find=axes" "No output is chosen"
