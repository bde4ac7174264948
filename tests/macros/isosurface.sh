# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# The example gives the same triangles and row with a window and without.
for how in headless window; do
    mkdir "$work/isosurface-$how"
    cp tests/data/brain.tif "$work/isosurface-$how"
    run "$how" examples/isosurface.ijm "$work/isosurface-$how/brain.tif"
    grep -Eq "^[1-9][0-9]* triangles, area [1-9][0-9.]*, volume [1-9][0-9.]*$" "$work/log"
done
cmp "$work/isosurface-headless/brain.tif-surface.csv" "$work/isosurface-window/brain.tif-surface.csv"
cmp "$work/isosurface-headless/brain.tif-surface.stl" "$work/isosurface-window/brain.tif-surface.stl"

refused "Isosurface..." "results_table" "has a single z slice"
refused "Isosurface..." "level=100 file=mesh.vtk" "file must end with .stl, .ply or .obj"
