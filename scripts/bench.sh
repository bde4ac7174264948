#!/usr/bin/env bash
# Speed tables, and operations beside other programs. Usage: bench.sh [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

export ISOLINE_BENCH_DEVICE=${1:-auto}
cargo bench --locked --bench '*'

# The peers come with the Python environment (scripts/setup-python.sh test).
python=.tools/venv/bin/python
if [ -x "$python" ]; then
    cargo build --release --locked
    for program in benches/*_peers.py; do
        "$python" "$program" "${CARGO_TARGET_DIR:-target}/release"
    done
else
    echo "bench: without the other programs: no $python; 'scripts/setup-python.sh test' makes it"
fi
