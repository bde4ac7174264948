"""Writes what repeats the library's tables of parameters, or with --check says whether it is fresh: the tables in docs/,
and the types of the Python functions, python/isoline/_operations.pyi.

    parameter_tables.py FOLDER-OF-LIBISOLINE [--check]
"""
import inspect
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
if __name__ == "__main__":
    os.environ["ISOLINE_LIBRARY"] = sys.argv[1]
from isoline import _operations  # noqa: E402
from isoline._native import CHOICE, FLAG, default_library  # noqa: E402

DOCS = ROOT / "docs"
BEGIN, END = "<!-- parameters, by scripts/parameter_tables.py -->", "<!-- end -->"
STUB = ROOT / "python" / "isoline" / "_operations.pyi"
STUB_HEAD = """\
# Written by scripts/parameter_tables.py from _operations.py and the library's tables; do not edit.
from typing import Any, Literal, TypedDict, overload

from numpy import typing as npt
"""


def limits(parameter, choices):
    """The range, as a reader wants it."""
    if parameter.type == CHOICE:
        return ", ".join(f"`{name}`" for name in choices)
    if parameter.type == FLAG:
        return "0, 1"
    unit = parameter.unit.decode()
    return (_operations.limits(parameter) or "any") + (f" ({unit})" if unit else "")


def default(parameter, choices):
    if parameter.automatic is not None:
        return f"automatic: {parameter.automatic.decode()[:-1]}"
    names = [f"`{name}`" for name, value in choices.items() if value == parameter.default_value]
    return names[0] if names else _operations.number(parameter.default_value)


def table(operation):
    yield "| parameter | range | default | meaning |"
    yield "|---|---|---|---|"
    for name, parameter in operation.parameters.items():
        choices = operation.choices[name]
        texts = [parameter.help.decode(), *(f"`{word}`: {text}" for word, text in operation.helps[name].items())]
        cells = [f"`{name}`", limits(parameter, choices), default(parameter, choices), " ".join(texts)]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def stub():
    """The types of the Python functions: their own arguments, and those of the tables."""
    yield STUB_HEAD
    text = "\n".join(["", "__all__ = [", *(f"    {name!r}," for name in _operations.__all__), "]", *functions(),
                      *solvers()])
    for module, names in re.findall(r"^from (\._\w+) import (.*)", inspect.getsource(_operations), re.MULTILINE):
        used = [name for name in names.split(", ") if re.search(rf"\b{name}\b", text)]
        if used:
            yield f"from {module} import {', '.join(used)}"
    yield text


# The results that depend on an argument.
OVERLOADS = {"edge_drawing": [
    (dict(segments="Literal[True] = True"), "tuple[Any, Segments]"), (dict(segments="Literal[False]"), "tuple[Any, None]"),
    (dict(segments="bool"), "tuple[Any, Segments | None]")]}


def functions():
    for name in _operations.__all__:
        function = _operations.completed(name)
        yield ""
        if name != function.__name__:
            yield f"{name} = {function.__name__}"
            continue
        signature = inspect.signature(function)
        for changed, result in OVERLOADS.get(name, ()):
            yield "@overload"
            yield from definition(name, signature, changed, result)
        if name not in OVERLOADS:
            yield from definition(name, signature, {}, typed(signature.return_annotation))


def solvers():
    """The keywords of the solvers, which they have by Unpack."""
    for name, function, omitted in (("LevelSet", "level_set", "iterations"), ("Snake", "snake", None)):
        yield from ["", f"class {name}Parameters(TypedDict, total=False):"]
        table = default_library().operations[function]
        yield from (f"    {key}: {typed(_operations.annotation(table, key))}" for key in table.parameters if key != omitted)


def definition(name, signature, changed, result):
    """The lines of a function; `changed` has other types and defaults of some arguments."""
    yield f"def {name}("
    keyword_only = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "    *,"
        default = "" if one.default is one.empty else f" = {one.default!r}"
        yield f"    {one.name}: {changed.get(one.name, typed(one.annotation) + default)},"
    yield f") -> {result}: ..."


def typed(annotation):
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(check):
    fresh, problems = {STUB: "\n".join(stub()) + "\n"}, []
    for name, operation in default_library().operations.items():
        path = DOCS / f"{name}.md"
        block = "\n".join([BEGIN, *table(operation), END])
        fresh[path], count = re.subn(f"{BEGIN}.*?{END}", lambda _, block=block: block, read(path), flags=re.DOTALL)
        if count != 1:
            problems.append(f"{path.relative_to(ROOT)} " + (f"has {count} tables" if path.exists() else "is missing"))
    if problems:
        sys.exit(f"{'; '.join(problems)}. Nothing was written. The document of each operation has one table of parameters, "
                 f"in the place of these two lines:\n{BEGIN}\n{END}")
    stale = [path for path, text in fresh.items() if read(path) != text]
    names = ", ".join(path.name for path in stale)
    if check and stale:
        sys.exit(f"the parameters in {names} are stale; run scripts/parameter_tables.py")
    for path in stale:
        path.write_text(fresh[path], encoding="utf-8")
    print("parameter tables: " + (f"written: {names}" if stale else "fresh"))


if __name__ == "__main__":
    main("--check" in sys.argv[2:])
