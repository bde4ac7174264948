"""python -m isoline OPERATION INPUT OUTPUT [--PARAMETER VALUE]...: an operation from one file to another.

Files are .npy, .tif or .zarr, with the axes (y, x) or (z, y, x). Isolines go to an .npz file with `lines` and `points`,
an isosurface to one with `vertices`, `normals`, `triangles` and what was measured. Of objects the labels are written.
Edge strength and edge drawing of a .zarr are computed chunk by chunk, here or by the workers of --local or --scheduler; so
are the distance with one of these, --largest or --multiscale, objects with --reach, and isolines and the isosurface with
one of these workers.
The same command, started again after it was ended, computes the chunks of a .zarr that are missing.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import json
import logging
import math
import multiprocessing.resource_tracker
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import uuid
import warnings
from concurrent.futures import CancelledError

import numpy

import isoline

from . import _operations, _results
from ._arrays import as_floats
from ._native import CHOICE, FLAG, FLOAT, UNCONVERGED, IsolineWarning, default_library

BY_CHUNK = ("edge_strength", "edge_drawing", "distance", "objects")  # results that are images
WHOLE = ("distance", "objects")  # of these the ones that one call computes, unless an option says otherwise
BY_WORKERS = ("isolines", "isosurface")  # other results
PIXELS, LISTS = ("initial_mask", "starts"), ("polygons", "slices")  # options that name further inputs


NOT_CONVERGED = "not converged (number of iterations: {}); more may change the result"
# The first lines of a worker of --local: this process ends it after a Ctrl-C, which goes to both, and has its warnings.
QUIET_WORKER = f"""
import signal, warnings
signal.signal(signal.SIGINT, signal.SIG_IGN)
warnings.filterwarnings("ignore", {UNCONVERGED!r})
warnings.filterwarnings("ignore", "objects: ")
"""


def takes_spacing(name: str) -> bool:
    return "spacing" in inspect.signature(getattr(isoline, name)).parameters


def gives_arrays(name: str) -> bool:
    """Returns whether an operation's result is an object with arrays."""
    return hasattr(getattr(_results, inspect.signature(getattr(isoline, name)).return_annotation, None), "NOUN")


def switch(word: str) -> bool:
    if word not in ("0", "1", "true", "false"):
        raise argparse.ArgumentTypeError(f"must be 0, 1, true or false (got '{word}')")
    return word in ("1", "true")


