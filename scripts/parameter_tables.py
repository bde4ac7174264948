"""Writes the tables of parameters in docs/ from the library's own, or with --check says whether they are fresh.

    parameter_tables.py FOLDER-OF-LIBISOLINE [--check]
"""
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from isoline import Library  # noqa: E402

DOCS = pathlib.Path(__file__).parent.parent / "docs"
FLOAT, INTEGER, FLAG, CHOICE = range(4)


def number(value):
    plain = value == 0 or 1e-4 <= abs(value) < 1e8
    return f"{value:g}".replace("e+", "e") if not plain or value != int(value) else str(int(value))


def limits(parameter, choices):
    """The range, as a reader wants it: a bound that only the field's size sets is none."""
    if parameter.type == CHOICE:
        return ", ".join(f"`{name}`" for name in choices)
    if parameter.type == FLAG:
        return "0, 1"
    low, high = parameter.minimum, parameter.maximum
    words = ["a power of two"] if parameter.power_of_two else []
    if math.isfinite(low):
        words.append(("> " if parameter.minimum_excluded else "≥ ") + number(low))
    if high < (math.inf if parameter.type == FLOAT else 2 ** 32 - 1):
        words.append(("< " if parameter.maximum_excluded else "≤ ") + number(high))
    unit = parameter.unit.decode()
    return (", ".join(words) or "any") + (f" ({unit})" if unit else "")


def default(parameter, choices):
    if parameter.automatic is not None:
        return f"automatic: {parameter.automatic.decode()[:-1]}"
    names = [f"`{name}`" for name, value in choices.items() if value == parameter.default_value]
    return names[0] if names else number(parameter.default_value)


def table(operation):
    yield "| parameter | range | default | meaning |"
    yield "|---|---|---|---|"
    for name, parameter in operation.parameters.items():
        choices = operation.choices[name]
        texts = [parameter.help.decode(), *(f"`{word}`: {text}" for word, text in operation.helps[name].items())]
        cells = [f"`{name}`", limits(parameter, choices), default(parameter, choices), " ".join(texts)]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(folder, check):
    stale = []
    for name, operation in Library(folder).operations.items():
        path = DOCS / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        block = f"<!-- parameters, by scripts/parameter_tables.py -->\n{chr(10).join(table(operation))}\n<!-- end -->"
        fresh, count = re.subn(r"<!-- parameters, by .*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"{path} must have one table of parameters between its comments, but it has {count}")
        if fresh != text:
            stale.append(path.name)
            if not check:
                path.write_text(fresh, encoding="utf-8")
    if check and stale:
        sys.exit(f"the tables of parameters in {', '.join(stale)} are stale; run scripts/parameter_tables.py")
    print("parameter tables: " + (f"written: {', '.join(stale)}" if stale else "fresh"))


if __name__ == "__main__":
    main(sys.argv[1], "--check" in sys.argv[2:])
