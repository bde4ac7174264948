# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# A command shows the links of tracks in a table of their own, in which rows of later runs come below.
cat > "$work/links.ijm" << 'MACRO'
newImage("film", "8-bit black", 80, 60, 3);
for (slice = 1; slice <= 3; slice++) {
    setSlice(slice);
    setColor(150);
    fillOval(14 + 4 * slice, 18, 24, 24);
}
setSlice(1);
for (turn = 1; turn <= 2; turn++) {
    makeOval(22, 22, 14, 14);
    run("Region Snake...", "stack=track links results_table");
    print("links: " + Table.size("Links") + " rows, row " + Table.get("Target row", Table.size("Links") - 1, "Links")
        + ", displacement " + d2s(Table.get("Displacement X", 0, "Links"), 0));
}
MACRO
run window "$work/links.ijm" ""
for line in "links: 2 rows, row 3, displacement 4" "links: 4 rows, row 6, displacement 4"; do
    if ! grep -qxF "$line" "$work/log"; then
        echo "macros: no line '$line'" >&2
        exit 1
    fi
done