def numbers(word: str):
    """One number, or several separated by commas."""
    try:
        values = [float(part) for part in word.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be one number, or several separated by commas (got '{word}')") from None
    return values if len(values) > 1 else values[0]


def parser() -> argparse.ArgumentParser:
    """The command line, with the parameters of the library's tables."""
    whole = argparse.ArgumentParser("python -m isoline", description=__doc__, allow_abbrev=False,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    whole.add_argument("--version", action="version", version=isoline.__version__)
    operations = whole.add_subparsers(dest="operation", metavar="OPERATION", required=True)
    for name, operation in default_library().operations.items():
        text = operation.info.help.decode()
        one = operations.add_parser(name, help=text, description=text, allow_abbrev=False)
        one.add_argument("input", help=".npy, .tif or .zarr")
        one.add_argument("output", help=f"{'.npz' if gives_arrays(name) else '.npy, .tif or .zarr'}; what is there is "
                         "replaced with --overwrite alone, and a .zarr only if it is a result of this command")
        one.add_argument("--fill_missing", action="store_true", help="a .zarr may lack chunks, which are its fill value")
        one.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:N, cuda:0,2 or cuda:all")
        one.add_argument("--quiet", action="store_true", help="no progress")
        if takes_spacing(name):
            one.add_argument("--spacing", type=numbers, help="between pixels along z, y, x or y, x, or one number for all; "
                             "an OME-Zarr image says it, others have 1")
        if name == "level_set":
            one.add_argument("--initial_mask", required=True, metavar="FILE", help="the start: an image, above 0 inside")
        if name == "objects":
            one.add_argument("--starts", metavar="FILE", help="the starts: a label image; left out, they are found")
            one.add_argument("--reach", type=float, metavar="LENGTH", help="of a .zarr, in the unit of the spacing: chunks "
                             "are computed with a halo of this; left out, one call computes all; see isoline.dask.objects")
        if name == "isolines":
            one.add_argument("--levels", type=numbers, help="levels, separated by commas; --levels=-5,10 if "
                             "the first is negative")
        if name == "snake":
            one.add_argument("--polygons", metavar="FILE.json", help="the starts: a list of lists of [x, y]; "
                             "left out, the default rectangle on each slice")
            one.add_argument("--slices", metavar="FILE.json", help="of a stack: a list of the slice of each start, from 0")
        if name in BY_CHUNK + BY_WORKERS:
            workers = one.add_mutually_exclusive_group()
            workers.add_argument("--local", type=int, metavar="N", help="N processes of this machine compute a .zarr")
            workers.add_argument("--scheduler", metavar="ADDRESS", help="the workers of this scheduler compute a .zarr")
        if name in BY_CHUNK:
            one.add_argument("--multiscale", type=int, metavar="N", help="of an OME-Zarr image: write N sizes, each half "
                             "of the one before")
        one.add_argument("--overwrite", action="store_true", help="replace what is there, also the .zarr of another run")
        if name == "edge_strength":
            one.add_argument("--exchange_every", type=int, metavar="N", help="of a .zarr: see isoline.dask.edge_strength")
        if name == "distance":
            one.add_argument("--largest", type=float, metavar="VALUE", help="of a .zarr: distances are clamped to it; left "
                             "out, they are exact")
        for key, parameter in operation.parameters.items():
            kind = {FLOAT: float, FLAG: switch, CHOICE: str}.get(parameter.type, int)
            options = {"choices": list(operation.choices[key])} if parameter.type == CHOICE else {"metavar": "VALUE"}
            told = _operations.entry(operation, key).partition(" : ")[2].replace("%", "%%")
            one.add_argument(f"--{key}", type=kind, default=argparse.SUPPRESS, help=told, **options)
    return whole


def ending(path: str, *allowed: str) -> str:
    found = pathlib.Path(path).suffix.lower().replace(".tiff", ".tif")
    if found not in allowed:
        raise ValueError(f"cannot use {path}: the ending must be {' or '.join(allowed)} (got '{found}'); name another file")
    return found


def from_tif(path: str):
    """The first image of a TIFF file, and the letters of its axes."""
    import tifffile
    errors: list = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = errors.append  # type: ignore[method-assign]
    logging.getLogger("tifffile").addHandler(handler)
    try:
        with tifffile.TiffFile(path) as file:
            array, axes = file.series[0].asarray(), file.series[0].axes
    finally:
        logging.getLogger("tifffile").removeHandler(handler)
    if errors:  # Pages that cannot be read are left out otherwise.
        raise ValueError(errors[0].getMessage())
    return array, axes


def read(path: str, fill_missing: bool):
    """The array in a file; not yet loaded from .npy, and a _zarr.Source from .zarr, or an array in it."""
    inside = next((str(parent) for parent in pathlib.Path(path).parents if parent.suffix.lower() == ".zarr"), path)
    kind = ending(path if pathlib.Path(path).is_file() else inside, ".npy", ".tif", ".zarr")
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(f"cannot read {path}: there is no such file")
    if kind == ".zarr":
        from . import _zarr
        return _zarr.read(path, fill_missing)
    try:
        if kind == ".npy":
            return numpy.lib.format.open_memmap(path, mode="r")
        array, axes = from_tif(path)
    except Exception as error:  # Packages have exceptions of their own.
        if isinstance(error, (ImportError, MemoryError)):
            raise
        raise ValueError(f"cannot read {path}: it must be a whole {kind} file that can be decoded (got "
                         f"{type(error).__name__}: {error}); copy it again if it is damaged, or name another one") from None
    # Pages that have no name are slices.
    single = "ZIQYX" if array.ndim == 3 else "YX"
    kept = [(axis, size) for axis, size in zip(axes, array.shape) if size > 1 or axis in single]
    if "".join(axis for axis, _ in kept) not in ("YX", "ZYX", "IYX", "QYX"):
        sizes = ", ".join(f"{axis.lower()} {size}" for axis, size in zip(axes, array.shape))
        raise ValueError(f"cannot read {path}: its axes must be (y, x) or (z, y, x) (got {sizes}); write each channel or "
                         "frame, or the grey values of a colour image, to a file of its own")
    return array.reshape([size for _, size in kept])


def check_place(path: str, kind: str, inputs: list, overwrite: bool) -> None:
    """Refuses an output that could not be written after the computation, or that an input is or is in."""
    target = pathlib.Path(path)
    for one in map(pathlib.Path, inputs):
        if target.resolve() in (one.resolve(), *one.resolve().parents):
            raise ValueError(f"cannot write {path}: it is the input{'' if target == one else f' {one}'}; name another file")
    if target.exists() and target.is_dir() != (kind == ".zarr"):
        wanted, there = ("folder", "file") if kind == ".zarr" else ("file", "folder")
        raise ValueError(f"cannot write {path}: it must be a {wanted} (got a {there} that is there); name another one")
    if target.is_file() and not overwrite:
        raise FileExistsError(f"cannot write {path}: it is there; give --overwrite to replace it, or name another file")
    folder = target.resolve().parent
    if kind == ".tif":
        importlib.import_module("tifffile")
    elif kind == ".zarr":
        from . import _zarr
        if target.exists():
            _zarr.result_at(path)
        folder = next(parent for parent in target.resolve().parents if parent.exists())  # Zarr makes those below it.
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"cannot write {path}: its folder {folder} must be there and writable (got {error.strerror}); make "
                      "it, or name another one") from None


def publish(part: pathlib.Path, target: pathlib.Path, overwrite: bool) -> None:
    """Gives a complete file its name. What has the name is replaced only if that is allowed: of two runs that write the same
    new file, the one that ends first keeps it."""
    if overwrite:
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
        return
    try:
        os.link(part, target)
    except FileExistsError:
        if not part.samefile(target):  # A file server whose answer was lost is asked again, and finds the link that it made.
            raise
    except OSError:  # The file system has no links.
        open(target, "xb").close()
        try:
            part.replace(target)
        except OSError:
            target.unlink()
            raise


@contextlib.contextmanager
def complete(path: str, overwrite: bool):
    """An open file beside it, which takes its place once it is complete, and is removed if that fails."""
    target = pathlib.Path(path).resolve()  # A link stays one.
    # Another process may be writing the same output.
    part = target.with_name(f".isoline-{uuid.uuid4().hex}.part{target.suffix}")
    # Clusters end a job by this signal when its time is over.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with open(part, "x+b") as file:
            yield file
        publish(part, target, overwrite)
    except FileExistsError:
        raise FileExistsError(f"cannot write {path}: another run has written it meanwhile; give --overwrite to replace it, "
                              "or name another file") from None
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}; make room, or name a file on another disk") from None
    finally:
        part.unlink(missing_ok=True)
        signal.signal(signal.SIGTERM, before)


