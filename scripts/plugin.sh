#!/usr/bin/env bash
# Packs the Fiji plugin: fiji-plugin/target/Isoline_-VERSION.jar with the native library inside.
# Usage: plugin.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

# Line numbers for debuggers are half of the library, and the first command of every user unpacks all of it.
native=$PWD/fiji-plugin/target/native
mkdir -p "$native"
objcopy --strip-debug "$1/libisoline.so" "$native/libisoline.so"
# Jars of other versions would be taken for this one.
rm -f fiji-plugin/target/Isoline_-*.jar
mvn --batch-mode --no-transfer-progress --quiet -f fiji-plugin/pom.xml package -DskipTests -Disoline.native.dir="$native"
ls -l fiji-plugin/target/Isoline_-*[0-9].jar
