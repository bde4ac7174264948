#!/usr/bin/env bash
# Runs everything in this bundle on a machine with an NVIDIA GPU and writes a record of it.
#
# Usage: ./run.sh RESULTS [PART...]     (no words: all parts)
#   tests      rust and c: the Rust and the C test programs; rust:NAME or c:NAME for one, as rust:level_set
#   macro      ImageJ runs a macro on the GPU and on the CPU
#   oracle     Python programs that compare with another library; left out, saying so, where that is not installed
#   bench      every bench; bench:NAME for one, as bench:level_set; those in Python are left out like an oracle
#   sanitizer  memcheck, racecheck, initcheck and synccheck: the sanitizer_ tests under NVIDIA's compute-sanitizer;
#              initcheck:NAME for one tool and one test program, as initcheck:distance
# Parts may run apart, each with a RESULTS of its own; merge_gpu_records.py makes one record of theirs.
#
# Writes two files: RESULTS/gpu-validation.json, written again after every program, so that a run that is cut off leaves
# what it had (its outcome is then "incomplete"); and RESULTS/logs.txt, all that the programs said, tables included.
# Needs bash, coreutils, tar and xz (or python3), and 128 MiB of memory to unpack; nvidia-smi and compute-sanitizer are
# used where they are. Without a GPU everything runs that can, and the outcome is FAIL.
# Exit status: 0 if everything that ran passed, on a GPU.
set -uo pipefail

usage='usage: run.sh RESULTS [tests] [rust] [rust:NAME] [c] [c:NAME] [macro] [oracle] [bench] [bench:NAME] [sanitizer] [memcheck] [racecheck] [initcheck] [synccheck]'
here=$(cd "$(dirname "$0")" && pwd)
results=${1:?$usage}
shift
parts=${*:-tests macro oracle bench sanitizer}
for part in $parts; do
    case "$part" in
        tests | rust | rust:* | c | c:* | macro | oracle | bench | bench:* | sanitizer | memcheck | racecheck | initcheck | synccheck) ;;
        memcheck:* | racecheck:* | initcheck:* | synccheck:*) ;;
        *)
            printf "run: there is no part '%s'\n%s\n" "$part" "$usage" >&2
            exit 2
            ;;
    esac
done
wanted() { # wanted PART...: whether one of them was asked for
    local part
    for part; do
        [[ " $parts " == *" $part "* ]] && return 0
    done
    return 1
}
mkdir -p "$results"
results=$(cd "$results" && pwd)
log=$results/logs.txt
: > "$log"
overall=pass

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v xz > /dev/null 2>&1; then
    tar -C "$work" -xJf "$here/payload.tar.xz"
else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/payload.tar.xz" "$work"
fi || { echo "run: the payload cannot be unpacked (xz or python3 is needed)" >&2; exit 1; }

for part in $parts; do
    kind=${part%%:*}
    if [[ "$part" == @(bench|rust|c):* && ! -x "$work/$kind/${part#*:}" ]]; then
        echo "run: there is no $kind '${part#*:}'; there are: $(ls "$work/$kind")" >&2
        exit 2
    fi
done
export ISOLINE_TEST_DATA=$work/data
export LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RUST_BACKTRACE=1

# ---------------------------------------------------------------------------------------------------- JSON by hand

