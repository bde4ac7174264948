# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
for _ in 1 2 3 4; do cat "$data/coins.pgm"; done > "$work/coins.pgm"
surface() { "$work/level_set" -d cpu -s 1,1,2 "$@" "$work/coins.pgm" 60,35,1,8 "$work/mask.pgm"; }
check "level_set: a coin in a volume of four slices" 0 surface -t 130 -e 60 -n 60
cp "$work/out" "$work/said"
check "level_set: says how large it is" 0 grep -qE '^ +60 iterations: [1-9][0-9]* voxels, [1-9][0-9]* cubic units$' "$work/said"
check "level_set: wrote a mask of four slices" 0 [ "$(stat -c %s "$work/mask.pgm")" = "$(stat -c %s "$work/coins.pgm")" ]
check "level_set: every slice by itself, automatic parameters" 0 surface -2 -n 20
check "level_set: no arguments" 1 "$work/level_set"
check "level_set: a ball without a radius" 1 "$work/level_set" "$work/coins.pgm" 60,35,1 "$work/mask.pgm"
check "level_set: not a PGM" 1 "$work/level_set" "$data/coins.png" 60,35,1,8 "$work/mask.pgm"
check "level_set: a weight above 1" 2 surface -a 1.5
cp "$work/err" "$work/said"
check "level_set: says why" 0 grep -q "level_set: ISOLINE_INVALID_ARGUMENT: alpha" "$work/said"