def write(path: str, array, source, run: dict, levels: int, overwrite: bool) -> None:
    """Writes a whole result."""
    kind = ending(path, ".npy", ".tif", ".zarr")
    if kind == ".zarr":
        import dask.array

        from . import _zarr
        chunks = "auto" if source is None else source.image.chunks
        _zarr.write(path, dask.array.from_array(array, chunks=chunks), source, run, levels, not overwrite)
    elif kind == ".npy":
        with complete(path, overwrite) as file:
            numpy.save(file, array)
    else:
        import tifffile
        with complete(path, overwrite) as file:
            # Three or four slices would be taken for the colours of one image.
            tifffile.imwrite(file, array, photometric="minisblack", metadata={"axes": "ZYX"[-array.ndim:]})


def save(path: str, found, overwrite: bool) -> None:
    """Writes the arrays and the numbers of a result that is no image."""
    with complete(path, overwrite) as file:
        numpy.savez(file, **vars(found))


@contextlib.contextmanager
def interrupted_later():
    """Holds Ctrl-C back until the workers have started: neither they, nor what starts them, can be interrupted before."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # As a shell starts a command in the background.
        yield
        return
    came: list = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    mask = getattr(signal, "pthread_sigmask", None)  # Threads and processes that are started inherit it. Windows has none.
    if mask:
        multiprocessing.resource_tracker.ensure_running()  # It would clear the mask when a process is started.
        blocked = mask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        if mask:
            mask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def workers(target, local, scheduler):
    """The client of the processes that compute; None for this one."""
    import dask
    if local is None and scheduler is None:
        with dask.config.set(scheduler="synchronous"):
            yield None
        return
    if local is not None and local < 1:
        raise ValueError(f"--local must be at least 1 (got {local}); give the number of processes")
    from distributed import Client, KilledWorker, LocalCluster
    with contextlib.ExitStack() as stack:
        # Errors are raised here, too, and the command says them in a line.
        for name in ("distributed", "distributed.client", "distributed.utils", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if scheduler is None:
            # There is no dashboard, but a server at its port, which would warn where another command has the usual one.
            with interrupted_later():
                cluster = stack.enter_context(LocalCluster(
                    n_workers=local, threads_per_worker=1, silence_logs=logging.CRITICAL, preload=QUIET_WORKER,
                    dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}))
        try:
            client = stack.enter_context(Client(cluster if scheduler is None else scheduler))
        except Exception as error:  # Packages have exceptions of their own.
            if scheduler is None:
                raise
            raise RuntimeError(f"cannot use --scheduler {scheduler}: it must be the address of a scheduler that runs, such "
                               f"as tcp://127.0.0.1:8786 (got {error}); start one by 'dask scheduler', and give the "
                               "address that it shows") from None
        try:
            yield client
        except CancelledError:
            raise RuntimeError(f"cannot compute {target}: the connection to the scheduler was lost; start the scheduler if "
                               "it has ended, and this command again: chunks of a .zarr that are done stay") from None
        except KilledWorker as error:
            raise RuntimeError(f"cannot compute {target}: the same block ended several workers, perhaps as they had too "
                               f"little memory ({error}); give them more, or the file smaller chunks, and start again: "
                               "chunks of a .zarr that are done stay") from None


def read_json(path):
    """The list in a file."""
    try:
        found = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if isinstance(found, list):
            return found
        error: Exception = ValueError(f"the value {found!r}")
    except (OSError, ValueError) as raised:
        error = raised
    raise ValueError(f"cannot read {path}: it must be a list in JSON (got {error}); correct it")


def shows_bar(quiet: bool) -> bool:
    """True in a terminal, if there is the package tqdm, which makes the bar."""
    if quiet or not sys.stderr.isatty():
        return False
    try:
        importlib.import_module("tqdm.auto")
    except ImportError:
        return False
    return True


def recorded(path: str, found) -> dict:
    """The record of an input in a run; a .zarr has more to say than another file."""
    return getattr(found, "described", None) or dict(path=str(pathlib.Path(path).resolve()),
                                                     newest=pathlib.Path(path).stat().st_mtime_ns)


def doubt(name: str, report, objects, options: dict) -> str:
    """The reason why a result may not be what was wanted, if the package has not warned of it; "" where there is none."""
    if objects is not None and not len(objects) or report.ended() in ("lost", "filled"):
        return ""
    # A fixed number of iterations may be wanted: edge strength has no residual then, and a level set no tolerance.
    endless = options.get("change_tolerance") == options.get("rms_tolerance") == 0
    iterates = (name == "level_set" and not endless or name == "objects" and report.iterations > 0
                or not math.isnan(report.residual))
    if iterates and not report.converged:
        return NOT_CONVERGED.format(report.iterations)
    if report.ended() == "at limit":
        return "the front is at limits of the range of intensities; check the range"
    return ""


def say(doubt: str) -> None:
    print(f"isoline: warning: {doubt}", file=sys.stderr)


@contextlib.contextmanager
def told_in_lines():
    """Says in a line what the package doubts, once where several chunks do."""
    shown, said = warnings.showwarning, set()

    def show(message, category, *where, **more):
        if category is not IsolineWarning:
            shown(message, category, *where, **more)
        elif str(message) not in said:
            said.add(str(message))
            say(str(message))

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=IsolineWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def told_once():
    """Says in one line that chunks have not converged, of which each has a warning, here or in a worker."""
    shown, iterations = warnings.showwarning, []

    def show(message, *where, **more):
        if found := re.match(rf"{UNCONVERGED} after (\d+)", str(message)):
            iterations.append(int(found[1]))
        else:
            shown(message, *where, **more)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", UNCONVERGED)
        warnings.showwarning = show
        yield
    if iterations:
        say(NOT_CONVERGED.format(max(iterations)))


def computed(name: str, image, others: dict, shown: dict):
    """The image that one call computes."""
    if name == "edge_drawing":
        return isoline.edge_drawing(image, segments=False, **shown)[0]
    if name == "snake":
        return isoline.snake(image, others.get("polygons"), others.get("slices"), **shown).labels()
    report = isoline.Report()
    if name == "objects" and "starts" not in others:
        shown["out"] = numpy.empty(image.shape, numpy.float32)  # uint16 has too few labels for some images.
    with warnings.catch_warnings():
        # The line below says it.
        warnings.filterwarnings("ignore", UNCONVERGED)
        found = getattr(isoline, name)(image, **others, report=report, **shown)
    found, objects = found if name == "objects" else (found, None)
    if said := doubt(name, report, objects, shown):
        say(said)
    if name == "objects" and found.dtype == numpy.float32:
        found = found.astype(numpy.uint16 if found.max() < 2 ** 16 else numpy.uint32)
    return found


def run(options: dict) -> None:
    name, path, target = options.pop("operation"), options.pop("input"), options.pop("output")
    quiet, device, fill_missing = options.pop("quiet"), options.pop("device"), options.pop("fill_missing")
    options = {key: value for key, value in options.items() if value is not None}
    local, scheduler, overwrite = (options.pop(key, None) for key in ("local", "scheduler", "overwrite"))
    halo = {key: options.pop(key) for key in ("exchange_every", "largest", "reach") if key in options}
    files = {key: options.pop(key) for key in PIXELS + LISTS if key in options}
    levels = options.pop("multiscale", 1)
    kind = ending(target, *([".npz"] if gives_arrays(name) else [".npy", ".tif", ".zarr"]))
    if levels < 1 or levels > 1 and kind != ".zarr":
        raise ValueError(f"cannot use --multiscale {levels}: it must be at least 1, and more than 1 for a .zarr alone (got "
                         f"{target}); leave it out, or name a .zarr")
    check_place(target, kind, [path, *files.values()], overwrite)
    image, source = read(path, fill_missing), None
    if not isinstance(image, numpy.ndarray):
        image, source = image.image, image
    others = {key: read(file, fill_missing) if key in PIXELS else read_json(file) for key, file in files.items()}
    if name == "snake" and others.get("polygons") and "slices" not in others and image.ndim == 3 and len(image) > 1:
        raise ValueError(f"cannot start the polygons of {files['polygons']}: {path} has {len(image)} slices, and --slices, "
                         "the slice of each polygon, is missing; give it")
    wants_chunks = halo or local is not None or scheduler is not None or levels != 1
    # Each voxel of a converged volume depends on all others.
    whole = options.get("mode") == "converged" and options.get("dimensions") == "volume"
    if whole and (halo or local is not None or scheduler is not None):
        raise ValueError("cannot use --local, --scheduler or --exchange_every: one call computes the converged edge "
                         "strength of a volume, which has all pixels in memory; leave them out, or use iterations")
    # An exact distance of chunks needs passes over all of them, and a surface is joined from parts: in this process a call
    # with all pixels is faster.
    by_chunk = source is not None and not whole and (wants_chunks or name in BY_CHUNK and name not in WHOLE)
    if not by_chunk and wants_chunks and (source is None or not whole):
        raise ValueError("cannot use --local, --scheduler, --exchange_every, --largest, --reach or --multiscale: they are "
                         f"for a .zarr that is computed by chunk (got {path}); leave them out")
    if by_chunk and name == "objects" and "reach" not in halo:
        raise ValueError("cannot grow objects in chunks without --reach, the length of the largest object; give it, or "
                         "leave --local, --scheduler and --multiscale out")
    if levels > 1 and source.axes is None:
        raise ValueError(f"cannot write {levels} levels to {target}: they are for a source that is an OME-Zarr image; leave "
                         "--multiscale out")
    table = default_library().operations[name]
    if source is not None and takes_spacing(name) and "spacing" not in options:
        dimensions = options.get("dimensions", table.default("dimensions")) if "dimensions" in table.parameters else None
        spacing = source.spacing(slices=name == "isolines" or dimensions == "slices")
        if spacing is not None:
            options["spacing"] = spacing
    made = {"operation": name, "version": isoline.__version__, "device": device, "levels": levels,
            "input": recorded(path, source), **{key: recorded(files[key], other) for key, other in others.items()},
            "parameters": {**{key: table.default(key) for key in table.parameters}, **options, **halo}}
    if kind == ".zarr" and pathlib.Path(target).exists() and not overwrite:
        from . import _zarr
        if _zarr.is_complete(_zarr.existing(target, made), levels) and not by_chunk:
            return  # By chunk there is nothing to compute then.
    if by_chunk:
        from . import _zarr, dask
        with told_once(), workers(target, local, scheduler) as client:
            arrays = {key: _zarr.lazily(files[key], other) for key, other in others.items()}
            image = as_floats(image, path)
            compute = functools.partial(getattr(dask, name), image, device=device, **arrays, **halo, **options)
            result = compute()[0] if name == "objects" else compute()
            if gives_arrays(name):
                save(target, result.compute(), overwrite)
            elif kind == ".zarr":
                in_steps = compute if name == "distance" and "largest" not in halo else None
                _zarr.write(target, result, source, made, levels, not overwrite, client, in_steps)
            else:
                write(target, result.compute(), source, made, levels, overwrite)
        return
    image = as_floats(numpy.asarray(image), path)
    others = {key: as_floats(numpy.asarray(getattr(other, "image", other)), files[key]) if key in PIXELS else other
              for key, other in others.items()}
    shown = dict(device=device, progress=shows_bar(quiet), **options)
    if gives_arrays(name):
        save(target, getattr(isoline, name)(image, **shown), overwrite)
    else:
        write(target, computed(name, image, others, shown), source, made, levels, overwrite)


def main(arguments=None) -> int:
    given = argparse.Namespace(output="the output", overwrite=False)
    try:
        with told_in_lines():
            run(dict(vars(parser().parse_args(arguments, given))))
    except (isoline.Error, OSError, RuntimeError, ValueError, TypeError, ImportError, MemoryError) as error:
        print(f"isoline: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        kept = f"{given.output} is not written"
        if pathlib.Path(given.output).is_dir():
            again = "without --overwrite " * given.overwrite
            kept = f"chunks of {given.output} that are done stay; start the same command again {again}to compute the others"
        print(f"isoline: cancelled: {kept}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
