#!/usr/bin/env bash
# Packs the Fiji plugin: fiji-plugin/target/Isoline_-VERSION.jar with the native library inside.
# Usage: plugin.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
mvn --batch-mode --no-transfer-progress --quiet -f fiji-plugin/pom.xml package -DskipTests -Disoline.native.dir="$native"
ls -l fiji-plugin/target/Isoline_-*.jar
