#!/usr/bin/env bash
# Speed tables, operations beside other programs, and whole calls of the C API by memory, size and threads, and beside the
# plugin (after 'make plugin').
# Usage: bench.sh [DEVICE]
set -euo pipefail
cd "$(dirname "$0")/.."

export ISOLINE_BENCH_DEVICE=${1:-auto}
cargo bench --locked --bench '*'

# These programs need the Python environment (scripts/setup-python.sh test).
python=.tools/venv/bin/python
if [ -x "$python" ]; then
    cargo build --release --locked
    for program in benches/*_peers.py benches/whole.py benches/sizes.py benches/plugin.py; do
        "$python" "$program" "${CARGO_TARGET_DIR:-target}/release"
    done
else
    echo "bench: without the other programs and whole calls: no $python; 'scripts/setup-python.sh test' makes it"
fi
