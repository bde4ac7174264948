#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its pictures from the benches of the GPU record, docs/gpu-validation.json.

Usage: make_benchmarks.py [--check] [--record FILE] [--out FOLDER]; with --check only compares the document with the record,
with --record and --out reads another record and writes another folder. Sections whose numbers the record lacks are left out.
"""
import argparse
import collections
import itertools
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES = {"cuda": "Isoline, GPU", "cpu": "Isoline, CPU"}
# The columns of the table of whole calls: heading, device, field.
COLUMNS = (("link", "cuda", None), ("page-locked", "cuda", "pinned"), ("used", "cuda", "used"),
           ("untouched", "cuda", "untouched"), ("CPU, used", "cpu", "used"))
# By the first word of a program; lines that are no programs take them in this order.
COLOURS = {"cuda": "#2b6cb0", "cpu": "#d9822b", "edt": "#3a923a", "SciPy": "#a94a8f", "OpenCV": "#8c564b",
           "SimpleITK": "#17a2a2", "scikit-image": "#6b6bd0", "cuCIM": "#999999", "CuPy": "#c9b037", "PyTorch": "#e377c2",
           "other": "#555555"}
# The bytes that kernels have to move at least. Each row has a name, the bench, the values that select its result, the field
# with the time and the factor that makes seconds of it, the number of pixels, the bytes per pixel, and what these are.
DISTANCE = {"what": "gyroid", "device": "cuda:0", "spacing": [1.0, 1.0, 1.0]}
STRENGTH = {"what": "iterations", "device": "cuda:0", "variant": "fused", "picture": "lines", "iterations": 200}
BOUNDS = (
    ("distance of 512³", "distance", {**DISTANCE, "depth": 512}, "seconds_kernels", 1, 512**3, 21,
     "rows: 1 read, 4 written; columns along y and z: 4 and 4 each"),
    ("distance of 4096²", "distance", {**DISTANCE, "depth": 1}, "seconds_kernels", 1, 4096**2, 13,
     "rows: 1 read, 4 written; columns along y: 4 and 4"),
    ("edge strength of 8192², 200 iterations", "edge_strength", {**STRENGTH, "side": 8192}, "seconds", 1, 8192**2, 200.25,
     "25 passes of eight iterations: 4 read, 4 written and a bit of the mask, the first pass without the 4 read; the mask: "
     "1 read, a bit written"),
    ("edge drawing of 4096², map", "edge_drawing", {"what": "map", "device": "cuda:0", "profile": "paper", "side": 4096},
     "seconds_kernels", 1, 4096**2, 4.375, "1 read; the working map: 2 written; the edge map: 1 written; three bits"),
    ("level set of 512³, every voxel, an iteration", "level_set", {"image": "512^3", "device": "cuda:0", "variant": "Dense"},
     "ms", 1e-3 / 100, 512**3, 9, "the image: 1 read; φ: 4 read, 4 written"),
    ("sums of a region snake, 150 Mpixel of 16 bits", "snake", {"what": "one target, 150.0 Mpixel", "device": "cuda:0"},
     "seconds_made_resident", 1, 12247**2, 3, "2 read; the sums: 1 written"),
)

HEAD = """# Benchmarks

