"""Zarr and OME-Zarr files of the command: images in, and results that a second start of the same command completes.

A file of a chunk has its name only when it is whole, as Zarr renames it then, and a result has a file for every chunk. So a
chunk whose file is there need not be computed again. The attribute `isoline` of a result has the run that makes it, an `id`
that no other result has, and whether it is complete.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy
import zarr

SPACE = ("z", "y", "x")
LABELS = ("objects", "snake")  # operations whose results are labels
VERSIONS = ("0.4", "0.5")  # of OME-Zarr
LARGEST = 2 ** 28  # bytes of a chunk of a result


class Source(NamedTuple):
    """An image: of an OME-Zarr group with the axes of space, scale and translation along them, of a Zarr array without."""

    image: da.Array
    format: int  # of Zarr
    described: dict  # what a run records of its input
    axes: list | None = None
    scale: list | None = None
    translation: list | None = None

    def spacing(self, slices: bool) -> list | None:
        """The distances between pixels, in the unit of the axes (of slices y and x); None where the file does not say."""
        if self.axes is None:
            return None
        units = [axis.get("unit") for axis in (self.axes[-2:] if slices else self.axes)]
        if len(set(units)) > 1:
            raise ValueError(f"cannot take the spacing from the file: the units of its axes must be the same (got {units}); "
                             "give --spacing in one unit")
        return self.scale


class Readable:
    """A Zarr array that names its file where a part of it cannot be read or is not there, which Zarr reads as its fill
    value: a process may see another folder, or the file may have been removed.

    version: of the pixels; Dask takes arrays with another for others. leading: the number of axes of size 1 that are left
    out at the beginning.
    """

    def __init__(self, path, array, version, fill_missing=False, leading=0):
        self.path, self.array, self.version, self.fill_missing, self.leading = path, array, version, fill_missing, leading
        self.shape, self.dtype, self.ndim = array.shape[leading:], array.dtype, array.ndim - leading

    def __getitem__(self, part):
        part = (0,) * self.leading + part
        ends = [one.indices(size)[:2] if isinstance(one, slice) else (one, one + 1)
                for one, size in zip(part, self.array.shape)]
        values = self.values(part, ends)
        files = [pathlib.Path(self.array.store.root)] if self.fill_missing else files_of(self.array, ends)
        if gone := first_missing(files):
            raise FileNotFoundError(f"cannot read {self.path}: {gone} is not there; let all workers see the folder that "
                                    "this command sees, and start again")
        return values

    def values(self, part, ends):
        try:
            return self.array[part]
        except Exception as error:  # Each compressor has its own.
            chunk = "the chunk of the pixels " + ", ".join(f"{first} to {end}" for first, end in ends)
            if isinstance(error, MemoryError):
                raise MemoryError(f"cannot read {self.path}: {chunk} must fit into memory (got {error!r}); give the "
                                  "process more, or the file smaller chunks") from None
            # That of a compressor has no number.
            if isinstance(error, OSError) and error.errno is not None:
                raise OSError(f"cannot read {self.path}: {chunk} must be readable (got {error}); correct that, and start "
                              "again") from None
            file = shown(self.path, self.array, next(files_of(self.array, ends)))
            raise ValueError(f"cannot read {self.path}: {chunk} is damaged ({error}); copy {file} again from its "
                             "source, and give the copy the time of the damaged file (touch -r): chunks that are done "
                             "stay then") from None


def read(path: str, fill_missing: bool) -> Source:
    """The image, lazily."""
    try:
        return source_at(path, fill_missing)
    except (LookupError, AttributeError, TypeError) as error:
        raise ValueError(f"cannot read {path}: its attributes must be those of an image of OME-Zarr (got "
                         f"{type(error).__name__}: {error}); correct the attribute multiscales") from None


def source_at(path: str, fill_missing: bool) -> Source:
    place, nodes = pathlib.Path(path).absolute(), nodes_of(path)
    if place not in nodes:
        raise FileNotFoundError(f"cannot read {path}: there is no Zarr array or group; name one")
    if any(node.attrs.get("isoline", {}).get("complete") is False for node in nodes.values()):
        raise ValueError(f"cannot read {path}: a run that has not ended is writing it; start that run again")
    array = nodes[place]
    if isinstance(array, zarr.Group):
        multiscale = image_of(path, array)
        place, array = place / multiscale["datasets"][0]["path"], array[multiscale["datasets"][0]["path"]]
    chunks = array.shards or array.chunks
    found = dict(path=str(place.resolve()), shape=list(array.shape), type=str(array.dtype), chunks=list(chunks),
                 **times_of(path, array, fill_missing))

    def image(leading=0):
        return da.from_array(Readable(path, array, found["times"], fill_missing, leading), chunks=chunks[leading:])

    multiscale, dataset = dataset_at(place, nodes)
    if dataset is None:
        return Source(image(), array.metadata.zarr_format, found)
    axes = multiscale["axes"]
    names = [axis["name"] for axis in axes]
    other = next((place for place, name in enumerate(names) if name in SPACE), len(names))
    if names[other:] not in ([*SPACE], [*SPACE[1:]]) or len(names) != array.ndim or any(n > 1 for n in array.shape[:other]):
        sizes = ", ".join(f"{name} {size}" for name, size in itertools.zip_longest(names, array.shape))
        raise ValueError(f"cannot read {path}: its axes must be (y, x) or (z, y, x), after others of size 1 (got {sizes}); "
                         "write the channel and the frame to an image of their own")
    scale, translation = [1.0] * len(axes), [0.0] * len(axes)
    for transformation in [*dataset.get("coordinateTransformations", []), *multiscale.get("coordinateTransformations", [])]:
        if len(transformation.get(transformation.get("type"), ())) != len(axes):
            raise ValueError(f"cannot read {path}: a transformation must be a scale or a translation of {len(axes)} axes "
                             f"(got {json.dumps(transformation)}); correct the attribute multiscales")
        if transformation["type"] == "scale":
            scale = [a * b for a, b in zip(scale, transformation["scale"])]
            translation = [a * b for a, b in zip(translation, transformation["scale"])]
        else:
            translation = [a + b for a, b in zip(translation, transformation["translation"])]
    axes, scale, translation = axes[other:], scale[other:], translation[other:]
    found.update(axes=axes, scale=scale, translation=translation)
    return Source(image(other), array.metadata.zarr_format, found, axes, scale, translation)


class Saved:
    """The array in a .npy or .tif file, which each process opens by itself, so that its pixels are in no message."""

    def __init__(self, path, array):
        self.path, self.newest = os.path.abspath(path), os.stat(path).st_mtime_ns
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, part):
        with OPENING:
            found = opened(self.path, self.newest)
        if (found.shape, found.dtype, os.stat(self.path).st_mtime_ns) != (self.shape, self.dtype, self.newest):
            raise ValueError(f"cannot read {self.path}: it is not the file that the command has seen; let all workers see "
                             "the same, and start again")
        return found[part]


OPENING = threading.Lock()


@functools.lru_cache(maxsize=1)
def opened(path: str, _newest: int):
    """The array in a file; that of a .tif stays in memory."""
    from .__main__ import read
    return read(path, False)


def lazily(path: str, found) -> da.Array:
    """The pixels of an input."""
    if isinstance(found, Source):
        return found.image
    return da.from_array(Saved(path, found), meta=numpy.empty((0,) * found.ndim, found.dtype))


def nodes_of(path: str) -> dict:
    """The array or group of a path, and the groups around it, up to the outermost folder that ends in .zarr. Other folders
    are left out. Workers may be in other folders, so that all paths are absolute."""
    nodes, place = {}, pathlib.Path(path).absolute()
    for folder in (place, *place.parents):
        if any(part.lower().endswith(".zarr") for part in folder.parts):
            try:
                nodes[folder] = zarr.open(folder, mode="r")
            except FileNotFoundError:
                continue
            except ValueError as error:
                raise ValueError(f"cannot read {path}: its metadata must be those of Zarr (got {error}); copy it again from "
                                 "its source") from None
    return nodes


def dataset_at(place: pathlib.Path, nodes: dict) -> tuple:
    """The image of OME-Zarr that an array is a level of, and that level; None without. The nearest group is asked first: a
    label image, a well or a result may be in a group of another image."""
    for folder, node in nodes.items():
        for multiscale in multiscales_of(node):
            for dataset in multiscale["datasets"] if version_of(node) in VERSIONS else ():
                if folder / dataset["path"] == place:
                    return multiscale, dataset
    return None, None


def multiscales_of(node) -> list:
    """The images of OME-Zarr of a group."""
    return node.attrs.get("ome", node.attrs).get("multiscales") or []


def version_of(node) -> str | None:
    """The version of OME-Zarr of a group's images; without one 0.4, if their axes are those of it."""
    first = multiscales_of(node)[0]
    version = node.attrs.get("ome", node.attrs).get("version", first.get("version"))
    return "0.4" if version is None and all(isinstance(axis, dict) for axis in first["axes"]) else version


