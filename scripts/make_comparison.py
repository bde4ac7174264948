#!/usr/bin/env python3
"""Writes docs/comparison.md, and two tables of docs/level_set.md, from docs/comparison.json.

Usage: make_comparison.py [--check]             write the documents, or only compare them with the numbers
       make_comparison.py --run FOLDER-OF-LIBISOLINE
                                                measure on this machine first: the numbers, the picture and the documents
       make_comparison.py --picture FOLDER-OF-LIBISOLINE
                                                the picture alone

`make comparison` is --run: the benches that time Isoline beside other programs, and the tests that compare results with
them, one after the other: 9 to 10 minutes of processor time. Times on a GPU are those of the record.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_benchmarks  # noqa: E402
from make_benchmarks import DEVICES, ROOT, number, size, table, times_as  # noqa: E402

NUMBERS, DOCS = ROOT / "docs" / "comparison.json", ROOT / "docs"
# The lines around the tables of docs/level_set.md.
BEGIN, END = "<!-- {}, by scripts/make_comparison.py -->", "<!-- end -->"
MODULES = {"numpy": "numpy", "SciPy": "scipy", "scikit-image": "skimage", "OpenCV": "cv2", "SimpleITK": "SimpleITK",
           "edt": "edt", "contourpy": "contourpy", "PyTorch": "torch", "CuPy": "cupy", "cuCIM": "cucim"}
# Each bench, with its arguments, in the order in which they run. The seconds of those that run several times are medians.
BENCHES = (("sizes", "--only-size"), ("snake_peers", "--quick"), ("level_set_peers", "--quick"), ("level_set_paper",),
           ("sizes", "--only-size"), ("snake_peers", "--quick"), ("regions_peers",), ("objects_peers",),
           ("sizes", "--only-size"), ("snake_peers", "--quick"))
# The tests that compare results, with the arguments of those that would take minutes.
ORACLES = {"edge_drawing": (), "lines": (), "ellipses": (), "distance": ("--device", "cpu"), "isolines": ("--device", "cpu"),
           "level_set": ("--only", "slice"), "snake": ()}
EVEN = 0.0005  # overlaps that differ by less are alike
OURS = "Isoline, cpu"
NAMES = {OURS: "Isoline", "scikit-image chan_vese": "`chan_vese`",
         "scikit-image morphological_chan_vese": "`morphological_chan_vese`",
         "SimpleITK ScalarChanAndVeseDenseLevelSet": "SimpleITK"}

HEAD = """# Isoline and its peers

`make comparison` measures all of this on any machine and writes this page from [comparison.json](comparison.json): no number
in it is typed. Every program gets the same images, and where it needs one the same start. On this machine it took
{minutes:.0f} minutes.

* **Machine:** {cpu}, {cores} cores; {date}, commit `{commit}`. {busy}
* **GPU:** that of the [record](gpu-validation.json), {gpu}, where the record has the call.
* **Versions:** {versions}. Not installed: {missing}.

