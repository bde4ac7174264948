# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-examples.sh, which has check, $work, $data and $native
# Tasks of examples/cluster/slurm-array.sh, as SLURM runs them.
mkdir -p "$work/cluster"
for image in pattern horse; do
    "$PWD/.tools/venv/bin/python" -c "import sys, numpy, tifffile; from PIL import Image
tifffile.imwrite(sys.argv[2], numpy.asarray(Image.open(sys.argv[1])))" "$data/$image.pgm" "$work/cluster/$image.tif"
done
mkdir "$work/cluster/other"
cp "$work/cluster/pattern.tif" "$work/cluster/other/horse.tif"
printf '%s\n' "$work/cluster/"{pattern,horse,other/horse}.tif > "$work/cluster/images.txt"

task() { # task NUMBER [LINES-TO-LEAVE-OUT]: what sbatch runs for it
    env "PATH=$PWD/.tools/venv/bin:$PATH" PYTHONPATH=python ISOLINE_LIBRARY="$native" SLURM_ARRAY_TASK_ID="$1" \
        examples/cluster/slurm-array.sh "$work/cluster/images.txt" "$work/cluster/esf" "${@:2}"
}
check "a task of a job array" 0 task 2
check "its result" 0 test -s "$work/cluster/esf/2-horse.tif"
check "no part of another" 1 test -e "$work/cluster/esf/1-pattern.tif"
check "an image of the same name" 0 task 3
check "has a result of its own" 1 cmp -s "$work/cluster/esf/2-horse.tif" "$work/cluster/esf/3-horse.tif"
check "and nothing else is there" 0 test "$(ls -A "$work/cluster/esf")" = "2-horse.tif
3-horse.tif"
check "a task that the list does not have" 1 task 4
mv "$work/cluster/esf/2-horse.tif" "$work/cluster/horse-esf.tif"
: > "$work/cluster/esf/3-horse.tif"
check "a task whose result is missing" 0 task 2
check "computes it again" 0 cmp -s "$work/cluster/esf/2-horse.tif" "$work/cluster/horse-esf.tif"
check "a task whose result is there" 0 task 3
check "leaves it" 1 test -s "$work/cluster/esf/3-horse.tif"
printf '%s\r\n' one two "$work/cluster/pattern.tif" > "$work/cluster/images.txt"
check "a list of Windows, after two lines" 0 task 1 2
check "has the number of its line" 0 test -s "$work/cluster/esf/3-pattern.tif"