json_string() {
    local text=$1
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\t'/ }
    text=${text//$'\r'/}
    text=${text//$'\n'/\\n}
    printf '"%s"' "$text"
}
fields=()
field() { fields+=("  $(json_string "$1"): $2"); } # field KEY JSON-VALUE
list() { # list ITEM...: a JSON array, an item a line
    local IFS=$'\n' joined
    if [ $# -eq 0 ]; then
        printf '[]'
        return
    fi
    joined=$(printf '    %s,\n' "$@")
    printf '[\n%s\n  ]' "${joined%,}"
}

# -------------------------------------------------------------------------------------------------- what and where

while IFS='=' read -r key value; do
    case "$key" in
        dirty) field "$key" "$value" ;;
        *) field "$key" "$(json_string "$value")" ;;
    esac
done < "$here/bundle.txt"
field ran "$(json_string "$(date -u +%Y-%m-%dT%H:%M:%SZ)")"
if ! nvidia-smi -L 2> /dev/null | grep '^GPU ' > /dev/null; then
    overall=FAIL
    field device_note '"no NVIDIA GPU was found, so this record validates nothing"'
    echo "run: there is no NVIDIA GPU here (nvidia-smi lists none): what needs one is skipped or fails, and this run" \
        "validates nothing" | tee -a "$log" >&2
fi
smi() { nvidia-smi --query-gpu="$1" --format=csv,noheader -i 0 2> /dev/null | head -1; }
device=$(smi name)
field device "$(json_string "${device:-none}")"
field driver "$(json_string "$(smi driver_version)")"
field device_memory "$(json_string "$(smi memory.total)")"
field compute_capability "$(json_string "$(smi compute_cap)")"
field cuda "$(json_string "$(nvidia-smi 2> /dev/null | sed -nE 's/.*CUDA Version: *([0-9.]+).*/\1/p' | head -1)")"

field parts "$(json_string "$parts")"

# ---------------------------------------------------------------------------------------------------------- record

suites=()
checks=()
benches=()
write_record() { # write_record OUTCOME: of what ran until now
    {
        echo '{'
        printf '%s,\n' "${fields[@]}"
        printf '  "outcome": "%s",\n' "$1"
        printf '  "suites": %s,\n' "$(list "${suites[@]}")"
        printf '  "sanitizer": %s,\n' "$(list "${checks[@]}")"
        printf '  "benches": %s\n' "$(list "${benches[@]}")"
        echo '}'
    } > "$work/record.json"
    mv "$work/record.json" "$results/gpu-validation.json"
}
write_record incomplete

# ----------------------------------------------------------------------------------------------------------- tests

suite() { # suite NAME PASSED FAILED SKIPPED SECONDS STATUS
    local outcome=pass
    if [ "$6" != 0 ] || [ "$3" != 0 ]; then
        outcome=FAIL
        overall=FAIL
    fi
    suites+=("{\"name\": $(json_string "$1"), \"passed\": $2, \"failed\": $3, \"skipped\": $4, \"seconds\": $5, \"outcome\": \"$outcome\"}")
    printf '%-4s %-40s %s passed, %s failed, %s skipped, %s s\n' "$outcome" "$1" "$2" "$3" "$4" "$5"
    write_record incomplete
}
logged() { # logged NAME COMMAND...: output to the log and to $work/out, exit status in $status, seconds in $took
    local name=$1 began=$SECONDS
    shift
    printf '\n==== %s\n' "$name" >> "$log"
    "$@" > "$work/out" 2>&1 < /dev/null
    status=$?
    took=$((SECONDS - began))
    cat "$work/out" >> "$log"
}
number() { # number WORD: the sum of all numbers before that word in the last output
    sed -nE "s/(.*[^0-9])?([0-9]+) $1.*/\2/p" "$work/out" | awk '{ sum += $1 } END { print sum + 0 }'
}

skipped_python() { # skipped_python NAME: whether the last program, NAME, lacked Python, a library, or a part of one
    local missing
    missing=$(grep -E "^(ModuleNotFoundError|AttributeError: module '.*' has no attribute|.*python3: command not found)|python3.: No such file" "$work/out" | tail -1)
    [ "$status" != 0 ] && [ -n "$missing" ] || return 1
    suite "$1 (skipped: $missing)" 0 0 1 "$took" 0
}

if [[ " $parts" =~ \ (tests|rust) ]]; then
    for program in "$work"/rust/*; do
        [ -e "$program" ] || continue
        name=rust/$(basename "$program")
        wanted tests rust "rust:$(basename "$program")" || continue
        only=()
        if [ "$name" = rust/out_of_memory ]; then
            # Its tests of the CPU need no GPU, and take minutes with many threads.
            only=(cuda)
        fi
        # Two tests at a time: they share the GPU.
        logged "$name" "$program" "${only[@]}" --nocapture --test-threads=2
        # A skipped test says so, perhaps more than once, and returns; to the runner it has passed.
        skipped=$(grep -c '^skipped' "$work/out")
        passed=$(number 'passed;')
        skipped=$((skipped < passed ? skipped : passed))
        suite "$name" "$((passed - skipped))" "$(number 'failed;')" "$skipped" "$took" "$status"
    done
fi
if [[ " $parts " =~ \ (tests|c|c:[^ ]*)\  ]]; then
    for program in "$work"/c/*; do
        [ -f "$program" ] || continue
        name=c/$(basename "$program")
        wanted tests c "c:$(basename "$program")" || continue
        logged "$name" "$program"
        suite "$name" "$(number 'passed,')" "$(number 'failed')" "$(number 'skipped\)')" "$took" "$status"
    done
fi

# ----------------------------------------------------------------------------------------------------------- macro

# A program, imagej.sh MACRO ARGUMENT, as the bench of the plugin needs it, too.
mkdir -p "$work/home"
cat > "$work/fonts.conf" << EOF
<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>$work/fonts</dir><cachedir>$work/home</cachedir></fontconfig>
EOF
cat > "$work/imagej.sh" << EOF
#!/usr/bin/env bash
exec env -u DISPLAY LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$work/system" FONTCONFIG_FILE="$work/fonts.conf" \\
    "$work/java/bin/java" -Xmx2g -Djava.awt.headless=true -Duser.home="$work/home" \\
    -cp "$work/imagej/ij.jar:$work/imagej/jna.jar:$(echo "$work"/imagej/Isoline_-*.jar)" \\
    io.github.isoline.ij.HeadlessImageJ "\$1" "\$2"
EOF
chmod +x "$work/imagej.sh"
same_tables() { # same_tables FOLDER FOLDER: every .csv of the first is in the second, byte for byte
    local table different=0
    for table in "$1"/*.csv; do
        [ -e "$table" ] || continue
        cmp "$table" "$2/$(basename "$table")" || different=1
    done
    return $different
}

if wanted macro; then
    mkdir -p "$work/raw-cuda" "$work/raw-cpu"
    for device in cuda cpu; do
        logged "macro demo.ijm on $device" "$work/imagej.sh" "$work/macros/demo.ijm" "$work/data|$work/raw-$device|$device"
        passed=$(grep -c ' in the library' "$work/out")
        grep -q 'demo.ijm: done' "$work/out" || status=1
        grep ' in the library' "$work/out"
        suite "macro on $device" "$passed" "$((status != 0))" 0 "$took" "$status"
    done
    logged "macro: CPU and CUDA give the same" "$work/imagej.sh" "$work/macros/same-pixels.ijm" "$work/raw-cpu|$work/raw-cuda"
    same=$(number 'the same')
    different=$(number 'different')
    # No image compared is no proof.
    [ "$same" -gt 0 ] || status=1
    same_tables "$work/raw-cpu" "$work/raw-cuda" >> "$log" 2>&1 || status=1
    suite "macro: the same on CPU and CUDA" "$same" "$different" 0 "$took" "$status"
fi

# ---------------------------------------------------------------------------------------------------------- oracle

if wanted oracle; then
    # They find the images where they find them in tests/: in data beside them.
    for program in "$work"/*_oracle.py; do
        [ -e "$program" ] || continue
        name=$(basename "$program" .py)
        logged "$name" timeout 300 python3 "$program" "$work/lib" --device cuda
        passed=$(sed -nE 's/^oracle: (axes of )?([0-9]+) .* (identical to|ahead of|found among|are those of) .*/\2/p' "$work/out" | tail -1)
        ! skipped_python "$name" || continue
        # To have compared nothing is no pass.
        [ "${passed:-0}" -gt 0 ] || status=1
        suite "$name" "${passed:-0}" "$((status != 0))" 0 "$took" "$status"
    done
fi

# ----------------------------------------------------------------------------------------------------------- bench

if [[ " $parts" == *" bench"* ]]; then
    for program in "$work"/bench/*; do
        [ -e "$program" ] || continue
        name=$(basename "$program")
        wanted bench "bench:$name" || continue
        json=$work/bench.json
        rm -f "$json"
        logged "bench $name" env ISOLINE_BENCH_DEVICE=cuda ISOLINE_BENCH_JSON="$json" "$program" --bench
        cat "$work/out"
        # The record then has it among the suites and not among the benches, whose entries have numbers.
        ! skipped_python "bench $name" || continue
        if [ "$status" != 0 ]; then
            overall=FAIL
        fi
        numbers=null
        if [ -s "$json" ]; then
            numbers=$(tr '\n' ' ' < "$json") # an entry of a list is one line
        fi
        benches+=("{\"name\": $(json_string "$name"), \"outcome\": \"$([ "$status" = 0 ] && echo pass || echo FAIL)\", \"seconds\": $took, \"numbers\": $numbers}")
        write_record incomplete
    done
fi

# ------------------------------------------------------------------------------------------------------- sanitizer

sanitize() { # sanitize TOOL PROGRAM: output to $work/TOOL-NAME, exit status and seconds to $work/TOOL-NAME.end
    local out few=0 began=$SECONDS
    out=$work/$1-$(basename "$2")
    # It follows every access to shared memory, a thousand times slower than the kernels are.
    [ "$1" != racecheck ] || few=1
    ISOLINE_FEW_SIZES=$few timeout 540 "$sanitizer" --tool "$1" --error-exitcode 99 \
        "$2" sanitizer_ --nocapture --test-threads=1 > "$out" 2>&1 < /dev/null
    echo "$? $((SECONDS - began))" > "$out.end"
}
check() { # check TOOL NAME: what sanitize wrote, to the log and the record
    local found outcome=clean
    mv "$work/$1-$2" "$work/out"
    read -r status took < "$work/$1-$2.end"
    { printf '\n==== %s\n' "$1 $2"; cat "$work/out"; } >> "$log"
    found=$(sed -nE -e 's/.*ERROR SUMMARY: ([0-9]+) error.*/\1/p' \
        -e 's/.*RACECHECK SUMMARY: ([0-9]+) hazard.*/\1/p' "$work/out" | awk '{ sum += $1; n++ } END { print n ? sum : "null" }')
    if [ "$status" != 0 ] || [ "$found" != 0 ]; then
        outcome=FAIL
        overall=FAIL
    fi
    printf '%-5s %s: %s found, %s s\n' "$outcome" "$1 $2" "$found" "$took"
    checks+=("{\"tool\": \"$1\", \"program\": $(json_string "$2"), \"tests\": $(number 'passed;'), \"found\": $found, \"seconds\": $took, \"outcome\": \"$outcome\"}")
    write_record incomplete
}

