# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
outline() { "$work/snake" -d cpu "$@"; }
check "snake: a cell from a rectangle in it" 0 outline -m poisson -c 1 -w 0.3 "$data/cell.pgm" "$work/mask.pgm" 390,340,460,410
cp "$work/err" "$work/said"
check "snake: says what it found" 0 grep -qE '^1: converged after [0-9]+ steps, [1-9][0-9]+ pixels of ' "$work/said"
check "snake: wrote a mask of the same size" 0 [ "$(stat -c %s "$work/mask.pgm")" = "$(pgm_size cell)" ]
check "snake: from the default rectangle" 0 outline "$data/nuclei.pgm" "$work/mask.pgm"
check "snake: two coins, each in its window" 0 outline -s 8 -w 0.5 "$data/coins.pgm" "$work/mask.pgm" 35,20,80,65 100,25,140,65
cp "$work/out" "$work/paths"
check "snake: wrote a path for each" 0 [ "$(grep -cE '^M [0-9]+ [0-9]+( L [0-9]+ [0-9]+){2,} Z$' "$work/paths")" = 2 ]
check "snake: no arguments" 1 "$work/snake"
check "snake: not a rectangle" 1 outline "$data/coins.pgm" "$work/mask.pgm" 35,20,80
check "snake: not a PGM" 1 outline "$data/coins.png" "$work/mask.pgm"
check "snake: no such model" 2 outline -m laplace "$data/coins.pgm" "$work/mask.pgm"
check "snake: a rectangle without height" 2 outline "$data/coins.pgm" "$work/mask.pgm" 35,20,80,20
cp "$work/err" "$work/said"
check "snake: says why" 0 grep -q "snake: ISOLINE_INVALID_ARGUMENT: polygon 0" "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
check "snake: outlines that cannot be written" 1 sh -c '"$0" -d cpu "$@" > /dev/full' "$work/snake" "$data/nuclei.pgm" "$work/mask.pgm"
