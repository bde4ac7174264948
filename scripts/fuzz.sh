#!/usr/bin/env bash
# Fuzzes the C API: builds the library and tests/fuzz/*.cpp with AddressSanitizer, the library with coverage too, and runs
# each target with libFuzzer, two at a time. tests/fuzz/README.md says what they check. Ends with 'N passed, N failed'.
#
# Usage: fuzz.sh [SECONDS] [TARGET...]      each target for so long (default 60; 0: only the corpus); all by default
#        fuzz.sh --repeat TARGET FILE...    run a finding again
#        fuzz.sh --build                    only build, so that the next run need not
#
# The results of a run are kept in target/fuzz: new inputs in corpus/TARGET, where the next run goes on, findings in
# findings/, and a line for each run in executions.tsv.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

out=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
sources=tests/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
passed=0
failed=0

result() { # result ok|FAIL WHAT
    printf '  %-4s %s\n' "$1" "$2"
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

every_function_is_called() { # compares the names of the header with those in tests/fuzz
    local name missing=()
    for name in $(grep '^[a-z]' include/isoline.h | grep -oE '\bisoline_[a-z0-9_]+\(' | tr -d '(' | sort -u); do
        grep -qw "$name" "$sources"/*.cpp "$sources"/*.h || missing+=("$name")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "no fuzz target calls ${missing[*]}; call them in the target of their group"
        return 1
    fi
}

build() { # build TARGET...: the programs $out/TARGET
    local asan fuzzer target library
    # Rust's own AddressSanitizer fits the compiler of the library, and gcc's code, too; clang is not needed.
    asan=$(ls "$(rustc --print target-libdir)"/librustc-*_rt.asan.a)
    fuzzer=$(ls -d /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-"${host%%-*}".a 2> /dev/null | sort -V | tail -1 || true)
    if [ -z "$fuzzer" ]; then
        echo "fuzz.sh: no libFuzzer; install it (on Debian: apt-get install libclang-rt-dev)" >&2
        exit 1
    fi
    # To optimise across the units of the library would take half as long again, and gain little with a sanitizer.
    export CARGO_PROFILE_DEV_LTO=off
    # The flags of cargo-fuzz but for the tracing of comparisons, which takes most of the time and finds little: the targets
    # know which numbers matter. The stable compiler has the sanitizer where RUSTC_BOOTSTRAP is set.
    local flags=(-Zsanitizer=address -Cpasses=sancov-module)
    for flag in level=3 inline-8bit-counters pc-table; do
        flags+=("-Cllvm-args=-sanitizer-coverage-$flag")
    done
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" CARGO_INCREMENTAL=0 ISOLINE_CUDA_ARCHS=none cargo rustc --quiet --locked --lib \
        --crate-type staticlib --target "$host" --target-dir "$out/cargo" &
    library=$!
    for target in "$@"; do
        if [ -e "$out/$target.o" ] && [ -z "$(find "$sources" include -name '*.[ch]*' -newer "$out/$target.o")" ]; then
            continue
        fi
        g++ -std=c++17 -Wall -Wextra -Werror -g -O1 -fsanitize=address -fno-omit-frame-pointer -Iinclude \
            -c "$sources/$target.cpp" -o "$out/$target.o"
    done
    wait "$library"
    for target in "$@"; do
        g++ "$out/$target.o" "$out/cargo/$host/debug/libisoline.a" "$fuzzer" -Wl,--whole-archive "$asan" -Wl,--no-whole-archive \
            -Wl,--export-dynamic -lpthread -ldl -lm -lrt -o "$out/$target"
    done
}

# Requests that cannot be met must be refused by the library, not end the program.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:detect_stack_use_after_return=1

fuzz() { # fuzz TARGET SECONDS CORE: its output goes to $out/logs/TARGET.log
    local target=$1 seconds=$2 core=$(($3 % $(nproc))) limit=(-max_total_time="$2")
    if [ "$seconds" = 0 ]; then limit=(-runs=0); fi
    mkdir -p "$out/corpus/$target" "$out/findings" "$out/logs"
    # Threads share the loops over images by chance, so that every run has other counters: libFuzzer's book-keeping of them
    # took three quarters of the time.
    # On one core, so that a call does not wait until another core wakes for its worker thread: that is half of the time.
    taskset -c "$core" "$out/$target" "${limit[@]}" -timeout=60 -rss_limit_mb=4096 -max_len=256 -len_control=0 -print_final_stats=1 \
        -entropic=0 -use_counters=0 -print_funcs=0 \
        -artifact_prefix="$out/findings/$target-" "$out/corpus/$target" "$sources/corpus/$target" > "$out/logs/$target.log" 2>&1
}

report() { # report TARGET SECONDS STATUS
    local target=$1 log=$out/logs/$1.log count
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD 2> /dev/null || echo -)" "$target" "$2" \
        "${count:-0}" "$3" >> "$out/executions.tsv"
    if [ "$3" = 0 ]; then
        result ok "$target: ${count:-0} executions, $(ls "$out/corpus/$target" | wc -l) inputs"
        return
    fi
    grep -vE '^(#[0-9]+|stat::|INFO:|MS:)' "$log" | tail -80
    result FAIL "$target: a finding after ${count:-some} executions"
    local file
    file=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
    if [ -n "$file" ]; then
        echo "  repeat it: scripts/fuzz.sh --repeat $target $file"
        echo "  its bytes: $(base64 -w 0 "$file")"
        echo "  once it is mended, keep the file in $sources/corpus/$target"
    fi
}

if [ "${1:-}" = --repeat ]; then
    target=${2:?usage: fuzz.sh --repeat TARGET FILE...}
    shift 2
    build "$target"
    cd "$here"
    exec "$out/$target" "$@"
fi

seconds=60
build_only=
if [ "${1:-}" = --build ]; then
    build_only=1
    shift
fi
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(cd "$sources" && printf '%s\n' *.cpp | sed 's/\.cpp$//')
fi
mkdir -p "$out"
if [ -n "$build_only" ]; then
    build "${targets[@]}"
    exit
fi
if every_function_is_called; then result ok "every function of isoline.h is called"; else result FAIL "every function of isoline.h is called"; fi
build "${targets[@]}"

for ((first = 0; first < ${#targets[@]}; first += 2)); do
    jobs=()
    pair=("${targets[@]:first:2}")
    for target in "${pair[@]}"; do
        fuzz "$target" "$seconds" ${#jobs[@]} &
        jobs+=($!)
    done
    for i in "${!pair[@]}"; do
        status=0
        wait "${jobs[i]}" || status=$?
        report "${pair[i]}" "$seconds" "$status"
    done
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
