#!/usr/bin/env bash
# Builds the C and C++ tests as strictly as a careful user would and runs them: plain, under valgrind, and built with
# AddressSanitizer and UndefinedBehaviorSanitizer; those in C++ as C++17 and, with 20 after their name, as C++20. Also: the
# headers by themselves in every language they are meant for, what the library exports, the glibc that it needs, and the ABI
# against its baseline. Ends with 'N passed, N failed'.
#
# Usage: run.sh [FOLDER-OF-LIBISOLINE]             build in target/c-tests, run everything
#        run.sh --build-only OUT [FOLDER]          only build the plain programs, for a machine without a compiler;
#                                                  they look for the library beside them and in ../lib
#        run.sh --no-build FOLDER-OF-PROGRAMS      only run such programs
#        run.sh --threads FOLDER                   only build and run them with ThreadSanitizer, with the libisoline.a and
#                                                  libtsan.a of FOLDER (scripts/sanitize-threads.sh)
#        run.sh --update-abi                       write abi_baseline.txt and abi_baseline.abi anew, after a change that is
#                                                  meant (the latter by abidw)
#
# ISOLINE_LIB_DIR         the folder of libisoline.so when none is given (default: target/release)
# ISOLINE_NO_VALGRIND=1   leave valgrind out; it is also left out where it is not installed
# ISOLINE_NO_ASAN=1       leave the sanitizers out
# ISOLINE_TEST_EVERY=1    also the test that writes to half of the memory, where that is more than 2 GiB
# ISOLINE_NO_ONE_CORE=1   measure the time from a cancel to the end of a call by the clock alone, not also on a single core
# CC, CXX                 compilers (default: gcc, g++); with MinGW-w64's the programs are for Windows
# ISOLINE_TESTS_RUNNER    the command that runs the programs of another system, such as "wine" (--no-build)
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cc=${CC:-gcc}
cxx=${CXX:-g++}
strict=(-Wall -Wextra -Wpedantic -Werror)
# shellcheck disable=SC2016 # $ORIGIN is for the loader
link_flags=(-lisoline -lpthread -lm -ldl '-Wl,-rpath,$ORIGIN:$ORIGIN/../lib')
driver_name=libcuda.so
nvml_name=libnvidia-ml.so.1
driver_libraries=()
suffix=
case "$("$cc" -dumpmachine 2> /dev/null)" in
    *mingw32)
        # A DLL is found beside the program. The compiler's own libraries go into the program.
        link_flags=(-l:isoline.dll -lpthread -lm -lpsapi -static)
        strict+=(-I"$here/windows")
        driver_name=cuda.dll
        nvml_name=nvml.dll
        driver_libraries=(-lpthread -static)
        suffix=.exe
        ;;
esac
passed=0
failed=0

