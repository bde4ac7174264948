#!/usr/bin/env bash
# Speed tables, and edge drawing beside other programs. Usage: bench.sh [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

export ISOLINE_BENCH_DEVICE=${1:-auto}
cargo bench --locked --bench '*'

# The peers come with the Python environment (scripts/setup-python.sh test).
python=.tools/venv/bin/python
if [ -x "$python" ]; then
    cargo build --release --locked
    "$python" benches/edge_drawing_peers.py "${CARGO_TARGET_DIR:-target}/release"
else
    echo "bench: without the peers of edge drawing: no $python; 'scripts/setup-python.sh test' makes it"
fi
