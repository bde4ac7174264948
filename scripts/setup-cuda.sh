#!/usr/bin/env bash
# Puts NVIDIA's run-time compiler of CUDA 12.9 and its headers into .tools/cuda, from NVIDIA's own wheels on PyPI: no
# root, no driver, no GPU needed. build.rs finds it there. Does nothing when it is already there in these versions.
#
# Pinned to 12.9 on purpose: drivers from 525 on load its machine code, those before 580 none of CUDA 13; and it is the
# last that compiles for Volta.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    nvidia-cuda-nvrtc-cu12==12.9.86
    nvidia-cuda-runtime-cu12==12.9.79
    nvidia-cuda-cccl-cu12==12.9.27
)
dir=.tools/cuda
stamp=$dir/isoline-stamp
want="${packages[*]}"
compiler=$dir/nvidia/cuda_nvrtc/lib/libnvrtc.so.12

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -f "$compiler" ]; then
    exit 0
fi

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-aarch64) ;;
    *)
        echo "setup-cuda: no CUDA compiler wheels for $(uname -s) on $(uname -m); use 'make CUDA=0 ...' for a build without CUDA" >&2
        exit 1
        ;;
esac

echo "setup-cuda: fetching the CUDA 12.9 compiler into $dir"
rm -rf "$dir"
mkdir -p "$dir"
if ! python3 -m venv .tools/cuda-pip; then
    echo "setup-cuda: 'python3 -m venv' failed; on Debian: apt-get install python3-venv" >&2
    exit 1
fi
if ! .tools/cuda-pip/bin/python -m pip install --quiet --no-input --no-deps --only-binary=:all: \
    --target "$dir" "${packages[@]}"; then
    echo "setup-cuda: the compiler wheels could not be fetched; 'make CUDA=0 ...' builds without CUDA" >&2
    exit 1
fi
rm -rf .tools/cuda-pip
echo "$want" > "$stamp"
