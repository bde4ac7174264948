# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

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
    mkdir "$work/planes-$how"
    run "$how" "$work/hyperstack.ijm" "$work/planes-$how"
    if [ "$how" = headless ]; then
        grep -q "^planes: 1 3 1$" "$work/log" && grep -q "channel 2 of 2, frame 3 of 4" "$work/log"
        grep -q "^planes: 2 3 4$" "$work/log"
    fi
    run "$how" examples/distance.ijm "$work/planes-$how/mask.tif"
    grep -q "^from -[1-9].* to [1-9].* µm$" "$work/log"
done
for file in distance0.tif:3 distance1.tif:24 mask.tif-distance.tif:6; do
    bytes=$((96 * 64 * 4 * ${file#*:}))
    cmp <(tail -c "$bytes" "$work/planes-headless/${file%:*}") <(tail -c "$bytes" "$work/planes-window/${file%:*}")
done

# A single mask is measured as it is.
cp tests/data/horse.png "$work/horse.png"
run headless examples/distance.ijm "$work/horse.png"
grep -q "^from -[1-9].* to [1-9].* pixel" "$work/log"

# ImageJ's own threshold is taken where the stack is grey.
cp tests/data/brain.tif "$work/brain.tif"
run headless examples/distance.ijm "$work/brain.tif"
grep -q "^from -[1-9].* to [1-9]" "$work/log"
