#!/usr/bin/env bash
# Format and lint of every language here. Changes nothing; 'cargo fmt' and 'mvn spotless:apply' do.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "lint: cargo fmt"
cargo fmt --all --check

echo "lint: clippy"
cargo clippy --quiet --locked --all-targets -- -D warnings

echo "lint: rustdoc"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps --document-private-items

echo "lint: shell"
shellcheck --severity=warning scripts/*.sh tests/c/run.sh .ci/run

echo "lint: java"
mvn --batch-mode --no-transfer-progress --quiet -f fiji-plugin/pom.xml spotless:check

echo "lint: words"
python3 scripts/check_words.py

echo "lint: README"
scripts/check-readme.sh

echo "lint: numbers of the GPU record"
python3 scripts/check_record.py
echo "lint: all good"
