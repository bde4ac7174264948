#!/usr/bin/env bash
# Format and lint of every language here. Changes nothing; 'cargo fmt', 'ruff check --fix' and 'mvn spotless:apply' do.
# Usage: lint.sh [CHECK...] or lint.sh --without CHECK..., where CHECK is one of those below; all of them by default.
set -euo pipefail
cd "$(dirname "$0")/.."

# The programs of scripts/requirements-lint.txt, which 'scripts/setup-python.sh lint' installs.
PATH=$PWD/.tools/venv/bin:$PATH

lint_fmt() { cargo fmt --all --check; }
lint_clippy() { cargo clippy --quiet --locked --all-targets -- -D warnings; }
lint_rustdoc() { RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps --document-private-items; }
lint_shell() { shellcheck --severity=warning scripts/*.sh tests/*.sh tests/*/*.sh examples/*/*.sh .ci/run; }
lint_python() { ruff check --quiet scripts tests benches python; }
lint_java() { mvn --batch-mode --no-transfer-progress --quiet -f fiji-plugin/pom.xml spotless:check; }
lint_spelling() { codespell; }
lint_words() { python3 scripts/check_words.py; }
lint_links() { python3 scripts/check_links.py; }
lint_operations() { python3 scripts/check_operations.py; }
lint_readme() { scripts/check-readme.sh; }
# Not the advisories, whose database is not in a package registry.
lint_crates() { cargo-deny --log-level warn check bans licenses sources; }
# crates.io takes 10 MB; a library that people download with each build should be far below. docs.rs has no CUDA compiler.
lint_package() {
    local folder=${CARGO_TARGET_DIR:-target}/package crate
    cargo package --quiet --locked --allow-dirty --no-verify 2> /dev/null || cargo package --locked --allow-dirty --no-verify
    crate=$(ls -t "$folder"/isoline-*.crate | head -1)
    [ "$(stat -c %s "$crate")" -lt 2000000 ] || { echo "the crate has 2 MB or more"; return 1; }
    rm -rf "${crate%.crate}"
    tar -C "$folder" --touch -xzf "$crate"
    env -u CUDA_PATH cargo doc --quiet --locked --offline --no-deps --no-default-features --target-dir "$folder/.." \
        --manifest-path "${crate%.crate}/Cargo.toml"
}
lint_notices() { python3 scripts/third_party.py --check; }
lint_doxygen() { scripts/reference.sh "${CARGO_TARGET_DIR:-target}/reference"; }
lint_record() { python3 scripts/check_record.py && python3 scripts/make_benchmarks.py --check && python3 scripts/make_comparison.py --check; }

# Those of cargo wait for a build that runs beside them.
checks=(fmt shell python java spelling words links operations readme crates notices doxygen record clippy rustdoc package)
if [ "${1:-}" = --without ]; then
    mapfile -t checks < <(printf '%s\n' "${checks[@]}" | grep -vxF "$(printf '%s\n' "${@:2}")")
elif [ $# -gt 0 ]; then
    checks=("$@")
fi
for check in "${checks[@]}"; do
    echo "lint: $check"
    "lint_$check"
done
echo "lint: all good"
