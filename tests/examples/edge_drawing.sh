# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
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
