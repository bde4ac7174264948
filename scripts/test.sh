#!/usr/bin/env bash
# Everything that must hold before a change goes in. Stops at the first step that fails.
# Usage: test.sh TARGET-FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1
logs=$target/test-logs
mkdir -p "$logs"
rm -f "$logs"/*
started=$SECONDS
times=()

# To note what a later compilation could use again takes time that a first one does not get back, and so do line numbers for
# back traces. Both are left to those who have begun to compile by hand with 'cargo build' or 'cargo test'.
if [ ! -d "$target/debug/incremental" ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_CODEGEN_UNITS=16
fi

step() { # step NAME COMMAND...
    local name=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@" 2>&1 | tee "$logs/$name.log"
    times+=("$name $((SECONDS - began)) s")
}

# The tests of the plugin wait for windows most of the time, and the linter, Python's tests and others do not use all cores: they
# run side by side.
beside() { # beside NAME COMMAND: starts it; what it prints comes at 'wait_for NAME'
    local name=$1
    shift
    began_beside=$SECONDS
    setsid "$@" > "$logs/$name.log" 2>&1 &
    job_beside=$!
    trap 'kill -- -$job_beside 2> /dev/null || true' EXIT
}

wait_for() { # wait_for NAME: waits for the step that 'beside' started
    local status=0
    printf '\n== %s\n' "$1"
    wait "$job_beside" || status=$?
    trap - EXIT
    cat "$logs/$1.log"
    times+=("$1 $((SECONDS - began_beside)) s, beside others")
    return "$status"
}

# Kernels for five architectures take the compiler some minutes. Where no GPU can run them, those for the cards of the fake
# driver do; 'make build' and 'make jar-all' compile them all. All tests have the library that 'cargo test' has: it is
# optimised, though less than the release build, and stops where a number overflows.
native=$target/debug
if [ ! -e /dev/nvidiactl ]; then
    export ISOLINE_CUDA_ARCHS=${ISOLINE_CUDA_ARCHS:-90}
fi
# 'make lint' also runs clippy, and compiles the documentation of the checkout and of the package. These compile the library
# once more each.
beside lint scripts/lint.sh --without clippy rustdoc package
step build cargo build --locked
wait_for lint
# Jars of other versions would be taken for this one.
rm -f fiji-plugin/target/Isoline_-*.jar
beside java mvn --batch-mode --no-transfer-progress -f fiji-plugin/pom.xml verify -Disoline.native.dir="$native"
step rust cargo test --locked
step header scripts/header.sh --check
wait_for java
# 'make test-workers' runs the others.
beside python env ISOLINE_LIBRARY="$native" .tools/venv/bin/python -m pytest --quiet -m "not workers" python
step install tests/install_test.sh "$native"
step multiprocessing .tools/venv/bin/python tests/multiprocessing_test.py "$native"
step parameters .tools/venv/bin/python scripts/parameter_tables.py "$native" --check
step examples scripts/test-examples.sh "$native"
# 'make sanitize-address' runs them with AddressSanitizer and on a single core, 'make valgrind' under valgrind.
step c env ISOLINE_NO_ASAN=1 ISOLINE_NO_ONE_CORE=1 ISOLINE_NO_VALGRIND=1 tests/c/run.sh "$native"
step update-site .tools/venv/bin/python tests/update_site_test.py fiji-plugin/target/Isoline_-*[0-9].jar
step macros scripts/test-macros.sh
wait_for python

printf '\n== summary: every step passed in %d s (%s)\n' $((SECONDS - started)) "$(IFS=,; echo "${times[*]}")"
for suite in c install multiprocessing examples macros; do
    grep -h "passed, .* failed" "$logs/$suite.log" | tail -1 | sed "s/^\([0-9]\)/$suite: \1/"
done
grep -h " passed" "$logs/python.log" | tail -1 | sed "s/^/python: /"
grep -h "^test result:" "$logs/rust.log"
grep -h "Tests run:" "$logs/java.log" | tail -1
