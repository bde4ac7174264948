#!/usr/bin/env bash
# Runs a macro in a plain ImageJ 1.x from Maven Central, with the plugin installed as a user would install it.
# Usage: imagej.sh window|headless MACRO [ARGUMENT]
#   window    the real program with its menus; under Xvfb where there is no display
#   headless  no display at all (java.awt.headless), started by the plugin's HeadlessImageJ
# Needs 'make plugin' first. Exit status: 0 if the macro ran to its end.
set -euo pipefail
cd "$(dirname "$0")/.."

how=$1
macro=$(realpath "$2")
argument=${3:-}
built=fiji-plugin/target
plugin=$(echo "$built"/Isoline_-*[0-9].jar)
time_limit=300 # seconds; an error dialog under Xvfb has nobody to close it

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir -p "$home/plugins/jars"
cp "$built/lib/ij.jar" "$home/"
cp "$plugin" "$home/plugins/"
cp "$built/lib/jna.jar" "$home/plugins/jars/"

if [ "$how" = headless ]; then
    timeout "$time_limit" env -u DISPLAY java -Xmx2g -Dfile.encoding=UTF-8 -Djava.awt.headless=true -Duser.home="$home" \
        -cp "$home/ij.jar:$home/plugins/jars/jna.jar:$plugin" \
        io.github.isoline.ij.HeadlessImageJ "$macro" "$argument"
    exit
fi

# ImageJ -batch ends with 0 whatever became of the macro, so the macro's end is marked by a file.
wrapper=$home/run.ijm
end=$home/end
cat > "$wrapper" << MACRO
runMacro("$macro", getArgument());
File.saveString("done", "$end");
MACRO
display=()
if [ -z "${DISPLAY:-}" ]; then
    display=(xvfb-run --auto-servernum)
fi
timeout "$time_limit" "${display[@]}" java -Xmx1g -Dfile.encoding=UTF-8 -Duser.home="$home" -jar "$home/ij.jar" \
    -ijpath "$home" -batch "$wrapper" "$argument" || true
if [ ! -f "$end" ]; then
    echo "imagej: the macro $2 did not run to its end" >&2
    exit 1
fi
