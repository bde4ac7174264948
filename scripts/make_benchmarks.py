#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its picture from the bench `whole` of the GPU record, docs/gpu-validation.json.

Usage: make_benchmarks.py [--check]; with --check only compares the document with the record.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "images" / "benchmarks.png"
# The columns of the tables: heading, device, field.
COLUMNS = (("link", "cuda", None), ("page-locked", "cuda", "pinned"), ("used", "cuda", "used"),
           ("untouched", "cuda", "untouched"), ("CPU, used", "cpu", "used"))

HEAD = """# Whole calls on a GPU and on a CPU

`scripts/make_benchmarks.py` makes this page from the [record](gpu-validation.json); `benches/whole.py`, a part of
`make bench`, measures the same on your machine.

What a user waits for: milliseconds of one call of the C API, from images in host memory to results in host memory, the
median of 3 to 40 calls. {device}, and {threads} threads of its host, at commit `{commit}`. Shapes are width x
height x depth.

* **link**: the same bytes copied by the driver from page-locked memory to the device and back, one after the other, and
  nothing else. Only stacks can be faster, because they are copied both ways at once.
* **page-locked**, **used**, **untouched**: all images in page-locked memory (`cudaHostAlloc`); all in ordinary memory
  that was used before; results in ordinary memory fresh from the system, whose pages the call is the first to write.
* **CPU**: the same call on the CPU, in ordinary memory that was used before.
* **GPU : CPU**: how many times as fast the call is on the GPU, both in ordinary memory that was used before. Below 1 the
  CPU is faster.

![Times of whole calls](images/benchmarks.png)
"""


def load():
    """Returns the record, and for each call its times in ms by heading."""
    record = json.loads((ROOT / "docs" / "gpu-validation.json").read_text(encoding="utf-8"))
    numbers = next(bench["numbers"] for bench in record["benches"] if bench["name"] == "whole")
    results = {(result["device"], result["what"]): result for result in numbers["results"]}
    calls = {what: {} for _, what in results}
    for what in calls:
        for heading, device, field in COLUMNS:
            result = results.get((device, what), {})
            seconds = result.get(field) if field else result.get("up", 0) + result.get("down", 0)
            if seconds:
                calls[what][heading] = 1e3 * seconds
    return record, numbers, calls


def number(ms):
    """Returns a time with three digits, or two decimals for short ones."""
    if ms is None:
        return ""
    decimals = 3 if ms < 0.1 else 2 if ms < 10 else 1 if ms < 100 else 0
    return f"{ms:.{decimals}f}"


def page(record, numbers, calls):
    lines = [HEAD.format(device=record["device"], threads=numbers["threads"], commit=record["commit"][:10])]
    headings = [heading for heading, *_ in COLUMNS]
    lines += [f"| call | {' | '.join(headings)} | GPU : CPU |", "|---" * (len(headings) + 2) + "|"]
    for what, times in calls.items():
        both = times.get("used"), times.get("CPU, used")
        ratio = f"{both[1] / both[0]:.1f}" if all(both) else ""
        lines.append(f"| {what} | {' | '.join(number(times.get(heading)) for heading in headings)} | {ratio} |")
    return "\n".join(lines) + "\n"


def draw(calls):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from make_pictures import INK  # it also sets the fonts
    figure, axes = plt.subplots(figsize=(9, 0.27 * len(calls) + 1.1), layout="constrained")
    names = list(calls)
    for (heading, *_), colour, marker in zip(COLUMNS, ("#999999", "#74add1", "#2b6cb0", "#1a365d", "#d9822b"), "|oos^"):
        points = [(calls[name][heading], i) for i, name in enumerate(names) if heading in calls[name]]
        axes.plot(*zip(*points), marker, color=colour, label=heading, markersize=10 if marker == "|" else 5)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("ms", color=INK)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.06), ncols=len(COLUMNS), fontsize=8, frameon=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(PICTURE, dpi=100)


def main():
    record, numbers, calls = load()
    text = page(record, numbers, calls)
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit("make_benchmarks: docs/benchmarks.md is not what the record says; run scripts/make_benchmarks.py")
        return
    PAGE.write_text(text, encoding="utf-8")
    draw(calls)


if __name__ == "__main__":
    main()
