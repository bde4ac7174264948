#!/usr/bin/env bash
# Edge strength of many images, each a task of a SLURM job array:
#   ls "$PWD"/drawings/*.tif > images.txt
#   sbatch --array="1-$(wc -l < images.txt)" slurm-array.sh images.txt esf
# For a GPU add --gres=gpu:1 to sbatch. The number of the task is in the name of its result, as images in several folders may
# have the same name. A result has its name when it is whole, and a task that is run again writes the same pixels.
#SBATCH --job-name=isoline
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=00:10:00
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

list=${1:?usage: slurm-array.sh LIST OUT}
out=${2:?usage: slurm-array.sh LIST OUT}
image=$(sed -n "${SLURM_ARRAY_TASK_ID:?it is set by sbatch --array}p" "$list")
if [ -z "$image" ]; then
    echo "slurm-array: $list has no line $SLURM_ARRAY_TASK_ID" >&2
    exit 1
fi
result=$out/$SLURM_ARRAY_TASK_ID-$(basename "${image%.*}").tif
mkdir -p "$out"

# With the plugin instead of the Python package, a macro for one image, which writes beside it:
#   fiji --headless -macro edge_strength.ijm "$image"
python -m isoline edge_strength "$image" "$result" --foreground below --threshold 127 --mode converged --rho 16