result() { # result ok|FAIL WHAT
    printf '  %-4s %s\n' "$1" "$2"
    if [ "$1" = ok ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

check() { # check WHAT COMMAND...: what the command prints is shown only when it fails
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        result ok "$what"
    else
        printf '%s\n' "$output"
        result FAIL "$what"
    fi
}

absolute() { # absolute FOLDER, relative to where the user is
    (cd "$1" 2> /dev/null && pwd) || { echo "run.sh: no folder '$1'" >&2; return 1; }
}

# ------------------------------------------------------------------------------------------------------------- build

init_structs() { # init_structs FOLDER: writes INIT(STRUCT, ARGUMENT) of each init function of the header, for sized.c
    mkdir -p "$1"
    tr -s '\n ' ' ' < "$root/include/isoline.h" | grep -oE '\b(isoline_\w+)_init\( ?\1 \*\w+' |
        sed -E 's/(.*)_init\(.*\*/INIT(\1, /; s/$/)/' > "$1/init_structs.h"
}

build() { # build LIBRARY-FOLDER OUT FLAGS...: every test program
    local library=$1 out=$2 source name standard jobs=()
    shift 2
    mkdir -p "$out"
    rm -rf "${out:?}"/*
    init_structs "$out/include"
    # The drivers of driver.c, which finds them beside itself, under the name that the library looks for first.
    mkdir -p "$out"/drivers/{whole,lacking,lacking-one}
    local shared=("$cc" -std=c11 -D_GNU_SOURCE "${strict[@]}" -O1 -shared -fPIC)
    local fake=("${shared[@]}" "-Wl,-soname,$driver_name" "$here/drivers/cuda.c")
    "${fake[@]}" -o "$out/drivers/whole/$driver_name" "${driver_libraries[@]}" || return 1
    "${fake[@]}" -DLACKING -o "$out/drivers/lacking/$driver_name" "${driver_libraries[@]}" || return 1
    "${fake[@]}" -DcuStreamSynchronize=cuOther -o "$out/drivers/lacking-one/$driver_name" "${driver_libraries[@]}" || return 1
    "${shared[@]}" "-Wl,-soname,$nvml_name" "$here/drivers/nvml.c" -o "$out/drivers/whole/$nvml_name" || return 1
    local link=(-L"$library" "${link_flags[@]}")
    local flags=("${strict[@]}" -g -O1 "$@" -I"$root/include" -I"$out/include")
    for source in "$here"/*.c "$here"/*.cpp; do
        name=$(basename "${source%.*}")
        for standard in 17 20; do
            case "$source $standard" in
                *.c\ 17) "$cc" -std=c11 -D_GNU_SOURCE "${flags[@]}" "$source" -o "$out/$name$suffix" "${link[@]}" & ;;
                *.c\ 20) continue ;;
                *) "$cxx" -std=c++$standard -Wconversion "${flags[@]}" "$source" -o "$out/$name${standard#17}$suffix" "${link[@]}" & ;;
            esac
            jobs+=($!)
            # Two at a time.
            if [ ${#jobs[@]} -ge 2 ]; then
                wait "${jobs[0]}" || return 1
                jobs=("${jobs[@]:1}")
            fi
        done
    done
    for job in "${jobs[@]}"; do
        wait "$job" || return 1
    done
}

# --------------------------------------------------------------------------------------------------------------- run

run_part() { # run_part FIRST STEP FOLDER COMMAND...: runs program FIRST of FOLDER, and each STEP programs on, by COMMAND
    local next=$1 step=$2 folder=$3 index=0 program status
    shift 3
    for program in "$folder"/*; do
        if [[ $program =~ \.(so|dll)$ ]] || [ ! -f "$program" ] || [ ! -x "$program" ]; then
            continue
        fi
        if [ $((index++)) -ne "$next" ]; then
            continue
        fi
        next=$((next + step))
        echo " $(basename "$program")"
        "$@" "$program" 2>&1
        status=$?
        # 0 and 1 are said in the summary line; anything else ended the program before it.
        if [ $status -gt 1 ]; then
            printf '  FAIL %s ended with exit status %d\n0 passed, 1 failed\n' "$(basename "$program")" $status
        fi
    done
}

add_up() { # add_up LOG: shows it and adds its summary lines to the totals
    local log=$1 p f
    cat "$log"
    read -r p f < <(tr -d '\r' < "$log" | awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 } END { print p + 0, f + 0 }')
    if [ $((p + f)) -eq 0 ]; then
        result FAIL "no test ran"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
}

finish() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ]
    exit
}

# A pass each. The library is found by the programs' own path, or here.
plain() { # plain FOLDER LOG
    # shellcheck disable=SC2086 # the command and its arguments
    run_part 0 1 "$1" ${ISOLINE_TESTS_RUNNER:-env} > "$2"
}

# Under an instrument times are not judged, and programs that wait leave a core idle.
side_by_side() { # side_by_side FOLDER LOG COMMAND...: runs the programs by COMMAND, two at a time
    local folder=$1 log=$2 part parts=()
    shift 2
    for part in 0 1; do
        run_part $part 2 "$folder" "$@" > "$log.$part" &
        parts+=($!)
    done
    wait "${parts[@]}"
    cat "$log.0" "$log.1" > "$log"
    rm "$log.0" "$log.1"
}

# valgrind runs one thread at a time. Without turns, busy worker threads keep the one that cancels them waiting for minutes.
under_valgrind() { # under_valgrind FOLDER LOG
    local command=(valgrind --quiet --fair-sched=try --leak-check=full "--errors-for-leak-kinds=definite,indirect"
        "--show-leak-kinds=definite,indirect" --error-exitcode=99 --suppressions="$here/valgrind.supp" --num-callers=30)
    ISOLINE_TESTS_UNDER=valgrind side_by_side "$1" "$2" "${command[@]}"
}

under_asan() { # under_asan FOLDER LOG
    ISOLINE_TESTS_UNDER=asan ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=98 \
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 side_by_side "$1" "$2" env
}

# Every program is a thread test, since loops over images run on the worker threads. A test with a race fails: its process
# ends with the status 66. A child of a fork may have threads.
tsan_flags=(-fsanitize=thread -static-libtsan -fno-omit-frame-pointer -Wno-maybe-uninitialized)
under_tsan() { # under_tsan FOLDER LOG
    ISOLINE_TESTS_UNDER=tsan TSAN_OPTIONS=die_after_fork=0 side_by_side "$1" "$2" env
}

a_race_is_noticed() { # a_race_is_noticed LIBRARY-FOLDER
    printf '%s\n' '#include <pthread.h>' 'static int shared;' \
        'static void *add(void *unused) { shared++; return unused; }' \
        'int main(void) { pthread_t other; pthread_create(&other, 0, add, 0); shared++; return pthread_join(other, 0); }' |
        "$cc" -x c -std=c11 -g "${tsan_flags[@]}" - -o "$out/race" -L"$1" "${link_flags[@]}"
    "$out/race"
    [ $? = 66 ]
}

# -------------------------------------------------------------------------------------------- header, exports and ABI

header_compiles() { # header_compiles LANGUAGE STANDARD COMPILER
    printf '#include "isoline.h"\n#include "isoline.h"\nisoline_status use(void);\nisoline_status use(void) { %s }\n' \
        'return isoline_context_trim(NULL);' |
        "$3" -x "$1" -std="$2" "${strict[@]}" -Wstrict-aliasing -Wshadow -Wconversion -I"$root/include" -fsyntax-only -
}

cpp_header_compiles() { # cpp_header_compiles STANDARD
    printf '#include "isoline.hpp"\n#include "isoline.hpp"\n' |
        "$cxx" -x c++ -std="$1" "${strict[@]}" -Wstrict-aliasing -Wshadow -Wconversion -I"$root/include" -fsyntax-only -
}

calls_deprecated() { # calls_deprecated OPTIONS...: compiles a call; a warning is an error
    printf '%s\n' '#include "isoline.h"' 'isoline_status use(const isoline_segments *segments, double *mean);' \
        'isoline_status use(const isoline_segments *segments, double *mean) {' \
        '    return isoline_segments_gradient(segments, 0, mean);' '}' |
        "$cc" -x c -std=c11 "${strict[@]}" "$@" -I"$root/include" -fsyntax-only -
}

a_deprecated_call_is_warned_of() {
    ! calls_deprecated > "$out/warning.log" 2>&1 &&
        grep 'deprecated: read mean_gradients of isoline_segments_all' "$out/warning.log" &&
        calls_deprecated '-DISOLINE_DEPRECATED(instead)='
}

cpp_header_is_linked_twice() { # cpp_header_is_linked_twice LIBRARY: two files that include it are one program
    local units=$out/units flags=("${strict[@]}" -I"$root/include")
    mkdir -p "$units"
    "$cxx" -std=c++20 "${flags[@]}" -c "$here/units/other.cpp" -o "$units/other.o" &&
        "$cxx" -std=c++17 "${flags[@]}" "$here/units/main.cpp" "$units/other.o" -o "$units/main" -L"$1" "${link_flags[@]}" &&
        "$units/main"
}

cpp_header_has_every_function() { # '<' is in isoline.h alone; '>' is both called by isoline.hpp and named there as left to C
    local header=$root/include/isoline.hpp
    diff <(functions_of_header) <(
        # The opening comment names those that are left to C, and no others; the code calls the rest.
        { sed '/\*\//q' "$header" | grep -oE '\bisoline_[a-z0-9_]+\b' | sort -u
          sed -E 's,/\*.*\*/,,; \,/\*,,\,\*/,d; s,//.*,,' "$header" | grep -oE '\bisoline_[a-z0-9_]+\b' | sort -u
        } | sort | grep -xFf <(functions_of_header))
}

