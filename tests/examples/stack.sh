# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work and $data
check "stack: a voxel in a volume" 0 "$work/stack" cpu
