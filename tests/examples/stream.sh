# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
# Three slices of 400 x 328 pixels, without the header of the picture.
for _ in 1 2 3; do tail -c $((400 * 328)) "$data/horse.pgm"; done > "$work/horse.raw"
stream() { "$work/stream" 400 328 "$1" 127 "$work/horse.raw" "$2"; }
check "stream: three slices" 0 stream 3 "$work/field.raw"
check "stream: wrote every pixel as float" 0 [ "$(stat -c %s "$work/field.raw")" = $((3 * 400 * 328 * 4)) ]
check "stream: no arguments" 1 "$work/stream"
check "stream: no such file" 1 "$work/stream" 400 328 3 127 "$work/none.raw" "$work/field.raw"
check "stream: a file that is too short" 2 stream 4 "$work/field.raw"
cp "$work/err" "$work/said"
check "stream: says why" 0 grep -q "cannot read slice 3: the file ends before its last slice" "$work/said"
check "stream: a full disk" 2 stream 3 /dev/full
cp "$work/err" "$work/said"
check "stream: says so" 0 grep -q "stream: ISOLINE_CALLBACK_FAILED: cannot write slice" "$work/said"
