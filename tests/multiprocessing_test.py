#!/usr/bin/env python3
"""Tests the library in the processes of Python's multiprocessing, by each of its methods to start them.

Usage: multiprocessing_test.py FOLDER-OF-LIBISOLINE. Prints 'N passed, N failed'.
"""
import multiprocessing
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python")]
import isoline  # noqa: E402

WORKERS = 2
TASKS = 6
# A child that hangs ends the test, not the night.
PATIENCE_S = 120


def mask(number):
    """Returns a mask that is another one for every number."""
    pixels = numpy.zeros((60, 70), numpy.uint8)
    pixels[10 : 20 + number, 15:40] = 1
    return pixels


def distance(task):
    """Returns the distances of a mask, by a context of the process's own."""
    folder, number = task
    context = isoline.Library(folder).context("cpu")
    return context.run("distance", mask(number))


def use_inherited(connection, context):
    """Sends what a call on a context of the parent says in the child."""
    try:
        context.run("distance", mask(0))
        connection.send("no error")
    except Exception as error:  # noqa: BLE001, whatever it is, the parent judges it
        connection.send(str(error))
    connection.close()


def works(method, folder):
    """Returns true if workers of a pool give the distances of this process."""
    wanted = [distance((folder, number)) for number in range(TASKS)]
    with multiprocessing.get_context(method).Pool(WORKERS) as pool:
        got = pool.map_async(distance, [(folder, number) for number in range(TASKS)]).get(PATIENCE_S)
    return all(numpy.array_equal(a, b) for a, b in zip(wanted, got, strict=True))


def inherited_is_refused(folder):
    """Returns true if the child of a fork gets an error that names the parent, and the child ends."""
    context = isoline.Library(folder).context("cpu")
    context.run("distance", mask(0))
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=use_inherited, args=(theirs, context))
    child.start()
    said = ours.recv() if ours.poll(PATIENCE_S) else "nothing"
    child.join(PATIENCE_S)
    if child.exitcode != 0 or "make a context of its own" not in said:
        print(f"    the child said: {said}; its status is {child.exitcode}")
        child.kill()
        return False
    return True


def main():
    folder = sys.argv[1]
    results = {f"a pool by {method}": works(method, folder) for method in ("fork", "spawn", "forkserver")}
    results["a context of the parent in a fork"] = inherited_is_refused(folder)
    for what, passed in results.items():
        print(f"  {'ok' if passed else 'FAIL':5} {what}")
    failed = list(results.values()).count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