if [[ " $parts" =~ \ (sanitizer|memcheck|racecheck|initcheck|synccheck) ]]; then
    sanitizer=$(command -v compute-sanitizer)
    for candidate in /usr/local/cuda*/bin/compute-sanitizer; do
        [ -n "$sanitizer" ] || [ ! -x "$candidate" ] || sanitizer=$candidate
    done
    if [ -z "$sanitizer" ]; then
        field sanitizer_note '"compute-sanitizer is not installed on this machine"'
    else
        pairs=()
        pids=()
        # Side by side, at most one per core.
        for tool in memcheck racecheck initcheck synccheck; do
            for program in "$work"/rust/*; do
                wanted sanitizer "$tool" "$tool:$(basename "$program")" || continue
                # Tests made for this are named so: every kernel once, on small images. (Not grep -q, which would leave
                # before the program has written all its names.)
                "$program" --list 2> /dev/null | grep 'sanitizer_.*: test' > /dev/null || continue
                while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
                sanitize "$tool" "$program" &
                pairs+=("$tool $(basename "$program")")
                pids+=($!)
            done
        done
        for i in "${!pairs[@]}"; do
            wait "${pids[i]}" 2> /dev/null # it complains where `wait -n` has seen the end
            check "${pairs[i]%% *}" "${pairs[i]#* }"
        done
        if [ ${#checks[@]} -eq 0 ]; then
            overall=FAIL
            echo "run: FAIL: no program has tests for compute-sanitizer" >&2
        fi
    fi
fi

write_record "$overall"
echo "run: $overall; the record is $results/gpu-validation.json"
[ "$overall" = pass ]
