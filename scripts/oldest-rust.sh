#!/usr/bin/env bash
# Builds the library and runs the Rust tests with the oldest Rust that Cargo.toml promises (rust-version). rustup fetches it.
# Usage: oldest-rust.sh TARGET-FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^rust-version = "(.*)"/\1/p' Cargo.toml)
# Versions have three numbers for rustup.
if [[ $version =~ ^[0-9]+\.[0-9]+$ ]]; then
    version=$version.0
fi
if ! rustup run "$version" rustc --version; then
    rustup toolchain install "$version" --profile minimal
fi
# Kernels for one architecture: the Rust code around them is what is tested.
ISOLINE_CUDA_ARCHS=${ISOLINE_CUDA_ARCHS:-75} CARGO_INCREMENTAL=0 cargo "+$version" test --locked --target-dir "$1/oldest-rust"
