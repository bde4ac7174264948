#!/usr/bin/env bash
# Installs into a temporary prefix and uses what is there as a C or C++ program's author would: pkg-config, CMake, shared,
# static, and the tree moved to another place. Ends with 'N passed, N failed'.
# Usage: install_test.sh FOLDER-OF-LIBISOLINE
set -uo pipefail
cd "$(dirname "$0")/.." || exit

native=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
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

programs_of_pkg_config() { # programs_of_pkg_config OPTIONS...: a C program, run
    local flags
    flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs "$@" isoline) || return
    # shellcheck disable=SC2086 # several words
    cc -std=c11 examples/minimal.c $flags -o "$work/minimal" &&
        LD_LIBRARY_PATH=$lib "$work/minimal" < tests/data/pattern.pgm > "$work/field.pgm" &&
        [ "$(stat -c %s "$work/field.pgm")" -gt 100 ]
}

static_of_pkg_config() { # the static library, as one links it where both are there
    local flags
    flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --static --cflags --libs isoline) || return
    # shellcheck disable=SC2086 # several words
    cc -std=c11 examples/minimal.c ${flags/-lisoline/-l:libisoline.a} -o "$work/minimal" &&
        "$work/minimal" < tests/data/pattern.pgm | cmp - "$work/field.pgm"
}

cmake_examples() { # cmake_examples PREFIX OPTIONS...: built and one of each language run
    local from=$1 build
    shift
    build=$(mktemp -d -p "$work")
    cmake -S examples -B "$build" -DCMAKE_PREFIX_PATH="$from" "$@" && cmake --build "$build" --parallel 2 &&
        "$build/stack" cpu && "$build/minimal" < tests/data/pattern.pgm | cmp - "$work/field.pgm"
}

check "it installs" env PREFIX="$prefix" scripts/install.sh "$native"
check "the library has its SONAME" grep -F 'libisoline.so.0' <(objdump -p "$lib/libisoline.so" | grep SONAME)
check "every function is exported with a version, and nothing else" exports_are_versioned
check "the library has at most 12 MB" small_enough
check "licences and notices are there" ls "$prefix"/share/doc/isoline/{LICENSE-MIT,LICENSE-APACHE,THIRD-PARTY-NOTICES}
check "pkg-config: a program with the shared library" programs_of_pkg_config
check "pkg-config: a program with the static library" static_of_pkg_config
check "CMake: the examples with the shared library" cmake_examples "$prefix"
check "CMake: the examples with the static library" cmake_examples "$prefix" -DISOLINE_STATIC=ON
mv "$prefix" "$work/elsewhere"
check "the tree may be moved" cmake_examples "$work/elsewhere"
check "DESTDIR and LIBDIR" env DESTDIR="$work/package" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu \
    scripts/install.sh "$native"
check "their files are there" ls "$work/package/usr/include/isoline.h" "$work/package/usr/lib/x86_64-linux-gnu/libisoline.so.0"
check "CMake finds them" cmake_examples "$work/package/usr" -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu
check "a relative PREFIX is refused" fails_with 'PREFIX must be an absolute path' env PREFIX=here scripts/install.sh "$native"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
