#!/usr/bin/env bash
# Builds the native library for every platform, each in TARGET/platforms/PLATFORM, and the plugin's jar with all of them:
# TARGET/platforms/Isoline_-VERSION.jar. A platform has the name that JNA gives it.
# Usage: jar-all.sh TARGET-FOLDER [PLATFORM...]
#   With platforms only these are built, and no jar is packed.
#
# The compiler is Debian's rustc-web, which makes the standard library from its source for each platform. The linkers are
# MinGW-w64's for Windows and zig for all others: zig knows the symbols of old glibcs and of macOS. CUDA_PATH as for build.rs.
set -euo pipefail
cd "$(dirname "$0")/.."

# The oldest glibc that Rust's standard library runs with.
glibc=2.17
declare -A triples=(
    [linux-x86-64]=x86_64-unknown-linux-gnu.$glibc
    [linux-aarch64]=aarch64-unknown-linux-gnu.$glibc
    [win32-x86-64]=x86_64-pc-windows-gnu
    [darwin-x86-64]=x86_64-apple-darwin
    [darwin-aarch64]=aarch64-apple-darwin
)
all=(linux-x86-64 linux-aarch64 win32-x86-64 darwin-x86-64 darwin-aarch64)

# The version of the ABI, as in scripts/install.sh.
abi=$(sed -nE 's/^version = "(0\.[0-9]+|[0-9]+)\..*/\1/p' Cargo.toml | head -1)
target=$1
shift
chosen=("$@")
if [ ${#chosen[@]} -eq 0 ]; then
    chosen=("${all[@]}")
fi
out=$target/platforms
venv=$PWD/.tools/venv/bin

# A cargo by rustup would run rustup's compiler, which lacks the source of the standard library.
export RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo
# -Zbuild-std is not for stable compilers otherwise.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR=$out/build
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
# The oldest macOS; Rust would allow less on Intel alone.
export MACOSX_DEPLOYMENT_TARGET=11.0
# Line numbers for debuggers are half of the library, and the first command of every user unpacks all of it.
export CARGO_PROFILE_RELEASE_DEBUG=false

# Without the feature "backtrace", which reads line numbers that are not there, and takes 0.2 MB.
std_features=panic-unwind

file_of() { # file_of PLATFORM
    case "$1" in
        linux-*) echo libisoline.so ;;
        win32-*) echo isoline.dll ;;
        darwin-*) echo libisoline.dylib ;;
    esac
}

for platform in "${chosen[@]}"; do
    triple=${triples[$platform]:?is no platform}
    echo "jar-all: $platform ($triple)"
    arguments=(--release --locked --lib "-Zbuild-std=std,panic_unwind" "-Zbuild-std-features=$std_features" --target "$triple")
    case "$platform" in
        win32-*) "$CARGO" build "${arguments[@]}" ;;
        # PATH: it looks for zig in the first python3.
        linux-*) PATH=$venv:/usr/bin:$PATH cargo-zigbuild zigbuild "${arguments[@]}" ;;
        # zig's linker for macOS exports all that is visible. Rust would strip with a tool of Apple's or of rustup's, but
        # there are no line numbers to strip. The name that programs look for at run time is the path of the build otherwise;
        # it is given to the linker, because the signature that Apple's processors require covers it.
        darwin-*)
            RUSTFLAGS="-Zdefault-visibility=hidden -Clink-arg=-Wl,-install_name,@rpath/libisoline.$abi.dylib" \
                CARGO_PROFILE_RELEASE_STRIP=none PATH=$venv:/usr/bin:$PATH \
                cargo-zigbuild zigbuild "${arguments[@]}"
            ;;
    esac
    folder=$CARGO_TARGET_DIR/${triple%".$glibc"}/release
    # The kernels are compiled once: other systems take the same code.
    made=$(find "$folder"/build -path "*/isoline-*/out/embedded.rs" -printf "%T@ %p\n" | sort -n | tail -1 | cut -d" " -f2-)
    if [ -n "$made" ]; then
        export ISOLINE_KERNELS=${ISOLINE_KERNELS:-$(dirname "$made")}
    fi
    mkdir -p "$out/$platform"
    library=$out/$platform/$(file_of "$platform")
    cp "$folder/$(file_of "$platform")" "$library"
    if [[ $platform = win32-* ]]; then
        # The other linkers leave the table of local symbols out by themselves.
        x86_64-w64-mingw32-strip "$library"
    fi
done

if [ ${#chosen[@]} -ne ${#all[@]} ]; then
    echo "jar-all: no jar, because only some platforms were built; name none for all"
    exit
fi
libraries=()
for platform in "${all[@]}"; do
    libraries+=("$platform/$(file_of "$platform")")
done
"$venv/python" scripts/check_platforms.py "$out"

rm -f "$out"/Isoline_-*.jar
scripts/plugin.sh "$out/linux-$(uname -m | tr _ -)" > /dev/null
jar=$out/$(basename fiji-plugin/target/Isoline_-*[0-9].jar)
cp fiji-plugin/target/"$(basename "$jar")" "$jar"
# The date is fixed, as in the plugin's other jar, so that the same sources give the same jar.
(cd "$out" && jar --update --file "$(basename "$jar")" --date=2026-01-01T00:00:00Z "${libraries[@]}")
ls -l "$jar"
