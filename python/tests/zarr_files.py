"""Zarr and OME-Zarr files for tests, as other programs write them, and runs of the command on them."""
import contextlib
import os
import pathlib
import subprocess
import sys

import numpy
import zarr

import isoline

SHAPE, CHUNKS = (20, 61, 80), (10, 31, 40)
IMAGE = numpy.random.default_rng(1).integers(0, 40, SHAPE, numpy.uint8)
IMAGE[5:15, 20:40, 25:60] += 200
DISTANCE = ["distance", "image.zarr", "a.zarr", "--threshold", "100", "--multiscale", "2"]
OPTIONS = ["--dimensions", "volume", "--threshold", "100", "--iterations", "9"]
FIELD = isoline.edge_strength(IMAGE, dimensions="volume", threshold=100, iterations=9)
AXES = [dict(name="t", type="time"), dict(name="c", type="channel"),
        *(dict(name=name, type="space", unit="micrometer") for name in "zyx")]


def ome(path, version="0.5", axes=AXES, image=IMAGE, scale=(1, 1, 2, 0.5, 0.5), **more):
    """An OME-Zarr image as other programs write it, at the origin (0, 0, 7, 0, 1)."""
    origin = [0, 0, 7, 0, 1][-len(scale):]
    transformations = [dict(type="scale", scale=list(scale)), dict(type="translation", translation=origin)]
    multiscale = dict(axes=axes, datasets=[dict(path="full", coordinateTransformations=transformations)], **more)
    attributes = dict(ome=dict(version=version, multiscales=[multiscale]))
    if version != "0.5":
        attributes = dict(multiscales=[dict(multiscale, version=version)])
    group = zarr.create_group(path, zarr_format=3 if version == "0.5" else 2, attributes=attributes)
    image = image[(None,) * (len(scale) - image.ndim)]
    names = [axis["name"] for axis in axes] if version == "0.5" and len(axes) == image.ndim else None
    array = group.create_array("full", shape=image.shape, chunks=((1,) * 5 + CHUNKS)[-image.ndim:], dtype=image.dtype,
                               dimension_names=names)
    array[:] = image


def plain(path="image.zarr", image=IMAGE, **options):
    zarr.create_array(path, shape=image.shape, chunks=CHUNKS[-image.ndim:], dtype=image.dtype, **options)[:] = image


def attributes_of(path):
    found = zarr.open(path, mode="r").attrs.asdict()
    return found.get("ome", found)["multiscales"][0], found["isoline"]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "ISOLINE_LIBRARY": str(pathlib.Path(isoline.default_library().path).resolve())}


def start(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "isoline", *arguments], stderr=subprocess.PIPE, text=True,
                            env=environment(), **options)


def finished(path):
    """The chunks that have been written, also while another process makes and removes folders."""
    chunks = {}
    for folder, _, names in os.walk(path):
        for name in filter(lambda name: name[-1].isdigit(), names):
            with contextlib.suppress(FileNotFoundError):
                # The inode of a file that is removed may be that of the next one.
                status = os.stat(os.path.join(folder, name))
                chunks[pathlib.Path(folder, name)] = status.st_mtime_ns, status.st_ino
    return chunks