`scripts/make_benchmarks.py` makes this page, pictures and all, from the [record](gpu-validation.json); nothing in it is
typed. To repeat it: `make bench` measures the same on your machine, and with the [GPU
bundle](../CONTRIBUTING.md#on-a-machine-with-a-gpu) a new record is made, and from it this page. {device}, and {threads}
threads of its host; each section says the commit. [Another record](gpu-validation-h100.json) is of an NVIDIA H100, with
tests and whole calls of another commit.

A time is that of one whole call of the C API, from images in host memory to results in host memory, unless it says
otherwise.
"""

SIZES = """## Time against size

Measured by `benches/sizes.py` at commit `{commit}`: the median of up to 40 calls within a tenth of a second, at least one,
after one that is not counted. All programs get the same images, in ordinary memory that was used before, and {threads}
threads. Edge strength makes {strength} iterations, or converges; a level set starts from image and mask, makes {level_set}
iterations and returns its mask; a region snake searches until it rests. A row ends before a call that should take more
than {longest:g} s.

![Times against size](images/benchmarks-size.png)

The other programs do what their names say, which is not always the same:

* **Distance.** Isoline and SimpleITK compute both classes with a sign; "one class" is half of that.
* **Edge strength.** No other program has it. The same iterations, written with each library.
* **Edge drawing.** Canny is another method, with another result: a map, no segments. OpenCV's EdgeDrawing is the same
  method, sequential.
* **Level set.** SimpleITK's filter alone, without the conversion of its images, from Isoline's distance, with as many
  iterations, in which its front moves less far; [level_set.md](level_set.md#against-simpleitk) compares both at rest.
* **Region snake.** scikit-image's contours, on the same image from the same start, with the parameters of
  [snake.md](snake.md).
* **Resident**: the images are on the GPU before and after the call, which Isoline's are not.

Installed in this run: {installed}. Not installed: {missing}.
"""

WHOLE = """## Whole calls, by kind of memory

Measured by `benches/whole.py` at commit `{commit}`, in milliseconds, the median of 3 to 40 calls; {threads} threads. Shapes
are width x height x depth.

* **link**: the same bytes copied by the driver from page-locked memory to the device and back, one after the other, and
  nothing else. Only stacks can be faster, because they are copied both ways at once.
* **page-locked**, **used**, **untouched**: all images in page-locked memory (`isoline_buffer_new`); all in ordinary memory
  that was used before; results in ordinary memory fresh from the system, whose pages the call is the first to write.
* **CPU**: the same call on the CPU, in ordinary memory that was used before.
* **GPU : CPU**: how many times as fast the call is on the GPU, both in ordinary memory that was used before. Below 1 the
  CPU is faster.

![Times of whole calls](images/benchmarks.png)
"""

OVERTAKES = """## Where CUDA overtakes the CPU

The smallest size from which on the GPU is faster than all {threads} threads of the CPU, both in ordinary memory, and the
largest size that both were measured at. Milliseconds.
"""

BESIDE = """## Beside other programs

At the largest size that all programs of an operation were measured at. Milliseconds, and how many times as long as
Isoline on the GPU and on the CPU.
"""

LINES = """## Threads, depth, targets

On the left how many times as fast a call is with more threads than with one ({threads}; the threads are bound to as many
processors, first one of each core); in the middle stacks of slices of {depth}, per slice; on the right region snakes on
one image of {targets}, until all rest.

![Threads, depth of a stack, number of targets](images/benchmarks-lines.png)
"""

COLD = """## Cold start

What the first call of a process costs: the context, and the first and the second distance of 64³ in it. Milliseconds.
"""

SHARE = """## Share of the memory bound

A kernel on images that do not fit into the GPU's cache cannot be faster than a copy on the device of as many bytes as it
has to read and write; copies ran at {rate:.2f} TB/s (read and written). The times are those of the kernels alone, with
images on the device. What is far from this bound is bound by instructions or latency:
[kernels/README.md](../kernels/README.md) says how each is.
"""

PLUGIN = """## The plugin beside the C API

Measured by `benches/plugin.py` at commit `{commit}`: a command of the Fiji plugin in a macro, without a window, from an
open image to the open result; the part of it that is spent in the library; and the same call from Python through the C
API, with results in memory fresh from the system; those of the plugin are in buffers of the library. Milliseconds, the
median of {calls} commands after one that is not counted.
"""


def number(ms):
    """Returns a time with three digits, or two decimals for short ones."""
    if ms is None:
        return ""
    decimals = 3 if ms < 0.1 else 2 if ms < 10 else 1 if ms < 100 else 0
    return f"{ms:.{decimals}f}"


def times_as(other, own):
    return f"{other / own:.1f}" if other and own else ""


def table(headings, rows):
    return [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def size(operation, side):
    return f"{side}{'³' if '3D' in operation else '²'}"


def named(who):
    return DEVICES.get(who, who)


class Record:
    def __init__(self, path):
        self.head = json.loads(path.read_text(encoding="utf-8"))
        self.benches = {bench["name"]: bench for bench in self.head["benches"] if bench["numbers"]}

    def commit(self, bench):
        return self.benches.get(bench, {}).get("commit", self.head["commit"])[:10]

    def device(self):
        """Returns the GPU of the benches, which may be those of an earlier record."""
        devices = {bench.get("device", self.head["device"]) for bench in self.benches.values()}
        if len(devices) > 1:
            sys.exit(f"make_benchmarks: the benches ran on different GPUs: {', '.join(sorted(devices))}")
        return devices.pop() if devices else self.head["device"]

    def numbers(self, bench):
        return self.benches[bench]["numbers"] if bench in self.benches else {"results": []}

    def sweep(self, kind):
        """Returns by operation, by program, the milliseconds by size, threads, depth or targets."""
        rows = {}
        for result in self.numbers("sizes")["results"]:
            if result["sweep"] == kind and "seconds" in result:
                row = rows.setdefault(result["operation"], {}).setdefault(result["who"], {})
                row[result["at"]] = 1e3 * result["seconds"]
        return rows

    def whole(self):
        """Returns by call its milliseconds by heading."""
        results = {(result["device"], result["what"]): result for result in self.numbers("whole")["results"]}
        calls = {what: {} for _, what in results}
        for what in calls:
            for heading, device, field in COLUMNS:
                result = results.get((device, what), {})
                seconds = result.get(field) if field else result.get("up", 0) + result.get("down", 0)
                if seconds:
                    calls[what][heading] = 1e3 * seconds
        return calls


def sizes(record):
    numbers, rows = record.numbers("sizes"), record.sweep("size")
    if not rows:
        return []
    found = numbers["peers"]
    lines = [SIZES.format(commit=record.commit("sizes"), threads=numbers["threads"], longest=numbers["longest"],
                          **numbers["iterations"],
                          installed=", ".join(f"{name} {version}" for name, version in found.items() if version) or "none",
                          missing=", ".join(name for name, version in found.items() if not version) or "none")]
    beside = []
    for operation, programs in rows.items():
        common = set.intersection(*(set(row) for row in programs.values()))
        if len(set(programs) - set(DEVICES)) == 0 or not common:
            continue
        at = max(common)
        for i, (who, row) in enumerate(programs.items()):
            beside.append([f"{operation}, {size(operation, at)}" * (i == 0), named(who), number(row[at]),
                           *(times_as(row[at], programs[own].get(at)) if own in programs else "" for own in DEVICES)])
    if beside:
        lines += [BESIDE, *table(["operation", "program", "ms", "times GPU", "times CPU"], beside)]
    return lines


def overtakes(record):
    rows = []
    for operation, programs in record.sweep("size").items():
        gpu, cpu = programs.get("cuda", {}), programs.get("cpu", {})
        sides = sorted(set(gpu) & set(cpu))
        ahead = []
        for side in reversed(sides):
            if gpu[side] >= cpu[side]:
                break
            ahead.append(side)
        if sides:
            cells = []
            for side in ahead[-1:], sides[-1:]:
                side = side[0] if side else None
                cells += [size(operation, side), number(gpu[side]), number(cpu[side]), times_as(cpu[side], gpu[side])] \
                    if side else ["never", "", "", ""]
            rows.append([operation, *cells])
    headings = ["operation", "from", "GPU", "CPU", "GPU : CPU", "largest", "GPU", "CPU", "GPU : CPU"]
    return [OVERTAKES.format(threads=record.numbers("sizes")["threads"]), *table(headings, rows)] if rows else []


def lines(record):
    numbers = record.numbers("sizes")
    return [LINES.format(**numbers["images"])] if record.sweep("threads") else []


def whole(record):
    calls = record.whole()
    if not calls:
        return []
    headings = [heading for heading, *_ in COLUMNS]
    rows = [[what, *(number(times.get(heading)) for heading in headings),
             times_as(times.get("CPU, used"), times.get("used"))] for what, times in calls.items()]
    head = WHOLE.format(commit=record.commit("whole"), threads=record.numbers("whole")["threads"])
    return [head, *table(["call", *headings, "GPU : CPU"], rows)]


def cold(record):
    starts = record.numbers("whole").get("cold_start", {})
    steps = ("context", "first", "second")
    # Only the first device starts in a process that has loaded nothing.
    rows = [[named(device), *(number(1e3 * starts[device][step]) for step in steps)] for device in list(starts)[:1]]
    return [COLD, *table(["device", "context", "first call", "second call"], rows)] if rows else []


def share(record):
    rate, rows = record.numbers("sizes").get("copy_bytes_per_second"), []
    if not rate:
        return []
    for name, bench, wanted, field, factor, pixels, count, why in BOUNDS:
        for result in record.numbers(bench)["results"]:
            if all(result.get(key) == value for key, value in wanted.items()):
                least, seconds = pixels * count / rate, result[field] * factor
                rows.append([name, f"{count:g}: {why}", *(number(1e3 * part) for part in (least, seconds)),
                             f"{least / seconds:.0%}", f"`{record.commit(bench)}`"])
    head = ["kernels of", "bytes a pixel", "bound, ms", "ms", "share", "commit"]
    return [SHARE.format(rate=1e-12 * rate), *table(head, rows)]


def plugin(record):
    numbers = record.numbers("plugin")
    parts = ("command", "library", "c_api")
    rows = [[result["what"], named(result["device"]), *(number(1e3 * result[part]) for part in parts),
             times_as(result["command"], result["c_api"])] for result in numbers["results"]]
    head = PLUGIN.format(commit=record.commit("plugin"), calls=numbers.get("calls"))
    return [head, *table(["call", "device", "command", "library", "C API", "command : C API"], rows)] if rows else []


def page(record):
    threads = next((bench["numbers"]["threads"] for bench in record.benches.values() if "threads" in bench["numbers"]), "")
    head = HEAD.format(device=record.device(), threads=threads)
    parts = [part(record) for part in (sizes, overtakes, lines, whole, cold, share, plugin)]
    return "\n".join([head, *(line for part in parts for line in part)]).rstrip("\n") + "\n"


def draw_whole(plot, calls, path):
    figure, axes = plot.subplots(figsize=(9, 0.27 * len(calls) + 1.1), layout="constrained")
    names = list(calls)
    for (heading, *_), colour, marker in zip(COLUMNS, ("#999999", "#74add1", "#2b6cb0", "#1a365d", "#d9822b"), "|oos^"):
        points = [(calls[name][heading], i) for i, name in enumerate(names) if heading in calls[name]]
        if points:
            axes.plot(*zip(*points), marker, color=colour, label=heading, markersize=10 if marker == "|" else 5)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("ms")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.06), ncols=len(COLUMNS), fontsize=8, frameon=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=100)


def draw_rows(axes, title, rows, across, up="ms", base=2, logarithmic=True):
    """Draws lines: `rows` has label, colour, dashes, and values by place along x."""
    for label, colour, dashes, row in rows:
        axes.plot(list(row), list(row.values()), dashes, color=colour, label=label, marker="o", markersize=3, linewidth=1.3)
    axes.set_xscale("log", base=base)
    if logarithmic:
        axes.set_yscale("log")
    places = sorted({place for *_, row in rows for place in row})
    axes.set_xticks(places, [str(place) for place in places], minor=False)
    axes.xaxis.set_minor_locator(axes.xaxis.get_major_locator().__class__([]))
    axes.tick_params(labelsize=8)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.grid(color="#e5e5e5", linewidth=0.6)
    axes.legend(fontsize=6.5, frameon=False, handlelength=3, loc="upper center", bbox_to_anchor=(0.5, -0.17),
                ncols=2 if len(rows) > 6 else 1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def coloured(programs):
    """Returns the rows of a plot: Isoline's lines are solid, and those of one peer have a colour."""
    rows, drawn = [], collections.Counter()
    for who, row in programs.items():
        name = who.split()[0]
        dashes = "-" if who in DEVICES else ("--", ":", "-.")[drawn[name] % 3]
        rows.append((named(who), COLOURS.get(name, COLOURS["other"]), dashes, row))
        drawn[name] += 1
    return rows


def draw_sizes(plot, rows, path):
    across = 3
    figure, grid = plot.subplots(-(-len(rows) // across), across, figsize=(12, 3.4 * -(-len(rows) // across)),
                                 layout="constrained", squeeze=False)
    for axes in grid.flat[len(rows):]:
        axes.set_axis_off()
    for axes, (operation, programs) in zip(grid.flat, rows.items()):
        draw_rows(axes, operation, coloured(programs), "side in pixels")
    figure.savefig(path, dpi=90)


def draw_lines(plot, record, path):
    figure, grid = plot.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
    # More operations than colours: further ones are dashed, then dotted.
    lines = itertools.product(("-", "--", ":"), COLOURS.values())
    faster = [(operation, colour, dashes, {count: row[1] / ms for count, ms in row.items()})
              for (operation, programs), (dashes, colour) in zip(record.sweep("threads").items(), lines)
              for row in programs.values() if 1 in row]
    draw_rows(grid[0], "threads", faster, "threads", "times as fast as one", logarithmic=False)
    stacks = [(f"{operation}, {'GPU' if who == 'cuda' else 'CPU'}", colour, "-" if who == "cuda" else "--",
               {depth: ms / depth for depth, ms in row.items()})
              for (operation, programs), colour in zip(record.sweep("depth").items(), COLOURS.values())
              for who, row in programs.items()]
    draw_rows(grid[1], "depth of a stack", stacks, "slices", "ms a slice")
    for operation, programs in record.sweep("targets").items():
        draw_rows(grid[2], operation, coloured(programs), "targets", base=10)
    figure.savefig(path, dpi=90)


def draw(record, folder):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    import make_pictures  # noqa: F401  (it sets the fonts)

    if record.whole():
        draw_whole(plot, record.whole(), folder / "benchmarks.png")
    if record.sweep("size"):
        draw_sizes(plot, record.sweep("size"), folder / "benchmarks-size.png")
    if record.sweep("threads"):
        draw_lines(plot, record, folder / "benchmarks-lines.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", type=pathlib.Path, default=ROOT / "docs" / "gpu-validation.json")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    options = parser.parse_args()
    record, path = Record(options.record), options.out / "benchmarks.md"
    text = page(record)
    if options.check:
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit("make_benchmarks: docs/benchmarks.md is not what the record says; run scripts/make_benchmarks.py")
        return
    (options.out / "images").mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    draw(record, options.out / "images")


if __name__ == "__main__":
    main()