1. [Where Isoline is not ahead](#where-isoline-is-not-ahead)
2. [Results](#results)
3. [Times](#times)
4. [Two regions](#two-regions)
5. [What each lacks](#what-each-lacks)
"""

BUSY = """The load average was {0:.1f} before and {1:.1f} after: other programs ran on these cores, so times are rough; those
  of one row were measured one after the other."""

BEHIND = """## Where Isoline is not ahead

**Results**: all rows of the comparisons below in which another program overlaps more with the truth (intersection over
union), with the defaults of both or with the best parameters of both.
"""

SLOWER = """**Times**: where another program takes less time than Isoline on the CPU, of all [operations](#times) and sizes:
the largest factor, and at how many of the sizes that both were measured at. What the programs compute is not always
[the same](benchmarks.md#time-against-size).
"""

RESULTS = """## Results

The tests that compare results with other programs, as they ran here; `make test` runs them, too, and fails where results
differ by more than they allow.
"""

OBJECTS = """**Objects** (`benches/objects_peers.py`): nuclei whose truth is known, in a real image and in volumes that are
made, from starts that are given, the same for all, or found by each program. The mean Dice coefficient of the nuclei with
their best objects, and seconds. [objects.md](objects.md#beside-watersheds) has more columns.
"""

REST = """**Level sets at rest** (`benches/level_set_peers.py`), from the same start, with the same range and weights:
SimpleITK's `ThresholdSegmentationLevelSet` has no criterion that tells it, and gets as many iterations as its mask needs to
have Dice 0.999 with the one at rest. Milliseconds from start to rest, the least of three runs.
"""

SNAKE = """**Region snakes** (`benches/snake_peers.py`): a star in 256 × 256 pixels in noise as strong as its contrast,
from one rectangle; Isoline with its defaults, the others with the best parameters that a search found for this noise.
The median of three. [snake.md](snake.md#against-scikit-image) has more noises and shapes.
"""

TIMES = """## Times

Whole calls by `benches/sizes.py`, which ran three times: the median of three medians of up to 40 calls within a tenth of a
second. Milliseconds at the largest size that all programs of an operation were measured at (with calls of up to a second),
and the time of the other program as a multiple of Isoline's on the same CPU. What the programs
compute is not always [the same](benchmarks.md#time-against-size). No other program has edge strength: the other rows of it
are the same iterations written with each library.
"""

REGIONS = """## Two regions

[level_set.md](level_set.md#against-other-fronts-of-two-regions) has the table of overlaps and times, and what was compared.
{counts}

![A slice of a brain with the start, Isoline's front and those of the other programs](images/comparison.png)

A slice of the brain, cropped to where all is brain, from four discs in the white matter. Red: the front; blue: where most
people have white matter; above with the defaults of each program, below with its best parameters of the grid, which were
sought on this very slice. The number is the overlap with the map.
"""

LACKS = """## What each lacks

From the programs' documentation and from the tests above.
"""

# Method, other program, what it lacks beside Isoline, and what Isoline lacks beside it.
LACKING = (
    ("edge drawing", "OpenCV's contributed modules, `EdgeDrawing`", "GPU, stacks, threads, pixels of 16 and 32 bits",
     "the gradient operator `LSD`; pixels in colour"),
    ("", "Canny of OpenCV and scikit-image", "segments: it gives a map", "a second, higher threshold that keeps weak edges"),
    ("lines", "OpenCV's contributed modules, `detectLines`", "GPU, threads, lines across gaps",
     "the very same lines: most are, [above](#results)"),
    ("circles, ellipses", "OpenCV's contributed modules, `detectEllipses`",
     "GPU, threads, half-hidden ellipses, ellipses where a circle is near", "speed on segments that are neither"),
    ("distance", "SciPy, edt, OpenCV", "GPU; SciPy, OpenCV: a sign in one call; SciPy: threads; OpenCV: volumes, spacings",
     "the nearest pixel (SciPy), labels (edt, OpenCV), double precision (SciPy)"),
    ("", "SimpleITK's `SignedMaurerDistanceMap`", "GPU; distances to the boundary between pixels, not to centres",
     "squared distances, directions and origins of images"),
    ("edge strength", "none", "", ""),
    ("isolines", "scikit-image's `find_contours`", "threads, length, area, nesting", "masks of pixels to leave out"),
    ("", "contourpy", "length, area, nesting", "masks, filled contours, grids that are not regular"),
    ("level set of a range", "SimpleITK's `ThresholdSegmentationLevelSet`",
     "GPU, a criterion that tells rest, an automatic range, an outcome",
     "other speeds, in sibling filters"),
    ("level set of two regions", "scikit-image's `chan_vese`", "GPU, threads, volumes, voxel sizes, kinds of noise",
     "pieces of the object apart from the start; different weights of both sides"),
    ("", "scikit-image's `morphological_chan_vese`",
     "GPU, threads, voxel sizes, kinds of noise, a criterion that tells rest", "different weights of both sides"),
    ("", "SimpleITK's `ScalarChanAndVeseDenseLevelSet`", "GPU, kinds of noise, a criterion that suits noisy images",
     "pieces of the object apart from the start; weights of both sides and of the area, a wanted volume"),
    ("level set at edges", "SimpleITK's `GeodesicActiveContour`",
     "GPU, threads, a range or two regions beside the edges, a criterion that tells rest",
     "an edge image of one's own, weights of propagation and curvature apart"),
    ("isosurface", "scikit-image's `marching_cubes`",
     "GPU, threads, a closed border, volume, curvature, topology",
     "the test for sheets that are joined inside a cell, a mask, a step size"),
    ("objects", "scikit-image's and MorphoLibJ's watershed",
     "GPU, threads; smooth fronts, a table, an object's own brightness", "speed; a mask of the caller's"),
    ("region snake", "no other program that was found has the method; scikit-image's `active_contour` follows edges",
     "GPU, threads, kinds of noise, many targets at a time, statistics", "open contours with fixed ends, a term for edges"),
)


def cell(value):
    return "" if value is None else f"{value:.3f}"


class Comparison(make_benchmarks.Record):
    """The numbers of this comparison, with those of the GPU record."""

    def __init__(self, path=NUMBERS):
        super().__init__(path)
        self.gpu = make_benchmarks.Record(ROOT / "docs" / "gpu-validation.json")

    def regions(self):
        """Returns by object and noise, by program, by defaults or best, the result."""
        rows = {}
        for result in self.numbers("regions_peers")["results"]:
            row = rows.setdefault((result["object"], result["noise"]), {})
            row.setdefault(result["who"], {})[result["how"]] = result
        return rows

    def objects(self):
        """Returns by scene and kind of starts, by program, the result."""
        rows = {}
        for result in self.numbers("objects_peers")["results"]:
            rows.setdefault((result["scene"], result["starts"]), {})[result["method"]] = result
        return rows

    def behind_in_overlap(self):
        for (scene, starts), programs in self.objects().items():
            ours = programs[OURS]["dice"]
            for who, found in programs.items():
                if found["dice"] > ours + EVEN:
                    yield [f"objects: {scene}, starts {starts} (Dice)", "defaults", cell(ours), who, cell(found["dice"])]
        for (name, noise), programs in self.regions().items():
            for how in ("defaults", "best"):
                ours = programs[OURS][how]["overlap"]
                for who, found in programs.items():
                    if who != OURS and found[how]["overlap"] > ours + EVEN:
                        yield [f"two regions: {name}, {noise}", how, cell(ours), who, cell(found[how]["overlap"])]
        snakes = {result["what"]: result["overlap"] for result in self.numbers("snake_peers")["results"]}
        for who, overlap in snakes.items():
            if overlap > snakes[OURS] + EVEN:
                yield ["region snake: a star, SNR 1", "defaults here, best there", cell(snakes[OURS]), who, cell(overlap)]

    def behind_in_time(self):
        for operation, programs in self.sweep("size").items():
            ours = programs["cpu"]
            for who, row in programs.items():
                both = sorted(set(row) & set(ours))
                slower = [at for at in both if row[at] < ours[at]]
                if who not in DEVICES and slower:
                    at = max(slower, key=lambda at: ours[at] / row[at])
                    yield [operation, who, size(operation, at), number(ours[at]), number(row[at]),
                           times_as(ours[at], row[at]), f"{len(slower)} of {len(both)}"]
        slower, count = {}, {}
        for (scene, starts), programs in self.objects().items():
            ours = programs[OURS]["seconds"]
            for who, found in programs.items():
                count[who] = count.get(who, 0) + 1
                if found["seconds"] < ours:
                    slower.setdefault(who, []).append((ours / found["seconds"], f"{scene}, starts {starts}", ours,
                                                       found["seconds"]))
        for who, rows in slower.items():
            factor, at, ours, theirs = max(rows)
            yield ["objects", who, at, number(1e3 * ours), number(1e3 * theirs), f"{factor:.1f}",
                   f"{len(rows)} of {count[who]}"]

    def ahead(self, how):
        """Returns in how many rows no program overlaps more than Isoline, and how many rows there are."""
        rows = self.regions().values()
        best = [all(found[how]["overlap"] <= programs[OURS][how]["overlap"] + EVEN for found in programs.values())
                for programs in rows]
        return sum(best), len(best)


def behind(record):
    overlaps, times = list(record.behind_in_overlap()), list(record.behind_in_time())
    none = ["There is none.", ""]
    results = table(["comparison", "parameters", "Isoline", "other program", "its overlap"], overlaps) if overlaps else none
    slower = table(["operation", "other program", "size", "Isoline, ms", "other, ms", "factor", "sizes"], times)
    return [BEHIND, *results, SLOWER, *(slower if times else none)]


def objects(record):
    """Returns the table of objects and watersheds."""
    rows = []
    there = {(result["scene"], result["starts"]): result for result in record.gpu.numbers("objects_peers")["results"]
             if result["method"] == "Isoline, cuda"}
    for (scene, starts), programs in record.objects().items():
        on_gpu = there.get((scene, starts))
        for i, (who, found) in enumerate(programs.items()):
            rows.append([*((scene, starts) if i == 0 else ("", "")), who, f"{found['objects']} of {found['nuclei']}",
                         cell(found["dice"]), f"{found['seconds']:.3g}",
                         f"{on_gpu['seconds']:.3g}" if on_gpu and who == OURS else ""])
    return table(["scene", "starts", "program", "objects", "Dice", "seconds", f"on an {record.gpu.device()}"], rows)


def results(record):
    rows = [[f"`tests/{name}_oracle.py`", text] for name, text in record.head["oracles"].items()]
    lines = [RESULTS, *table(["test", "result"], rows)]
    if record.objects():
        lines += [OBJECTS, *objects(record)]
    rest = {}
    for result in record.numbers("level_set_peers")["results"]:
        rest.setdefault(result["what"], {})[result["who"]] = result
    rows = [[what, f"{number(1e3 * found['cpu']['seconds'])}, {found['cpu']['iterations']}",
             f"{number(1e3 * found['SimpleITK']['seconds'])}, {found['SimpleITK']['iterations']}",
             times_as(found["SimpleITK"]["seconds"], found["cpu"]["seconds"]), f"{found['cpu']['dice']:.4f}"]
            for what, found in rest.items() if "SimpleITK" in found]
    headings = ["image", "Isoline: ms, iterations", "SimpleITK: ms, iterations", "times as fast", "Dice of both"]
    lines += [REST, *table(headings, rows)]
    rows = [[result["what"], cell(result["overlap"]), number(1e3 * result["seconds"])]
            for result in record.numbers("snake_peers")["results"]]
    return [*lines, SNAKE, *table(["program", "overlap", "ms"], rows)]


def times(record):
    rows, gpu = [], record.gpu.sweep("size")
    for operation, programs in record.sweep("size").items():
        others = {who: row for who, row in programs.items() if who not in DEVICES}
        common = set.intersection(*map(set, others.values()), set(programs["cpu"])) if others else set()
        if not common:
            continue
        at = max(common)
        there = gpu.get(operation, {}).get("cuda", {}).get(at)
        for i, (who, row) in enumerate(others.items()):
            rows.append([*([f"{operation}, {size(operation, at)}", number(programs["cpu"][at]), number(there)] if i == 0
                           else [""] * 3), who, number(row[at]), times_as(row[at], programs["cpu"][at])])
    headings = ["operation", "Isoline, CPU", f"Isoline, {record.gpu.device()}", "other program", "its ms", "times CPU"]
    return [TIMES, *table(headings, rows)]


def regions(record):
    counts = " and ".join("{} of {} rows with {}".format(*record.ahead(how), words) for how, words in (
        ("defaults", "everybody's defaults"), ("best", "everybody's best parameters")))
    headings = ["method", "other program", "it lacks, beside Isoline", "Isoline lacks, beside it"]
    return [REGIONS.format(counts=f"No other program overlaps more than Isoline in {counts}."), LACKS,
            *table(headings, LACKING)]


def region_table(record):
    """Returns the table of docs/level_set.md."""
    rows, programs = [], {}
    for found in record.regions().values():
        programs.update(dict.fromkeys(found))
    for (name, noise), found in record.regions().items():
        cells = []
        best = {how: max(of[how]["overlap"] for of in found.values()) for how in ("defaults", "best")}
        for who in programs:
            for how in ("defaults", "best"):
                of = found.get(who, {}).get(how)
                text = cell(of and of["overlap"])
                if of and of["overlap"] > best[how] - EVEN:
                    text = f"**{text}**"
                cells.append(f"{text}, {number(1e3 * of['seconds_processor'])}" if of else "–")
        rows.append([name, noise, cell(found[OURS]["defaults"]["start"]), *cells])
    headings = [text for who in programs for text in (NAMES.get(who, who), "best")]
    return "\n".join(table(["image", "noise", "start", *headings], rows)).rstrip("\n")


def page(record):
    head, versions = record.head, record.head["versions"]
    text = HEAD.format(cpu=head["cpu"], cores=head["cores"], date=head["ran"][:10], commit=head["commit"][:10],
                       busy=BUSY.format(*head["load"]) if head["load"][0] > 0.5 else "",
                       versions=", ".join(f"{name} {version}" for name, version in versions.items() if version),
                       missing=", ".join(name for name, version in versions.items() if not version) or "none",
                       gpu=record.gpu.device(), minutes=head["seconds"] / 60)
    parts = [part(record) for part in (behind, results, times, regions)]
    return "\n".join([text, *(line for part in parts for line in part)]).rstrip("\n") + "\n"


def paper_table(record):
    """Returns the table of docs/level_set.md with the parameters of the paper's figures."""
    rows = []
    for result in record.numbers("level_set_paper")["results"]:
        parameters = result["parameters"]
        text = ", ".join(f"{name} {parameters[key]:g}" for key, name in (("target", "T"), ("epsilon", "ε"), ("alpha", "α"))
                         if key in parameters) or f"`{parameters['regions']}`"
        rows.append([result["image"], text, f"{result['dice']:.3f}", f"{result['inside']:,}, {result['wanted']:,}",
                     str(result["iterations"]), result["outcome"], number(1e3 * result["seconds"])])
    headings = ["image", "parameters", "Dice", "voxels found, in the object", "iterations", "outcome", "ms"]
    return "\n".join(table(headings, rows)).rstrip("\n")


def level_set(record):
    """Returns docs/level_set.md with the tables of these numbers."""
    text = (DOCS / "level_set.md").read_text(encoding="utf-8")
    for name, rows in (("two regions", region_table(record)), ("the paper's parameters", paper_table(record))):
        begin = BEGIN.format(name)
        before, rest = text.split(begin + "\n")
        text = f"{before}{begin}\n{rows}\n{END}{rest.split(END, 1)[1]}"
    return text


def processor():
    """Returns the processor's name as the operating system has it."""
    path = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE) if path.exists() else None
    return found[1] if found else "unknown processor"


def medians(runs):
    """Returns the numbers of a bench, with the median of the seconds of those runs that measured the same."""
    found = {}
    for result in (result for run in runs for result in run["results"]):
        same = json.dumps({key: value for key, value in result.items() if key != "seconds"})
        found.setdefault(same, []).append(result)
    results = [{**same[0], "seconds": statistics.median(result["seconds"] for result in same)} if "seconds" in same[0]
               else same[0] for same in found.values()]
    return {**runs[0], "results": results}


def measure(library):
    """Runs all programs and writes the numbers."""
    sys.path.insert(0, str(ROOT / "benches"))
    import fetch_brain
    import peers

    fetch_brain.main()
    load, environment = [os.getloadavg()[0]], {**os.environ, "ISOLINE_BENCH_DEVICE": "cpu"}
    runs, oracles, began = {}, {}, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, *arguments in BENCHES:
            # A variable names the file to one of them, an option to the others.
            path = pathlib.Path(folder) / "numbers.json"
            as_option = [] if name == "sizes" else ["--json", str(path)]
            subprocess.run([sys.executable, ROOT / "benches" / f"{name}.py", library, *arguments, *as_option], check=True,
                           env={**environment, "ISOLINE_BENCH_JSON": str(path)})
            runs.setdefault(name, []).append(json.loads(path.read_text(encoding="utf-8")))
    for name, arguments in ORACLES.items():
        done = subprocess.run([sys.executable, ROOT / "tests" / f"{name}_oracle.py", library, *arguments], check=True,
                              env=environment, stdout=subprocess.PIPE, text=True)
        print(done.stdout, flush=True)
        oracles[name] = done.stdout.strip().splitlines()[-1].removeprefix("oracle: ")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    numbers = {"cpu": processor(), "cores": os.cpu_count(), "ran": datetime.datetime.now().isoformat(timespec="seconds"),
               "commit": commit.stdout.strip(), "load": [*load, os.getloadavg()[0]],
               "seconds": round(time.perf_counter() - began), "oracles": oracles,
               "versions": {name: peers.version(module) for name, module in MODULES.items()},
               "benches": [{"name": name, "numbers": medians(several)} for name, several in runs.items()]}
    NUMBERS.write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", metavar="FOLDER")
    parser.add_argument("--picture", metavar="FOLDER")
    options = parser.parse_args()
    if options.run:
        measure(options.run)
    if options.run or options.picture:
        import make_comparison_image

        make_comparison_image.draw(options.run or options.picture, DOCS / "images" / "comparison.png")
    record = Comparison()
    for path, text in ((DOCS / "comparison.md", page(record)), (DOCS / "level_set.md", level_set(record))):
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"make_comparison: docs/{path.name} is not what docs/comparison.json says; run "
                     "scripts/make_comparison.py")


if __name__ == "__main__":
    main()
