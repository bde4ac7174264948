"""Relative links in the documents lead to files, and their anchors to headings, of this tree; tests that they name exist."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
JAVA_TESTS = ROOT / "fiji-plugin/src/test/java"
# A test of the plugin as documents name it: `ClassTest.method`.
JAVA_TEST = re.compile(r"`([A-Z]\w+(?:Test|Contract))\.(?!java`)(\w+)`")
# A test of the library: `name` in `tests/FILE.rs`.
RUST_TEST = re.compile(r"`([a-z0-9_]+)`\s+in\s+`(tests/[\w/]+\.rs)`")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(text):
    """The anchors of a document's headings, made as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing_tests(text):
    """The tests that a document names and that do not exist."""
    sources = {path.stem: path for path in JAVA_TESTS.rglob("*.java")}
    for name, method in JAVA_TEST.findall(text):
        if name not in sources or f" void {method}(" not in sources[name].read_text(encoding="utf-8"):
            yield f"{name}.{method}"
    for name, file in RUST_TEST.findall(text):
        if not (ROOT / file).exists() or f"fn {name}(" not in (ROOT / file).read_text(encoding="utf-8"):
            yield f"{name} in {file}"


def main():
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    problems = []
    for name in listing.stdout.splitlines():
        document = ROOT / name
        problems += [f"{name}: there is no test {test}" for test in missing_tests(document.read_text(encoding="utf-8"))]
        for target, anchor in LINK.findall(document.read_text(encoding="utf-8")):
            path = (document.parent / target).resolve() if target else document
            if not path.exists():
                problems.append(f"{name}: there is no {target}")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
                problems.append(f"{name}: {target} has no heading #{anchor}")
    for problem in problems:
        print(f"check_links: {problem}", file=sys.stderr)
    if problems:
        sys.exit("check_links: correct the links and the names of tests")


if __name__ == "__main__":
    main()
