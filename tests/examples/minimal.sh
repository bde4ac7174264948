# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
minimal() { "$work/minimal" < "$1" > "$work/field.pgm" && [ "$(stat -c %s "$work/field.pgm")" = "$2" ]; }
check "minimal: a drawing becomes a picture of the same size" 0 minimal "$data/pattern.pgm" "$(pgm_size pattern)"
check "minimal: not a picture" 1 "$work/minimal" < /dev/null