test_compiles_as_cpp() { # test_compiles_as_cpp SOURCE; C's {0} leaves out fields
    "$cxx" -x c++ -std=c++17 "${strict[@]}" -Wno-missing-field-initializers -I"$root/include" -I"$out/include" -fsyntax-only "$1"
}

functions_of_header() {
    sed -E 's,/\*.*\*/,,; \,/\*,,\,\*/,d; s,//.*,,' "$root/include/isoline.h" | tr '\n' ' ' | grep -oE '\bisoline_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

exports() { # exports LIBRARY: the names that other programs can link to
    nm -D --defined-only "$1" | awk '{ print $NF }' | sort -u
}

only_isoline_is_exported() { # only_isoline_is_exported LIBRARY
    local foreign
    foreign=$(exports "$1" | grep -v '^isoline_' || true)
    if [ -n "$foreign" ]; then
        echo "exported besides isoline_*:"
        echo "$foreign" | head -20
        return 1
    fi
}

header_and_exports_agree() { # header_and_exports_agree LIBRARY; '<' is only in the header, '>' only in the library
    diff <(functions_of_header) <(exports "$1" | grep '^isoline_')
}

document_says_the_glibc() { # document_says_the_glibc LIBRARY: the oldest glibc that it loads with
    local oldest document=docs/c_api.md
    # The versions that the library refers to, without weak references (flag 2), which it can do without.
    oldest=$(objdump -p "$1" | awk '$2 == "0x00" && $4 ~ /^GLIBC_[0-9.]+$/ { print substr($4, 7) }' | sort -V | tail -1)
    if ! grep -qF "glibc ${oldest:?no glibc in $1} or newer" "$root/$document"; then
        echo "$1 needs glibc $oldest, but $document does not say 'glibc $oldest or newer'; correct it"
        return 1
    fi
}

abi_of() { # abi_of LANGUAGE: the ABI as the compiler sees it in that language
    awk -f "$here/abi.awk" "$root/include/isoline.h" > "$out/abi.c"
    if [ "$1" = c ]; then
        "$cc" -std=c11 "${strict[@]}" -I"$root/include" "$out/abi.c" -o "$out/abi"
    else
        "$cxx" -x c++ -std=c++17 "${strict[@]}" -Wno-invalid-offsetof -I"$root/include" "$out/abi.c" -o "$out/abi"
    fi && "$out/abi"
}

abi_is_the_baseline() { # abi_is_the_baseline LANGUAGE
    # '<' was promised and is gone or changed; '>' is new: both must be meant.
    if ! diff "$here/abi_baseline.txt" <(abi_of "$1"); then
        echo "the ABI is not that of tests/c/abi_baseline.txt: if the change is meant, run tests/c/run.sh --update-abi"
        return 1
    fi
}

# libabigail reads the ABI from debug information. That of the library itself is of Rust's types.
header_in_debug_information() { # writes a library of the header's functions, empty, and a variable of each enum
    abi_of c | {
        echo '#include "isoline.h"'
        sed -nE 's/^ISOLINE_ENUM\((isoline_[a-z_]+)\).*/enum \1 number_of_\1;/p' "$root/include/isoline.h"
        sed -nE '/^typedef/d; s/^(void .*);$/\1 { }/p; t; s/^([a-z].*\));$/\1 { return 0; }/p'
    } | "$cc" -x c -std=c11 -w -g -shared -fPIC -I"$root/include" - -o "$out/header.so"
}

abidiff_finds_no_change() {
    header_in_debug_information && abidiff "$here/abi_baseline.abi" "$out/header.so"
}

# -------------------------------------------------------------------------------------------------------------- main

out=${CARGO_TARGET_DIR:-$root/target}/c-tests
mode=${1:-}
case "$mode" in
    --build-only)
        out=${2:?usage: run.sh --build-only OUT [FOLDER-OF-LIBISOLINE]}
        mkdir -p "$out"
        library=$(absolute "${3:-${ISOLINE_LIB_DIR:-$root/target/release}}") || exit 1
        build "$library" "$(absolute "$out")"
        exit
        ;;
    --no-build)
        programs=$(absolute "${2:?usage: run.sh --no-build FOLDER-OF-PROGRAMS}") || exit 1
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        if [ -n "${ISOLINE_LIB_DIR:-}" ]; then
            export LD_LIBRARY_PATH=$ISOLINE_LIB_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        fi
        plain "$programs" "$log"
        add_up "$log"
        finish
        ;;
    --threads)
        library=$(absolute "${2:?usage: run.sh --threads FOLDER-OF-LIBISOLINE}") || exit 1
        mkdir -p "$out"
        check "a race is noticed" a_race_is_noticed "$library"
        if ! build "$library" "$out/tsan" "${tsan_flags[@]}"; then
            result FAIL "the programs compile with ThreadSanitizer"
            finish
        fi
        under_tsan "$out/tsan" "$out/tsan.log"
        add_up "$out/tsan.log"
        finish
        ;;
    --update-abi)
        mkdir -p "$out"
        abi_of c > "$here/abi_baseline.txt" && header_in_debug_information &&
            abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$out/header.so" --out-file "$here/abi_baseline.abi"
        exit
        ;;
    -*)
        sed -nE '2,/^set/s/^# ?//p' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
