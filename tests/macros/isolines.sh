# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# The example gives the same curves and rows with a window and without.
for how in headless window; do
    mkdir "$work/isolines-$how"
    cp tests/data/coins.png "$work/isolines-$how"
    run "$how" examples/isolines.ijm "$work/isolines-$how/coins.png"
    grep -Eq "^[1-9][0-9]* isolines, of which [1-9][0-9]* are closed$" "$work/log"
    [ "$(unzip -l "$work/isolines-$how/coins.png-isolines.zip" | grep -c "\.roi$")" = "$(grep -c "^[0-9]" "$work/isolines-$how/coins.png-isolines.csv")" ]
done
cmp "$work/isolines-headless/coins.png-isolines.csv" "$work/isolines-window/coins.png-isolines.csv"
cmp <(unzip -p "$work/isolines-headless/coins.png-isolines.zip") <(unzip -p "$work/isolines-window/coins.png-isolines.zip")

# Levels are given in a text.
cat > "$work/levels.ijm" << 'MACRO'
open(getArgument());
run("Isolines...", "levels=[60 120] overlay");
print("overlay: " + (Overlay.size > 100));
MACRO
run headless "$work/levels.ijm" "$work/isolines-headless/coins.png"
grep -q "^overlay: 1$" "$work/log"
