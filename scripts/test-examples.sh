#!/usr/bin/env bash
# Compiles the examples as strictly as a careful user would, and runs each on a real image, also with wrong arguments.
# Usage: test-examples.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
data=$PWD/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

link=(-Iinclude -L"$native" -lisoline "-Wl,-rpath,$native")
strict=(-Wall -Wextra -Wpedantic -Werror -O1)
cc -std=c11 "${strict[@]}" examples/minimal.c "${link[@]}" -o "$work/minimal"
cc -std=c11 "${strict[@]}" examples/edge_strength.c "${link[@]}" -o "$work/edge_strength"
cc -std=c11 "${strict[@]}" examples/edge_drawing.c "${link[@]}" -o "$work/edge_drawing"
cc -std=c11 "${strict[@]}" examples/level_set.c "${link[@]}" -o "$work/level_set"
cc -std=c11 "${strict[@]}" examples/snake.c "${link[@]}" -o "$work/snake"
c++ -std=c++17 "${strict[@]}" examples/stack.cpp "${link[@]}" -o "$work/stack"

check() { # check WHAT WANTED-STATUS COMMAND...: runs it with its output in $work/out
    local what=$1 wanted=$2 status=0
    shift 2
    "$@" > "$work/out" 2> "$work/err" || status=$?
    if [ "$status" = "$wanted" ]; then
        passed=$((passed + 1))
        echo "  ok    $what"
    else
        failed=$((failed + 1))
        echo "  FAIL  $what: exit status $status, wanted $wanted"
        cat "$work/out" "$work/err"
    fi
}

pgm_size() { stat -c %s "$data/$1.pgm"; }
minimal() { "$work/minimal" < "$1" > "$work/field.pgm" && [ "$(stat -c %s "$work/field.pgm")" = "$2" ]; }

check "minimal: a drawing becomes a picture of the same size" 0 minimal "$data/pattern.pgm" "$(pgm_size pattern)"
check "minimal: not a picture" 1 "$work/minimal" < /dev/null
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
edges() { "$work/edge_drawing" -d cpu "$@" "$data/camera.pgm" "$work/edges.pgm" "$work/segments.csv"; }
check "edge_drawing: the paper's profile" 0 edges
check "edge_drawing: wrote a map of the same size" 0 [ "$(stat -c %s "$work/edges.pgm")" = "$(pgm_size camera)" ]
check "edge_drawing: wrote segments" 0 grep -qE '^[0-9]+,[01],[0-9.]+,[0-9]+,[0-9]+$' "$work/segments.csv"
check "edge_drawing: the reference profile, other parameters" 0 edges -R -o prewitt -t 36 -a 8 -s 4 -l 20
check "edge_drawing: turns followed, scharr" 0 edges -f -o scharr -t 100
check "edge_drawing: the map alone" 0 "$work/edge_drawing" "$data/horse.pgm" "$work/edges.pgm"
check "edge_drawing: no arguments" 1 "$work/edge_drawing"
check "edge_drawing: not a PGM" 1 "$work/edge_drawing" "$data/horse.png" "$work/edges.pgm"
check "edge_drawing: a file that cannot be made" 1 "$work/edge_drawing" "$data/horse.pgm" "$work/none/edges.pgm"
check "edge_drawing: no such operator" 2 edges -o canny
check "edge_drawing: a scan interval of 0" 2 edges -s 0
cp "$work/err" "$work/said"
check "edge_drawing: says why" 0 grep -q "edge_drawing: ISOLINE_INVALID_ARGUMENT: scan_interval" "$work/said"
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
check "stack: a voxel in a volume" 0 "$work/stack" cpu

echo "examples: $passed passed, $failed failed"
[ "$failed" = 0 ]
