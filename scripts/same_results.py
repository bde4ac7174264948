#!/usr/bin/env python3
"""Compares the results that the same macros have saved on two systems.

Usage: same_results.py FOLDER OTHER

Pixels, tables, ROIs and triangles must be the same, bit by bit; the times of the runs and the names of devices may differ.
Fails, and names the files, if any differs or is missing.
"""
import csv
import pathlib
import sys
import zipfile

import numpy
import PIL.Image
import tifffile

# The columns of tables that say when and where something ran.
ABOUT_THE_RUN = {"Seconds", "Device"}


def table(path):
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    kept = [i for i, name in enumerate(rows[0]) if name not in ABOUT_THE_RUN]
    return [[row[i] for i in kept] for row in rows]


def rois(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


READERS = {
    ".tif": tifffile.imread,
    ".png": lambda path: numpy.asarray(PIL.Image.open(path)),
    ".csv": table,
    ".zip": rois,
    ".stl": pathlib.Path.read_bytes,
}


def same(path, other):
    if not other.exists():
        return False
    read = READERS[path.suffix]
    first, second = read(path), read(other)
    if isinstance(first, numpy.ndarray):
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    return first == second


def main():
    folder, other = map(pathlib.Path, sys.argv[1:])
    files = sorted(path for path in folder.iterdir() if path.suffix in READERS)
    different = [path.name for path in files if not same(path, other / path.name)]
    print(f"{len(files) - len(different)} files the same, {len(different)} different {' '.join(different)}".strip())
    sys.exit(1 if different or not files else 0)


if __name__ == "__main__":
    main()
