"""Helpers of the benches that compare with other programs (benches/*_peers.py): arguments, devices, timing, the table."""
import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
from isoline import Error, Library  # noqa: E402

SECONDS, QUICK_SECONDS = 2.0, 0.02  # of one measurement
LEAST, MOST = 3, 200  # calls of one measurement


def parse(description):
    """Parses the arguments that every such bench has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Library, help="the folder that libisoline.so is in")
    parser.add_argument("--quick", action="store_true", help="small images and few calls: a smoke test")
    parser.add_argument("--json", type=pathlib.Path, help="write the numbers to this file")
    return parser.parse_args()


def devices(library):
    """Returns the CPU, and the device that ISOLINE_BENCH_DEVICE (auto, cpu, cuda, cuda:N) names."""
    wanted = os.environ.get("ISOLINE_BENCH_DEVICE", "auto")
    if wanted == "cpu":
        return ["cpu"]
    cuda = "cuda" if wanted == "auto" else wanted
    try:
        library.context(cuda)
    except Error as error:
        if wanted != "auto":
            raise
        print(f"CUDA is skipped: {error}")
        return ["cpu"]
    return ["cpu", cuda]


def installed(peers):
    """Returns the calls of those of (name, module, calls) whose module is installed; prints the names of the others."""
    found = []
    for name, module, calls in peers:
        try:
            importlib.import_module(module)
            found.append(calls)
        except ImportError as error:
            print(f"left out: {name} ({error})")
    return found


def version(module):
    """Returns the version of a module, or None if it is not installed."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(sys.modules[found.__name__.partition(".")[0]], "__version__", None) or importlib.metadata.version(module)


def measure(calls, quick):
    """Returns median and best of each, measured alternately, so that other load on the machine affects all of them. A call
    may return its own seconds."""
    enough = (QUICK_SECONDS if quick else SECONDS) * len(calls)
    times = {name: [] for name, _ in calls}
    for _, run in calls:
        run()
    started = time.perf_counter()
    while True:
        for name, run in calls:
            began = time.perf_counter()
            own = run()
            times[name].append(own if isinstance(own, float) else time.perf_counter() - began)
        rounds = len(times[calls[0][0]])
        if rounds >= MOST or (rounds >= LEAST and time.perf_counter() - started > enough):
            return [{name: pick(values) for name, values in times.items()} for pick in (statistics.median, min)]


def print_table(title, medians, best, columns):
    """Prints the table. `columns` has the title of each further column and the peer, by its name here, for comparison."""
    print(f"\n{title}: ms, and the median as a multiple of a peer's")
    print(f"  {'':<46}{'median':>10}{'best':>10}" + "".join(f"{label:>21}" for label, _ in columns))
    for name, seconds in medians.items():
        ratios = "".join(f"{seconds / medians[peer]:>21.2f}" for _, peer in columns)
        print(f"  {name:<46}{1e3 * seconds:>10.3f}{1e3 * best[name]:>10.3f}{ratios}", flush=True)


def compare(title, calls, quick, columns, **facts):
    """Measures calls and prints their table, whose further columns are those that `columns` makes of the medians. Returns a
    record of each call, with the facts."""
    medians, best = measure(calls, quick)
    print_table(title, medians, best, columns(medians))
    return [{**facts, "what": what, "seconds": medians[what], "seconds_best": best[what]} for what in medians]


def beside_all(medians):
    """Returns a column for each peer."""
    return [(f"x {name.split()[0]}", name) for name in medians if not name.startswith("Isoline")]


def beside(*columns):
    """Returns what makes the columns (title, part...): each compares with the first peer whose name has all parts."""
    def of(medians):
        found = [(title, [name for name in medians if all(part in name for part in parts)]) for title, *parts in columns]
        return [(title, names[0]) for title, names in found if names]
    return of


def write(path, records):
    """Writes the numbers as JSON, if a file was named."""
    if path is not None:
        path.write_text(json.dumps({"results": records}, indent=1) + "\n", encoding="utf-8")
