#!/usr/bin/env bash
# Packs target/gpu-bundle: tests, benches, library, plugin, ImageJ, a small Java runtime and the test images, to be run
# with its run.sh on a machine that has an NVIDIA GPU but no compiler, no Java and no network.
# Usage: gpu-bundle.sh TARGET-FOLDER   (after 'make plugin')
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1
release=$target/release
bundle=$target/gpu-bundle
limit_mb=60
rm -rf "$bundle"
mkdir -p "$bundle"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{rust,bench,c,lib,imagej,macros,system}

echo "gpu-bundle: Rust tests and benches"
executables() { # executables CARGO-ARGUMENTS...: "kind name path" a line
    cargo "$@" --locked --message-format=json 2> "$stage/cargo.log" | python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("reason") == "compiler-artifact" and message.get("executable"):
        kind = message["target"]["kind"][0]
        print("bench" if kind == "bench" else "rust", message["target"]["name"], message["executable"])' ||
        { cat "$stage/cargo.log" >&2; exit 1; }
}
# 'build' for the benches too: in the release profile, so that nothing is compiled twice.
executables test --release --lib --tests --no-run > "$stage/list"
executables build --release --bench '*' >> "$stage/list"
while read -r kind name path; do
    if [ "$kind" = bench ] || [ ! -e "$stage/$kind/$name" ]; then
        objcopy --strip-debug "$path" "$stage/$kind/$name"
    fi
done < "$stage/list"
rm "$stage/list" "$stage/cargo.log"

echo "gpu-bundle: library and C tests"
objcopy --strip-debug "$release/libisoline.so" "$stage/lib/libisoline.so"
tests/c/run.sh --build-only "$stage/c" "$release"

echo "gpu-bundle: ImageJ, plugin, Java runtime"
cp fiji-plugin/target/lib/{ij,jna}.jar "$stage/imagej/"
# The plugin's files as they are: its library is the same as in lib, and the payload then holds it once.
for jar in fiji-plugin/target/Isoline_-*[0-9].jar; do
    python3 - "$jar" "$stage/imagej/$(basename "$jar")" << 'PYTHON'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as source, zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_STORED) as target:
    for entry in source.infolist():
        target.writestr(entry, source.read(entry), zipfile.ZIP_STORED)
PYTHON
done
cp examples/*.ijm scripts/same-pixels.ijm "$stage/macros/"
# Not compressed here: the payload is, as a whole and better.
jlink --add-modules java.base,java.desktop,java.logging,jdk.unsupported --strip-debug --no-header-files --no-man-pages \
    --compress=0 --output "$stage/java" > /dev/null
# Debian's Java takes these from the system, and the other machine may not have them. Without a display no more is needed.
for library in libfreetype.so.6 libfontconfig.so.1 libpng16.so.16 libjpeg.so.62 liblcms2.so.2 libharfbuzz.so.0 \
    libgraphite2.so.3 libbrotlidec.so.1 libbrotlicommon.so.1 libz.so.1 libexpat.so.1 libglib-2.0.so.0 \
    libpcre2-8.so.0 libpcre.so.3 libgif.so.7; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name && !path { path = $NF } END { print path }')
    if [ -n "$path" ]; then
        cp -L "$path" "$stage/system/"
    fi
done
font=$(fc-match -f '%{file}' 'DejaVu Sans')
mkdir -p "$stage/fonts"
cp "$font" "$stage/fonts/"

cp -r tests/data "$stage/data"
# Comparisons with other libraries and benches, through the C API, in Python.
mkdir "$stage/isoline"
cp python/isoline/*.py "$stage/isoline/"
cp benches/*.py benches/*.ijm "$stage/"
for bench in whole sizes plugin; do
    cp "benches/$bench.py" "$stage/bench/$bench"
done
for program in tests/*_oracle.py tests/oracles.py; do
    if [ -e "$program" ]; then
        cp "$program" "$stage/"
    fi
done

echo "gpu-bundle: packing"
# Every program embeds the same kernels. In one stream (-T1), side by side, and with a dictionary that spans several of
# them they are packed once. Unpacking takes as much memory as the dictionary.
alike=(lib imagej rust bench)
mapfile -t others < <(cd "$stage" && printf '%s\n' * | grep -vxF "$(printf '%s\n' "${alike[@]}")")
tar -C "$stage" -c "${alike[@]}" "${others[@]}" | xz -T1 --lzma2=preset=3,dict=128MiB > "$bundle/payload.tar.xz"
cp scripts/gpu-run.sh "$bundle/run.sh"
cp scripts/merge_gpu_records.py "$bundle/"
dirty=false
if [ -n "$(git status --porcelain -- kernels src)" ]; then
    dirty=true
    echo "gpu-bundle: kernels/ or src/ have changes that are not committed; the record will say so" >&2
fi
cat > "$bundle/bundle.txt" << EOF
version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -1)
commit=$(git rev-parse HEAD)
kernels_tree=$(git rev-parse HEAD:kernels)
src_tree=$(git rev-parse HEAD:src)
dirty=$dirty
rustc=$(rustc --version)
built=$(date -u +%Y-%m-%dT%H:%M:%SZ)
EOF

size_mb=$(du -sm --apparent-size "$bundle" | cut -f1)
echo "gpu-bundle: $bundle, $size_mb MB; copy it to a machine with a GPU and run ./run.sh RESULTS there"
if [ "$size_mb" -gt "$limit_mb" ]; then
    echo "gpu-bundle: more than $limit_mb MB" >&2
    exit 1
fi
