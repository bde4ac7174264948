#!/usr/bin/env bash
# Writes the HTML reference of the C API and of the C++ interface, by Doxygen from the headers: OUT/c and OUT/cpp. Fails if
# a function, struct or macro is not described, or a parameter has another name.
# Usage: reference.sh OUT
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: reference.sh OUT}
mkdir -p "$out"
version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml | head -1)
reference() { # reference FOLDER TITLE SETTINGS...
    local folder=$1 title=$2
    shift 2
    printf '%s\n' "PROJECT_NAME=\"$title\"" PROJECT_NUMBER="$version" OUTPUT_DIRECTORY="$out" HTML_OUTPUT="$folder" \
        GENERATE_LATEX=NO HAVE_DOT=NO QUIET=YES PREDEFINED=__cplusplus WARN_AS_ERROR=FAIL_ON_WARNINGS "$@" | doxygen -
}
# The page of rules is part of the C reference; its headings are not those of the header's groups.
reference c "Isoline, C API" "INPUT=include/isoline.h docs/c_rules.md" OPTIMIZE_OUTPUT_FOR_C=YES TYPEDEF_HIDES_STRUCT=YES \
    MACRO_EXPANSION=YES EXPAND_ONLY_PREDEF=YES "PREDEFINED+=\"ISOLINE_ENUM(name)=enum name\""
reference cpp "Isoline, C++ interface" INPUT=include/isoline.hpp
