# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
check "edge_strength: 50 iterations" 0 "$work/edge_strength" -d cpu -b -t 127 "$data/horse.pgm" "$work/horse.pfm"
check "edge_strength: wrote every pixel as float" 0 [ "$(stat -c %s "$work/horse.pfm")" = $((400 * 328 * 4 + 16)) ]
check "edge_strength: converged" 0 "$work/edge_strength" -d cpu -b -t 127 -r 16 -c "$data/horse.pgm" "$work/horse.pfm"
check "edge_strength: no arguments" 1 "$work/edge_strength"
check "edge_strength: no such file" 1 "$work/edge_strength" "$work/none.pgm" "$work/out.pfm"
check "edge_strength: not a PGM" 1 "$work/edge_strength" "$data/horse.png" "$work/out.pfm"
check "edge_strength: rho must be positive" 2 "$work/edge_strength" -r -1 "$data/horse.pgm" "$work/out.pfm"
check "edge_strength: no such device" 2 "$work/edge_strength" -d cuda:99 "$data/horse.pgm" "$work/out.pfm"
cp "$work/err" "$work/said"
check "edge_strength: says why" 0 grep -q "edge_strength: ISOLINE_DEVICE_UNAVAILABLE: ." "$work/said"
