# shellcheck shell=bash disable=SC2154 # sourced by scripts/test-macros.sh, which has run, refused and $work

# Each recipe prints the lines that docs/recipes.md shows.
for recipe in examples/recipes/*.ijm; do
    name=$(basename "$recipe" .ijm)
    run window "$recipe" ""
    grep "^$name: " "$work/log" > "$work/recipe"
    while IFS= read -r line; do
        if ! grep -qxF "$line" docs/recipes.md; then
            echo "macros: docs/recipes.md does not show: $line" >&2
            exit 1
        fi
    done < "$work/recipe"
done
