#!/usr/bin/env bash
# Speed tables. Usage: bench.sh [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

ISOLINE_BENCH_DEVICE=${1:-auto} cargo bench --locked --bench '*'
