#!/usr/bin/env bash
# Puts the CUDA 13.0 compiler into .tools/cuda, from NVIDIA's own wheels on PyPI: no root, no driver, no GPU needed.
# build.rs finds it there. Does nothing when it is already there in these versions.
#
# Pinned to 13.0 on purpose: PTX of a newer 13.x compiler does not load on a 580 driver.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    nvidia-cuda-nvcc==13.0.88
    nvidia-nvvm==13.0.88
    nvidia-cuda-crt==13.0.88
    nvidia-cuda-runtime==13.0.96
    nvidia-cuda-cccl==13.0.85
)
dir=.tools/cuda
stamp=$dir/isoline-stamp
want="${packages[*]}"
nvcc=$dir/nvidia/cu13/bin/nvcc

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -x "$nvcc" ]; then
    exit 0
fi

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-aarch64) ;;
    *)
        echo "setup-cuda: no CUDA compiler wheels for $(uname -s) on $(uname -m); use 'make CUDA=0 ...' for a build without CUDA" >&2
        exit 1
        ;;
esac

echo "setup-cuda: fetching the CUDA 13.0 compiler into $dir"
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
chmod +x "$dir"/nvidia/cu13/bin/* "$dir"/nvidia/cu13/nvvm/bin/* 2>/dev/null || true
"$nvcc" --version | tail -1
echo "$want" > "$stamp"
