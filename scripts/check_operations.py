#!/usr/bin/env python3
"""Tests, sentences and tables that are written by hand name each operation of the library (OPERATIONS in src/lib.rs).

Prints what lacks an operation; the status is 1 if there is any. docs/adding-an-operation.md says what belongs there.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Tests that call each operation, with the pattern of a call.
RUST_CALL, C_CALL = r"\b{}::", r"\bisoline_{}(_new|_run)?\("
EVERY_CALL = {
    "tests/out_of_memory.rs": RUST_CALL,
    "tests/c/calls.h": C_CALL,
    "src/capi/tests.rs": C_CALL,
    "python/tests/test_operations.py": r"\bisoline\.{}\(",
}
# Those that call each operation which works slice by slice.
SLICE_CALL = {"tests/several.rs": RUST_CALL, "tests/streams/*.rs": RUST_CALL, "tests/c/slices.c": C_CALL}

# Texts, from one mark to another, that name each operation.
EVERY_TEXT = [
    ("docs/architecture.md", "## How equal CPU and CUDA are", "\n## "),
    ("python/isoline/__init__.py", '"""', "\n"),
    ("python/README.md", "# Isoline for Python", "from NumPy"),
    ("tests/fuzz/README.md", "| target | calls |", "\n## "),
]
# Those that name each operation which works slice by slice.
SLICE_TEXT = [
    ("src/capi/image.rs", "For calls that work slice by slice", "ISOLINE_SLICES = 2"),
    ("docs/c_api.md", "**Stacks larger than the memory.**", "```"),
    ("docs/python.md", "## Arrays that are not in memory", "\n## "),
]
# Those that name each operation whose device `auto` chooses by time.
TIMED_TEXT = [
    ("src/capi/preamble.h", "- Devices.", "- Results."),
    ("docs/architecture.md", "## Choice of the device", "\n## "),
]


def read(pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(pattern)))


def words(text):
    """The words of a text, without the marks of comments."""
    return re.sub(r"\s+([*/]+\s+)?", " ", text.replace("_", " ").lower())


def part(path, begin, end):
    text = read(path)
    if begin not in text or end not in text.split(begin, 1)[1]:
        sys.exit(f'check_operations: {path} lacks "{begin}" with "{end.strip()}" after it; correct this program')
    return words(text.split(begin, 1)[1].split(end, 1)[0])


def missing(names, calls, texts):
    for path, call in calls.items():
        text = read(path)
        yield from (f"{path} does not call {name}" for name in names if not re.search(call.format(name), text))
    for path, begin, end in texts:
        text = part(path, begin, end)
        yield from (f"{path} does not name {name} after {begin}" for name in names if words(name) not in text)


def main():
    names = re.findall(r"&(\w+)::parameters::OPERATION", read("src/lib.rs"))
    sources = {name: read(f"src/{name}/**/*.rs") for name in names}
    slices = [name for name in names if re.search(r"\.(by_slices|each_slice)\b", sources[name])]
    timed = [name for name in names if "Workload" in sources[name]]
    if not names or not slices or not timed:
        sys.exit("check_operations: the operations are not found in src; correct this program")
    problems = [*missing(names, EVERY_CALL, EVERY_TEXT), *missing(slices, SLICE_CALL, SLICE_TEXT),
                *missing(timed, {}, TIMED_TEXT)]
    macros = re.findall(r'MacroExample\("(\w+\.ijm)"\)', read("fiji-plugin/src/main/resources/plugins.config"))
    platforms = read("scripts/test-platforms.sh")
    problems += [f"scripts/test-platforms.sh does not run {macro}" for macro in macros
                 if f'"{macro}"' not in platforms and macro != "batch.ijm"]
    for problem in problems:
        print(f"check_operations: {problem}", file=sys.stderr)
    if problems:
        sys.exit("check_operations: docs/adding-an-operation.md says what belongs there")


if __name__ == "__main__":
    main()
