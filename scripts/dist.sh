#!/usr/bin/env bash
# Packs what C and C++ programs need for each platform of scripts/jar-all.sh: TARGET/dist/isoline-VERSION-PLATFORM.tar.gz
# (.zip for Windows), as scripts/install.sh installs it. Beside them: the plugin's jar, the Python wheels, SHA256SUMS, and
# isoline.spdx.json, the list of the crates and of the compiler's and linkers' parts in the library.
# Usage: dist.sh TARGET-FOLDER   (after 'make jar-all')
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath "$1")
platforms=$target/platforms
dist=$target/dist
version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -1)
# The folder of each platform's libraries, and for Linux what zig calls it.
declare -A folders=(
    [linux-x86-64]=x86_64-unknown-linux-gnu
    [linux-aarch64]=aarch64-unknown-linux-gnu
    [win32-x86-64]=x86_64-pc-windows-gnu
    [darwin-x86-64]=x86_64-apple-darwin
    [darwin-aarch64]=aarch64-apple-darwin
)
declare -A zig=([linux-x86-64]=x86_64-linux-gnu.2.17 [linux-aarch64]=aarch64-linux-gnu.2.17)

scripts/third_party.py --check-all
rm -rf "$dist"
mkdir -p "$dist"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
for platform in "${!folders[@]}"; do
    name=isoline-$version-$platform
    CC=${zig[$platform]:+"$PWD/.tools/venv/bin/python -m ziglang cc -target ${zig[$platform]}"} DESTDIR=$stage PREFIX=/$name \
        scripts/install.sh "$platforms/build/${folders[$platform]}/release" "$platform"
    # The same files give the same archive.
    find "$stage/$name" -exec touch --no-dereference --date=2026-01-01T00:00:00Z {} +
    if [[ $platform = win32-* ]]; then
        (cd "$stage" && find "$name" -type f | LC_ALL=C sort | "$OLDPWD/.tools/venv/bin/python" -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for name in sys.stdin.read().splitlines():
        archive.write(name)' "$dist/$name.zip")
    else
        tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -n -9 > "$dist/$name.tar.gz"
    fi
done
cp "$platforms"/Isoline_-*.jar "$dist/"
for platform in "${!folders[@]}"; do
    # The same files give the same wheel.
    SOURCE_DATE_EPOCH=1767225600 ISOLINE_LIBRARY=$(echo "$platforms/$platform"/*isoline.*) \
        .tools/venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$dist" ./python
done
scripts/third_party.py --sbom "$dist/isoline.spdx.json"
(cd "$dist" && sha256sum -- * > SHA256SUMS)
ls -l "$dist"
