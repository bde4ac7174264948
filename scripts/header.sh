#!/usr/bin/env bash
# Regenerates include/isoline.h from the Rust sources with a pinned cbindgen, or with --check says whether the
# committed one is fresh. The version is pinned because another one formats differently.
# Usage: header.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.29.4
cbindgen=.tools/bin/cbindgen

if ! "$cbindgen" --version 2> /dev/null | grep -qx "cbindgen $version"; then
    echo "header: building cbindgen $version into .tools"
    # A target folder of its own: the crate's may be locked by a build that waits for this one.
    # --debug: it runs for a second, but would compile for two minutes.
    CARGO_TARGET_DIR=.tools/cbindgen-build cargo install --debug cbindgen --version "$version" --locked --root .tools --quiet
    rm -rf .tools/cbindgen-build
fi

# The parts of the header, each with the modules of src/capi that it consists of: 'TITLE: MODULE...'.
parts() {
    awk '/^\/\/ Header: / { parts[++last] = substr($0, 12) ":" }
        /^mod / && last { sub(/;/, ""); parts[last] = parts[last] " " $2 }
        END { for (part = 1; part <= last; part++) print parts[part] }' src/capi/mod.rs
}

# cbindgen.toml, and the enums, which structs hold as integers, so that cbindgen does not see their use.
settings() {
    cat cbindgen.toml
    printf '\n[export]\ninclude = ['
    sed -nE 's/^pub enum (\w+) .*/"\1", /p' src/capi/*.rs
    echo ']'
}

version_macros() {
    sed -nE '/^version = "/{s/[^0-9]*([0-9]+)\.([0-9]+)\.([0-9]+).*/\1 \2 \3/p;q}' Cargo.toml | {
        read -r major minor patch
        cat << END

/** The major version of this header; it counts changes that break programs. */
#define ISOLINE_VERSION_MAJOR $major
/** The minor version of this header; it counts additions, and before version 1.0 changes that break programs. */
#define ISOLINE_VERSION_MINOR $minor
/** The patch version of this header; it counts corrections. */
#define ISOLINE_VERSION_PATCH $patch
/** The version of this header as one number, to compare with others and with isoline_version(). */
#define ISOLINE_VERSION (ISOLINE_VERSION_MAJOR << 16 | ISOLINE_VERSION_MINOR << 8 | ISOLINE_VERSION_PATCH)
END
    }
}

generate() {
    local part file
    cat src/capi/preamble.h
    parts | while IFS= read -r part; do
        printf '\n/**\n * @defgroup %s %s\n * @{\n */\n' "${part##* }" "${part%%:*}"
        for file in ${part#*: }; do
            if [ "$file" = version ]; then
                version_macros
            fi
            echo
            # One file at a time, because cbindgen writes all types before all functions. A comment of one line needs
            # no more than one, and an enum has the macro of the preamble.
            "$cbindgen" --quiet --config "$work/cbindgen.toml" "src/capi/$file.rs" |
                sed -Ez 's,/\*\*\n +\* ([^\n]*)\n +\*/,/** \1 */,g
                    s/\nenum (\w+)\n#if[^\n]*\n  : uint32_t\n#endif[^\n]*\n \{/\nISOLINE_ENUM(\1) {/g
                    s/\n};\n#if[^\n]*\ntypedef enum[^\n]*\n#else\n[^\n]*\n#endif[^\n]*\n/\n};\n/g'
        done
        printf '\n/** @} */\n'
    done
    printf '\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* ISOLINE_H */\n'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fresh=$work/isoline.h
settings > "$work/cbindgen.toml"
generate > "$fresh"
if [ "${1:-}" != --check ]; then
    cat "$fresh" > include/isoline.h
    echo "header: include/isoline.h written"
elif ! diff -u include/isoline.h "$fresh"; then
    echo "header: include/isoline.h is stale; run 'make header' and commit it" >&2
    exit 1
else
    echo "header: include/isoline.h is fresh"
fi
