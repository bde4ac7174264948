#!/usr/bin/env bash
# Installs library, headers, pkg-config file and CMake package for C and C++ programs.
# Usage: install.sh FOLDER-OF-LIBISOLINE [PLATFORM]
#   PREFIX    where the files will be used from (default: /usr/local)
#   LIBDIR    the folder of the libraries, in PREFIX (default: PREFIX/lib)
#   DESTDIR   is put before PREFIX when the files are written, for those who make packages (default: empty)
#   CC        the compiler that links the shared library (default: cc)
#   PLATFORM  as scripts/jar-all.sh names it (default: this Linux system's)
#
# On Linux the shared library is linked here from the static one, because it gets its SONAME and the version of its
# symbols, which rustc's own list of exported symbols does not admit.
set -euo pipefail
cd "$(dirname "$0")/.."

# All users may read the installed files, whatever the umask of the caller is.
umask 022
libraries=$(realpath "${1:?usage: install.sh FOLDER-OF-LIBISOLINE [PLATFORM]}")
platform=${2:-linux}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
if [[ $prefix != /* || $libdir != "$prefix"/* ]]; then
    echo "install: cannot install: PREFIX must be an absolute path and LIBDIR a folder in it (got $prefix and $libdir)" >&2
    exit 2
fi
if [ ! -e "$libraries/libisoline.a" ]; then
    echo "install: cannot install: no libisoline.a in $libraries; run 'make build' first" >&2
    exit 1
fi
root=${DESTDIR:-}$prefix
lib=${DESTDIR:-}$libdir
version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -1)
major=${version%%.*}
# Versions with this number have compatible C APIs.
abi=$major
if [ "$major" = 0 ]; then
    abi=${version%.*}
fi
# The ways back to PREFIX: CMake goes from the folder of the libraries by the names, and pkg-config by the links that exist.
cmake_up=$(realpath -ms --relative-to="$libdir" "$prefix")
pc_up=$(realpath -m --relative-to="$lib/pkgconfig" "$root")

fill() { # fill TEMPLATE FILE: replaces the @NAMES@
    sed -e "s|@VERSION@|$version|g" -e "s|@ABI@|$abi|g" -e "s|@ABI_PATTERN@|${abi//./\\\\\\\\.}|g" \
        -e "s|@UP@|$pc_up|g" -e "s|@LIBDIR_UP@|$cmake_up|g" -e "s|@SHARED@|$shared|g" -e "s|@SONAME@|$soname|g" \
        -e "s|@IMPLIB@|$implib|g" -e "s|@STATIC_LIBS@|$static_libs|g" "packaging/$1" > "$2"
}

install -d "$lib/pkgconfig" "$lib/cmake/Isoline" "$root/include" "$root/share/doc/isoline"
implib=
shared=${libdir#"$prefix"/}
case "$platform" in
    linux*)
        soname=libisoline.so.$major
        shared+=/$soname
        static_libs='-lpthread -ldl -lm'
        map=$(mktemp)
        trap 'rm -f "$map"' EXIT
        fill isoline.map.in "$map"
        # shellcheck disable=SC2086 # CC may have arguments
        ${CC:-cc} -shared -o "$lib/libisoline.so.$version" "-Wl,-soname,$soname" "-Wl,--version-script,$map" \
            -Wl,--whole-archive "$libraries/libisoline.a" -Wl,--no-whole-archive \
            -Wl,--gc-sections,--as-needed,-z,relro,-z,now,--build-id=none,--strip-all $static_libs
        ln -sf "libisoline.so.$version" "$lib/$soname"
        ln -sf "$soname" "$lib/libisoline.so"
        ;;
    win32-*)
        soname=
        shared=bin/isoline.dll
        implib="\${_isoline_libdir}/libisoline.dll.a"
        static_libs='-lws2_32 -luserenv -lntdll -lbcrypt -lole32 -lshell32'
        install -D -m 755 "$libraries/isoline.dll" "$root/bin/isoline.dll"
        x86_64-w64-mingw32-strip "$root/bin/isoline.dll"
        install -m 644 "$libraries/libisoline.dll.a" "$lib/"
        ;;
    darwin-*)
        # There are no versions of symbols, so that the name has the ABI's.
        soname=@rpath/libisoline.$abi.dylib
        shared+=/libisoline.$abi.dylib
        static_libs=-liconv
        install -m 755 "$libraries/libisoline.dylib" "$lib/libisoline.$abi.dylib"
        ln -sf "libisoline.$abi.dylib" "$lib/libisoline.dylib"
        ;;
    *) echo "install: cannot install: there is no platform '$platform'; see scripts/jar-all.sh" >&2 && exit 2 ;;
esac
install -m 644 "$libraries/libisoline.a" "$lib/"
if [ "$platform" = linux ]; then
    # Line numbers for debuggers are most of it, and name the folder. Those of scripts/jar-all.sh have none.
    objcopy --strip-debug --enable-deterministic-archives "$lib/libisoline.a"
fi
install -m 644 include/isoline.h include/isoline.hpp "$root/include/"
fill isoline.pc.in "$lib/pkgconfig/isoline.pc"
fill IsolineConfig.cmake.in "$lib/cmake/Isoline/IsolineConfig.cmake"
fill IsolineConfigVersion.cmake.in "$lib/cmake/Isoline/IsolineConfigVersion.cmake"
install -m 644 LICENSE-MIT LICENSE-APACHE THIRD-PARTY-NOTICES CHANGELOG.md docs/c_api.md docs/c_rules.md "$root/share/doc/isoline/"
