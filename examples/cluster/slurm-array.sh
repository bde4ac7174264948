#!/usr/bin/env bash
# Edge strength of many images, each a task of a SLURM job array:
#   ls "$PWD"/drawings/*.tif > images.txt
#   sbatch --array="1-$(wc -l < images.txt)%50" slurm-array.sh images.txt esf
# Here 50 run at the same time. An array has at most as many tasks as MaxArraySize of the cluster, often 1000; for a longer
# list give the number of lines to leave out, once for each part: slurm-array.sh images.txt esf 1000
# For a GPU add --gres=gpu:1 to sbatch. The number of the line is in the name of its result, as images in several folders may
# have the same name: add new images at the end of the list. A result has its name when it is whole, and a task whose result is
# there does nothing, so that the same line goes on after a failure. Those that failed, of the array 123:
#   sacct --jobs=123 --allocations --state=FAILED,TIMEOUT,OUT_OF_MEMORY,NODE_FAIL --format=JobID,State,ExitCode
#SBATCH --job-name=isoline
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=00:10:00
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

list=${1:?usage: slurm-array.sh LIST OUT [LINES-TO-LEAVE-OUT]}
out=${2:?usage: slurm-array.sh LIST OUT [LINES-TO-LEAVE-OUT]}
line=$((${3:-0} + ${SLURM_ARRAY_TASK_ID:?it is set by sbatch --array}))
# A list that was written on Windows has a carriage return at the end of each line.
image=$(sed -n "$line{s/\r\$//;p}" "$list")
if [ -z "$image" ]; then
    echo "slurm-array: $list has no line $line" >&2
    exit 1
fi
name=$(basename -- "$image")
result=$out/$line-${name%.*}.tif
if [ -e "$result" ]; then
    exit 0
fi
mkdir -p "$out"

# With the plugin instead of the Python package, a macro for one image, which writes beside it:
#   fiji --headless -macro edge_strength.ijm "$image"
python -m isoline edge_strength "$image" "$result" --foreground below --threshold 127 --mode converged --rho 16