def image_of(path: str, group) -> dict:
    """The first of a group's images."""
    images = multiscales_of(group)
    if not images:
        inside = next(iter([*sorted(group.array_keys()), *sorted(group.group_keys())]), "NAME")
        raise ValueError(f"cannot read {path}: it is a group without an image of OME-Zarr (attribute multiscales); name an "
                         f"image or an array in it, such as {pathlib.Path(path, inside)}")
    if version_of(group) not in VERSIONS:
        raise ValueError(f"cannot read {path}: OME-Zarr must have the version 0.4 or 0.5 (got {version_of(group)}); convert "
                         f"it, or name an array in it, such as {pathlib.Path(path, images[0]['datasets'][0]['path'])}, and "
                         "its --spacing")
    return images[0]


def file_of(array, place) -> pathlib.Path:
    """The file of a chunk, or of the shard that has it."""
    return pathlib.Path(array.store.root, array.path, array.metadata.encode_chunk_key(tuple(place)))


def files_of(array, ends=None) -> Iterator[pathlib.Path]:
    """The files of all chunks, or shards, or of those with pixels between some ends along each axis."""
    ends = ends or [(0, size) for size in array.shape]
    places = (range(first // side, -(-end // side)) for (first, end), side in zip(ends, array.shards or array.chunks))
    return (file_of(array, place) for place in itertools.product(*places))


def first_missing(files) -> pathlib.Path | None:
    """The first of some files that is not there."""
    return next((file for file in files if not file.exists()), None)


def shown(path: str, array, file) -> pathlib.Path:
    """A file of an array as the command line has it."""
    return pathlib.Path(path, file.relative_to(array.store.root))


def times_of(path: str, array, fill_missing: bool) -> dict:
    """When the array was last changed, in ns, and a checksum of the times of all chunks, as one may have been replaced by an
    older one. Refuses an array of which there are not all chunks."""
    newest, missing, first, files, times = 0, 0, None, list(files_of(array)), hashlib.sha256()
    for file in files:
        time = -1
        try:
            time = file.stat().st_mtime_ns
        except FileNotFoundError:
            missing, first = missing + 1, first or file
        newest = max(newest, time)
        times.update(b"%d " % time)
    if missing and not fill_missing:
        raise ValueError(f"cannot read {path}: {missing} of its {len(files)} chunks are not there (the first is "
                         f"{shown(path, array, first)}), and Zarr reads such as {array.fill_value}; copy them, or give "
                         "--fill_missing if the program that wrote it leaves chunks of this value out")
    return dict(newest=newest, times=times.hexdigest()[:16])


def write(path: str, image: da.Array, source: Source | None, run: dict, levels: int = 1, proceed: bool = True,
          client=None, in_steps: Callable[..., da.Array] | None = None) -> None:
    """Computes an image into a .zarr: an OME-Zarr image if the source is one, else an array.

    run: what makes the result. proceed: whether to go on with what an earlier start of the same run has written, and to
    refuse anything else that is there; else another result is replaced. levels: how many sizes, each half of the one before
    (OME-Zarr). client: of the workers that compute; None for this process. in_steps: makes the same image, given as `kept`
    a function that computes what comes before it, which is in an array beside the result until that is complete.
    """
    run = plain(run)
    ome = source is not None and source.axes is not None
    chunks = storable((source.image if source is not None else image).chunksize, image.dtype.itemsize)
    sizes, steps = [image.shape], Steps(path, run, proceed, client)
    while len(sizes) < levels:
        sizes.append(tuple(max(1, size // 2) for size in sizes[-1]))
    there = pathlib.Path(path).exists()
    if proceed and there:
        node = existing(path, run)
    else:
        if there:
            result_at(path)
        if in_steps is not None:
            steps.check()
        options = dict(zarr_format=source.format if source is not None else 3, overwrite=there)
        attributes = begun(run)
        place = (os.path.realpath if os.path.islink(path) else os.path.abspath)(path)  # Zarr would replace a link.
        with made_once(path):
            if not there:
                os.makedirs(place)  # Zarr looks for an array, and then makes one: two runs might both find none.
            if ome:
                node = zarr.create_group(place, attributes={**attributes, **described(source, run, sizes)}, **options)
            else:
                node = new_array(place, image.shape, chunks, image.dtype, attributes=attributes, **options)
    known = node.attrs["isoline"].get("id")
    for level, size in enumerate(sizes):
        if level:
            before = node[str(level - 1)]
            image = da.from_array(Readable(path, before, known), chunks=before.chunks)
            factors = {axis: 2 for axis in range(image.ndim) if image.shape[axis] > 1}
            merge = numpy.mean if image.dtype.kind == "f" else numpy.max
            if run["operation"] in LABELS:
                merge = most_frequent
            image = da.coarsen(merge, image, factors, trim_excess=True).astype(image.dtype)
        array, made = node, not (proceed and there)
        if ome:
            sides = tuple(map(min, chunks, size))
            node = unreplaced(path, str(node.store.root), known)
            if made := str(level) not in node:
                with made_once(path):
                    new_array(node.store, size, sides, image.dtype, name=str(level), zarr_format=node.metadata.zarr_format,
                              dimension_names=[axis["name"] for axis in source.axes] if source.format == 3 else None)
            array = node[str(level)]
            image = image.rechunk(sides) if level else image
        if in_steps is not None and level == 0 and not is_whole(array):
            image = in_steps(kept=steps.kept)
        fill(path, array, image, client, known, made)
    unreplaced(path, str(node.store.root), known).attrs["isoline"] = {"complete": True, "run": run, "id": known}
    for partial in pathlib.Path(path).rglob("*.partial"):
        partial.unlink(missing_ok=True)
    steps.remove()


def most_frequent(blocks, axis=()):
    """The value that is most frequent along some axes; of several the one that comes first."""
    last = range(-len(axis), 0)
    values = numpy.moveaxis(blocks, axis, last)
    values = values.reshape(*values.shape[:-len(axis)], -1)
    counts = (values[..., None] == values[..., None, :]).sum(-1, dtype=numpy.uint8)
    return numpy.take_along_axis(values, counts.argmax(-1)[..., None], -1)[..., 0]


class Steps:
    """The arrays of what is computed before a result, in a group beside it, which no operation reads."""

    def __init__(self, path: str, run: dict, proceed: bool, client):
        self.path, self.client = pathlib.Path(path).with_suffix(".steps.zarr"), client
        # A result has no such entry: none is taken for steps, nor replaced by them.
        self.run = {**run, "steps": True}
        self.proceed, self.done, self.group = proceed, 0, None

    def check(self):
        """Refuses a place where something else is, which may be the input."""
        if self.path.exists() and "steps" not in result_at(str(self.path))[1]:
            raise FileExistsError(f"cannot write {self.path}: the steps before the result would replace what is there; name "
                                  "another output, or move it")

    def kept(self, values: da.Array) -> da.Array:
        """The values of the next step from its array, or lazily where a later step is complete, which has used them."""
        if self.group is None:
            self.check()
            there = self.path.exists()
            if self.proceed and there:
                self.group = existing(str(self.path), self.run)
            else:
                with made_once(str(self.path)):
                    self.group = zarr.create_group(self.path.absolute(), attributes=begun(self.run), overwrite=there)
        name, self.done = str(self.done), self.done + 1
        if any(is_whole(array) for other, array in self.group.arrays() if int(other) > int(name)):
            return values
        known = self.group.attrs["isoline"].get("id")
        self.group = unreplaced(str(self.path), str(self.group.store.root), known)
        if made := name not in self.group:
            sides = storable(values.chunksize, values.dtype.itemsize)
            with made_once(str(self.path)):
                new_array(self.group.store, values.shape, sides, values.dtype, name=name, zarr_format=3)
        array = self.group[name]
        fill(str(self.path), array, values, self.client, known, made)
        if int(name) and str(int(name) - 1) in self.group:
            del self.group[str(int(name) - 1)]
        return da.from_array(Readable(str(self.path), array, known), chunks=array.chunks)

    def remove(self):
        """Removes them, but not those of another run."""
        with contextlib.suppress(FileExistsError):
            if self.path.exists() and result_at(str(self.path))[1] == self.run:
                shutil.rmtree(self.path)


def is_whole(array) -> bool:
    """True if all chunks are there."""
    return first_missing(files_of(array)) is None


def is_complete(node, levels: int) -> bool:
    """True if a result has all that it will have."""
    if isinstance(node, zarr.Array):
        return node.attrs["isoline"]["complete"] and is_whole(node)
    whole = (str(level) in node and is_whole(node[str(level)]) for level in range(levels))
    return node.attrs["isoline"]["complete"] and all(whole)


def begun(run: dict) -> dict:
    """The attribute of a result that a run begins."""
    return {"isoline": {"complete": False, "run": run, "id": uuid.uuid4().hex}}


@contextlib.contextmanager
def made_once(path: str):
    """Refuses to make what another process has made since it was looked for."""
    try:
        yield
    except (FileExistsError, zarr.errors.ContainsArrayError, zarr.errors.ContainsGroupError):
        raise FileExistsError(f"cannot write {path}: another run began it at the same time; wait until that has ended, and "
                              "start again") from None


def unreplaced(path: str, root: str, known: str | None):
    """The array or group of a result, which another run may have replaced."""
    try:
        node = zarr.open(root, mode="r+")
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot write {path}: {root} is not there; let all workers see the folder that this "
                                "command sees, and start again") from None
    if node.attrs.get("isoline", {}).get("id") == known:
        return node
    raise RuntimeError(f"cannot write {path}: another run has replaced it; name another file, or start again with "
                       "--overwrite when that run has ended")


def storable(sides, itemsize: int) -> tuple:
    """Sides that divide those of a chunk, for at most 256 MiB: threads compress several, and compressors take no 2 GiB."""
    sides = list(sides)
    while numpy.prod(sides, dtype=numpy.int64) * itemsize > LARGEST:
        divisor, _, axis = min((next(by for by in range(2, side + 1) if side % by == 0), -side, axis)
                               for axis, side in enumerate(sides) if side > 1)
        sides[axis] //= divisor
    return tuple(sides)


def new_array(store, shape, chunks, dtype, **options):
    """An array that has a file for every chunk."""
    encoding = dict(name="v2" if options["zarr_format"] == 2 else "default", separator="/")
    return zarr.create_array(store, shape=shape, chunks=tuple(map(min, chunks, shape)), dtype=dtype, fill_value=0,
                             chunk_key_encoding=encoding, **options)


def result_at(path: str):
    """The array or group that this command has made, and the run that made it. Anything else is refused, so that it is
    never deleted."""
    try:
        node = zarr.open(os.path.abspath(path), mode="r+")
        return node, dict(node.attrs["isoline"]["run"])
    except (KeyError, TypeError, ValueError, OSError):
        raise FileExistsError(f"cannot write {path}: it is there, and is no result of this command; name another file, or "
                              "remove it if no run has just begun it") from None


def plain(run: dict) -> dict:
    """A run as an attribute holds it."""
    return json.loads(json.dumps(run))


def existing(path: str, run: dict):
    """The array or group that an earlier start of the same run has made."""
    (node, before), run = result_at(path), plain(run)
    for key in [*run, *before]:
        if run.get(key) != before.get(key):
            old, new = before.get(key), run.get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                key, old, new = next((f"{key} {one}", old.get(one), new.get(one)) for one in [*new, *old]
                                     if old.get(one) != new.get(one))
            raise FileExistsError(f"cannot write {path}: it is the result of another run ({key}: {old}, now {new}); name "
                                  "another file, start that run again, or give --overwrite to replace it")
    return node


def described(source: Source, run: dict, sizes: list) -> dict:
    """The attributes of an OME-Zarr image: 0.5 in Zarr 3, 0.4 in Zarr 2."""
    datasets = []
    for level in range(len(sizes)):
        steps = [2 ** min(level, whole.bit_length() - 1) for whole in sizes[0]]
        scale = [one * step for one, step in zip(source.scale, steps)]
        # The first pixel of a level is the mean of several, and its centre between theirs.
        origin = [at + one * (step - 1) / 2 for at, one, step in zip(source.translation, source.scale, steps)]
        transformations = [{"type": "scale", "scale": scale}]
        if any(origin):
            transformations.append({"type": "translation", "translation": origin})
        datasets.append({"path": str(level), "coordinateTransformations": transformations})
    image = {"name": run["operation"], "axes": source.axes, "datasets": datasets}
    if source.format == 2:
        return {"multiscales": [{"version": "0.4", **image}]}
    return {"ome": {"version": "0.5", "multiscales": [image]}}


def fill(path: str, array, image: da.Array, client, known: str | None, made: bool) -> None:
    """Computes those blocks of the image of which a chunk is not yet there. known: the id of the result. made: True if the
    array has just been made: then a chunk that is there is of a run that it has replaced."""
    bounds = [numpy.cumsum([0, *sizes]) for sizes in image.chunks]
    stored = image.map_blocks(store, root=str(array.store.root), place=array.path, title=path, known=known,
                              chunks=tuple((1,) * count for count in image.numblocks), dtype=numpy.uint8,
                              meta=numpy.empty((0,) * image.ndim, numpy.uint8)).to_delayed()
    wanted = []
    for block in numpy.ndindex(*image.numblocks):
        ends = [(bounds[axis][at], bounds[axis][at + 1]) for axis, at in enumerate(block)]
        if made or first_missing(files_of(array, ends)):
            wanted.append(stored[block])
    if client is None:
        dask.compute(*wanted, scheduler="synchronous")
    else:
        compute_by(client, wanted)
    if missing := first_missing(files_of(array)):
        raise RuntimeError(f"cannot complete {path}: all of its blocks were computed, but the file of a chunk is not there "
                           f"(the first is {shown(path, array, missing)}); let all workers write to the folder that this "
                           "command sees, and start again: chunks that are done stay")


def compute_by(client, wanted: list) -> None:
    """Computes blocks of a result by workers."""
    from distributed import as_completed
    if client.status != "running":
        raise CancelledError
    # A future is released when its chunk is written, so that the loss of a worker does not make it anew.
    for future, _ in as_completed(client.compute(wanted), with_results=True):
        if future.status != "finished":  # A future that is cancelled raises nothing.
            raise CancelledError


def store(block, root, place, title, known, block_info=None) -> Any:
    """Writes a block to its place in an array."""
    node = unreplaced(title, root, known)
    # The argument config of open_array is for new arrays alone.
    array = (node[place] if place else node).with_config({"write_empty_chunks": True})
    ends = block_info[0]["array-location"]
    try:
        array[tuple(slice(*pair) for pair in ends)] = block
    except OSError as error:
        raise OSError(f"cannot write {title}: {error.strerror} ({os.fspath(error.filename or root)}); make room, and start "
                      "again: chunks that are done stay") from None
    try:
        unreplaced(title, root, known)
    except RuntimeError:
        for file in files_of(array, ends):
            file.unlink(missing_ok=True)
        raise
    return numpy.zeros((1,) * block.ndim, numpy.uint8)