esac

library=$(absolute "${1:-${ISOLINE_LIB_DIR:-$root/target/release}}") || exit 1
if [ ! -e "$library/libisoline.so" ]; then
    echo "run.sh: no libisoline.so in $library; build it first (make build)" >&2
    exit 1
fi
export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$out"

echo "header"
check "C11 accepts it alone" header_compiles c c11 "$cc"
check "C17 accepts it alone" header_compiles c c17 "$cc"
check "C23 accepts it alone" header_compiles c c2x "$cc"
check "C++17 accepts it alone" header_compiles c++ c++17 "$cxx"
check "C++20 accepts it alone" header_compiles c++ c++20 "$cxx"
check "C++17 accepts isoline.hpp alone" cpp_header_compiles c++17
check "C++20 accepts isoline.hpp alone" cpp_header_compiles c++20
check "a deprecated function is warned of, unless that is switched off" a_deprecated_call_is_warned_of
check "isoline.hpp may be in two files of a program" cpp_header_is_linked_twice "$library"
check "isoline.hpp has every function, or says why not" cpp_header_has_every_function
init_structs "$out/include"
for source in "$here"/*.c; do
    check "$(basename "$source") is a C++ program, too" test_compiles_as_cpp "$source"
done
check "only isoline_* is exported" only_isoline_is_exported "$library/libisoline.so"
check "header and library have the same functions" header_and_exports_agree "$library/libisoline.so"
check "the document names the oldest glibc" document_says_the_glibc "$library/libisoline.so"
check "the ABI is that of the baseline, in C" abi_is_the_baseline c
check "the ABI is that of the baseline, in C++" abi_is_the_baseline c++
# The numbers of its file are those of one processor.
if command -v abidiff > /dev/null && [[ $("$cc" -dumpmachine) = x86_64-* ]]; then
    check "abidiff finds no change against the baseline" abidiff_finds_no_change
else
    echo "  abidiff is left out: not installed, or not x86-64"
fi

# The plain pass runs alone: it judges times.
if ! build "$library" "$out/plain"; then
    result FAIL "the programs compile"
    finish
fi
echo "plain"
plain "$out/plain" "$out/plain.log"
add_up "$out/plain.log"

# A CUDA driver maps memory in ways that both instruments take for defects.
if [ -e /dev/nvidiactl ]; then
    echo "valgrind and sanitizers: left out on a machine with an NVIDIA driver"
    finish
fi
if [ "${ISOLINE_NO_VALGRIND:-0}" = 1 ] || ! command -v valgrind > /dev/null 2>&1; then
    valgrind_note="left out: not installed, or ISOLINE_NO_VALGRIND=1"
else
    under_valgrind "$out/plain" "$out/valgrind.log" &
    valgrind_job=$!
fi
if [ "${ISOLINE_NO_ASAN:-0}" = 1 ]; then
    asan_note="left out: ISOLINE_NO_ASAN=1"
# Instrumented code leads gcc to see uninitialised variables where there are none; the plain build has judged that.
elif build "$library" "$out/asan" -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
    -Wno-maybe-uninitialized; then
    under_asan "$out/asan" "$out/asan.log"
else
    result FAIL "the programs compile with sanitizers"
    asan_note="not built"
fi

echo "sanitizers${asan_note:+ $asan_note}"
[ -n "${asan_note:-}" ] || add_up "$out/asan.log"
echo "valgrind${valgrind_note:+ $valgrind_note}"
if [ -n "${valgrind_job:-}" ]; then
    wait "$valgrind_job"
    add_up "$out/valgrind.log"
fi
finish
