# shellcheck shell=bash # sourced by scripts/test-macros.sh, which has passed

# The jars of the sources and of the Javadoc, which are beside the plugin's, have every class that scripts use, with its calls.
python3 - fiji-plugin/target << 'PYTHON'
import pathlib
import re
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
public = []
for source in sorted(pathlib.Path("fiji-plugin/src/main/java").rglob("*.java")):
    if f"\npublic final class {source.stem}" in source.read_text() or f"\npublic class {source.stem}" in source.read_text():
        public.append(source.relative_to("fiji-plugin/src/main/java").with_suffix("").as_posix())
assert "io/github/isoline/ij/Isoline" in public and "io/github/isoline/Context" in public, public
jars = {kind: zipfile.ZipFile(next(folder.glob(f"Isoline_-*-{kind}.jar"))) for kind in ("sources", "javadoc")}
for name in public:
    assert "class " + name.split("/")[-1] in jars["sources"].read(name + ".java").decode(), name
    assert "Class " + name.split("/")[-1] in jars["javadoc"].read(name + ".html").decode(), name
page = jars["javadoc"].read("io/github/isoline/ij/Isoline.html").decode()
# The names of operations in the menu: the call of level_set is levelSet.
names = re.findall(r'StackCommand\("(\w+)"\)', pathlib.Path("fiji-plugin/src/main/resources/plugins.config").read_text())
assert names
for call in (re.sub("_(.)", lambda match: match[1].upper(), name) for name in names):
    assert f'id="{call}(' in page, call
print(f"macros: jars of the sources and the Javadoc: {len(public)} classes")
PYTHON
passed=$((passed + 1))
