#!/usr/bin/env bash
# Installs into a temporary prefix and uses what is there as a C or C++ program's author would: pkg-config, CMake, shared,
# static, and the tree moved to another place. Ends with 'N passed, N failed'.
# Usage: install_test.sh FOLDER-OF-LIBISOLINE
#        install_test.sh --unpacked FOLDER   only uses what is in FOLDER, an archive of scripts/dist.sh that was unpacked
#   CC, CXX                the compilers; with those for another system, whose archive it is, come
#   ISOLINE_TESTS_RUNNER   the command that runs that system's programs, such as "wine" (default: empty)
#   CMAKE_OPTIONS          what CMake has to be told then (default: empty)
set -uo pipefail
cd "$(dirname "$0")/.." || exit

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$1" = --unpacked ]; then
    prefix=$(realpath "$2")
else
    native=$(realpath "$1")
    prefix=$work/prefix
fi
lib=$prefix/lib
passed=0
failed=0

check() { # check WHAT COMMAND...: what the command prints is shown only when it fails
    local what=$1
    shift
    if "$@" > "$work/out" 2>&1; then
        passed=$((passed + 1))
        echo "  ok    $what"
    else
        failed=$((failed + 1))
        echo "  FAIL  $what"
        cat "$work/out"
    fi
}

fails_with() { # fails_with TEXT COMMAND...
    local text=$1
    shift
    ! "$@" > "$work/said" 2>&1 && grep -F -- "$text" "$work/said"
}

exports_are_versioned() {
    local version
    version=$(sed -nE 's/^version = "([0-9]+\.[0-9]+).*/\1/p' Cargo.toml | head -1)
    diff <(grep -oE '\bisoline_[a-z0-9_]+\(' <(sed -E 's,/\*.*\*/,,; \,/\*,,\,\*/,d; s,//.*,,' include/isoline.h) | tr -d '(' |
        sort -u | sed "s/$/@@ISOLINE_$version/") \
        <(nm -D --defined-only "$lib/libisoline.so" | awk '$2 == "T" { print $3 }' | sort -u)
}

small_enough() {
    local bytes
    bytes=$(stat -Lc %s "$lib/libisoline.so")
    echo "$bytes bytes"
    [ "$bytes" -le 12000000 ]
}

run() { # run PROGRAM ARGUMENTS...
    local program=$1
    shift
    if [ -e "$program.exe" ]; then
        program+=.exe
    fi
    # Windows finds a DLL by PATH alone.
    WINEPATH=$prefix/bin ${ISOLINE_TESTS_RUNNER:-env} "$program" "$@"
}

# shellcheck disable=SC2086 # several words
shared_of_pkg_config() { # a C program with the shared library
    local flags
    flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs isoline) || return
    ${CC:-cc} -std=c11 examples/edge_strength.c $flags -o "$work/shared" &&
        LD_LIBRARY_PATH=$lib run "$work/shared" -d cpu tests/data/pattern.pgm "$work/field.pfm" &&
        [ "$(stat -c %s "$work/field.pfm")" -gt 1000000 ]
}

# shellcheck disable=SC2086 # several words
static_of_pkg_config() { # the same with the static library, as one links it where both are there
    local flags
    flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --static --cflags --libs isoline) || return
    ${CC:-cc} -std=c11 examples/edge_strength.c ${flags/-lisoline/-l:libisoline.a} -o "$work/static" &&
        run "$work/static" -d cpu tests/data/pattern.pgm "$work/static.pfm" && cmp "$work/static.pfm" "$work/field.pfm"
}

# shellcheck disable=SC2086 # several words
cmake_examples() { # cmake_examples PREFIX OPTIONS...: built and one of each language run
    local from=$1 build
    shift
    build=$(mktemp -d -p "$work")
    cmake -S examples -B "$build" -DCMAKE_PREFIX_PATH="$from" ${CMAKE_OPTIONS:-} "$@" &&
        cmake --build "$build" --parallel 2 && run "$build/stack" cpu &&
        run "$build/edge_strength" -d cpu tests/data/pattern.pgm "$build/field.pfm" && cmp "$build/field.pfm" "$work/field.pfm"
}

use() { # the programs with what is in $prefix
    check "pkg-config: a program with the shared library" shared_of_pkg_config
    check "pkg-config: a program with the static library" static_of_pkg_config
    check "CMake: the examples with the shared library" cmake_examples "$prefix"
    check "CMake: the examples with the static library" cmake_examples "$prefix" -DISOLINE_STATIC=ON
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

if [ "$1" = --unpacked ]; then
    use
    finish
fi
check "it installs" env PREFIX="$prefix" scripts/install.sh "$native"
check "the library has its SONAME" grep -F 'libisoline.so.0' <(objdump -p "$lib/libisoline.so" | grep SONAME)
check "every function is exported with a version, and nothing else" exports_are_versioned
check "the library has at most 12 MB" small_enough
check "licences, notices and documents are there" \
    ls "$prefix"/share/doc/isoline/{LICENSE-MIT,LICENSE-APACHE,THIRD-PARTY-NOTICES,c_api.md,c_rules.md}
use
mv "$prefix" "$work/elsewhere"
check "the tree may be moved" cmake_examples "$work/elsewhere"
check "DESTDIR and LIBDIR" env DESTDIR="$work/package" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu \
    scripts/install.sh "$native"
check "their files are there" ls "$work/package/usr/include/isoline.h" "$work/package/usr/lib/x86_64-linux-gnu/libisoline.so.0"
check "CMake finds them" cmake_examples "$work/package/usr" -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu
check "a relative PREFIX is refused" fails_with 'PREFIX must be an absolute path' env PREFIX=here scripts/install.sh "$native"
finish
