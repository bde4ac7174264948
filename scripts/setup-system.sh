#!/usr/bin/env bash
# Checks for the system tools Isoline's make targets use, and installs with apt those that are missing.
# Usage: setup-system.sh build|plugin|lint|test|fuzz|sanitize-threads|demo|jar-all|test-platforms
#   CUDA=0   'build' does not need Python, which compiles the kernels (default: 1)
# Rust, a JDK and Maven are never installed for you: which one to use is your choice.
set -euo pipefail

goal=${1:-build}
missing_packages=()

need() { # need COMMAND PACKAGE
    command -v "$1" > /dev/null 2>&1 || missing_packages+=("$2")
}

have_prerequisites=yes
prerequisite() { # prerequisite COMMAND HOW-TO-GET-IT
    if ! command -v "$1" > /dev/null 2>&1; then
        echo "setup-system: '$1' is missing: $2" >&2
        have_prerequisites=no
    fi
}

prerequisite cargo "install Rust with rustup (stable, 1.89 or newer), then open a new shell"
case "$goal" in
    plugin | lint | test | demo | jar-all | test-platforms)
        prerequisite javac "install a JDK, 17 or newer; on Debian: apt-get install default-jdk"
        prerequisite mvn "install Maven, 3.6 or newer; on Debian: apt-get install maven"
        if command -v javac > /dev/null 2>&1; then
            java_version=$(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/')
            if [ "${java_version:-0}" -lt 17 ]; then
                echo "setup-system: the JDK is version $java_version, 17 or newer is needed" >&2
                have_prerequisites=no
            fi
        fi
        ;;
esac
if [ "$have_prerequisites" = no ]; then
    exit 1
fi

need cc build-essential
need c++ build-essential
if [ "$goal" != build ] || [ "${CUDA:-1}" != 0 ]; then
    need python3 python3
    # Debian splits ensurepip from python3; without it 'python3 -m venv' fails.
    python3 -c 'import ensurepip, venv' > /dev/null 2>&1 || missing_packages+=(python3-venv)
fi
if [ "$goal" = test ] || [ "$goal" = demo ]; then
    need Xvfb xvfb
    need xauth xauth
    # A headless JDK cannot open windows, not even under Xvfb.
    java_home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    if [ ! -e "$java_home/lib/libawt_xawt.so" ]; then
        missing_packages+=("openjdk-$java_version-jre")
    fi
    # Java draws no text without fontconfig and at least one font.
    need fc-list fontconfig
    if ! command -v fc-list > /dev/null 2>&1 || [ -z "$(fc-list 2> /dev/null | head -1)" ]; then
        missing_packages+=(fonts-dejavu-core)
    fi
fi
if [ "$goal" = test ]; then
    need valgrind valgrind
    need abidiff abigail-tools
fi
if [ "$goal" = test ] || [ "$goal" = test-platforms ]; then
    need cmake cmake
    need pkg-config pkg-config
fi
if [ "$goal" = fuzz ]; then
    # libFuzzer; the sanitizer is Rust's.
    compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-$(uname -m).a" > /dev/null ||
        missing_packages+=(libclang-rt-dev)
fi
if [ "$goal" = test ] || [ "$goal" = lint ]; then
    need git git
    need doxygen doxygen
    need shellcheck shellcheck
fi

if [ "$goal" = jar-all ] || [ "$goal" = sanitize-threads ]; then
    # Its own Rust, beside rustup's: these packages have the source of the standard library.
    need /usr/bin/rustc rustc-web
    need /usr/bin/cargo cargo-web
    if [ ! -e /usr/lib/rustlib/src/rust/library/Cargo.lock ]; then
        missing_packages+=(rust-web-src)
    fi
fi
if [ "$goal" = jar-all ]; then
    need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
fi
if [ "$goal" = test-platforms ]; then
    need x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64
    need wine wine
    # 'wine' alone recommends it only.
    if [ ! -e /usr/lib/wine/wine64 ]; then
        missing_packages+=(wine64)
    fi
    need xvfb-run xvfb
    need xauth xauth
    need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
    need qemu-aarch64 qemu-user
fi

if [ ${#missing_packages[@]} -eq 0 ]; then
    exit 0
fi

mapfile -t missing_packages < <(printf '%s\n' "${missing_packages[@]}" | sort -u)
echo "setup-system: installing ${missing_packages[*]}"
if ! command -v apt-get > /dev/null 2>&1; then
    echo "setup-system: no apt-get here; install these (Debian names) and try again: ${missing_packages[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null 2>&1; then
        echo "setup-system: neither root nor sudo; as root run: apt-get install ${missing_packages[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq < /dev/null
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing_packages[@]}" < /dev/null > /dev/null
