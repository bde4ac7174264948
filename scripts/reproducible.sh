#!/usr/bin/env bash
# Builds the release library in two folders and compares the shared library, as it is built, and all that is installed, the
# shared and the static library among it, byte by byte. Ends with 'N passed, N failed'.
# Usage: reproducible.sh TARGET-FOLDER
#
# The debug information is left out, which names the folder; it is not installed.
#
# The kernels are compiled for one architecture, unless ISOLINE_CUDA_ARCHS says otherwise, anew in each folder.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(realpath -m "$1")/reproducible
passed=0
failed=0
# Folders whose names differ, in length too.
folders=("$work/one" "$work/the other/folder")

rm -rf "$work"
for folder in "${folders[@]}"; do
    mkdir -p "$folder/source"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory="$folder/source"
    if [ -e .tools ]; then
        ln -s "$(realpath .tools)" "$folder/source/.tools"
    fi
done
for folder in "${folders[@]}"; do
    (cd "$folder/source" && env -u ISOLINE_KERNELS ISOLINE_CUDA_ARCHS="${ISOLINE_CUDA_ARCHS:-75}" CARGO_INCREMENTAL=0 \
        cargo build --release --locked --lib --quiet --target-dir "$folder/target" && PREFIX=$folder/installed scripts/install.sh "$folder/target/release")
    # The build identifier is made from all bytes.
    objcopy --strip-all --remove-section=.note.gnu.build-id "$folder/target/release/libisoline.so" "$folder/libisoline.so"
done

for file in libisoline.so installed; do
    if diff --recursive --no-dereference "${folders[0]}/$file" "${folders[1]}/$file"; then
        passed=$((passed + 1))
        echo "  ok    $file is the same"
    else
        failed=$((failed + 1))
        echo "  FAIL  $file differs"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
