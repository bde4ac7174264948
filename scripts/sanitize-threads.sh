#!/usr/bin/env bash
# Looks for data races: builds the library, with Rust's standard library, and the programs of tests/c with ThreadSanitizer, and
# runs these. Ends with 'N passed, N failed'.
# Usage: sanitize-threads.sh TARGET-FOLDER
#
# The compiler is Debian's rustc-web, which has the source of the standard library: a standard library without the sanitizer
# would hide its locks and channels from it, and each use of one would look like a race.
#
# With kernels for one architecture, that of the cards of a fake driver, whose kernels do nothing: it runs the host's side of
# CUDA.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "$1")/threads
host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
# A cargo by rustup would run rustup's compiler.
export RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo
# -Zsanitizer and -Zbuild-std are not for stable compilers otherwise.
export RUSTC_BOOTSTRAP=1
RUSTFLAGS=-Zsanitizer=thread CARGO_INCREMENTAL=0 ISOLINE_CUDA_ARCHS=${ISOLINE_CUDA_ARCHS:-90} "$CARGO" rustc --quiet --locked --lib \
    --crate-type staticlib "-Zbuild-std=std,panic_unwind" --target "$host" --target-dir "$target"
# gcc links what -ltsan finds. Its own does not know all that this compiler of Rust calls; that of rustup's does.
unset RUSTC
ln -sf "$(ls "$(rustc --print target-libdir)"/librustc-*_rt.tsan.a)" "$target/$host/debug/libtsan.a"
CARGO_TARGET_DIR=$target tests/c/run.sh --threads "$target/$host/debug"
