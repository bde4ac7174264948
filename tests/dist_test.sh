#!/usr/bin/env bash
# Unpacks every archive of scripts/dist.sh, checks what is in it, and uses those of the systems whose programs run here, as
# tests/install_test.sh does: Linux on x86-64, on aarch64 by qemu-user, and Windows by Wine. Ends with 'N passed, N failed'.
# Usage: dist_test.sh FOLDER-OF-DIST
set -uo pipefail
cd "$(dirname "$0")/.." || exit

dist=$(realpath "$1")
work=$(mktemp -d)
export WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=' QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
end() {
    wineserver --kill 2> /dev/null
    rm -rf "$work"
}
trap end EXIT
version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -1)
passed=0
failed=0

check() { # check WHAT COMMAND...: what the command prints is shown, too
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "  ok    $what"
    else
        failed=$((failed + 1))
        echo "  FAIL  $what"
    fi
}

sums_are_right() {
    (cd "$dist" && sha256sum --quiet --check SHA256SUMS &&
        diff <(awk '{ print $2 }' SHA256SUMS) <(find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort))
}

unpack() { # unpack PLATFORM: into $work, and its shared library to where scripts/check_platforms.py expects it
    local name=isoline-$version-$1 file library
    if [ -e "$dist/$name.zip" ]; then
        python3 -m zipfile -e "$dist/$name.zip" "$work" || return
    else
        tar -C "$work" -xzf "$dist/$name.tar.gz" || return
    fi
    for file in include/isoline.{h,hpp} lib/{libisoline.a,pkgconfig/isoline.pc,cmake/Isoline/IsolineConfig.cmake} \
        share/doc/isoline/{LICENSE-MIT,LICENSE-APACHE,THIRD-PARTY-NOTICES,c_api.md,c_rules.md}; do
        [ -s "$work/$name/$file" ] || { echo "$name has no $file"; return 1; }
    done
    library=$(find "$work/$name" -type f \( -name "libisoline.so.$version" -o -name '*.dll' -o -name '*.dylib' \))
    mkdir -p "$work/libraries/$1"
    cp "${library:?no library in $name}" "$work/libraries/$1/"
}

bill_is_right() { # the bill of materials and the notices of each archive name the same versions
    python3 - "$dist/isoline.spdx.json" "$work/isoline-$version-"*/share/doc/isoline/THIRD-PARTY-NOTICES << 'PYTHON'
import json, pathlib, re, sys

bill = json.loads(pathlib.Path(sys.argv[1]).read_text())
identifiers = [package["SPDXID"] for package in bill["packages"]]
assert len(set(identifiers)) == len(identifiers), "an SPDXID stands for two packages"
assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in identifiers), "an SPDXID has a wrong letter"
known = {"SPDXRef-DOCUMENT", *identifiers}
assert all({one["spdxElementId"], one["relatedSpdxElement"]} <= known for one in bill["relationships"]), "an SPDXID is unknown"
packages = {f"{package['name']} {package['versionInfo']}" for package in bill["packages"][1:]}
for notices in sys.argv[2:]:
    named = set(re.findall(r"^(\S[^:\n]* \S*\d): ", pathlib.Path(notices).read_text(encoding="utf-8"), re.M))
    assert named == packages, f"{notices} and the bill differ in {sorted(named ^ packages)}"
PYTHON
}

use() { # use PLATFORM COMPILER-PREFIX COMPILER-SUFFIX RUNNER OPTIONS-OF-CMAKE
    local program
    for program in "$2g++$3" ${4:+"$4"} cmake pkg-config; do
        if ! command -v "$program" > /dev/null; then
            echo "  skipped: $1 is not used, because $program is not installed; 'make dist' installs it"
            return
        fi
    done
    echo "$1"
    check "$1 can be used" env CC="$2gcc" CXX="$2g++$3" ISOLINE_TESTS_RUNNER="$4" CMAKE_OPTIONS="$5" \
        tests/install_test.sh --unpacked "$work/isoline-$version-$1"
}

prepare_wine() {
    # It has no display, and its version 8 lacks a library of Windows.
    DISPLAY='' wineboot --init > "$work/wineboot.log" 2>&1 &&
        x86_64-w64-mingw32-gcc -shared -O1 tests/c/windows/bcryptprimitives.c -ladvapi32 \
            -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll"
}

check "the checksums are those of all files" sums_are_right
for platform in linux-x86-64 linux-aarch64 win32-x86-64 darwin-x86-64 darwin-aarch64; do
    check "$platform is complete" unpack "$platform"
done
check "its libraries need, export and have no more than they should" \
    .tools/venv/bin/python scripts/check_platforms.py "$work/libraries" --installed
check "the bill of materials and the notices agree" bill_is_right
use linux-x86-64 "" "" "" ""
use linux-aarch64 aarch64-linux-gnu- "" qemu-aarch64 ""
if command -v wine > /dev/null; then
    check "Wine starts" prepare_wine
fi
use win32-x86-64 x86_64-w64-mingw32- -posix wine "-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_EXE_LINKER_FLAGS=-static"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
